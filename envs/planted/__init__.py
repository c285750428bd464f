"""Planted landscapes: every valid set's true failure rate is known, so search can be judged.

Start at `landscape.landscape`, which draws one; `families` says how, `table` indexes the driving
catalogue's valid sets. `domain` makes a trial of it: one draw with the set's rate. `env` registers
it as an environment.
"""
