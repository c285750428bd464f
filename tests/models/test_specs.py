from __future__ import annotations

import pytest

from vlmfail.core import UsageError
from vlmfail.models.specs import parse_spec


def test_the_parts_of_a_spec():
    spec = parse_spec("openai:qwen2.5vl:7b@http://127.0.0.1:8000/v1/?thinking=low&max_tokens=10")
    assert (spec.prefix, spec.model) == ("openai", "qwen2.5vl:7b")
    assert spec.base_url == "http://127.0.0.1:8000/v1"
    assert (spec.thinking, spec.max_tokens) == ("low", 10)
    assert spec.given == ("thinking", "max_tokens")
    assert parse_spec("google:claude@20240620").model == "claude@20240620"
    assert parse_spec("openai:m@HTTP://h/v1").base_url == "HTTP://h/v1"


@pytest.mark.parametrize(
    "text",
    [
        "openai:",
        "openai:m?",
        "openai:m?thinkng=low",
        "openai:m?timeout=nan",
        "openai:m?max_tokens=" + "9" * 400,
        "openai:m?max_tokens=1&max_tokens=2",
        "openai:m?extra_body=" + "[" * 100_000,
        "openai:m@http://user:secret@h/v1",
        "openai:m@http://",
        "openai:m@127.0.0.1:8000/v1",
        "openai:m@localhost/v1",
        "openai:m@ftp://h/v1",
    ],
)
def test_what_is_no_spec_is_told(text):
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert "secret" not in str(caught.value)
