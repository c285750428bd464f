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
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials

GOLDEN = Path(__file__).with_name("golden.json")
PROPOSALS = 40
BUILT_IN = tuple(SEARCHERS.rows)


def proposals(space: ConceptSetSpace, name: str) -> list[str]:
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=11), seed=5)
    run = Drive(make_searcher(name), space, evaluate, seed=5, budget=PROPOSALS * 5)
    return run.keys[:PROPOSALS]


@pytest.mark.parametrize("name", BUILT_IN)
def test_first_proposals(street: ConceptSetSpace, name: str) -> None:
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("VLMFAIL_RECORD_GOLDEN"):
        recorded[name] = proposals(street, name)
        GOLDEN.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    assert name in recorded, "no recorded proposals: see this file's first lines"
    assert proposals(street, name) == recorded[name]


def test_every_record_has_a_searcher() -> None:
    assert set(json.loads(GOLDEN.read_text())) == set(BUILT_IN)


SCRIPT = """
import json, sys
from vlmfail.searchers import make_searcher, searcher_names
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials
from vlmfail.testing.toy import toy_space

keys = {}
for name in searcher_names():
    space = toy_space()
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=1))
    keys[name] = Drive(make_searcher(name), space, evaluate, budget=200).keys
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
