"""What a run spent: nothing that is unknown is shown as zero."""

from __future__ import annotations

import pytest

from vlmfail.core import Trial, TrialRecord, Usage
from vlmfail.core.outcomes import Outcome
from vlmfail.models.spending import Caps, Ledger
from vlmfail.runs.spending import (
    Unrecorded,
    keep_deleted,
    keep_spent,
    load_spent,
    total_spent,
    unknown_cost,
    unrecorded,
)
from vlmfail.testing.made_runs import make_run

ERROR = Usage(1, 0, 0)
REPLY = Usage(1, 100, 10)
SILENT = Usage(1)
PRICED = Usage(1, 100, 10, 0.25)
FREE = Usage(1, 100, 10, 0.0)


@pytest.fixture
def store(tmp_path):
    store = make_run(tmp_path / "r", [(["a"], "f")]).store
    yield store
    store.close()


@pytest.mark.parametrize(
    ("cut_off", "dollars", "unknown"),
    [
        ([ERROR], None, 1),
        ([REPLY], None, 1),
        ([ERROR, REPLY, SILENT], None, 3),
        ([PRICED], 0.25, 0),
        ([FREE], 0.0, 0),
        ([PRICED, REPLY], 0.25, 1),
        ([], 0.0, 0),
    ],
    ids=["error", "cut reply", "several", "priced", "free", "in part", "none"],
)
def test_a_run_that_only_has_cut_off_trials(store, cut_off, dollars, unknown):
    ledger = Ledger()
    for usage in cut_off:
        ledger.add(usage, recorded=False)
    for _ in range(3):  # the same after it was read and written by later processes
        keep_spent(store, ledger)
        cut = unrecorded(store)
        spent = total_spent([], cut)
        assert spent["requests"] == len(cut_off)
        assert spent["dollars"] == dollars or not cut_off
        assert unknown_cost([], cut)["dollars"] == unknown
        ledger = Ledger()
        load_spent(store, ledger)
        assert ledger.spent["unknown_dollars"] == unknown


def test_known_tokens_stay_known_where_the_price_is_not(store):
    ledger = Ledger()
    for _ in range(5):
        ledger.add(REPLY, recorded=False)
    keep_spent(store, ledger)
    again = Ledger()
    load_spent(store, again)
    assert total_spent([], unrecorded(store))["tokens"] == 550
    recorded = total_spent(list(store.records()))["tokens"]
    assert again.spent["tokens"] == recorded + 550
    assert again.spent["unknown_tokens"] == unknown_cost([], unrecorded(store))["tokens"] == 0


def test_deleted_trials_keep_that_their_price_is_unknown(store):
    trial = Trial("a", 0, Outcome.ERROR)
    keep_deleted(store, [TrialRecord(trial, requests=1, input_tokens=0, output_tokens=0)])
    assert total_spent([], unrecorded(store))["dollars"] is None
    assert unknown_cost([], unrecorded(store)) == {"tokens": 0, "dollars": 1}


def test_what_older_versions_wrote_is_read(store):
    store.set_meta("spent_unrecorded", '{"requests": 2, "tokens": 5, "dollars": 0.5, "unknown": 1}')
    assert unrecorded(store) == Unrecorded(2, 5, 0.5, 1)


@pytest.mark.parametrize("unknown", [0, 2])
def test_cut_off_trials_are_no_one_dear_request(tmp_path, unknown):
    store = make_run(tmp_path / "none", []).store
    ledger = Ledger()
    for _ in range(8):
        ledger.add(Usage(1, 900, 100, 0.01), recorded=False)
    for _ in range(unknown):
        ledger.add(SILENT, recorded=False)
    keep_spent(store, ledger)
    taken = 8000 + 1500 * unknown
    for caps, room in [
        (Caps(max_total_tokens=taken + 1500), True),
        (Caps(max_total_tokens=taken + 1499), False),
        (Caps(max_dollars=(taken + 1501) / 1e5), True),
        (Caps(max_dollars=(taken + 1499) / 1e5), False),
    ]:
        again = Ledger(caps)
        load_spent(store, again)
        assert again.reserve() is room, again.exhausted
    store.close()
