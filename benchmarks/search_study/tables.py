"""The study's tables, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..studies.comparison import Spread
from ..studies.markdown import EMPTY, estimate, machine, p_value, share, spread, table
from .comparison import Arm, Rerun
from .families import Family
from .figures import MIXED, NOTHING
from .plan import Study


def markdown(
    study: Study,
    arms: Sequence[Arm],
    found: Mapping[str, Sequence[Family]],
    *,
    command: str,
    attempts: int,
    unfinished: int = 0,
) -> str:
    """Return all tables.

    Args:
        study: The study.
        arms: Its arms.
        found: Failure families by model.
        command: The command that made them.
        attempts: Scenes drawn for a trial before it has none.
        unfinished: Runs that are not in the tables because they are not over.
    """
    parts = [_head(study, arms, command, unfinished), _quality(study, arms), _rerun(study, arms)]
    parts += [_expected(arms), _directions(arms), _scenes(arms, attempts), _families(found)]
    parts.append(_time(arms))
    return "\n\n".join(part for part in parts if part) + "\n"


def document(
    study: Study, arms: Sequence[Arm], found: Mapping[str, Sequence[Family]], command: str
) -> dict[str, Any]:
    """Return everything that the tables show, and each run's figures, as JSON values."""
    return {
        "command": command,
        "machine": machine(),
        "env": study.env,
        "budget": study.budget,
        "trials": study.trials,
        "top": study.top,
        "fresh": study.fresh,
        "baseline": study.baseline,
        "arms": [arm.to_json() for arm in arms],
        "families": {
            model: [
                {
                    "core": list(family.core),
                    "modes": family.modes,
                    "failing_sets": family.failing,
                    "sets": family.sets,
                    "example": family.example.mode.to_json(),
                }
                for family in members
            ]
            for model, members in found.items()
        },
    }


def _head(study: Study, arms: Sequence[Arm], command: str, unfinished: int) -> str:
    lines = [
        f"`{command}` ({machine()}): {study.env}, {study.budget} trials a run, m = {study.trials}, "
        f"τ = 0.6. Figures are means over seeds ± sample sd; intervals are 95 %."
    ]
    if unfinished:
        lines.append(f"{unfinished} runs of the study are not over and not in these tables.")
    for model in dict.fromkeys(arm.model for arm in arms):
        mine = [run for arm in arms if arm.model == model for run in arm.runs]
        kinds = {repr(sorted(run.model_identity.items())) for run in mine}
        if len(kinds) > 1:
            lines.append(
                f"**The runs of {model} were made with {len(kinds)} versions of it: their figures "
                "do not belong together.**"
            )
        noticed = [run for run in mine if run.notice]
        if noticed:
            lines.append(f"{model}, {len(noticed)} of {len(mine)} runs: {noticed[0].notice}.")
    return "\n\n".join(lines)


def _quality(study: Study, arms: Sequence[Arm]) -> str:
    base = study.baseline
    rows = []
    for arm in arms:
        versus = arm.against
        rows.append(
            [
                arm.model,
                arm.searcher,
                str(len(arm.runs)),
                spread(arm.pfm),
                spread(arm.mfr),
                spread(arm.div, 1.0, 2),
                f"{len(arm.modes) / len(arm.runs):.1f}",
                EMPTY if versus is None else f"{versus.seeds}",
                EMPTY if versus is None else estimate(versus.difference, 100.0, sign=True),
                EMPTY if versus is None or versus.ratio is None else estimate(versus.ratio, 1.0),
                EMPTY if versus is None else p_value(versus.p_holm),
            ]
        )
    head = ["model", "searcher", "seeds", "PFM %", "MFR %", "Div", "modes a run"]
    head += ["common seeds", f"PFM − {base}, points", f"PFM / {base}", "p (Holm)"]
    pooled = [
        f"{arm.model}: {share(arm.pooled())} of the distinct sets of all seeds are failure modes."
        for arm in arms
        if arm.searcher == base
    ]
    note = (
        "Difference and ratio: seeds that both have, paired; percentile bootstrap of the seeds, "
        "10 000 resamples. p: paired permutation test, corrected by Holm for the rows shown."
    )
    lines = [f"{base.capitalize()}, {line}" for line in pooled]
    return "\n\n".join(["### Failure modes (Revelio Table 2)", table(head, rows, 2), note, *lines])


def _rerun(study: Study, arms: Sequence[Arm]) -> str:
    rows = []
    for arm in arms:
        again = Rerun.of(arm.runs)
        rows.append(
            [
                arm.model,
                arm.searcher,
                str(again.runs),
                str(again.high.n),
                spread(again.search),
                spread(again.fresh),
                *(share(one) for one in (again.high, again.still, again.confirmed)),
            ]
        )
    head = ["model", "searcher", "seeds", "modes", "rate in the search %", "fresh rate %"]
    head += ["fresh ≥ 80 %", "fresh ≥ 60 %", "confirmed"]
    note = (
        f"The {study.top} surest modes of each run on {study.fresh} fresh scenes each, outside the "
        "budget; ± is the sd over modes. Confirmed: one-sided 95 % Clopper-Pearson lower bound of "
        "at least τ."
    )
    return "\n\n".join(
        ["### Surest modes on fresh scenes (Revelio Table 1)", table(head, rows, 2), note]
    )


