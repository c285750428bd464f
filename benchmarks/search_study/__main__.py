"""The command; see `vlmfail.benchmarks.search_study`."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ...core import UsageError, VLMFailError
from ...envs.registry import make_domain
from ...models.registry import make_model
from ...runs.store import RunStore, dump_json
from ...searchers import make_searcher, searcher_names
from .comparison import compare
from .families import failure_sheet, families
from .figures import RunFigures, read_run
from .plan import Study, keep_provenance, slug, state_of, write
from .processes import do_all
from .tables import document, markdown

FINE, FAULT, INTERRUPTED = 0, 3, 130

DESCRIPTION = """Search an environment with several searchers on several models under
many seeds, try the surest failure modes again on fresh scenes, and write table.md, results.json
and a sheet of failing pictures for each model. The same command continues a study that was
stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser().parse_args(words)
    console = Console(stderr=args.json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    study = _study(args)
    try:
        if args.report_only:
            _check_runs(study)
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
    parser = argparse.ArgumentParser(prog="search_study", description=DESCRIPTION)
    add = parser.add_argument
    add("--out", type=Path, required=True, help="folder of the study")
    add("--models", nargs="+", default=["tiny-vlm", "tiny-vlm-s"], help="models under test")
    add("--searchers", nargs="+", default=["random", "beam", "gpts"], help="searchers")
    add("--seeds", type=int, default=10, help="seeds of a searcher")
    add("--random-seeds", type=int, default=20, help="seeds of random")
    add("--budget", type=int, default=1000, help="trials of a search")
    add("--trials", type=int, default=5, help="trials of a set")
    add("--top", type=int, default=10, help="modes of a run that are tried again")
    add("--fresh", type=int, default=20, help="fresh trials of such a mode")
    add("--processes", type=int, default=2, help="runs at once")
    add("--cache", type=Path, help="folder of kept pictures (default: pictures in --out)")
    add("--cache-gib", type=float, default=10.0, help="its largest size, GiB")
    add("--no-cache", action="store_true", help="keep no pictures beside the runs'")
    add("--env", default="VLMFail-Driving-v0", help="environment")
    add("--report-only", action="store_true", help="run nothing: tables of what is there")
    add("--json", action="store_true", help="print the results as JSON")
    return parser


def _study(args: argparse.Namespace) -> Study:
    for name in ("seeds", "random_seeds", "budget", "trials", "top", "fresh", "processes"):
        if getattr(args, name) < 1:
            _parser().error(f"--{name.replace('_', '-')}: at least 1")
    if not 0.0 < args.cache_gib < 1e9:
        _parser().error("--cache-gib: a size in GiB, above 0")
    for name in args.searchers:
        if name not in searcher_names() and ":" not in name:
            _parser().error(f"--searchers: {name!r} is none of {', '.join(searcher_names())}")
    for name in ("models", "searchers"):
        folders: dict[str, str] = {}
        for spec in getattr(args, name):
            # Compared as disks do that know no upper case.
            other = folders.setdefault(slug(spec).lower(), spec)
            if other != spec:
                _parser().error(f"--{name}: {other!r} and {spec!r} would share a folder")
    cache = None if args.no_cache else args.cache or args.out / "pictures"
    return Study(
        out=args.out,
        models=tuple(dict.fromkeys(args.models)),
        searchers=tuple(dict.fromkeys(args.searchers)),
        seeds=args.seeds,
        random_seeds=args.random_seeds,
        budget=args.budget,
        trials=args.trials,
        top=args.top,
        fresh=args.fresh,
        cache=cache,
        cache_gib=args.cache_gib,
        env=args.env,
    )


def _command(words: Sequence[str]) -> str:
    """Return the command without what decides no figure."""
    shown = [word for word in words if word not in ("--json", "--report-only")]
    return shlex.join(["python", "-m", "vlmfail.benchmarks.search_study", *shown])


def _run(study: Study, processes: int, console: Console) -> bool:
    # A name that cannot be loaded is told now, not hours later.
    for model in study.models:
        make_model(model)
    for searcher in study.searchers:
        make_searcher(searcher)
    make_domain(study.env)
    states = {task: state_of(study, task) for task in study.tasks()}
    keep_provenance(study)
    return do_all(study, states, processes, console)


def _check_runs(study: Study) -> None:
    """Check that there are runs and that they are the study's: the tables say its settings."""
    there = [task for task in study.tasks() if RunStore.is_run(study.folder(task))]
    for task in there:
        state_of(study, task)
    if not there:
        raise UsageError(
            f"{study.out} holds no run of these models and searchers: "
            "name the --out, --models and --searchers that the study was made with"
        )


def _report(study: Study, command: str, console: Console) -> dict[str, Any]:
    """Write the files of a study; return what `results.json` holds."""
    runs: list[RunFigures] = []
    unfinished = 0
    # By model and searcher, not by seed, so that the rows of a model stand together.
    tasks = sorted(
        study.tasks(),
        key=lambda t: (study.models.index(t.model), study.searchers.index(t.searcher), t.seed),
    )
    for task in tasks:
        there = RunStore.is_run(study.folder(task))
        found = read_run(study.folder(task), task, study.top, study.fresh) if there else None
        if found is None:
            unfinished += 1
        else:
            runs.append(found)
    arms = compare(runs, study.baseline)
    by_model = {
        model: families([arm for arm in arms if arm.model == model]) for model in study.models
    }
    attempts = int(make_domain(study.env).attempts)
    text = markdown(
        study, arms, by_model, command=command, attempts=attempts, unfinished=unfinished
    )
    result = document(study, arms, by_model, command)
    write(study.out, "table.md", text.encode())
    write(study.out, "results.json", dump_json(result, indent=1).encode())
    for model, members in by_model.items():
        sheet = failure_sheet(members)
        if sheet is not None:
            name = "failures.png" if len(by_model) == 1 else f"failures-{slug(model)}.png"
            write(study.out, name, sheet.png)
    console.print(text, highlight=False, soft_wrap=True, markup=False)
    return result


if __name__ == "__main__":
    raise SystemExit(main())
