"""The search study: searchers against each other on the built-in models.

    python -m vlmfail.benchmarks.search_study --out DIR

`plan` says which runs there are, `work` does one of them, `processes` does several at once;
`figures` reads one run, `comparison` all of a searcher's, `tables` and `families` show them.
"""
