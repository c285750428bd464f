"""The study's tables, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...analysis.shares import Share
from ..studies.markdown import EMPTY, estimate, machine, p_value, share, table
from .comparison import Arm, Gain, Middle
from .figures import METRICS
from .plan import BASELINES, OBJECT_ONLY, Study

TITLES = {
    "fr": "Failure rate, FR (FATE-VLA Table 2)",
    "tc": "Trajectory coverage, TC (FATE-VLA Table 3)",
    "tcf": "Trajectory coverage under failure, TCF (FATE-VLA Table 4)",
    "foc": "Failed object coverage, FOC (FATE-VLA Table 5)",
}

GUIDED, EXPECTED = "weighted-rf", 14.0
"""The searcher that FATE-VLA recommends, and the points of FR that it gained over random there, at
least, on policies that do not fail nearly always."""


def markdown(study: Study, arms: Sequence[Arm], *, command: str, unfinished: int = 0) -> str:
    """Return all tables.

    Args:
        study: The study.
        arms: Its arms.
        command: The command that made them.
        unfinished: Runs that are not in the tables because they are not over.
    """
    parts = [_head(study, arms, command, unfinished)]
    parts += [_metric(study, arms, metric) for metric in METRICS]
    parts += [
        _verdict(arms),
        _objects(arms),
        _orientations(arms),
        _object_only(study, arms),
        _reasons(arms),
    ]
    parts.append(_time(arms))
    return "\n\n".join(part for part in parts if part) + "\n"


def document(study: Study, arms: Sequence[Arm], command: str) -> dict[str, Any]:
    """Return everything that the tables show, and each run's figures, as JSON values."""
    return {
        "command": command,
        "machine": machine(),
        "env": study.env,
        "env_args": study.options(),
        "budget": study.budget,
        "batch": study.batch,
        "baselines": list(study.baselines),
        "coverage": {
            "grid": list(study.grid),
            "bins": study.grid[0] * study.grid[1],
            "source": study.source,
            "area": study.area,
        },
        "models": {
            run.task.model: dict(run.model_identity) for arm in arms for run in arm.runs[:1]
        },
        "arms": [arm.to_json() for arm in arms],
    }


def _head(study: Study, arms: Sequence[Arm], command: str, unfinished: int) -> str:
    width, depth = study.grid
    objects = sorted({run.coverage["objects"] for arm in arms for run in arm.runs})
    known = " or ".join(str(count) for count in objects) or "?"
    learns = "each scene" if study.batch == 1 else f"every {study.batch} scenes"
    lines = [
        f"`{command}` ({machine()}): {study.env}, {study.budget} episodes a run, searchers are "
        f"told after {learns}. Figures are medians over seeds with quartiles; Δ is the difference "
        "of two medians.",
        f"TC and TCF: share of {width * depth} bins ({width} x {depth}) of the {study.area} that "
        f"the {study.source} visited during the episodes; FOC: share of {known} objects. Another "
        "grid gives other numbers: the paper's grid is not known, so that its TC and TCF cannot be "
        "compared with these.",
    ]
    lines += _judged(arms)
    if unfinished:
        lines.append(f"{unfinished} runs of the study are not over and not in these tables.")
    for model in dict.fromkeys(arm.model for arm in arms):
        runs = [run for arm in arms if arm.model == model for run in arm.runs]
        kinds = {repr(sorted(run.model_identity.items())) for run in runs}
        if len(kinds) > 1:
            lines.append(
                f"**The runs of {model} were made with {len(kinds)} versions of it: their figures "
                "do not belong together.**"
            )
    return "\n\n".join(lines)


def _judged(arms: Sequence[Arm]) -> list[str]:
    """Say how many candidates each searcher judges before it proposes a scene."""
    names: dict[str, list[str]] = {}
    for arm in arms:
        knobs = arm.runs[0].knobs
        pool, rounds = knobs.get("candidates"), knobs.get("rounds", 1)
        if isinstance(pool, int) and isinstance(rounds, int):
            told = str(pool) if rounds == 1 else f"up to {pool * rounds}"
            names.setdefault(told, []).append(arm.searcher)
    if not names:
        return []
    parts = [f"{told} ({', '.join(dict.fromkeys(known))})" for told, known in names.items()]
    return [
        f"Candidates that a searcher judges for a scene: {'; '.join(parts)}. They cost nothing of "
        "the budget, but more of them alone can find more failures."
    ]


