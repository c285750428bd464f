"""A searcher that silently changes is noticed.

After a wanted change: VLMFAIL_RECORD_GOLDEN=1 pytest tests/searchers/test_golden.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.searchers import SEARCHERS, make_searcher
from vlmfail.searchers._kinds import KINDS, PEERS, REFERENCES
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials
from vlmfail.testing.toy import toy_vector_space

GOLDEN = Path(__file__).with_name("golden.json")
PROPOSALS = 40
SETS, VECTORS = (KINDS[kind][1] for kind in ("concept_set", "vector"))
# Peers change with the libraries behind them; references learn nothing.
OTHERS = (*PEERS["concept_set"], *REFERENCES)
BUILT_IN = tuple(name for name in SEARCHERS.rows if name not in OTHERS)
RECORDS = {*SETS, *VECTORS}


def proposals(space: ConceptSetSpace, name: str) -> list[str]:
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=11), seed=5)
    run = Drive(make_searcher(name), space, evaluate, seed=5, budget=PROPOSALS * 5)
    return run.keys[:PROPOSALS]


def vector_proposals(name: str) -> list[str]:
    space = toy_vector_space()
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=11, base=-1.0), seed=5)
    args = {"trees": 20} if name.endswith("rf") else {}
    agent = make_searcher(name, **args)
    return Drive(agent, space, evaluate, seed=5, trials=1, budget=PROPOSALS).keys


def compare(name: str, found: list[str]) -> None:
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("VLMFAIL_RECORD_GOLDEN"):
        recorded[name] = found
        GOLDEN.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    assert name in recorded, "no recorded proposals: see this file's first lines"
    assert found == recorded[name]


@pytest.mark.parametrize("name", SETS)
def test_first_proposals(street: ConceptSetSpace, name: str) -> None:
    compare(name, proposals(street, name))


@pytest.mark.parametrize("name", VECTORS)
def test_first_vector_proposals(name: str) -> None:
    compare(name if name not in SETS else f"{name} (vector)", vector_proposals(name))


def test_every_record_has_a_searcher() -> None:
    both = {f"{name} (vector)" for name in VECTORS if name in SETS}
    assert set(json.loads(GOLDEN.read_text())) == set(BUILT_IN) | both
    assert set(BUILT_IN) == RECORDS, "a built-in searcher serves some kind of candidates"


SCRIPT = """
import json, sys
from vlmfail.searchers import make_searcher
from vlmfail.searchers._kinds import KINDS
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials
from vlmfail.testing.toy import toy_space, toy_vector_space

keys = {}
for kind, make, trials in (("concept_set", toy_space, 5), ("vector", toy_vector_space, 1)):
    for name in KINDS[kind][1]:
        space = make()
        evaluate = SimulatedTrials(space, AdditiveRates(space, seed=1))
        args = {"trees": 5} if name.endswith("rf") else {}
        drive = Drive(
            make_searcher(name, **args), space, evaluate, trials=trials, budget=40 * trials
        )
        keys[f"{name} {kind}"] = drive.keys
json.dump(keys, sys.stdout)
"""


def test_hash_seed_does_not_matter() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert all(len(keys) >= 30 for keys in json.loads(found[0]).values())
