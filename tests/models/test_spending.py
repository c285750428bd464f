from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from vlmfail.core import Usage, UsageError
from vlmfail.models.spending import Caps, Ledger


def test_concurrent_requests_never_overrun_the_cap():
    ledger = Ledger(Caps(max_requests=25))
    reached, lock = [], threading.Lock()

    def call(i: int) -> None:
        for _attempt in range(4):
            if not ledger.reserve():
                return
            with lock:
                reached.append(i)
            time.sleep(0.001)
            ledger.add(Usage(requests=1, input_tokens=3, output_tokens=1))
            if i % 10 >= 3:
                return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(60)))
    assert len(reached) == 25
    assert ledger.spent["requests"] == 25
    assert "25 of 25" in ledger.exhausted


def test_reservations_that_were_not_sent_come_back():
    ledger = Ledger(Caps(max_requests=1))
    assert ledger.reserve()
    assert not ledger.reserve()
    ledger.release()
    assert ledger.exhausted is None
    assert ledger.reserve()


def test_a_group_is_reserved_whole_or_not_at_all():
    ledger = Ledger(Caps(max_requests=3))
    assert ledger.reserve(2)
    assert not ledger.reserve(2)
    assert ledger.reserve(1)


def test_missing_usage_is_unknown_not_zero():
    ledger = Ledger()
    ledger.add(Usage(requests=1, input_tokens=10))
    ledger.add(Usage(requests=1, input_tokens=10, output_tokens=2, dollars=0.5))
    assert ledger.spent == {
        "requests": 2,
        "tokens": 22,
        "dollars": 0.5,
        "unknown_tokens": 1,
        "unknown_dollars": 1,
    }


def test_a_local_model_spends_nothing_and_leaves_nothing_unknown():
    ledger = Ledger(Caps(max_requests=0))
    ledger.add(Usage(dollars=0.0))
    assert ledger.spent["unknown_dollars"] == 0
    assert ledger.spent["requests"] == 0


@pytest.mark.parametrize(
    ("caps", "word"),
    [
        (Caps(max_total_tokens=100), "max_total_tokens"),
        (Caps(max_dollars=0.25), "max_dollars"),
    ],
)
def test_tokens_and_money_stop_the_next_request(caps, word):
    ledger = Ledger(caps)
    assert ledger.reserve()
    ledger.add(Usage(requests=1, input_tokens=90, output_tokens=10, dollars=0.25))
    assert not ledger.reserve()
    assert word in ledger.exhausted


def test_a_money_cap_without_a_price_is_refused():
    Caps(max_dollars=1).check_priced("tiny-vlm", True)
    Caps(max_requests=1).check_priced("mystery", False)
    with pytest.raises(UsageError, match="mystery"):
        Caps(max_dollars=1).check_priced("mystery", False)


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_nonsense_caps_are_refused(value):
    with pytest.raises(UsageError, match="max_dollars"):
        Caps(max_dollars=value)


def test_a_pickled_ledger_keeps_its_counts():
    ledger = Ledger(Caps(max_requests=2))
    ledger.reserve()
    ledger.add(Usage(requests=1))
    ledger.reserve()
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy.spent == ledger.spent
    assert copy.reserve()
    assert not copy.reserve()


def test_what_was_cut_off_without_a_price_is_counted_apart():
    ledger = Ledger()
    ledger.add(Usage(requests=1, input_tokens=5, output_tokens=1), recorded=False)
    ledger.add(Usage(requests=1, input_tokens=0, output_tokens=0), recorded=False)
    ledger.add(Usage(requests=1), recorded=False)
    ledger.add(Usage(requests=1, input_tokens=5, output_tokens=1, dollars=0.0), recorded=False)
    assert ledger.unpriced == 2
    assert ledger.unrecorded.unknown == 1
    assert pickle.loads(pickle.dumps(ledger)).unpriced == 2


def test_a_long_spec_is_not_repeated_whole():
    with pytest.raises(UsageError) as caught:
        Caps(max_dollars=1).check_priced("openai:m?extra_body=" + "x" * 5000, False)
    assert "'openai:m'" in str(caught.value)
    assert len(str(caught.value)) < 400
