"""The `vlmfail` command: thin, one file a verb.

Start at `main`, which knows the verbs and turns errors into one line and an exit code. `console`
prints; `outcome` ends a search or a resumed one: re-run, report, result.
"""
