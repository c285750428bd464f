"""Measurements behind published figures, one command a table.

`search_overhead` times what searchers themselves take a trial.
"""
