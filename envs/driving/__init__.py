"""Driving: stop, slow down or continue? (Revelio, section 4, Table 4, appendices B.1, C.1).

Start at `domain.DrivingDomain`: `catalogue`, `rules` and `prompt` are data beside their readers,
`placement` and `scene` make a scene of a set, `truth` its right answer, which `simulate` checks
independently; `town*` and `assets` build what is seen. `env` registers it as an environment.
"""
