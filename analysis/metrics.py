"""Search metrics: PFM, MFR, Div and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from ..core import Evaluation, Outcome
from ..envs.shown_pictures import lacks_picture
from ..runs.run import RunData
from .audited import audit_metrics
from .episodes import episode_metrics, has_episodes
from .fresh import least_trials, rerun_tallies
from .modes import FailureMode, count, failure_modes, most_frequent, suspicions
from .planted import is_planted, planted_metrics
from .shares import Share as Share  # its callers know it from here
from .vector_modes import is_vector_run


def compute_metrics(run: RunData, threshold: float | None = None) -> dict[str, Any]:
    """Return the metrics of a run; what has no data is None.

    Keys: ``pfm`` share of fully evaluated sets that are failure modes (None for adaptive runs),
    ``mfr`` failing trials / valid trials, ``div`` mean pairwise Jaccard distance of the modes,
    ``modes`` and ``confirmed_modes`` their numbers (of scene vectors a mode is a box; ``modes`` is
    None without one), ``suspicions`` the number of candidates that failed as often in fewer trials
    than a mode needs, ``failures_per_call``, ``infeasible`` share
    of tried candidates of which no scene was valid, ``rerun_mean``, ``rerun_sd``,
    ``rerun_share_80`` fresh rates of the re-run modes, and ``pfm_by_expected``,
    ``pfm_by_direction``. Where trials are episodes also those of `episode_metrics`: ``fr``,
    ``tc``, ``tcf``, ``foc``; on a planted landscape those of `planted_metrics`: ``pfm_true``,
    ``oracle_share``, ``recall``, ``modes_at_1k``, ``false_reports``, ``non_minimal_reports``;
    the last three also of another run that was audited (`audit_metrics`).

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    tau = run.threshold if threshold is None else threshold
    modes, suspected = failure_modes(run, tau), suspicions(run, tau)
    failures = sum(e.new.failures for e in run.evaluations)
    n = sum(e.new.n for e in run.evaluations)
    calls = run.calls
    candidates = tried(run)
    vectors = is_vector_run(run)
    infeasible = sum(e.total.charged == 0 for e in candidates)
    return {
        "pfm": pfm(run, tau),
        "mfr": failures / n if n else None,
        "div": diversity(modes),
        "modes": None if vectors and not modes else len(modes),
        "suspicions": len(suspected),
        "confirmed_modes": sum(mode.confirmed is True for mode in modes),
        "failures_per_call": failures / calls if calls else None,
        "infeasible": infeasible / len(candidates) if candidates else None,
        **rerun_metrics(_fresh_rates(run, modes, vectors)),
        "pfm_by_expected": pfm_by_expected(run, tau),
        "pfm_by_direction": pfm_by_direction(run, [*modes, *suspected]),
        **(episode_metrics(run) if has_episodes(run) else {}),
        **(planted_metrics(run, tau) if is_planted(run) else audit_metrics(run, tau)),
    }


def tried(run: RunData) -> list[Evaluation[Any]]:
    """Return the candidates with a trial; the budget may end before others got theirs."""
    return [e for e in run.candidates.values() if e.total.trials]


def evaluated(run: RunData) -> list[Evaluation[Any]]:
    """Return the candidates of which a scene was put to the model."""
    return [e for e in run.candidates.values() if e.total.charged]


def short_of_pictures(run: RunData) -> list[Evaluation[Any]]:
    """Return the evaluated candidates that have fewer different pictures than trials."""
    short = {record.trial.key for record in run.records.values() if lacks_picture(record)}
    return [e for e in evaluated(run) if e.key in short and e.total.charged < run.trials]


def full_evaluations(run: RunData) -> list[Evaluation[Any]]:
    """Return the candidates that PFM counts: m trials put to the model, one of them valid."""
    return [e for e in run.candidates.values() if e.total.charged >= run.trials and e.total.n > 0]


def is_fixed(run: RunData) -> bool:
    """Whether the run's searcher gave every candidate exactly m trials, once."""
    claimed = bool(run.config.get("searcher", {}).get("fixed_trials", True))
    return claimed and run.store.meta("adaptive") is None


def pfm(run: RunData, threshold: float) -> float | None:
    """Share of fully evaluated sets with a rate of at least `threshold`; None when adaptive."""
    sets = full_evaluations(run)
    if not is_fixed(run) or not sets:
        return None
    return sum(_is_mode(e, threshold) for e in sets) / len(sets)


def _is_mode(evaluation: Evaluation[Any], threshold: float) -> bool:
    return evaluation.rate is not None and evaluation.rate >= threshold


def pfm_by_expected(run: RunData, threshold: float) -> dict[str, Any] | None:
    """PFM within the sets of each (most frequent) right answer; None when adaptive."""
    if not is_fixed(run):
        return None
    groups: dict[str, list[Evaluation[Any]]] = {}
    for evaluation in full_evaluations(run):
        name = most_frequent(count(t.expected for t in evaluation.total.trials))
        if name is not None:
            groups.setdefault(name, []).append(evaluation)
    return {
        name: Share(name, sum(_is_mode(e, threshold) for e in group), len(group)).to_json()
        for name, group in sorted(groups.items())
    }


