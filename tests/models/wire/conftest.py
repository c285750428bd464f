from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from vlmfail.core import Option, Picture, Question

NEEDED = ("openai", "tenacity", "httptools")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    """A reply cache of its own, no keys of the machine, and services nothing is known of."""
    monkeypatch.setenv("VLMFAIL_REPLIES", str(tmp_path / "replies.sqlite"))
    monkeypatch.delenv("VLMFAIL_PRICES", raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTEDPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret-access-key")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    from vlmfail.models.providers.endpoint import forget_endpoints

    forget_endpoints()


@pytest.fixture
def picture() -> Picture:
    return Picture.from_pixels(np.full((24, 32, 3), 200, dtype=np.uint8))


@pytest.fixture
def question() -> Question:
    return Question("?", (Option("a", "one thing"), Option("b", "another")), "1")
