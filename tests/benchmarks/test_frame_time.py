from __future__ import annotations

import json

import numpy as np
import pytest

from vlmfail.benchmarks import frame_time


@pytest.mark.slow
def test_frames_are_timed_alone_and_in_company(capsys, monkeypatch):
    monkeypatch.setattr(frame_time, "WARM", 1)
    frame_time.main(["--frames", "2", "--json"])
    one, two = json.loads(capsys.readouterr().out)
    assert (one["processes"], one["frames"], two["processes"], two["frames"]) == (1, 2, 2, 4)
    assert 0.01 < one["median"] <= one["p95"] < 60
    assert one["rate"] > 0


def test_looks_of_a_policy_are_timed():
    pytest.importorskip("mujoco")
    seconds = frame_time.build(frame_time.PICK_UP, 1)
    begun, each = seconds((0, 3))
    assert begun > 0
    assert len(each) == 3
    assert 1e-4 < np.median(each) < 60


def test_bad_counts_are_refused(capsys):
    with pytest.raises(SystemExit):
        frame_time.main(["--frames", "0"])
    assert "--frames takes 1 or more" in capsys.readouterr().err
