from __future__ import annotations

from vlmfail.analysis.tried import tried_of
from vlmfail.testing.made_runs import make_run


def test_what_no_set_can_hold_is_not_missed(tmp_path):
    """The kitchen is a concept of the catalogue, always there and never proposed."""
    config = {"env": "VLMFail-Indoor-v0"}
    run = make_run(tmp_path / "run", [(["knife_edge"], "ppppp")], config=config)
    tried = tried_of(run)
    assert tried is not None
    assert (tried.all_sets, tried.all_concepts) == (45_886, 32)
