"""How numbers and findings are put into words, alike on the page and on the console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.audited import AuditedReport
from ..analysis.fresh import least_trials, rerun_indices
from ..analysis.metrics import evaluated, is_concept_set, is_fixed, short_of_pictures
from ..analysis.modes import FailureMode, suspicions
from ..analysis.planted import is_planted
from ..analysis.summary import unfinished
from ..analysis.tried import tried_of, with_pictures
from ..analysis.vector_modes import is_vector_run
from ..analysis.verdicts import Verdict
from ..core.text import UNPRINTABLE
from ..envs.shown_pictures import is_used_up
from ..runs.run import RunData


def percent(rate: float | None) -> str:
    """Return a rate as ``63 %``, small ones with a decimal; ``no data`` for None."""
    if rate is None:
        return "no data"
    value = 100 * rate
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def counted(failures: int, n: int, interval: tuple[float, float]) -> str:
    """Return ``3/3 (0.44–1.00)``, or ``no data``."""
    return f"{failures}/{n} ({interval[0]:.2f}–{interval[1]:.2f})" if n else "no data"


def plural(number: int, noun: str) -> str:
    """Return ``1 trial``, ``2 trials``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def words(name: str | None) -> str:
    """Return an id in words: ``emergency_stop`` → ``emergency stop``."""
    return clean(name).replace("_", " ") if name else "—"


def clean(text: Any) -> str:
    """Return text without what no page may hold: see `core.text.UNPRINTABLE`."""
    return UNPRINTABLE.sub("�", str(text))


def tallied(counts: Mapping[str, int]) -> str:
    """Return counts as ``continue ×3, slow down ×2``."""
    return ", ".join(f"{words(name)} ×{number}" for name, number in counts.items()) or "—"


def candidate_parts(candidate: Any) -> list[str]:
    """Return the concepts of a set, or the entries of another candidate, as short texts."""
    if is_concept_set(candidate):
        return [clean(concept) for concept in candidate]
    parts = candidate if isinstance(candidate, (list, tuple)) else [candidate]
    return [f"{part:.3g}" if isinstance(part, float) else clean(part) for part in parts]


def mode_parts(mode: FailureMode) -> list[str]:
    """Return what a failure mode is made of, as short texts."""
    return [clean(part) for part in mode.parts] or candidate_parts(mode.candidate)


def confirmation(mode: FailureMode) -> str:
    """Return what fresh trials say, as a `Verdict` in words: ``undecided``."""
    return str(mode.verdict)


def what_confirms(threshold: float, fresh: str) -> str:
    """Return in a sentence what confirms a mode, and what refutes it."""
    tau = percent(threshold)
    return (
        f"Confirmed is a mode whose failure rate on {fresh} alone is {tau} or more with 95 % "
        f"certainty (one-sided Clopper-Pearson lower bound); it fell short when the upper bound "
        f"lies below {tau}; otherwise it is undecided, which is no all-clear."
    )


def judgement(mode: FailureMode, fresh: str) -> str:
    """Return in a sentence which bound decides on a mode, or what is missing; '' if not re-run."""
    bounds, verdict = mode.bounds, mode.verdict
    tau = f"{mode.threshold:.2f}"
    if verdict is Verdict.NOT_RERUN:
        return ""
    if verdict is Verdict.NO_PICTURE:
        return "All its pictures have been shown: fresh ones are needed to confirm it."
    seen = f"{bounds.failures} of {bounds.n} {fresh} failed"
    if verdict is Verdict.CONFIRMED:
        return f"{seen}: the 95 % lower bound {bounds.lower:.2f} reaches {tau}."
    if verdict is Verdict.FELL_SHORT:
        return f"{seen}: the 95 % upper bound {bounds.upper:.2f} lies below {tau}."
    if verdict is Verdict.TOO_FEW:
        if bounds.least is None:
            return f"{seen}: no number of trials can confirm a rate of {tau}."
        more = ", and no picture is left" if mode.used_up else ""
        return f"{seen}: at least {bounds.least} are needed to confirm {tau}{more}."
    need = "no picture is left to be sure" if mode.used_up else "more are needed to be sure"
    return (
        f"{seen}: the 95 % bounds {bounds.lower:.2f} and {bounds.upper:.2f} lie on both sides of "
        f"{tau}; {need}."
    )