def _metric(study: Study, arms: Sequence[Arm], metric: str) -> str:
    note = (
        "Mean difference: seeds that both have, paired; 95 % percentile bootstrap of the seeds, "
        "10 000 resamples. p: paired permutation test, corrected by Holm for this table."
    )
    parts = [f"### {TITLES[metric]}", _medians(study, arms, metric)]
    if study.baselines:
        parts += [_gains(arms, metric, study.baselines), note]
    return "\n\n".join(parts)


def _medians(study: Study, arms: Sequence[Arm], metric: str) -> str:
    """Return the table as the paper has it: a row a policy."""
    searchers = list(dict.fromkeys(arm.searcher for arm in arms))
    proposed = [name for name in searchers if name not in (*BASELINES, OBJECT_ONLY)]
    rows = []
    for model in dict.fromkeys(arm.model for arm in arms):
        mine = {arm.searcher: arm.middle(metric) for arm in arms if arm.model == model}
        found = {name: m.median for name in proposed if (m := mine.get(name)) is not None}
        best = max(found.values(), default=None)
        names = [name for name, value in found.items() if value == best]
        cells = [_bold(_middle(mine.get(name)), name in names) for name in searchers]
        for base in study.baselines:
            theirs = mine.get(base)
            if best is None or theirs is None:
                cells.append(EMPTY)
            else:
                cells.append(f"{100 * (best - theirs.median):+.1f}")
        rows.append([model, *cells])
    head = ["policy", *(f"{name} %" for name in searchers)]
    head += [f"best − {base}" for base in study.baselines]
    return table(head, rows, 1)


def _gains(arms: Sequence[Arm], metric: str, others: Sequence[str]) -> str:
    rows = []
    for arm in arms:
        found = [arm.gains.get((metric, other)) for other in others]
        if any(found):
            rows.append([arm.model, arm.searcher, *(c for one in found for c in _cells(one))])
    head = ["policy", "searcher"]
    for other in others:
        head += [f"Δ {other}, points", f"mean difference to {other}", "seeds", "p (Holm)"]
    return table(head, rows, 2)


def _verdict(arms: Sequence[Arm]) -> str:
    """Say whether what the paper found holds here."""
    lines = []
    for arm in (arm for arm in arms if arm.searcher == GUIDED):
        gains = {metric: arm.gains.get((metric, "random")) for metric in METRICS}
        found = {m: 100 * gain.medians for m, gain in gains.items() if gain is not None}
        if set(found) < set(METRICS):
            continue
        more = "is" if found["fr"] >= EXPECTED else "is not"
        below = [metric.upper() for metric in ("tcf", "foc") if found[metric] < 0]
        lines.append(
            f"{arm.model}: {GUIDED} finds {found['fr']:+.1f} points FR over random, which {more} "
            f"the {EXPECTED:.0f} or more of the paper; TCF {found['tcf']:+.1f} and FOC "
            f"{found['foc']:+.1f} points, {' and '.join(below) or 'neither'} below random's."
        )
    return "\n\n".join(["### What the paper found", *lines]) if lines else ""


def _objects(arms: Sequence[Arm]) -> str:
    return _by_part(
        arms,
        "object",
        Arm.objects,
        "Episodes of all seeds together: failures, and which share of a searcher's scenes has the "
        "object. Intervals (Wilson, 95 %) take scenes for independent, which those of a guided "
        "search are not.",
    )


def _orientations(arms: Sequence[Arm]) -> str:
    return _by_part(
        arms,
        "orientation",
        Arm.orientations,
        "Half of the random scenes have a standing object. Two of these differ in no yaw, so that "
        "they are closer to each other than two lying ones, and searchers that keep away from what "
        "was executed propose fewer of them: part of a difference to random may be that.",
    )


def _by_part(
    arms: Sequence[Arm], title: str, of: Callable[[Arm], Mapping[str, Share]], note: str
) -> str:
    parts = [f"### FR by {title}"]
    for model in dict.fromkeys(arm.model for arm in arms):
        mine = [arm for arm in arms if arm.model == model]
        parts += [model, _shares(mine, title, [of(arm) for arm in mine])]
    return "\n\n".join([*parts, note])


def _shares(mine: Sequence[Arm], title: str, found: Sequence[Mapping[str, Share]]) -> str:
    """Return failures of parts of the episodes, a row a part, a column an arm of one policy."""
    rows = []
    for name in sorted({name for shares in found for name in shares}):
        cells = []
        for arm, shares in zip(mine, found, strict=True):
            one, total = shares.get(name), arm.pooled().n
            cell = share(one, bounds=False)
            if one is not None and total:
                cell += f", {100 * one.n / total:.0f} % of scenes"
            cells.append(cell)
        rows.append([name, *cells])
    rows.append(["all", *(share(arm.pooled()) for arm in mine)])
    return table([title, *(arm.searcher for arm in mine)], rows, 1)


