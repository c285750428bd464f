"""The command; see `vlmfail.benchmarks.policy_study`."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from ...analysis.episodes import GRID, Area, Source
from ...core import UsageError, VLMFailError
from ...envs.options import EnvOptions
from ...models.policies.registry import make_policy
from ...runs.store import RunStore, dump_json
from ...searchers import make_searcher, searcher_names
from ..search_study.processes import do_all
from ..studies.folders import slug, write
from . import plots
from .comparison import compare
from .figures import RunFigures, read_run
from .plan import SEARCHERS, SPECS, Study, domain_of, keep_provenance, spec_of, state_of
from .tables import document, markdown
from .work import work

FINE, FAULT, INTERRUPTED = 0, 3, 130

DESCRIPTION = """Search the scenes of a pick-up world for failures of policies with several
searchers under many seeds, and write table.md, results.json, box plots and curves of cumulative
failures (FATE-VLA, Tables 2 to 5). The same command continues a study that was stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser().parse_args(words)
    console = Console(stderr=args.json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study = _study(args)
        domain_of(study)
        complete = args.report_only or _run(study, args.processes, console)
        result = _report(study, _command(words), console)
    except VLMFailError as error:
        Console(stderr=True).print(str(error), highlight=False, soft_wrap=True, markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    if args.json:
        print(json.dumps(result, allow_nan=False))
    return FINE if complete else FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="policy_study", description=DESCRIPTION)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="folder of the study")
    add("--models", nargs="+", default=["tiny-vla"], help="policies under test")
    add("--searchers", nargs="+", default=list(SEARCHERS), help="searchers")
    add("--seeds", type=int, default=10, help="seeds of a searcher")
    add("--budget", type=int, default=200, help="episodes of a search")
    add("--batch", type=int, default=1, help="scenes proposed before outcomes are told")
    add("--processes", type=int, default=2, help="runs at once")
    add("--env", default="VLMFail-PickUp-v0", help="environment")
    add("--env-arg", action="append", default=[], metavar="KEY=VALUE", help="option of the env")
    add("--grid", nargs=2, type=int, default=list(GRID), metavar=("X", "Y"), help="bins of TC")
    add("--source", choices=get_args(Source), default="object", help="whose path TC counts")
    add("--area", choices=get_args(Area), default="table", help="what is divided into bins")
    add("--report-only", action="store_true", help="run nothing: tables of what is there")
    add("--json", action="store_true", help="print the results as JSON")
    return parser


def _study(args: argparse.Namespace) -> Study:
    for name in ("seeds", "budget", "batch", "processes"):
        if getattr(args, name) < 1:
            _parser().error(f"--{name}: at least 1")
    if not all(1 <= bins <= 1000 for bins in args.grid):
        _parser().error("--grid: from 1 to 1000 bins along x and y")
    try:
        args.out.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # to be made, or refused when it is to be written
    except (OSError, ValueError) as error:  # a name that no folder can have
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--out: {str(args.out)!r:.120} can be no folder ({why})") from error
    names = [*searcher_names(), *SPECS]
    for name in args.searchers:
        if name not in names and ":" not in name:
            _parser().error(f"--searchers: {name!r} is none of {', '.join(names)}")
    for name in ("models", "searchers"):
        folders: dict[str, str] = {}
        for spec in getattr(args, name):
            # Compared as disks do that know no upper case.
            other = folders.setdefault(slug(spec).lower(), spec)
            if other != spec:
                _parser().error(f"--{name}: {other!r} and {spec!r} would share a folder")
    return Study(
        out=args.out,
        models=tuple(dict.fromkeys(args.models)),
        searchers=tuple(dict.fromkeys(args.searchers)),
        seeds=args.seeds,
        budget=args.budget,
        batch=args.batch,
        env=args.env,
        env_args=_env_args(args.env_arg),
        grid=(args.grid[0], args.grid[1]),
        source=args.source,
        area=args.area,
    )


def _env_args(items: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``KEY=VALUE`` options; values are JSON, else text."""
    given: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        name = key.strip().replace("-", "_")
        if not equals or not name:
            raise UsageError(f"--env-arg: expected KEY=VALUE, got {item!r}")
        if name in EnvOptions.names():
            raise UsageError(f"--env-arg: {name} is none of the world's options")
        try:
            given[name] = json.loads(text)
        except (ValueError, RecursionError):
            given[name] = text
    return given


def _command(words: Sequence[str]) -> str:
    """Return the command without what decides no figure."""
    shown = [word for word in words if word not in ("--json", "--report-only")]
    return shlex.join(["python", "-m", "vlmfail.benchmarks.policy_study", *shown])


def _run(study: Study, processes: int, console: Console) -> bool:
    # A name that cannot be loaded is told now, not hours later.
    for model in study.models:
        make_policy(model)
    for searcher in study.searchers:
        make_searcher(spec_of(searcher))
    domain_of(study).check()
    states = {task: state_of(study, task) for task in study.tasks()}
    keep_provenance(study)
    return do_all(study, states, processes, console, work)


def _report(study: Study, command: str, console: Console) -> dict[str, Any]:
    """Write the files of a study; return what `results.json` holds.

    Raises:
        UsageError: There is no run, or one with other settings.
    """
    runs: list[RunFigures] = []
    unfinished = there = 0
    # By policy and searcher, not by seed, so that the rows of a policy stand together.
    tasks = sorted(
        study.tasks(),
        key=lambda t: (study.models.index(t.model), study.searchers.index(t.searcher), t.seed),
    )
    for task in tasks:
        begun = RunStore.is_run(study.folder(task))
        there += begun
        found = read_run(study, task) if begun else None
        if found is None:
            unfinished += 1
        else:
            runs.append(found)
    if not there:
        raise UsageError(
            f"{study.out} holds no run of these policies and searchers: "
            "name the --out, --models and --searchers that the study was made with"
        )
    arms = compare(runs, study.baselines)
    text = markdown(study, arms, command=command, unfinished=unfinished)
    result = document(study, arms, command)
    write(study.out, "table.md", text.encode())
    write(study.out, "results.json", dump_json(result, indent=1).encode())
    if arms:
        drawn = {"failures": plots.cumulative_failures(arms), "boxes": plots.boxes(arms)}
        for name, figure in drawn.items():
            for file, data in plots.files(figure, name).items():
                write(study.out, file, data)
    console.print(text, highlight=False, soft_wrap=True, markup=False)
    return result


if __name__ == "__main__":
    raise SystemExit(main())
