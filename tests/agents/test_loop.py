"""The search loop: contract, budget, kill and resume, on the toy domain."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import vlmfail
from vlmfail.agents.agent import SearchAgent
from vlmfail.analysis.metrics import outcome_counts
from vlmfail.core import AgentError, EnvironmentFault, Outcome, RunFolderError, UsageError
from vlmfail.envs.failure_env import FailureEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.runs.interruption import is_interruption
from vlmfail.runs.store import RunStore
from vlmfail.testing.toy import ToyDomain, ToyModel

ENV = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"
SEARCHERS = ["random", "beam", "gpts"]


class Listed(SearchAgent[frozenset[str]]):
    """Proposes a fixed list."""

    fixed_trials = False

    def __init__(self, proposals: Sequence[Any]) -> None:
        self.proposals = list(proposals)
        self.told: list[Any] = []

    def ask(self, n: int) -> list[Any]:
        batch, self.proposals = self.proposals[:n], self.proposals[n:]
        return batch

    def tell(self, evaluations: Sequence[Any]) -> None:
        self.told += evaluations


def search(agent: Any = "random", **kwargs: Any) -> vlmfail.Run:
    kwargs = {"model": MODEL, "budget": 60, "trials": 3, **kwargs}
    return vlmfail.search(ENV, agent, **kwargs)


def content(run: Any) -> dict[str, Any]:
    """Everything a run found, without clocks."""
    trials = {place: (r.trial, r.prompt, r.scene) for place, r in run.records.items()}
    return {
        "trials": trials,
        "log": run.store.evaluation_log(),
        "modes": [m.to_json() for m in run.failure_modes],
        "metrics": run.metrics,
    }


@pytest.mark.parametrize("searcher", SEARCHERS)
def test_budget_is_exact(searcher: str) -> None:
    run = search(searcher, budget=50)
    assert run.calls == 50 or run.status == "space exhausted"
    assert run.store.count() == run.calls
    assert sum(len(e.new.trials) for e in run.evaluations) == run.calls


@pytest.mark.parametrize("searcher", SEARCHERS)
def test_workers_and_concurrency_change_nothing(searcher: str, tmp_path: Path) -> None:
    one = search(searcher, out=tmp_path / "a")
    two = search(searcher, out=tmp_path / "b", workers=2, concurrency=3)
    assert content(one) == content(two)


def test_new_and_total_are_told_in_ask_order_with_adaptive_trials() -> None:
    cat, dog = frozenset({"cat"}), frozenset({"dog"})
    agent = Listed([(cat, 2), dog, (cat, 1), (cat, 4)])
    search(agent)
    assert [e.candidate for e in agent.told] == [cat, dog, cat, cat]
    assert [[t.index for t in e.new.trials] for e in agent.told] == [
        [0, 1],
        [0, 1, 2],
        [2],
        [3, 4, 5, 6],
    ]
    assert [e.total.charged for e in agent.told] == [2, 3, 3, 7]


def test_invalid_proposals_cost_nothing_and_are_told_without_data() -> None:
    bad = frozenset({"rain", "sun", "cat"})
    agent = Listed([bad, frozenset({"cat"})])
    run = search(agent)
    assert [e.rate is None for e in agent.told] == [True, False]
    assert run.calls == 3


def test_an_agent_that_only_proposes_invalid_candidates_is_stopped() -> None:
    class Stubborn(Listed):
        def ask(self, n: int) -> list[Any]:
            return [frozenset({"rain"})] * n

    run = search(Stubborn([]))
    assert run.calls == 0
    assert "charged nothing" in (run.store.meta("reason") or "")


@pytest.mark.parametrize(
    "proposals",
    [["cat"], [("cat", "dog")], [(frozenset({"cat"}), 0)], [(frozenset({"cat"}), 1.5)], [None]],
)
def test_a_broken_contract_is_told(proposals: list[Any]) -> None:
    with pytest.raises(AgentError):
        search(Listed(proposals))


def test_more_than_asked_for_is_told() -> None:
    class Greedy(Listed):
        def ask(self, n: int) -> list[Any]:
            return [frozenset({"cat"})] * (n + 1)

    with pytest.raises(AgentError, match="ask"):
        search(Greedy([]))


def test_space_exhausted() -> None:
    run = search(budget=10_000, trials=1, env_args={"max_size": 1})
    assert run.status == "space exhausted"
    assert run.calls == 3


def test_errors_are_counted_beside_the_rate() -> None:
    class Flaky(ToyModel):
        """Fails 4, passes 4, raises 2 of ten trials."""

        def answer(self, images: Any, prompt: str, *, seed: int) -> Any:
            self.calls += 1
            if self.calls > 8:
                raise ConnectionError("HTTP 500")
            right = bool(images[0].pixels[0, 0, 0])
            word = "yes" if right == (self.calls <= 4) else "no"
            lines = prompt.splitlines()
            letter = next(line[0] for line in lines if line[1:].startswith(f") {word}:"))
            return f"ANSWER: {letter}"

    class Wrapped(Flaky):
        def answer(self, images: Any, prompt: str, *, seed: int) -> Any:
            from vlmfail.core import Reply

            return Reply(super().answer(images, prompt, seed=seed))

    agent = Listed([(frozenset({"bird"}), 10)])
    run = search(agent, model=Wrapped(), budget=10)
    total = agent.told[0].total
    assert (total.failures, total.n, total.rate) == (4, 8, 0.5)
    assert total.counts[Outcome.ERROR] == 2
    assert run.calls == 10


def test_all_errors_is_no_data_and_no_mode() -> None:
    run = search(Listed([frozenset({"bird"})]), model=ToyModel({"bird": "raise"}))
    assert run.evaluations[0].rate is None
    assert run.failure_modes == []
    assert run.metrics["mfr"] is None


def test_cap_stops_cleanly_with_a_valid_partial_run() -> None:
    model = ToyModel(requests=1)
    run = search(model=model, max_requests=25, concurrency=8, budget=200)
    assert model.calls == 25
    assert run.status == "capped"
    assert run.calls == 25
    assert run.report().is_file()


def test_keyboard_interrupt_leaves_a_resumable_run(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.evaluations >= 8:
            raise KeyboardInterrupt

    run = search("gpts", out=tmp_path / "r", progress=stop)
    assert run.status == "interrupted"
    assert 0 < run.calls < 60
    run.close()
    resumed = vlmfail.resume(tmp_path / "r")
    assert content(resumed) == content(search("gpts", out=tmp_path / "whole"))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_progress_moves_with_every_trial(tmp_path: Path, concurrency: int) -> None:
    states: list[Any] = []
    run = search("random", out=tmp_path / "r", progress=states.append, concurrency=concurrency)
    assert [s.calls for s in states if not s.evaluations] == list(range(1, 25))
    calls = [s.calls for s in states]
    assert calls == sorted(calls)
    assert set(calls) == set(range(1, 61))
    last = states[-1]
    assert (last.failures, last.n) == (
        sum(e.new.failures for e in run.evaluations),
        sum(e.new.n for e in run.evaluations),
    )
    assert all(s.failures <= s.n <= s.calls for s in states)
    before = max(s.failures for s in states if not s.evaluations)
    assert before == sum(e.new.failures for e in run.evaluations[:8]) > 0
    assert {s.resumed for s in states} == {0}


def test_a_resumed_search_tells_what_it_took_from_its_folder(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.calls >= 30:
            raise KeyboardInterrupt

    search("random", out=tmp_path / "r", progress=stop).close()
    states: list[Any] = []
    vlmfail.resume(tmp_path / "r", progress=states.append).close()
    assert states[0].calls == states[0].resumed == 24, "a whole batch of the store"
    assert [s.calls for s in states[1:3]] == [31, 32]
    assert states[-1].resumed == 30
    assert states[-1].calls == 60


def test_a_search_broken_off_in_its_first_batch_keeps_its_trials(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.calls >= 7:
            raise KeyboardInterrupt

    run = search("gpts", out=tmp_path / "r", progress=stop)
    assert (run.status, run.calls, len(run.places)) == ("interrupted", 0, 7)
    for key, _ in run.places:
        assert "+".join(run.candidate(key)) == key
    assert run.candidate("nothing") is None
    run.close()
    asked: list[int] = []
    resumed = vlmfail.resume(tmp_path / "r", progress=lambda p: asked.append(p.calls - p.resumed))
    assert max(asked) == 60 - 7, "none was asked again"
    assert content(resumed) == content(search("gpts"))


def _wraps(model: Any) -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise SystemError("compiled code returned with an exception set") from error


def _swallows(model: Any) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("struck", "kept"), [(_wraps, 5), (_swallows, 6)])
@pytest.mark.parametrize("where", ["model", "scene"])
def test_ctrl_c_that_other_code_wraps_or_swallows_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, struck: Any, kept: int, where: str
) -> None:
    kind, method = {"model": (ToyModel, "answer"), "scene": (ToyDomain, "question")}[where]
    whole = getattr(kind, method)
    calls = []

    def strikes(self: Any, *given: Any, **named: Any) -> Any:
        calls.append(self)
        if len(calls) == 6:
            struck(self)
        return whole(self, *given, **named)

    monkeypatch.setattr(kind, method, strikes)
    run = search("random", out=tmp_path / "r")
    assert run.status == "interrupted"
    assert sum(r.trial.outcome.charged for r in run.records.values()) == kept
    assert not any(r.trial.outcome is Outcome.ERROR for r in run.records.values())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run.close()
    assert content(vlmfail.resume(tmp_path / "r")) == content(search("random"))


def test_an_error_that_ctrl_c_led_to_while_it_was_cleaned_up_is_told() -> None:
    for error in (EnvironmentFault("full"), OSError("full"), ValueError("own")):
        assert not is_interruption(error)
        error.__context__ = KeyboardInterrupt()
        assert is_interruption(error) is isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: search(max_size=2), 'env_args={"max_size": 2}'),
        (lambda: search(count_as_fail=["refused"]), 'env_args={"count_as_fail": ...}'),
        (
            lambda: search(max_siez=2),
            'max_size is an option of the environment: pass env_args={"m',
        ),
        (lambda: search(budgett=2), "did you mean budget="),
        (lambda: search(searcher="gpts"), "did you mean agent="),
        (lambda: search(nonsense=1), "it takes env, agent, .*env_args=.*agent_args="),
        (lambda: vlmfail.search(ToyDomain(), render_mode="a"), "the one that you pass"),
        (lambda: vlmfail.resume("r", budget=3), "it takes path, "),
        (lambda: vlmfail.resume("r", worker=3), "did you mean workers="),
    ],
)
def test_a_keyword_that_does_not_exist_is_one_clear_line(call: Any, says: str) -> None:
    pattern = re.escape(says).replace(r"\.\*", ".*")
    with pytest.raises(UsageError, match=pattern) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_value_given_to_the_wrong_keyword_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        search(api_key="sk-secret")
    assert "secret" not in str(caught.value)
    run = search(budget=3)
    with pytest.raises(UsageError, match="top, trials"):
        run.confirm(nonsense=3)


@pytest.mark.parametrize("searcher", SEARCHERS)
@pytest.mark.parametrize("after", [1, 17, 40])
def test_kill_9_then_resume_is_the_uninterrupted_run(
    searcher: str, after: int, tmp_path: Path
) -> None:
    script = textwrap.dedent(
        f"""
        import os, signal, vlmfail
        from vlmfail.runs.store import RunStore
        add, count = RunStore.add, 0
        def killing(self, record, picture):
            global count
            count += 1
            if count == {after}:
                # In mid-write: the row is there, not yet committed.
                self._db.execute("INSERT INTO meta VALUES ('half', 'written')")
                os.kill(os.getpid(), signal.SIGKILL)
            add(self, record, picture)
        RunStore.add = killing
        vlmfail.search({ENV!r}, {searcher!r}, model={MODEL!r}, budget=60, trials=3,
                       out={str(tmp_path / "killed")!r})
        """
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    store = RunStore.open(tmp_path / "killed")
    assert store.count() == after - 1
    assert store.meta("half") is None
    store.close()
    resumed = vlmfail.resume(tmp_path / "killed")
    assert content(resumed) == content(search(searcher, out=tmp_path / "whole"))


def test_resuming_a_finished_run_runs_nothing(tmp_path: Path) -> None:
    search(out=tmp_path / "r").close()
    before = (tmp_path / "r" / "trials.sqlite").read_bytes()
    run = vlmfail.resume(tmp_path / "r")
    assert run.status == "finished"
    run.close()
    assert (tmp_path / "r" / "trials.sqlite").read_bytes() == before


def test_the_same_search_again_continues_and_another_is_refused(tmp_path: Path) -> None:
    first = content(search(out=tmp_path / "r"))
    assert content(search(out=tmp_path / "r")) == first
    with pytest.raises(RunFolderError, match="seed: 0 there, 1 here"):
        search(out=tmp_path / "r", seed=1)


def test_retry_errors_forks_and_keeps_good_trials(tmp_path: Path) -> None:
    (tmp_path / "outage").write_text("")
    (tmp_path / "model.py").write_text(
        "from pathlib import Path\n"
        "from vlmfail.testing.toy import ToyModel\n"
        "class Model(ToyModel):\n"
        "    def answer(self, images, prompt, *, seed):\n"
        f"        down = Path({str(tmp_path / 'outage')!r}).exists() and 'bird' in prompt\n"
        "        self.outcomes = {'bird': 'raise'} if down else {}\n"
        "        return super().answer(images, prompt, seed=seed)\n"
    )
    model = f"{tmp_path / 'model.py'}:Model"
    first = search("random", model=model, out=tmp_path / "r")
    errors = outcome_counts(first)["error"]
    assert errors > 0
    (tmp_path / "outage").unlink()
    kept = vlmfail.resume(tmp_path / "r")
    assert outcome_counts(kept)["error"] == errors
    retried = vlmfail.resume(tmp_path / "r", retry_errors=True)
    assert retried.path.name == "r-retry"
    whole = search("random", model=model, out=tmp_path / "whole")
    assert content(retried) == content(whole)
    assert vlmfail.Run.open(tmp_path / "r").store.count() == 60


def test_foreign_and_busy_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="not empty"):
        search(out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="file"):
        search(out=tmp_path / "file")
    with pytest.raises(RunFolderError):
        search(out=tmp_path / "file" / "below")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    search(out=tmp_path / "r").close()
    store = RunStore.open(tmp_path / "r", write=True)
    with pytest.raises(RunFolderError, match="another process"):
        search(out=tmp_path / "r")
    store.close()


def test_a_damaged_folder_is_told(tmp_path: Path) -> None:
    search(out=tmp_path / "r").close()
    (tmp_path / "r" / "run.json").write_text("{ half")
    with pytest.raises(RunFolderError, match=r"run\.json"):
        vlmfail.resume(tmp_path / "r")
    (tmp_path / "r" / "trials.sqlite").write_bytes(b"no database at all, really")
    with pytest.raises(RunFolderError):
        vlmfail.resume(tmp_path / "r")


def test_a_full_disk_keeps_finished_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = RunStore.add

    def filling(self: RunStore, record: Any, picture: Any) -> None:
        if self.count() == 10:
            self._db.execute("PRAGMA max_page_count = 1")  # SQLite's own "disk is full"
        add(self, record, picture)

    monkeypatch.setattr(RunStore, "add", filling)
    with pytest.raises(EnvironmentFault, match="full"):
        search("random", out=tmp_path / "r")
    monkeypatch.undo()
    kept = RunStore.open(tmp_path / "r")
    assert kept.count() >= 10
    kept.close()
    assert content(vlmfail.resume(tmp_path / "r")) == content(search("random"))


def test_an_agent_that_is_not_deterministic_is_told_on_resume(tmp_path: Path) -> None:
    cats = [frozenset({"cat"}), frozenset({"cat", "night"})]

    def stop(progress: Any) -> None:
        if progress.evaluations:
            raise KeyboardInterrupt

    search(Listed(cats), out=tmp_path / "r", progress=stop, batch=1).close()
    with pytest.raises(AgentError, match="deterministic"):
        search(Listed(cats[::-1]), out=tmp_path / "r", batch=1)


def test_a_run_made_with_objects_asks_for_them_on_resume(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    search(Listed([frozenset({"cat"})]), out=tmp_path / "r", progress=stop).close()
    with pytest.raises(UsageError, match="agent="):
        vlmfail.resume(tmp_path / "r")


@pytest.mark.parametrize(
    "kwargs",
    [
        {"seed": -1},
        {"batch": 0},
        {"threshold": 0.0},
        {"threshold": 1.5},
        {"budget": 0},
        {"env_args": {"max_siez": 2}},
        {"agent_args": {"nonsense": 1}},
        {"loggers": ["no-such-logger"]},
        {"renderer": "no-such-renderer"},
    ],
)
def test_mistakes_are_told_before_the_first_trial(kwargs: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        search(out=tmp_path / "r", **kwargs)
    assert not (tmp_path / "r").exists()


def test_jsonl_logger_holds_every_evaluation_once_after_resume(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def stop(progress: Any) -> None:
        if progress.evaluations >= 8:
            raise KeyboardInterrupt

    search(out=tmp_path / "r", loggers=[f"jsonl={log}"], progress=stop).close()
    run = vlmfail.resume(tmp_path / "r", loggers=[f"jsonl={log}"])
    events = [json.loads(line) for line in log.read_text().splitlines()]
    keys = [e["key"] for e in events if e["event"] == "evaluation"]
    assert keys == [e.key for e in run.evaluations]
    assert events[-1]["event"] == "finish"


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    search(out=tmp_path / "r", budget=3).close()
    holder = RunStore.open(tmp_path / "r", write=True)
    script = f"import vlmfail; vlmfail.search({ENV!r}, 'random', model={MODEL!r}, budget=3, "
    script += f"trials=3, out={str(tmp_path / 'r')!r})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "another process" in done.stderr
    holder.close()


def test_rows_are_used_again_when_the_log_was_not_written(tmp_path: Path) -> None:
    whole = content(search("gpts", out=tmp_path / "r"))
    with sqlite3.connect(tmp_path / "r" / "trials.sqlite") as db:
        db.execute("DELETE FROM evaluations WHERE step > 5")
        db.execute("UPDATE meta SET value = 'running' WHERE name = 'status'")
        db.execute("UPDATE trials SET seconds_model = 77")
    resumed = vlmfail.resume(tmp_path / "r")
    assert content(resumed) == whole
    assert {r.seconds_model for r in resumed.records.values()} == {77}


def stop(progress: Any) -> None:
    raise KeyboardInterrupt


def test_a_run_on_a_made_environment_resumes_with_its_options(tmp_path: Path) -> None:
    import gymnasium as gym

    def made() -> Any:
        return gym.make(
            "VLMFail-Driving-v0",
            model="vlmfail.testing.toy:guess",
            trials=1,
            budget=3,
            max_size=1,
        )

    vlmfail.search(made(), "random", out=tmp_path / "r", batch=1, progress=stop).close()
    resumed = vlmfail.resume(tmp_path / "r")
    assert resumed.config["env_args"] == {"max_size": 1}
    assert content(resumed) == content(vlmfail.search(made(), "random", batch=1))


def test_a_run_on_an_environment_built_by_hand_asks_for_it(tmp_path: Path) -> None:
    def env() -> FailureEnv:
        return FailureEnv(ToyDomain(2), EnvOptions(model=ToyModel(), trials=3, budget=60))

    vlmfail.search(env(), "random", out=tmp_path / "r", progress=stop).close()
    with pytest.raises(UsageError, match="env="):
        vlmfail.resume(tmp_path / "r")
    with pytest.raises(UsageError, match="workers"):
        vlmfail.resume(tmp_path / "r", env=env(), workers=2)
    resumed = vlmfail.resume(tmp_path / "r", env=env())
    assert content(resumed) == content(vlmfail.search(env(), "random"))


def test_changed_domain_data_is_another_search(tmp_path: Path) -> None:
    import shutil

    from vlmfail.envs.driving import domain

    data = tmp_path / "data"
    data.mkdir()
    source = Path(domain.__file__).parent / "rules.json"
    shutil.copy(source, data / "rules.json")

    def run() -> None:
        vlmfail.search(
            "VLMFail-Driving-v0",
            "random",
            model="vlmfail.testing.toy:guess",
            budget=1,
            trials=1,
            env_args={"data": str(data)},
            out=tmp_path / "r",
            progress=stop,
        ).close()

    run()
    text = source.read_text(encoding="utf-8")
    changed = text.replace('"continue"', '"slow_down"', 1)
    assert changed != text
    (data / "rules.json").write_text(changed, encoding="utf-8")
    with pytest.raises(RunFolderError, match="domain_data"):
        run()


def test_a_capped_run_goes_on_with_a_higher_cap(tmp_path: Path) -> None:
    def run(cap: int | None) -> vlmfail.Run:
        env = FailureEnv(
            ToyDomain(),
            EnvOptions(model=ToyModel(requests=1), trials=3, budget=60, max_requests=cap),
        )
        return vlmfail.search(env, "random", out=tmp_path / "r")

    assert run(10).status == "capped"
    assert run(25).calls == 25
    assert run(None).status == "finished"


def test_an_agent_with_the_three_methods_alone_runs(tmp_path: Path) -> None:
    class Bare:
        def bind(self, space: Any, *, seed: int, trials: int, budget: int) -> None:
            self.left = [frozenset({"cat"}), frozenset({"dog"})]

        def ask(self, n: int) -> list[Any]:
            batch, self.left = self.left[:n], self.left[n:]
            return batch

        def tell(self, evaluations: Sequence[Any]) -> None:
            pass

    run = search(Bare())
    assert run.calls == 6
    assert run.config["searcher"]["name"] == "custom"


@pytest.mark.parametrize(
    "proposals",
    [[(frozenset({"cat"}), 2)], [frozenset({"cat"})] * 2],
    ids=["other trials", "repeated"],
)
def test_pfm_is_null_when_trials_were_not_m_once_whatever_the_agent_says(
    proposals: list[Any],
) -> None:
    class Claims(Listed):
        fixed_trials = True

    assert search(Claims(proposals)).metrics["pfm"] is None
    assert search(Claims([frozenset({"cat"})])).metrics["pfm"] is not None


def test_an_agent_that_breaks_loses_nothing(tmp_path: Path) -> None:
    class Breaks(Listed):
        def tell(self, evaluations: Sequence[Any]) -> None:
            raise ZeroDivisionError

    cat = [frozenset({"cat"})]
    with pytest.raises(ZeroDivisionError):
        search(Breaks(cat), out=tmp_path / "r")
    run = vlmfail.Run.open(tmp_path / "r")
    assert (run.status, run.calls) == ("failed", 3)
    assert "ZeroDivisionError" in (run.store.meta("reason") or "")
    run.close()
    assert content(search(Listed(cat), out=tmp_path / "r")) == content(search(Listed(cat)))


def test_a_candidate_with_more_trials_than_one_round_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vlmfail.envs import evaluator

    cat = frozenset({"cat"})
    whole = Listed([(cat, 40), frozenset({"dog"})])
    search(whole, budget=50)
    monkeypatch.setattr(evaluator, "MAX_JOBS", 7)
    rounds = Listed([(cat, 40), frozenset({"dog"})])
    search(rounds, budget=50)
    assert rounds.told == whole.told
    assert rounds.told[0].new.charged == 40


def test_agents_do_not_get_the_seed_of_the_scenes() -> None:
    seen: list[int] = []

    class Looks(Listed):
        def bind(self, space: Any, *, seed: int, trials: int, budget: int) -> None:
            seen.append(seed)
            super().bind(space, seed=seed, trials=trials, budget=budget)

    for _ in range(2):
        search(Looks([frozenset({"cat"})]), seed=12)
    assert seen[0] == seen[1] != 12


def test_confirm_from_python_asks_for_what_no_name_stands_for() -> None:
    run = search(Listed([frozenset({"cat", "rain", "night"})]), model=ToyModel(), trials=10)
    with pytest.raises(UsageError, match="model="):
        run.confirm()
    fresh = run.confirm(model=ToyModel(), trials=30)
    (mode,) = fresh.failure_modes
    assert (mode.n, mode.fresh.n) == (10, 30)
    assert fresh.calls == 10
    again = fresh.confirm(model=ToyModel(), trials=30)
    assert again.failure_modes[0].fresh == mode.fresh


class Reports(Listed):
    """Reports what it was given to report."""

    def __init__(self, proposals: Sequence[Any], reported: Any) -> None:
        super().__init__(proposals)
        self.reported = reported

    def reports(self) -> Any:
        return self.reported


def test_what_an_agent_reports_is_stored_once_and_checked(tmp_path: Path) -> None:
    cat, dog = frozenset({"cat"}), frozenset({"dog"})
    run = search(Reports([cat, dog], [dog, cat, dog]), out=tmp_path / "own")
    assert json.loads(run.store.meta("reports")) == [["dog"], ["cat"]]
    assert search(Listed([cat])).store.meta("reports") is None
    assert search(Reports([cat], [])).store.meta("reports") == "[]"
    for wrong, words in (
        ([frozenset()], "not valid"),
        ("cat", "must return a list"),
        ([frozenset({"unicorn"})], "no candidate"),
    ):
        with pytest.raises(AgentError, match=words):
            search(Reports([cat], wrong))
