from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from vlmfail.benchmarks import valid_scenes
from vlmfail.benchmarks.valid_scenes import Row, Share, draw_sets, measure
from vlmfail.core import Picture, Rendering
from vlmfail.envs.driving.domain import DrivingDomain

PICTURE = Picture.from_pixels(np.zeros((2, 2, 3), dtype=np.uint8))


class FlatRenderer:
    """Shows each named thing with the same number of pixels, `blind` ones with none."""

    name = "flat"

    def __init__(self, blind: str = "") -> None:
        self._blind = blind

    def render(self, scene: Any) -> Rendering:
        return Rendering(PICTURE, {name: 99 * (name != self._blind) for name in scene.names})


def test_sets_are_valid_and_of_their_size() -> None:
    space = DrivingDomain().space
    drawn = draw_sets(30, 0, (2, 4))
    assert [len(one) for one in drawn] == [2] * 30 + [4] * 30
    assert all(space.validate(one) is None for one in drawn)
    assert draw_sets(30, 0, (4,)) == drawn[30:]
    assert draw_sets(30, 1, (4,)) != drawn[30:]


def test_most_sets_of_every_size_find_a_place() -> None:
    rows = measure(40, renderer=FlatRenderer())
    assert [row.size for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert row.attempts.share >= 0.95
        assert row.trials.share == 1.0
        assert row.infeasible.count == 0
        assert row.seen.share == 1.0


def test_what_is_not_seen_is_counted_with_its_reason() -> None:
    [row] = measure(60, sizes=(1,), renderer=FlatRenderer("light_red"))
    blind = row.sets - row.trials.count
    assert 0 < blind < 20
    assert row.attempts == row.trials
    assert row.infeasible.count == blind
    assert row.reasons == (("unseen: light_red", 8 * blind),)


def test_shares_have_wilson_intervals() -> None:
    share = Share(9, 10)
    assert share.share == 0.9
    assert share.low == pytest.approx(0.596, abs=1e-3)
    assert share.high == pytest.approx(0.982, abs=1e-3)


def test_command_prints_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--sets", "2", "--sizes", "2", "--processes", "1"]
    assert valid_scenes.main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [row] = document["sizes"]
    assert (row["size"], row["sets"], row["trials"]["n"]) == (2, 2, 2)
    monkeypatch.setattr(valid_scenes, "measure", lambda *_, **__: [Row.of([_RESULT] * 3)])
    assert valid_scenes.main(arguments) == 0
    assert "Valid scenes by set size" in capsys.readouterr().out


_RESULT = valid_scenes.SetResult(3, False, True, True, ("no place: cone",), 3, 2, 0.3)


def test_kitchens_are_counted_by_their_own_pixels() -> None:
    [row] = valid_scenes.measure(2, 0, 1, (2,), env=valid_scenes.INDOOR)
    assert row.trials.n == 2
    assert row.seen.n >= row.seen.count > 0
    drawn = draw_sets(5, 0, (2,), valid_scenes.INDOOR)
    assert all("cyclist" not in one and len(one) == 2 for one in drawn)