def pfm_by_direction(run: RunData, modes: Sequence[FailureMode]) -> dict[str, Any] | None:
    """PFM split by the modes' most frequent error direction; None when adaptive."""
    if not is_fixed(run):
        return None
    sets = {evaluation.key for evaluation in full_evaluations(run)}
    counts = count(mode.direction for mode in modes if mode.key in sets)
    return {name: Share(name, k, len(sets)).to_json() for name, k in sorted(counts.items())}


def diversity(modes: Sequence[FailureMode]) -> float | None:
    """Mean pairwise Jaccard distance of concept-set modes; None below two (Revelio §4)."""
    sets = [frozenset(mode.candidate) for mode in modes if is_concept_set(mode.candidate)]
    if len(sets) < 2 or len(sets) < len(modes):
        return None
    distances = [1 - len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
    return sum(distances) / len(distances)


def is_concept_set(candidate: Any) -> bool:
    """Whether a candidate in JSON form is a set of concept ids."""
    return (
        isinstance(candidate, (list, tuple))
        and bool(candidate)
        and all(isinstance(concept, str) for concept in candidate)
    )


def _fresh_rates(run: RunData, modes: Sequence[FailureMode], boxes: bool) -> list[float]:
    if boxes:
        return [mode.fresh_rate for mode in modes if mode.fresh_rate is not None]
    return [t.rate for t in rerun_tallies(run).values() if t.rate is not None]


def rerun_metrics(rates: Sequence[float]) -> dict[str, float | None]:
    """Return mean and sample sd of the re-run modes' fresh rates, and the share at 80 % or more."""
    from statistics import fmean, stdev

    return {
        "rerun_mean": fmean(rates) if rates else None,
        "rerun_sd": stdev(rates) if len(rates) > 1 else None,
        "rerun_share_80": sum(r >= 0.8 for r in rates) / len(rates) if rates else None,
    }


def outcome_counts(run: RunData) -> dict[str, int]:
    """Return the number of the search's trials by outcome; every outcome is named."""
    counts = dict.fromkeys((str(outcome) for outcome in Outcome), 0)
    for evaluation in run.evaluations:
        for outcome, number in evaluation.new.counts.items():
            counts[str(outcome)] += number
    return counts


def cumulative_failures(run: RunData) -> list[int]:
    """Return the number of failures after each charged trial, in log order."""
    total = 0
    series = []
    for evaluation in run.evaluations:
        for trial in evaluation.new.trials:
            total += evaluation.new.failed(trial)
            if trial.outcome.charged:
                series.append(total)
    return series


def cumulative_modes(run: RunData, threshold: float) -> list[tuple[int, int]]:
    """Return (charged trials, failure modes among the candidates so far), per evaluation."""
    calls, least = 0, least_trials(run)
    modes: set[str] = set()
    series = []
    for evaluation in run.evaluations:
        calls += evaluation.new.charged
        is_mode = _is_mode(evaluation, threshold) and evaluation.total.n >= least
        (modes.add if is_mode else modes.discard)(evaluation.key)
        series.append((calls, len(modes)))
    return series


def concept_rates(run: RunData) -> list[Share]:
    """Return the failure rate of the trials of the sets that hold a concept, by concept.

    Concepts are ordered by the lower bound, then by n and name. Trials of one set are not
    independent of each other, so that the intervals are a guide.
    """
    failures: dict[str, int] = {}
    n: dict[str, int] = {}
    for evaluation in run.candidates.values():
        if is_concept_set(evaluation.candidate):
            for concept in evaluation.candidate:
                failures[concept] = failures.get(concept, 0) + evaluation.total.failures
                n[concept] = n.get(concept, 0) + evaluation.total.n
    shares = [Share(concept, failures[concept], n[concept]) for concept in n]
    return sorted(shares, key=lambda s: (s.n == 0, -s.interval[0], -s.n, s.name))


CONSTANT_TRIALS = 10
CONSTANT_SHARE = 0.95


def constant_answer(run: RunData) -> str | None:
    """Return a notice when the model answers the same whatever it sees, else None.

    Two habits are told apart: one option whatever is right, and one letter whatever it stands
    for (the order of the options is shuffled per trial). Ours: at least 10 answers, of which
    95 % or more are the same.
    """
    answered = [
        record
        for record in (run.records[t.key, t.index] for e in run.evaluations for t in e.new.trials)
        if record.trial.answer is not None
    ]
    if len(answered) < CONSTANT_TRIALS:
        return None
    right = {record.trial.expected for record in answered}
    option = _constant(record.trial.answer for record in answered)
    if option is not None and len(right) > 1:
        name, k = option
        return (
            f"the model answered {name!r} in {k} of {len(answered)} trials, whatever was right: "
            "its failures say more about this habit than about the concepts"
        )
    orders = {record.options for record in answered}
    letter = _constant(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[record.options.index(record.trial.answer)]
        for record in answered
        if record.trial.answer in record.options
    )
    if letter is not None and len(orders) > 1:
        name, k = letter
        return (
            f"the model chose the letter {name} in {k} of {len(answered)} trials, whatever it "
            "stood for: it may not have read the options"
        )
    return None


def _constant(values: Iterable[str | None]) -> tuple[str, int] | None:
    counts = count(values)
    name = most_frequent(counts)
    if name is None or counts[name] < CONSTANT_SHARE * sum(counts.values()):
        return None
    return name, counts[name]
