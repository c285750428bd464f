"""The words for a picture model: concepts' descriptions in catalogue order (Revelio, §4, B.2).

The paper concatenates them, with the kitchen's first; the line about style is ours. All of it is
data under a version, which lands in every record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from .sources import DescribedCatalogue, in_order

DATA = Path(__file__).with_name("wording.json")


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Lead(_Data):
    """What comes first.

    Attributes:
        text: What is said when the set does not hold the concept.
        concept: The concept that says it by itself.
    """

    text: str
    concept: str | None = None


class Style(_Data):
    """How a domain's pictures look.

    Attributes:
        style: The last sentences of every prompt.
        lead: The first one.
    """

    style: str
    lead: Lead | None = None


class CheckWording(_Data):
    """How a checking model is asked."""

    version: str
    intro: str
    statement: str = Field(pattern=r"\{description\}")
    reply_format: str


class Wording(_Data):
    """All words that are sent to picture models and to those that check them."""

    version: str
    styles: Mapping[str, Style]
    check: CheckWording

    def style(self, domain: str) -> Style:
        """Return the style of a domain, or the general one."""
        return self.styles.get(domain, self.styles["default"])


@lru_cache(maxsize=1)
def wording() -> Wording:
    """Return the packaged words."""
    return Wording.model_validate_json(DATA.read_text(encoding="utf-8"))


def picture_prompt(candidate: frozenset[str], catalogue: DescribedCatalogue, domain: str) -> str:
    """Return the whole prompt of a concept set.

    Args:
        candidate: Ids.
        catalogue: The concepts and their descriptions.
        domain: The domain's name, e.g. ``"indoor"``.

    Raises:
        UnknownNameError: For an id outside the catalogue.
    """
    style = wording().style(domain)
    ids = in_order(candidate, catalogue)
    described = {concept.id: concept.description for concept in catalogue.concepts}
    parts = []
    if style.lead is not None and style.lead.concept not in ids:
        parts.append(style.lead.text)
    elif style.lead is not None and style.lead.concept is not None:
        ids = (style.lead.concept, *(name for name in ids if name != style.lead.concept))
    parts += [described[name].strip() for name in ids]
    return " ".join([*parts, style.style])
