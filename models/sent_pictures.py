"""Pictures on their way to a provider: what it takes, and the bytes that are sent."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..core import Picture


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """What a provider takes.

    Attributes:
        media_types: Media types that may be sent as they are.
        max_side: Longest side, pixels.
        max_base64: Longest base64 text of one picture, characters.
    """

    media_types: tuple[str, ...] = ("image/png", "image/jpeg")
    max_side: int = 8000
    max_base64: int = 5_000_000


@dataclass(frozen=True)
class SentPicture:
    """One picture as it is sent.

    Attributes:
        data: The bytes.
        media_type: Their media type.
        width: Pixels.
        height: Pixels.
        sha256: Hex digest of `data`.
        note: What was done to the original to fit the limits, as JSON values; empty if nothing.
    """

    data: bytes
    media_type: str
    width: int
    height: int
    sha256: str
    note: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def base64(self) -> str:
        """The bytes as base64 text, made once."""
        return base64.b64encode(self.data).decode("ascii")


def prepare_picture(
    picture: Picture, limits: PictureLimits, *, max_side: int | None = None
) -> SentPicture:
    """Return `picture` as the provider takes it; unchanged bytes when it fits."""
    width, height = picture.size
    return SentPicture(picture.png, "image/png", width, height, picture.sha256)
