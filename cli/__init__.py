"""The `vlmfail` command: thin, one file per verb."""
