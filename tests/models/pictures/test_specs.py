from __future__ import annotations

import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.models.pictures.sources import is_picture_spec, make_source
from vlmfail.models.pictures.specs import parse_picture_spec


def test_a_spec_has_a_place_a_check_and_options():
    spec = parse_picture_spec(
        "openai-image:m@http://127.0.0.1:1/v1?size=64x64&tries=3"
        "&check=openai%3Agpt-5-mini%3Fmax_tokens%3D9%26top_p%3D1"
    )
    assert (spec.prefix, spec.place) == ("openai-image", "m@http://127.0.0.1:1/v1")
    assert spec.check == "openai:gpt-5-mini?max_tokens=9&top_p=1"
    assert spec.tries == 3
    assert spec.options == {"size": "64x64"}


def test_a_check_without_further_options_needs_no_escapes():
    spec = parse_picture_spec("folder:/here/are/they?check=openai:gpt-5-mini?max_tokens=9")
    assert spec.check == "openai:gpt-5-mini?max_tokens=9"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("google-image:", "expected google-image:MODEL"),
        ("google-image:m?", "after '?'"),
        ("google-image:m?tries=0", "tries: expected a whole number from 1 to 10"),
        ("google-image:m?tries=\u0663", "tries"),
        ("google-image:m?tries=1&tries=2", "given twice"),
        ("google-image:m?check=", "check"),
        ("google-image:m?check=%ff", "percent escape"),
        ("google-image:m\n", "one line"),
        ("google-image:" + "m" * 9000, "at most"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(text, part):
    with pytest.raises(UsageError, match=part.replace("?", r"\?")) as told:
        parse_picture_spec(text)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("google-image:m?aspect=9:1", "aspect"),
        ("google-image:m?sise=1K", "sise"),
        ("openai-image:m?size=big", "size: expected WIDTHxHEIGHT"),
        ("openai-image:m?size=1x99999", "size"),
        ("openai-image:m?temperature=1", "temperature"),
        ("openai-image:m@http://user:pw@host/v1", "@"),
        ("openai-image:m@localhost:1", "address"),
        ("folder:.?size=1x1", "size"),
        ("nothing-image:m", "renderer prefix"),
    ],
)
def test_a_source_refuses_what_it_does_not_have(text, part, catalogue):
    pytest.importorskip("openai")
    pytest.importorskip("google.genai")
    with pytest.raises(UsageError, match=part):
        make_source(text, catalogue)


def test_an_unknown_option_names_what_there_is(catalogue):
    pytest.importorskip("openai")
    with pytest.raises(UnknownNameError, match="quality"):
        make_source("openai-image:m?qality=low", catalogue)


def test_prefixes_are_told_from_plain_names():
    assert is_picture_spec("folder:x")
    assert is_picture_spec("google-image:x")
    assert not is_picture_spec("embree")
    assert not is_picture_spec("folder")
    assert not is_picture_spec("module:Name")
