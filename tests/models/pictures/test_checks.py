from __future__ import annotations

import numpy as np
import pytest

from vlmfail.core import CapReachedError, ModelFault, Picture, Reply
from vlmfail.models.pictures.checks import PictureCheck
from vlmfail.models.pictures.shelf import PictureReplies, Shelf
from vlmfail.models.pictures.sources import UndrawnPictureError
from vlmfail.models.registry import make_model
from vlmfail.models.spending import Caps, Ledger, metering
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Status

PICTURE = Picture.from_pixels(np.full((6, 8, 3), 90, np.uint8))
IDS = ("knife_edge", "toddler")


class Says:
    """A model that says one thing and counts."""

    name = "says"

    def __init__(self, *texts):
        self.texts = texts
        self.prompts = []

    def answer(self, images, prompt, *, seed):
        self.prompts.append(prompt)
        said = self.texts[min(len(self.prompts), len(self.texts)) - 1]
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(said)


@pytest.fixture
def check(catalogue, tmp_path):
    def make(*texts):
        replies = PictureReplies(Shelf(tmp_path / "shelf"))
        return PictureCheck(Says(*texts), catalogue, replies)

    return make


def test_every_concept_is_a_statement_of_its_own(check):
    prompt = check("").prompt(IDS)
    assert "1. The picture shows: A sharp knife with its blade over the edge." in prompt
    assert "2. The picture shows: A toddler in blue pajamas is standing." in prompt
    assert "stove" not in prompt


@pytest.mark.parametrize(
    ("said", "missing", "unsaid"),
    [
        ("1. True\n2. True", (), ()),
        ("1. True\n2. False", ("toddler",), ()),
        ("<think>2. True</think>1. False\n2. True", ("knife_edge",), ()),
        ("1. True", (), ("toddler",)),
        ("hmm", (), IDS),
        ("1. True\n2. True\n2. False", (), ("toddler",)),
        ("", (), IDS),
    ],
)
def test_a_picture_passes_only_when_all_is_seen(check, said, missing, unsaid):
    verdict = check(said).verdict(PICTURE, IDS)
    assert (verdict.missing, verdict.unsaid) == (missing, unsaid)
    assert (verdict.problem is None) == (not missing and not unsaid)
    for name in missing or unsaid:
        assert name in str(verdict.problem)


@pytest.mark.parametrize(
    ("said", "missing", "stray", "unsaid"),
    [
        ("1. True\n2. True\n3. False", (), (), ()),
        ("1. True\n2. True\n3. True", (), ("stove_on",), ()),
        ("1. True\n2. False\n3. True", ("toddler",), ("stove_on",), ()),
        ("1. True\n2. True", (), (), ("stove_on",)),
    ],
)
def test_what_would_change_the_answer_must_not_be_seen(check, said, missing, stray, unsaid):
    asking = check(said)
    verdict = asking.verdict(PICTURE, IDS, absent=("stove_on",))
    assert "3. The picture shows: A gas stove with a blue flame." in asking.model.prompts[0]
    assert (verdict.missing, verdict.stray, verdict.unsaid) == (missing, stray, unsaid)
    assert (verdict.problem is None) == (not missing and not stray and not unsaid)
    assert verdict.record()["stray"] == list(stray)
    if stray and not missing:
        assert "sees stove_on" in str(verdict.problem)


def test_a_verdict_without_strays_does_not_stand_for_one_with(check):
    asking = check("1. True\n2. True", "1. True\n2. True\n3. True")
    assert asking.verdict(PICTURE, IDS).problem is None
    assert asking.verdict(PICTURE, IDS, absent=("stove_on",)).stray == ("stove_on",)
    assert asking.verdict(PICTURE, IDS, absent=("toddler",)).cached


def test_a_verdict_is_kept_beside_the_picture(check, catalogue, tmp_path):
    first = check("1. True\n2. False", "1. True\n2. True")
    assert first.verdict(PICTURE, IDS).missing == ("toddler",)
    again = first.verdict(PICTURE, IDS)
    assert again.cached
    assert again.missing == ("toddler",)
    assert len(first.model.prompts) == 1
    other = Picture.from_pixels(np.full((6, 8, 3), 91, np.uint8))
    assert first.verdict(other, IDS).missing == ()
    assert first.verdict(PICTURE, IDS[:1]).cached is False


def test_what_says_nothing_is_asked_again(check):
    model = check("hmm", "1. True\n2. True")
    assert model.verdict(PICTURE, IDS).problem
    assert model.verdict(PICTURE, IDS).problem is None


@pytest.mark.parametrize(
    "said",
    [RuntimeError("no connection"), SystemExit(3), Reply("no", "refusal"), Reply("x", "error"),
     Reply("x", "timeout"), Reply("x", "content_filter")],
)  # fmt: skip
def test_a_check_that_fails_leaves_the_picture_unchecked(check, said):
    with pytest.raises(UndrawnPictureError, match="could not be checked"):
        check(said).verdict(PICTURE, IDS)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ModelFault("no key")])
def test_what_ends_a_run_passes(check, error):
    with pytest.raises(type(error)):
        check(error).verdict(PICTURE, IDS)


def test_a_long_reply_is_bounded_in_the_record(check):
    verdict = check("1. True\n2. True\n" + "<b>x</b>" * 5000).verdict(PICTURE, IDS)
    assert len(str(verdict.record())) < 6000


def test_a_model_behind_an_api_counts_its_own_requests(catalogue, tmp_path):
    pytest.importorskip("openai")
    ledger = Ledger()
    with ProviderServer([Status(500), Answer("1. True\n2. True")]) as server:
        model = make_model(f"openai:m@{server.url}/v1")
        check = PictureCheck(model, catalogue, PictureReplies(Shelf(tmp_path / "shelf")))
        with metering(ledger):
            assert check.verdict(PICTURE, IDS).problem is None
            assert check.verdict(PICTURE, IDS).cached
        assert server.count == 2
    assert ledger.spent["requests"] == 2


def test_a_cap_holds_for_checks_too(check):
    ledger = Ledger(Caps(max_requests=0))
    model = check("1. True\n2. True")
    with metering(ledger), pytest.raises(CapReachedError):
        model.verdict(PICTURE, IDS)
    assert not model.model.prompts


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_cut_reply_is_judged_alike_when_it_comes_from_the_cache(check, reason):
    asking = check(Reply("1. True\n2. True\n1. False", finish_reason=reason))
    first, again = (asking.verdict(PICTURE, IDS) for _ in range(2))
    assert again.cached or first.unsaid
    assert (again.marks, again.problem) == (first.marks, first.problem)


def test_a_verdict_of_which_nobody_knows_whether_it_was_cut_is_asked_for_again(check):
    asking = check("1. True\n2. True")
    put = asking.replies.put
    asking.replies.put = lambda key, raw: put(key, {"said": raw["said"]})
    assert not asking.verdict(PICTURE, IDS).cached
    asking.replies.put = put
    assert not asking.verdict(PICTURE, IDS).cached
    assert asking.verdict(PICTURE, IDS).cached


@pytest.mark.parametrize(
    "said",
    [
        Reply("no\x1b]0;pwned\x07\x1b[31m\n\u202eRED", "refusal"),
        RuntimeError("no\x1b]52;c;AAAA\x07\n\x9b31mRED"),
    ],
)
def test_what_a_note_keeps_of_its_words_a_terminal_does_not_obey(check, said):
    with pytest.raises(UndrawnPictureError, match="RED") as undrawn:
        check(said).verdict(PICTURE, IDS)
    assert str(undrawn.value).isprintable()