def _expected(arms: Sequence[Arm]) -> str:
    groups = [arm.by_expected() for arm in arms]
    names = sorted({name for group in groups for name in group}, key=lambda n: (n == MIXED, n))
    names = [name for name in names if name != NOTHING]
    rows = [
        [arm.model, arm.searcher, *(share(group.get(name)) for name in names)]
        for arm, group in zip(arms, groups, strict=True)
    ]
    note = (
        "Sets of all seeds together by the right answer of their scenes; *mixed*: it differs from "
        "scene to scene. Intervals (Wilson) take sets for independent, which those of a guided "
        "search are not."
    )
    head = ["model", "searcher", *names]
    return "\n\n".join(["### PFM by right answer", table(head, rows, 2), note])


def _directions(arms: Sequence[Arm]) -> str:
    groups = [arm.by_direction() for arm in arms]
    names = sorted({name for group in groups for name in group})
    if not names:
        return ""
    rows = [
        [arm.model, arm.searcher, *(share(group.get(name)) for name in names)]
        for arm, group in zip(arms, groups, strict=True)
    ]
    note = "Share of the failing trials of the searches."
    head = ["model", "searcher", *names]
    return "\n\n".join(["### Direction of the errors", table(head, rows, 2), note])


def _scenes(arms: Sequence[Arm], attempts: int) -> str:
    rows = []
    for arm in arms:
        kinds = (
            ("sets without a valid scene", arm.infeasible()),
            ("trials without a valid scene", arm.invalid()),
            ("drawn scenes that were invalid", arm.drawn_again(attempts)),
        )
        for name, shares in kinds:
            rows.append((arm.model, arm.searcher, name, shares))
    sizes = sorted({size for *_, shares in rows for size in shares})
    cells = [
        [model, searcher, name, *(share(shares.get(size), bounds=False) for size in sizes)]
        for model, searcher, name, shares in rows
    ]
    head = ["model", "searcher", "share of", *(f"size {size}" for size in sizes)]
    note = (
        f"A trial draws up to {attempts} scenes until the things that decide its answer have room "
        "and can be seen."
    )
    return "\n\n".join(["### Infeasible sets and invalid scenes", table(head, cells, 3), note])


def _families(found: Mapping[str, Sequence[Family]]) -> str:
    rows = []
    for model, members in found.items():
        for family in members:
            one = family.example
            fresh = f"{one.fresh_failures}/{one.fresh_n}" if one.fresh_n else EMPTY
            rows.append(
                [
                    model,
                    " + ".join(family.core),
                    str(family.modes),
                    f"{family.failing}/{family.sets}",
                    " + ".join(one.mode.candidate),
                    one.mode.expected or EMPTY,
                    one.answer or EMPTY,
                    f"{one.mode.failures}/{one.mode.n}",
                    fresh,
                ]
            )
    if not rows:
        return ""
    head = ["model", "family", "modes", "failing / evaluated sets", "surest mode", "right"]
    head += ["answered", "search", "fresh"]
    note = (
        "Greedy: the concepts that explain most of the failure modes not yet explained and whose "
        "sets mostly fail. Counts are of distinct sets over all runs of the model."
    )
    return "\n\n".join(["### What the failures look like", table(head, rows, 9), note])


def _time(arms: Sequence[Arm]) -> str:
    rows = []
    for arm in arms:
        render = sum(run.seconds["render"] or 0.0 for run in arm.runs)
        model = sum(run.seconds["model"] or 0.0 for run in arm.runs)
        trials = max(1, sum(run.trials for run in arm.runs))
        rows.append(
            [
                arm.model,
                arm.searcher,
                spread(Spread.of(len(run.sets) for run in arm.runs), 1.0),
                spread(Spread.of(run.calls for run in arm.runs), 1.0, 0),
                spread(Spread.of(run.seconds["total"] for run in arm.runs), 1.0, 0),
                f"{render / trials:.3f}",
                f"{1000 * model / trials:.1f}",
                spread(Spread.of(run.seconds["search"] for run in arm.runs), 1.0),
            ]
        )
    head = ["model", "searcher", "sets", "trials charged", "search, s", "scene, s a trial"]
    head += ["model, ms a trial", "searcher, s"]
    note = "Scenes that another run had drawn were read from the picture cache, if there is one."
    return "\n\n".join(["### Cost of a run", table(head, rows, 2), note])