def can_be_tried(run: RunData, modes: Sequence[FailureMode], top: int = 10) -> bool:
    """Whether one of the surest modes and suspicions has no fresh trial and may get some."""
    first = [*modes, *suspicions(run)][:top]
    return any(mode.verdict is Verdict.NOT_RERUN and not mode.fresh.trials for mode in first)


def headline(run: RunData, modes: Sequence[FailureMode]) -> str:
    """Return the finding in a few sentences."""
    return " ".join(filter(None, (_finding(run, modes), pictures_left(run))))


def pictures_left(run: RunData) -> str:
    """Return what a reader must know of a search over pictures that are given, or ''."""
    sets, short = len(evaluated(run)), len(short_of_pictures(run))
    known = with_pictures(run)
    said = []
    if known is not None and sets and run.status == "space exhausted":
        said.append(
            (
                f"All {known} sets that have pictures were evaluated."
                if known > 1
                else "The one set that has pictures was evaluated."
            )
            if sets >= known
            else f"{sets} of the {known} sets that have pictures were evaluated."
        )
    if short:
        verb = "has" if short == 1 else "have"
        said.append(
            f"{short} of {plural(sets, 'evaluated set')} {verb} fewer different pictures than the "
            f"{plural(run.trials, 'trial')} asked for; each picture counts once, so "
            f"{'its rate rests' if short == 1 else 'their rates rest'} on fewer trials."
        )
    return " ".join(said)


def _finding(run: RunData, modes: Sequence[FailureMode]) -> str:
    sets = len(evaluated(run))
    if not sets:
        return f"No data: {_nothing(run)}."
    n = sum(evaluation.total.n for evaluation in run.candidates.values())
    if not n:
        return f"No data: none of {plural(run.calls, 'trial')} ended in a pass or a failure."
    tau = percent(run.threshold)
    if is_vector_run(run):
        return _of_scenes(run, modes, tau)
    suspected = suspicions(run)
    least = plural(least_trials(run), "trial")
    if not modes:
        held = f"none of {sets} evaluated candidates failed"
        if sets == 1:
            held = "the only evaluated candidate did not fail"
        if suspected:
            verb = "is a suspicion" if len(suspected) == 1 else "are suspicions"
            return (
                f"No failure mode yet: {held} in {tau} of {least} or more. "
                f"{len(suspected)} {verb}, which failed as often in fewer trials. "
                f"{_not_safe(run)}"
            )
        return f"No failure mode: {held} in {tau} of its trials or more. {_not_safe(run)}"
    found = (
        f"{plural(len(modes), 'failure mode')} in {plural(sets, 'evaluated candidate')}: "
        f"combinations that fail in {tau} of the trials or more."
    )
    judged = _judged(found, modes, put_to_test(run, modes), fresh_trials(run))
    if not suspected:
        return judged
    verb = "is" if len(suspected) == 1 else "are"
    return (
        f"{judged} Beside them {verb} {plural(len(suspected), 'suspicion')}: as many failures, "
        f"but in fewer than {least}."
    )


def _nothing(run: RunData) -> str:
    """Return why nothing has been evaluated."""
    left = unfinished(run)
    if left:
        verb = "is" if left == 1 else "are"
        return (
            f"{plural(left, 'trial')} {verb} stored, of a batch that has not ended; resume the run "
            "to count them"
        )
    if run.candidates:
        made = plural(len(run.candidates), "proposed candidate")
        return f"no scene of {made} could be put to the model"
    return "nothing has been evaluated"


def _not_safe(run: RunData) -> str:
    """Return what a reader must know of a search that found nothing: how little was tried."""
    tried = tried_of(run)
    if tried is None:
        return "That is no proof of safety: see the intervals."
    sets = [_sets_of(size, number) for size, number in tried.by_size.items()]
    whole = ""
    if tried.all_sets is not None:
        which = " with pictures" if with_pictures(run) is not None else ""
        whole = f" of {grouped(tried.all_sets)} {'set' if tried.all_sets == 1 else 'sets'}{which}"
    verb = "was" if sum(tried.by_size.values()) == 1 else "were"
    most = max(evaluation.total.n for evaluation in evaluated(run))
    return (
        f"That is no proof of safety: {listed(sets)}{whole} {verb} tried, in "
        f"{plural(most, 'trial')} each at most; see the intervals."
    )


