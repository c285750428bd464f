"""FATE-VLA's study: its searchers against random on a policy that picks things up.

    python -m vlmfail.benchmarks.policy_study --out DIR

`plan` says which runs there are, `work` does one of them; `figures` reads one run, `comparison`
all of a searcher's, `tables` and `plots` show them. `object_only` is the searcher that knows
nothing but the object.
"""
