from __future__ import annotations

import pytest

from vlmfail.core import Reply
from vlmfail.models.doubles import ScriptedVLM
from vlmfail.models.registry import FunctionVLM
from vlmfail.testing.model_suite import ModelContractSuite


class TestTinyVLM(ModelContractSuite):
    spec = "tiny-vlm"


class TestTinyVLMSmall(ModelContractSuite):
    spec = "tiny-vlm-s"


class TestScripted(ModelContractSuite):
    spec = ScriptedVLM(["ANSWER: A", "ANSWER: C"])


def by_seed(images, prompt, *, seed):
    return f"ANSWER: {'ABC'[seed % 3]}"


class TestFunction(ModelContractSuite):
    spec = FunctionVLM(by_seed)


class Silent:
    name = "silent"

    def answer(self, images, prompt, *, seed):
        return Reply("hmm")


class Moody:
    name = "moody"
    asked = 0

    def answer(self, images, prompt, *, seed):
        Moody.asked += 1
        return Reply(f"ANSWER: {'ABC'[Moody.asked % 3]}")


def test_the_suite_notices_a_model_that_chooses_nothing():
    class Suite(ModelContractSuite):
        spec = Silent()

    with pytest.raises(AssertionError, match="no answer"):
        Suite().test_its_reply_chooses_an_option()


def test_the_suite_notices_an_answer_that_depends_on_history():
    class Suite(ModelContractSuite):
        spec = Moody()

    with pytest.raises(AssertionError):
        Suite().test_the_same_question_gets_the_same_answer()