def _sets_of(size: int, number: int) -> str:
    if size <= 2:
        return plural(number, "single concept" if size == 1 else "pair")
    return f"{number} {'set' if number == 1 else 'sets'} of {size}"


def grouped(number: int) -> str:
    """Return a number with thin groups of three from 10 000 on: ``45 886``."""
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else str(number)


def listed(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def why_ended(run: RunData) -> str | None:
    """Return why a run ended or stands still, in words; None where its status says all."""
    reason = run.store.meta("reason")
    if run.status in ("finished", "interrupted") or not reason:
        return None
    known = with_pictures(run)
    if run.status != "space exhausted" or known is None or len(evaluated(run)) < known:
        return clean(reason)
    used = {record.trial.key for record in run.records.values() if is_used_up(record)}
    if all(evaluation.key in used for evaluation in evaluated(run)):
        return "every picture of the folder has been shown"
    return (
        "all sets that have pictures were evaluated; pictures are left for more trials of some "
        "of them"
    )


def _of_scenes(run: RunData, modes: Sequence[FailureMode], tau: str) -> str:
    scenes = sum(evaluation.total.n > 0 for evaluation in run.candidates.values())
    failed = sum(evaluation.total.failures > 0 for evaluation in run.candidates.values())
    seen = f"{failed} of {plural(scenes, 'scene')} failed"
    if not modes:
        return (
            f"{seen}; no region of scenes surely fails in {tau} or more. That is no proof of "
            "safety: see the intervals."
        )
    return _judged(
        f"{plural(len(modes), 'failure mode')}: regions whose scenes fail in {tau} or more. {seen}"
        " in all.",
        modes,
        put_to_test(run, modes),
        fresh_trials(run),
    )


def fresh_trials(run: RunData) -> str:
    """Return what a run's modes are tried on again: a landscape has no scenes."""
    return "fresh trials" if is_planted(run) else "fresh scenes"


def put_to_test(run: RunData, modes: Sequence[FailureMode]) -> list[FailureMode]:
    """Return the modes that fresh trials were drawn for, by a re-run or by the searcher.

    The few further trials that an adaptive search happened to make are no test.
    """
    again = is_vector_run(run) or bool(rerun_indices(run))
    return [
        mode
        for mode in modes
        if mode.confirmed is not None and (again or mode.verdict is not Verdict.TOO_FEW)
    ]


def _judged(
    found: str, modes: Sequence[FailureMode], tested: Sequence[FailureMode], fresh: str
) -> str:
    """Return what was found with what fresh trials say of it."""
    confirmed = sum(mode.confirmed is True for mode in tested)
    if not tested:
        if all(mode.used_up for mode in modes):
            return (
                f"{found} None can be tried on fresh pictures, since all of them have been shown, "
                "so the rates are those of the search, which lean high."
            )
        return (
            f"{found} None has been re-run on {fresh} yet, so the rates are those of the "
            "search, which lean high."
        )
    if len(tested) == 1:
        (mode,) = tested
        return f"{found} The one that was tried on {fresh} {_told(mode, fresh)}."
    counts = {verdict: sum(mode.verdict is verdict for mode in tested) for verdict in Verdict}
    said = [f"{confirmed or 'none'} {'is' if confirmed < 2 else 'are'} confirmed"]
    undecided, few = counts[Verdict.UNDECIDED], counts[Verdict.TOO_FEW]
    if undecided:
        verb = "is" if undecided == 1 else "are"
        said.append(f"{undecided} {verb} undecided (more {fresh} are needed to be sure)")
    if few:
        had = f"{few} had too few to be sure"
        least = next(m.bounds.least for m in tested if m.verdict is Verdict.TOO_FEW)
        said.append(had if least is None else f"{had} (at least {least} are needed)")
    if counts[Verdict.FELL_SHORT]:
        said.append(f"{counts[Verdict.FELL_SHORT]} fell short")
    return f"{found} Of the {len(tested)} that were tried on {fresh}, {listed(said)}."


def _told(mode: FailureMode, fresh: str) -> str:
    """Return what fresh trials say of the only mode that had some, as the end of a sentence."""
    bounds, verdict = mode.bounds, mode.verdict
    seen = f"{bounds.failures} of {bounds.n} {fresh} failed"
    if verdict is Verdict.CONFIRMED:
        return "is confirmed"
    if verdict is Verdict.FELL_SHORT:
        return f"fell short: {seen}"
    if verdict is Verdict.TOO_FEW:
        least = "" if bounds.least is None else f", at least {bounds.least} are needed"
        return f"had too few of them to be sure: {seen}{least}"
    return f"is undecided: {seen}, more are needed to be sure"


def explanations(run: RunData, metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) of the metrics that a reader should see."""
    tau = percent(run.threshold)
    m = run.trials
    pfm = percent(metrics["pfm"])
    if metrics["pfm"] is None and not is_fixed(run):
        pfm = "not defined"
    rows = [
        (
            "PFM",
            pfm,
            f"share of the sets with all {m} trials that failed in {tau} of them or more; not "
            "defined when the searcher chooses the number of trials",
        ),
        ("MFR", percent(metrics["mfr"]), "failing trials among all that passed or failed"),
        (
            "Div",
            "no data" if metrics["div"] is None else f"{metrics['div']:.2f}",
            "how different the failure modes are from each other: mean Jaccard distance, 0 alike, "
            "1 nothing in common; needs two modes",
        ),
    ]
    if is_planted(run):
        rows += _planted_rows(metrics)
    else:
        rows += _audit_rows(metrics) if "audit" in metrics else []
        rows.append(
            (
                "Infeasible",
                percent(metrics["infeasible"]),
                "share of the proposed candidates of which no scene could be built or seen",
            )
        )
    if metrics["rerun_mean"] is not None:
        spread = "" if metrics["rerun_sd"] is None else f" ± {percent(metrics['rerun_sd'])}"
        rows.append(
            (
                "Re-run",
                f"{percent(metrics['rerun_mean'])}{spread}",
                f"failure rate of the re-run modes on {fresh_trials(run)} (mean ± sd): free of "
                "selection; "
                f"{percent(metrics['rerun_share_80'])} of them fail in 80 % or more",
            )
        )
    return rows + (_episode_rows(metrics) if "tcf" in metrics else [])


def by_true_rates(metrics: Mapping[str, Any]) -> str:
    """Return the figures of a run on a planted landscape in a line."""
    counts = metrics["planted"]
    parts = [
        f"PFM {percent(metrics['pfm_true'])} (random {percent(counts['random_pfm'])})"
        if metrics["pfm_true"] is not None
        else f"PFM not defined (random {percent(counts['random_pfm'])})",
        f"{percent(metrics['oracle_share'])} of the oracle's yield",
        f"{_at_1k(metrics)} modes at 1k",
        f"{plural(counts['reports'], 'report')}, {counts['good_reports']} good, "
        f"{counts['false_reports']} false, {counts['non_minimal_reports']} not minimal",
        f"recall {counts['recalled']} of {counts['minimal_modes']}",
    ]
    which = f"{counts['family']} {counts['level']} {counts['landscape_seed']}"
    return f"by the true rates of {which}: " + " · ".join(parts)


def by_audit(metrics: Mapping[str, Any]) -> str:
    """Return the figures of an audited run in a line."""
    counts = metrics["audit"]
    if not counts["reports"]:
        return "by an audit: there was nothing to audit, no mode is reported"
    parts = [
        f"{_at_1k(metrics)} modes at 1k",
        f"{plural(counts['reports'], 'report')}, {counts['good_reports']} good, "
        f"{counts['false_reports']} false, {counts['non_minimal_reports']} not minimal, "
        f"{counts['undecided_reports']} undecided",
    ]
    return f"by an audit on {plural(counts['trials'], 'fresh trial')}: " + " · ".join(parts)


def _at_1k(metrics: Mapping[str, Any]) -> str:
    return "no data" if metrics["modes_at_1k"] is None else f"{metrics['modes_at_1k']:.1f}"


def _audit_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    counts = metrics["audit"]
    undecided = counts["undecided_reports"]
    decided = counts["reports"] - undecided
    beside = f"; {undecided} undecided beside" if undecided else ""
    none = "no data" if counts["reports"] else "no reports"
    return [
        (
            "Modes at 1k",
            _at_1k(metrics),
            f"reported modes that an audit found true, minimal and holding no other, "
            f"{counts['good_reports']} of {counts['reports']}, per 1000 trials, those of a re-run "
            f"included and the audit's {counts['trials']} not",
        ),
        (
            "False reports",
            percent(metrics["false_reports"]) if decided else none,
            "reported modes that failed in less than the threshold on the audit's fresh trials: "
            f"{counts['false_reports']} of {decided}{beside}",
        ),
        (
            "Non-minimal",
            percent(metrics["non_minimal_reports"]) if decided else none,
            "reported modes that hold another one, or that fail in 80 % or more without one of "
            f"their concepts: {counts['non_minimal_reports']} of {decided}{beside}",
        ),
    ]


def audit_reason(one: AuditedReport) -> str:
    """Return in words why an audit judged a reported mode as it did."""
    own = one.own.tally
    counted_own = f"{own.failures} of {own.n} failed"
    if one.is_true is None:
        return f"only {own.n} of {one.own.wanted} trials passed or failed"
    if not one.is_true:
        return f"{counted_own}, less than {percent(one.threshold)}"
    if one.holds:
        return "another reported mode is a part of it"
    if one.needless is not None:
        rest = one.needless
        return f"without {clean(rest.without)}, too, {rest.tally.failures} of {rest.tally.n} failed"
    short = [clean(rest.without) for rest in one.removals if rest.rate is None]
    if short:
        return f"too few trials without {listed(short)} passed or failed"
    if not one.removals:
        return "no concept can be taken away"
    most = max(one.removals, key=lambda rest: rest.rate or 0.0)
    return (
        f"without one of its concepts {most.tally.failures} of {most.tally.n} failed at most "
        f"({clean(most.without)})"
    )


def _planted_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    counts = metrics["planted"]
    defined = metrics["pfm_true"] is not None
    reports = counts["reports"]
    return [
        (
            "True PFM",
            percent(metrics["pfm_true"]) if defined else "not defined",
            f"the same by the true rates: {counts['evaluated_true']} of {counts['evaluated']} "
            f"sets; random search reaches {percent(counts['random_pfm'])} on this landscape",
        ),
        (
            "Oracle share",
            percent(metrics["oracle_share"]),
            f"true modes found, {counts['found']}, among the {counts['oracle_found']} that the "
            "budget can evaluate for one who knows them; above 100 % when fewer trials a set do",
        ),
        (
            "Modes at 1k",
            _at_1k(metrics),
            f"reported modes that are true, minimal and hold no other, {counts['good_reports']} of "
            f"{reports}, per 1000 trials, those of a re-run included",
        ),
        (
            "Recall",
            percent(metrics["recall"]),
            f"share of the landscape's {counts['minimal_modes']} minimal modes that were reported: "
            f"{counts['recalled']}",
        ),
        (
            "False reports",
            percent(metrics["false_reports"]) if reports else "no reports",
            "reported modes that are none by the true rate: "
            f"{counts['false_reports']} of {reports}",
        ),
        (
            "Non-minimal",
            percent(metrics["non_minimal_reports"]) if reports else "no reports",
            "reported modes that hold another one, or that fail in 80 % or more without one of "
            f"their concepts: {counts['non_minimal_reports']} of {reports}",
        ),
    ]


def _episode_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    covered = metrics["coverage"]
    width, depth = covered["grid"]
    grid = f"{covered['bins']} bins ({width} x {depth}) of the {covered['area']}"
    return [
        ("FR", percent(metrics["fr"]), "failing episodes among all that passed or failed"),
        (
            "TC",
            percent(metrics["tc"]),
            f"share of {grid} that the {covered['source']} visited: {covered['visited']} bins. "
            "Another grid gives another number",
        ),
        (
            "TCF",
            percent(metrics["tcf"]),
            f"the same in failing episodes alone: {covered['visited_failing']} of "
            f"{covered['bins']} bins",
        ),
        (
            "FOC",
            percent(metrics["foc"]),
            f"share of the objects that failed at least once: {covered['objects_failed']} of "
            f"{covered['objects']}",
        ),
    ]
