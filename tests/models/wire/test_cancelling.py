"""Two searches on one model object: the end of one leaves the other's requests alone."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vlmfail.core import CancelledRequestError
from vlmfail.envs.evaluator import Evaluator
from vlmfail.models.cancelling import cancelling
from vlmfail.models.registry import make_model
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Hang
from vlmfail.testing.toy import ToyDomain


class Search:
    pass


def test_cancel_ends_the_requests_of_its_scope(picture):
    def script(request):
        hang = "hang" in request.body.decode()
        return Hang() if hang else Answer("ANSWER: A", delay=0.5)

    def ask(scope, prompt):
        with cancelling(scope):
            return model.answer([picture], prompt, seed=0)

    one, two = Search(), Search()
    with ProviderServer(script) as server, ThreadPoolExecutor(2) as pool:
        model = make_model(f"openai:m@{server.url}/v1")
        first, second = pool.submit(ask, one, "hang"), pool.submit(ask, two, "answer")
        while server.count < 2:
            time.sleep(0.01)
        with cancelling(one):
            model.cancel()
        with pytest.raises(CancelledRequestError):
            first.result(timeout=5)
        assert second.result(timeout=5).text == "ANSWER: A"
        last = pool.submit(ask, two, "hang")
        while server.count < 3:
            time.sleep(0.01)
        model.cancel()
        with pytest.raises(CancelledRequestError):
            last.result(timeout=5)


def test_a_search_that_fails_leaves_the_other_one_alone(tmp_path):
    domain = ToyDomain()
    candidate = domain.space.sample(np.random.default_rng(0))
    ends = threading.Event()

    def evaluate(evaluator, trials):
        try:
            return evaluator.evaluate([(candidate, trials)])
        finally:
            evaluator.close()

    def full_disk(record, picture):
        ends.set()
        raise OSError("no space left")

    with ProviderServer(Answer("ANSWER: A", delay=0.3)) as server, ThreadPoolExecutor(2) as pool:
        model = make_model(f"openai:m@{server.url}/v1")
        how = {"renderer": "embree", "budget": 30, "concurrency": 4}
        fails = Evaluator(domain, model, run_seed=1, **how)
        goes_on = Evaluator(domain, model, run_seed=2, **how)
        fails.on_trial = full_disk
        other = pool.submit(evaluate, goes_on, 12)
        with pytest.raises(OSError, match="no space left"):
            evaluate(fails, 12)
        assert ends.is_set()
        assert not other.done(), "the other one was under way"
        (evaluation,) = other.result(timeout=20)
    assert evaluation.new.charged == 12
    assert {trial.outcome.value for trial in evaluation.new.trials} <= {"pass", "fail"}
