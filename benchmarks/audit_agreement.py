"""How far an audit on fresh trials agrees with the truth: landscapes, whose rates are known.

    python -m vlmfail.benchmarks.audit_agreement --searcher gpts+min --landscapes 6

The audit of real models (`analysis.audit`) judges what a searcher reported on each landscape, and
the true rates judge it too. A development figure: landscape seeds stay below 1000.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .._facade import search
from ..analysis.audit import audit_reports
from ..analysis.audited import REMOVAL_TRIALS, TRIALS, AuditVerdict, audit_of
from ..analysis.planted import audit, landscape_of
from ..envs.episodes import make_tested
from ..envs.planted.families import FAMILIES
from ..envs.registry import make_domain
from ..runs.run import RunData
from ..runs.store import RunStore

ENV = "VLMFail-Planted-v0"


def agreement(
    searcher: str, family: str, seed: int, *, level: str, budget: int, trials: int, removals: int
) -> Counter[tuple[str, str]]:
    """Return how many reports of one search got which verdicts: by the rates, by the audit."""
    args = {"family": family, "level": level, "landscape_seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        search(ENV, searcher, budget=budget, seed=seed, out=place, env_args=args).close()
        store = RunStore.open(place, write=True)
        try:
            run = RunData(store)
            domain = make_domain(ENV, **args)
            run = audit_reports(
                run, domain, make_tested(domain, "planted"), trials=trials, removal_trials=removals
            )
            found = {frozenset(one.own.candidate): one.verdict for one in audit_of(run) or ()}
            known = audit(landscape_of(run), list(found), run.threshold)
        finally:
            store.close()
    true = dict.fromkeys(known.good, AuditVerdict.GOOD)
    true |= dict.fromkeys(known.false, AuditVerdict.FALSE)
    true |= dict.fromkeys(known.non_minimal, AuditVerdict.NON_MINIMAL)
    return Counter((str(true[one]), str(verdict)) for one, verdict in found.items())


def main(words: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m vlmfail.benchmarks.audit_agreement")
    parser.add_argument("--searcher", default="gpts+min", help="what reports the modes")
    parser.add_argument("--landscapes", type=int, default=6, help="seeds a family, from 0")
    parser.add_argument("--level", default="hard", choices=("easy", "hard"))
    parser.add_argument("--budget", type=int, default=1000, help="trials a search")
    parser.add_argument("--trials", type=int, default=TRIALS, help="fresh trials a mode")
    parser.add_argument("--removals", type=int, default=REMOVAL_TRIALS, help="and a removal")
    given = parser.parse_args(words)
    counts: Counter[tuple[str, str]] = Counter()
    for family in FAMILIES:
        for seed in range(given.landscapes):
            counts += agreement(
                given.searcher,
                family,
                seed,
                level=given.level,
                budget=given.budget,
                trials=given.trials,
                removals=given.removals,
            )
    verdicts = [str(verdict) for verdict in AuditVerdict]
    print(f"| {given.searcher}: by the true rates | " + " | ".join(verdicts) + " |")
    print("|---|" + "---|" * len(verdicts))
    for true in verdicts[:3]:
        print(f"| {true} | " + " | ".join(str(counts[true, one]) for one in verdicts) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
