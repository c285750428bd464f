"""Searchers side by side: environments x searchers x models x seeds under one budget.

    vlmfail bench FILE.yaml

`reading` and `spec` turn a file or options into a `Bench` (`arms`), `plan` says how far its runs
are and whether a folder belongs to it, `work` does one run; `figures` reads one, `comparison` all
of a searcher's, `tables`, `plots` and `page` show them, `command` is the whole.
"""
