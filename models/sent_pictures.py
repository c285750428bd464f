"""Pictures on their way to a provider: what it takes, and the bytes that are sent."""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core import Picture, UsageError
from ..core.picture_files import png_size

if TYPE_CHECKING:
    from PIL import Image

_log = logging.getLogger(__name__)

_JPEG_QUALITIES = (95, 85, 75)
_CACHED_PICTURES = 256
_CACHED_BYTES = 64 * 1024 * 1024


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


# All four read on 2026-11-30. Where a document gives no limit per side, 8000 pixels is ours: what
# the strictest of them take, and every one of them scales pictures down long before.

OPENAI_LIMITS = PictureLimits(max_base64=20_000_000)
"""OpenAI, guide "Images and vision", table of input requirements: PNG, JPEG, WebP and still GIF,
up to 20 MB a picture and 50 MB a request; no side is named."""

ANTHROPIC_LIMITS = PictureLimits(max_side=8000, max_base64=5_000_000)
"""Anthropic, guide "Vision": 8000 x 8000 px (2000 x 2000 px in requests of more than 20
pictures). The service's own refusal says "image exceeds 5 MB maximum" of the base64 text, at
5242880 characters."""

GOOGLE_LIMITS = PictureLimits(max_base64=9_333_332)
"""Google, "Image understanding": 20 MB for a whole inline request in the Gemini API, 7 MB a file
in Vertex AI, of which the smaller is taken (less than 7,000,000 bytes); no side is named."""

BEDROCK_LIMITS = PictureLimits(max_side=8000, max_base64=5_000_000)
"""Amazon, Bedrock API reference, "Message": up to 20 pictures of at most 3.75 MB, 8000 px high and
8000 px wide (3,750,000 bytes are 5,000,000 characters)."""


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

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int
    sha256: str
    note: dict[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def base64(self) -> str:
        """The bytes as base64 text, made once."""
        return base64.b64encode(self.data).decode("ascii")

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the base64 text: it would travel beside the bytes it is made of."""
        state = dict(self.__dict__)
        state.pop("base64", None)
        return state


def prepare_picture(
    picture: Picture, limits: PictureLimits, *, max_side: int | None = None
) -> SentPicture:
    """Return `picture` as the provider takes it; unchanged bytes when it fits.

    A picture with too long a side is scaled down (Lanczos). One whose base64 text is too long is
    packed tighter as PNG, then as JPEG of falling quality without colour subsampling where the
    provider takes JPEG, then scaled further. It is never scaled up, and the same original gives
    the same bytes every time, in one process the same object.

    Args:
        picture: The original.
        limits: What the provider takes.
        max_side: Longest side the user wishes, pixels; it only counts where it is the smaller.

    Raises:
        UsageError: When `max_side` is no positive number of pixels, the bytes of `picture` are no
            PNG, or nothing that is left of the picture fits.
    """
    if max_side is not None and max_side < 1:
        raise UsageError(
            f"max_side is {max_side}: it is the longest side in pixels, give 1 or more, "
            f"e.g. max_side=1024"
        )
    key = (picture.sha256, limits, max_side)
    return _prepared.get(key, lambda: _prepare(picture, limits, max_side))


def _prepare(picture: Picture, limits: PictureLimits, max_side: int | None) -> SentPicture:
    size = png_size(picture.png)
    if size is None:
        raise UsageError(
            f"{picture!r} does not hold a PNG: read foreign files with Picture.from_file"
        )
    side = limits.max_side if max_side is None else min(max_side, limits.max_side)
    reasons = []
    if max(size) > side:
        reasons.append(f"longest side {max(size)} px > {side} px")
    if _base64_length(picture.png) > limits.max_base64:
        reasons.append(f"base64 {_base64_length(picture.png)} > {limits.max_base64} characters")
    if "image/png" not in limits.media_types:
        reasons.append("image/png is not taken")
    if not reasons:
        return SentPicture(picture.png, "image/png", *size, picture.sha256)
    return _shrunk(picture, limits, side, "; ".join(reasons))


def _shrunk(picture: Picture, limits: PictureLimits, side: int, reason: str) -> SentPicture:
    from PIL import Image

    original = Image.fromarray(picture.pixels)
    width, height = original.size
    target = _within(width, height, side)
    while True:
        image = original
        if target != original.size:
            image = original.resize(target, Image.Resampling.LANCZOS)
        shortest: int | None = None
        for data, media_type, how in _encodings(image, limits.media_types):
            length = _base64_length(data)
            if length <= limits.max_base64:
                note: dict[str, Any] = {
                    "from": [width, height],
                    "to": list(target),
                    "reason": reason,
                    "media_type": media_type,
                    **how,
                    "sha256_of_original": picture.sha256,
                }
                _log.info("picture %s is sent changed: %s", picture.sha256[:12], note)
                digest = hashlib.sha256(data).hexdigest()
                return SentPicture(data, media_type, *target, digest, note)
            shortest = length if shortest is None else min(shortest, length)
        if shortest is None or max(target) == 1:
            raise UsageError(
                f"no picture fits the provider's limits ({limits}): "
                f"give it a greater max_base64, and image/png or image/jpeg as media type"
            )
        # Bytes go with the area; the reserve of 5 % saves a further round in most cases.
        factor = min(0.9, 0.95 * math.sqrt(limits.max_base64 / shortest))
        target = _within(width, height, max(1, int(max(target) * factor)))


def _encodings(
    image: Image.Image, media_types: tuple[str, ...]
) -> Iterator[tuple[bytes, str, dict[str, Any]]]:
    """Yield bytes, media type and settings, the most faithful first."""
    if "image/png" in media_types:
        yield _saved(image, "PNG", compress_level=9), "image/png", {}
    if "image/jpeg" in media_types:
        for quality in _JPEG_QUALITIES:
            data = _saved(image, "JPEG", quality=quality, subsampling="4:4:4")
            yield data, "image/jpeg", {"quality": quality}


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _within(width: int, height: int, side: int) -> tuple[int, int]:
    """Return the size with the same proportions whose longest side is at most `side` pixels."""
    longest = max(width, height)
    if longest <= side:
        return width, height
    return max(1, round(width * side / longest)), max(1, round(height * side / longest))


def _base64_length(data: bytes) -> int:
    return (len(data) + 2) // 3 * 4


class _Entry:
    """One picture in the making or made."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sent: SentPicture | None = None
        self.bytes = 0


class _Prepared:
    """The pictures prepared last, so that a retry or a second trial shares bytes and base64."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], SentPicture]) -> SentPicture:
        """Return what is kept under `key`; one caller makes it while the others wait."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if entry.sent is not None:
                return entry.sent
        with entry.lock:
            if entry.sent is None:
                sent = make()
                with self._lock:
                    entry.sent = sent
                    # The bytes and, once asked for, their base64 text.
                    entry.bytes = len(sent.data) * 7 // 3
                    if self._entries.get(key) is entry:
                        self._bytes += entry.bytes
                    self._evict()
            return entry.sent

    def _evict(self) -> None:
        while len(self._entries) > 1 and (
            len(self._entries) > _CACHED_PICTURES or self._bytes > _CACHED_BYTES
        ):
            _, entry = self._entries.popitem(last=False)
            self._bytes -= entry.bytes


_prepared = _Prepared()