def _object_only(study: Study, arms: Sequence[Arm]) -> str:
    if not study.baselines:
        return ""
    base = study.baselines[0]
    pooled = {(arm.model, arm.searcher): arm.pooled().rate for arm in arms}
    rows = []
    for arm in arms:
        theirs, mine = pooled.get((arm.model, base)), pooled[arm.model, arm.searcher]
        if arm.searcher == base or theirs is None or mine is None:
            continue
        mix = arm.mix
        rows.append(
            [
                arm.model,
                arm.searcher,
                f"{100 * mine:.1f}",
                f"{100 * (mine - theirs):+.1f}",
                EMPTY if mix is None else f"{100 * (mix - theirs):+.1f}",
                EMPTY if mix is None else f"{100 * (mine - mix):+.1f}",
                *_cells(arm.gains.get(("fr", OBJECT_ONLY))),
            ]
        )
    head = ["policy", "searcher", "FR, all seeds, %", f"gain over {base}, points"]
    head += ["by which objects", "by the rest of the scene"]
    head += [f"Δ {OBJECT_ONLY}", f"mean difference to {OBJECT_ONLY}", "seeds", "p (Holm)"]
    note = (
        f"*By which objects*: what {base}'s rates by object would give with this searcher's share "
        f"of each object. {OBJECT_ONLY} learns which object fails most (Thompson sampling) and "
        "draws the rest of the scene at random: a searcher that gains no more than it has found a "
        "bad object and nothing else."
    )
    title = "### What the object alone explains"
    return "\n\n".join([title, table(head, rows, 2), note])


def _reasons(arms: Sequence[Arm]) -> str:
    names = sorted({name for arm in arms for run in arm.runs for name in run.reasons})
    rows = []
    for arm in arms:
        counts = {name: sum(run.reasons.get(name, 0) for run in arm.runs) for name in names}
        total = sum(counts.values())
        rows.append(
            [
                arm.model,
                arm.searcher,
                *(f"{100 * k / total:.1f} % ({k})" if total else EMPTY for k in counts.values()),
            ]
        )
    head = ["policy", "searcher", *(name.replace("_", " ") for name in names)]
    title = "### How the episodes failed"
    return "\n\n".join([title, table(head, rows, 2)]) if names else ""


def _time(arms: Sequence[Arm]) -> str:
    rows = []
    for arm in arms:
        played = max(1, sum(run.calls for run in arm.runs))
        outcomes = {name: sum(run.outcomes.get(name, 0) for run in arm.runs) for name in _OTHER}
        spent = {
            part: sum(run.seconds[part] or 0.0 for run in arm.runs)
            for part in ("total", "render", "model", "search")
        }
        rows.append(
            [
                arm.model,
                arm.searcher,
                str(len(arm.runs)),
                f"{played / len(arm.runs):.0f}",
                *(str(count) for count in outcomes.values()),
                f"{spent['total'] / len(arm.runs):.0f}",
                f"{spent['render'] / played:.3f}",
                f"{spent['model'] / played:.3f}",
                f"{1000 * spent['search'] / played:.1f}",
            ]
        )
    head = ["policy", "searcher", "seeds", "episodes a run", *_OTHER.values(), "run, s"]
    head += ["world, s an episode", "policy, s an episode", "searcher, ms a scene"]
    note = "Scenes that cannot be set up are not charged; errors are, and no rate counts them."
    return "\n\n".join(["### Cost of a run", table(head, rows, 2), note])


_OTHER = {"invalid_scene": "invalid scenes", "error": "errors", "timeout": "timeouts"}


def _middle(value: Middle | None) -> str:
    if value is None:
        return EMPTY
    return f"{100 * value.median:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _cells(gain: Gain | None) -> list[str]:
    """Return difference of medians, mean difference with interval, seeds and p."""
    if gain is None:
        return [EMPTY] * 4
    paired = gain.paired
    return [
        f"{100 * gain.medians:+.1f}",
        EMPTY if paired is None else estimate(paired.difference, 100.0, sign=True),
        EMPTY if paired is None else str(paired.seeds),
        EMPTY if paired is None else p_value(paired.p_holm),
    ]


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best and text != EMPTY else text
