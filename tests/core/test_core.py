"""Words as values: seeding, errors, tallies, questions, pictures, plug-ins."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vlmfail.core import (
    InvalidCandidateError,
    MissingDependencyError,
    Option,
    Outcome,
    Picture,
    Question,
    Registry,
    Stream,
    Tally,
    Trial,
    UnknownNameError,
    UsageError,
    clopper_pearson_lower,
    derive_seed,
    load_object,
    trial_rng,
    wilson_interval,
)


def test_draws_depend_on_everything_that_names_a_trial_and_on_nothing_else() -> None:
    def draw(*args: object) -> float:
        return float(trial_rng(*args).random())  # type: ignore[arg-type]

    places = [
        (seed, key, trial, stream, attempt)
        for seed in (0, 2**32 - 1)
        for key in ("a", "a+b")
        for trial in (0, 1)
        for stream in (Stream.SCENE, Stream.MODEL)
        for attempt in (0, 1)
    ]
    draws = [draw(*place) for place in places]
    assert len(set(draws)) == len(places)
    assert draws == [draw(*place) for place in places]


def test_draws_are_the_same_in_another_process() -> None:
    code = (
        "from vlmfail.core import *; print(trial_rng(3, 'a+b', 2, Stream.SCENE).random(),"
        " derive_seed(5, 'x'))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    here = f"{trial_rng(3, 'a+b', 2, Stream.SCENE).random()} {derive_seed(5, 'x')}"
    assert out.stdout.strip() == here


def tally(
    failures: int, passes: int, *others: Outcome, count: frozenset[Outcome] = frozenset()
) -> Tally:
    outcomes = [Outcome.FAIL] * failures + [Outcome.PASS] * passes + list(others)
    return Tally(tuple(Trial("k", i, o) for i, o in enumerate(outcomes)), count)


def test_rates_use_passes_and_failures_only() -> None:
    t = tally(4, 4, Outcome.ERROR, Outcome.ERROR, Outcome.INVALID_SCENE, Outcome.REFUSED)
    assert (t.rate, t.n, t.failures, t.charged) == (0.5, 8, 4, 11)
    assert tally(0, 0, Outcome.ERROR).rate is None
    assert tally(0, 0).interval() == (0.0, 1.0)
    counted = tally(0, 1, Outcome.REFUSED, count=frozenset({Outcome.REFUSED}))
    assert counted.rate == 0.5


def test_published_interval_values() -> None:
    low, high = wilson_interval(3, 3)
    assert (round(low, 2), round(high, 2)) == (0.44, 1.0)
    assert wilson_interval(0, 3)[1] > 0.5
    assert round(clopper_pearson_lower(5, 5), 3) == 0.549
    assert round(clopper_pearson_lower(6, 6), 3) == 0.607


@given(st.integers(0, 40), st.integers(0, 40))
def test_intervals_hold_the_rate_and_the_exact_bound_is_the_beta_quantile(f: int, p: int) -> None:
    n = f + p
    low, high = wilson_interval(f, n)
    if n:
        assert low - 1e-12 <= f / n <= high + 1e-12
        assert (low, high) == pytest.approx(stats.binomtest(f, n).proportion_ci(0.95, "wilson"))
        other = stats.binomtest(f, n).proportion_ci(0.8, "wilson")
        assert wilson_interval(f, n, 0.8) == pytest.approx(other)
    if f:
        assert clopper_pearson_lower(f, n) == pytest.approx(stats.beta.ppf(0.05, f, n - f + 1))
    else:
        assert clopper_pearson_lower(f, n) == 0.0


@pytest.mark.parametrize("interval", [wilson_interval, clopper_pearson_lower])
def test_more_failures_than_trials_are_refused(interval: Callable[[int, int], object]) -> None:
    for failures, n in ((4, 3), (-1, 3), (1, 0)):
        with pytest.raises(ValueError, match="cannot have failed"):
            interval(failures, n)


def test_a_thin_certainty_does_not_outrank_a_thick_one() -> None:
    assert wilson_interval(1, 1)[0] < wilson_interval(30, 75)[0]


def test_options_shuffle_by_seed_and_last_stays_last() -> None:
    options = (Option("a", "A"), Option("b", "B"), Option("none", "none of these", last=True))
    question = Question("?", options, "1")
    orders = {
        tuple(o.id for o in question.shuffled(np.random.default_rng(s)).options) for s in range(20)
    }
    assert orders == {("a", "b", "none"), ("b", "a", "none")}
    assert "A) A" in question.prompt
    assert question.by_letter("b") == options[1]
    assert question.by_letter("Z") is None
    assert question.by_letter("") is None


def test_a_picture_is_its_bytes() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 9, 3)).astype(np.uint8)
    one = Picture.from_pixels(pixels)
    again: Picture = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.sha256 == one.sha256
    assert np.array_equal(again.pixels, pixels)
    assert one.size == (9, 7)
    with pytest.raises(ValueError, match="pixels"):
        Picture.from_pixels(np.zeros((3, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        one.pixels[0, 0] = 1


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError("searcher", "bem", ["beam", "gpts"], "See x."),
        InvalidCandidateError("a+b", "D1", "no"),
        MissingDependencyError("torch", "train", "training"),
    ],
)
def test_errors_survive_pickling_with_their_text(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert isinstance(again, UsageError) == isinstance(error, UsageError)


def test_unknown_names_tell_close_matches_or_what_exists() -> None:
    assert "did you mean beam?" in str(UnknownNameError("searcher", "bem", ["beam", "gpts"]))
    assert "there is beam, gpts." in str(UnknownNameError("searcher", "zzz", ["beam", "gpts"]))
    many = [f"n{i}" for i in range(30)]
    assert "and 22 more" in str(UnknownNameError("concept", "zzz", many))


class TestPlugins:
    registry = Registry("thing", "vlmfail.no-such-group", {"path": "pathlib:Path"})

    def test_row_module_and_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("class Thing:\n    pass\n")
        spec = f"{tmp_path / 'mine.py'}:Thing"
        assert self.registry.load("path") is Path
        assert self.registry.load("pathlib:PurePath").__name__ == "PurePath"
        assert self.registry.load(spec) is self.registry.load(spec)

    @pytest.mark.parametrize(
        ("spec", "text"),
        [
            ("pathh", "did you mean path"),
            ("no_such_module:X", "no module"),
            ("pathlib:Pth", "Path"),
            ("missing/file.py:X", "no file"),
            (":X", "module_or_file"),
            ("pathlib:", "module_or_file"),
            ("mine.py", "mine.py:NAME"),
        ],
    )
    def test_mistakes(self, spec: str, text: str) -> None:
        with pytest.raises(UsageError, match=text):
            self.registry.load(spec)

    def test_a_file_that_fails_to_load(self, tmp_path: Path) -> None:
        (tmp_path / "bad.py").write_text("1 / 0")
        with pytest.raises(UsageError, match="ZeroDivisionError"):
            load_object(f"{tmp_path / 'bad.py'}:X")

    def test_a_missing_dependency_of_a_plugin_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "needs.py").write_text("import no_such_package_of_mine")
        with pytest.raises(UsageError, match="no_such_package_of_mine"):
            load_object(f"{tmp_path / 'needs.py'}:X")

    def test_a_broken_entry_point_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib.metadata import EntryPoint

        from vlmfail.core import plugins

        point = EntryPoint("broken", "no_such_package_here:Thing", "vlmfail.no-such-group")
        monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
        assert self.registry.names() == ["path", "broken"]
        with pytest.raises(UsageError, match=r"'broken'.*cannot be loaded"):
            self.registry.load("broken")
