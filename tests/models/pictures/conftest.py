from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Concept:
    id: str
    description: str


@dataclass(frozen=True)
class Catalogue:
    concepts: tuple[Concept, ...] = (
        Concept("kitchen", "A modern kitchen with bright lighting."),
        Concept("knife_edge", "A sharp knife with its blade over the edge."),
        Concept("stove_on", "A gas stove with a blue flame."),
        Concept("toddler", "A toddler in blue pajamas is standing."),
    )
    implied: tuple[str, ...] = ()


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue()


@pytest.fixture(autouse=True)
def _own_caches(tmp_path, monkeypatch):
    """Caches of its own, no keys of the machine, and services nothing is known of."""
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "caches"))
    for name in ("VLMFAIL_GENERATED", "VLMFAIL_REPLIES", "VLMFAIL_PRICES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    from vlmfail.models.providers.endpoint import forget_endpoints

    forget_endpoints()
