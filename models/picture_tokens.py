"""What a picture costs in input tokens, by the providers' published formulas.

Estimates for planning a budget, not for billing: what a reply reports is what counts. Providers
change these figures with new models; a model whose figures are not published here is unknown.
All documents read on 2026-11-30.
"""

from __future__ import annotations

import math

# OpenAI, guide "Images and vision", "Calculating costs": tokens of the whole picture and of each
# 512 px tile. The longest matching beginning of a model's name counts.
_OPENAI_TILES: dict[str, tuple[int, int]] = {
    "gpt-5": (70, 140),
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-4.5": (85, 170),
    "gpt-4-turbo": (85, 170),
    "gpt-4o-mini": (2833, 5667),
    "o1": (75, 150),
    "o3": (75, 150),
    "computer-use-preview": (65, 129),
}

# The same guide: tokens per 32 px patch, of at most 1536 patches.
_OPENAI_PATCHES: dict[str, float] = {
    "gpt-5-mini": 1.62,
    "gpt-5-nano": 2.46,
    "gpt-4.1-mini": 1.62,
    "gpt-4.1-nano": 2.46,
    "o4-mini": 1.72,
}
_MOST_PATCHES = 1536

# Later members of a family that are counted in another way, or without published figures.
_OPENAI_UNKNOWN = ("gpt-5.", "gpt-5-codex", "gpt-5-pro", "o1-mini", "o3-mini")

# Google, "Media resolution": tokens of a picture with Gemini 3, `high` unless asked otherwise.
_GEMINI_3: dict[str, int] = {"low": 280, "medium": 560, "high": 1120}


def picture_tokens(
    provider: str, width: int, height: int, detail: str | None = None, *, model: str | None = None
) -> int | None:
    """Estimate the input tokens of one picture as it is sent.

    Args:
        provider: ``"openai"``, ``"anthropic"``, ``"google"`` or ``"bedrock"``.
        width: Pixels.
        height: Pixels.
        detail: The provider's word for resolution (``"low"``, ``"high"``, ...); None for its
            default, which is counted as the dearer one where the provider decides by itself.
        model: The model's name; OpenAI's formulas differ between models.

    Returns:
        The tokens, or None when no public formula is known for that provider, model or detail.

    Raises:
        ValueError: When a side is not positive.
    """
    if width < 1 or height < 1:
        raise ValueError(f"width, height: expected positive pixels, got {width} x {height}")
    name = (model or "").lower().rsplit("/", 1)[-1]
    if provider == "openai":
        return _openai(name, width, height, detail)
    if provider == "anthropic":
        return _anthropic(width, height)
    if provider == "google":
        return _google(name, width, height, detail)
    if provider == "bedrock" and "anthropic." in name:
        return _anthropic(width, height)
    return None


def _openai(name: str, width: int, height: int, detail: str | None) -> int | None:
    """Count tiles or patches, whichever the model is billed by.

    Source: OpenAI, guide "Images and vision". Tiles: scale down into 2048 x 2048 px, then to a
    shortest side of 768 px, then count tiles of 512 px. Patches: 32 px each; more than 1536 are
    scaled down such that a whole number of patches fits one side.
    """
    if name.startswith(_OPENAI_UNKNOWN) or detail not in (None, "auto", "low", "high"):
        return None
    matches = [known for known in (*_OPENAI_TILES, *_OPENAI_PATCHES) if name.startswith(known)]
    if not matches:
        return None
    family = max(matches, key=len)
    if family in _OPENAI_PATCHES:
        # The guide gives no count for low detail, which these models bill otherwise.
        if detail == "low":
            return None
        return math.ceil(_patches(width, height) * _OPENAI_PATCHES[family])
    base, tile = _OPENAI_TILES[family]
    if detail == "low":
        return base
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return base + tile * _cells(width * scale, 512) * _cells(height * scale, 512)


def _patches(width: int, height: int) -> int:
    count = _cells(width, 32) * _cells(height, 32)
    if count <= _MOST_PATCHES:
        return count
    scale = math.sqrt(_MOST_PATCHES * 32**2 / (width * height))
    across, down = width * scale / 32, height * scale / 32
    # Never below one patch a side: a strip of 20000 x 10 px would vanish.
    scale *= min(max(1.0, math.floor(across)) / across, max(1.0, math.floor(down)) / down)
    return min(_MOST_PATCHES, _cells(width * scale, 32) * _cells(height * scale, 32))


def _anthropic(width: int, height: int) -> int:
    """Count one token per 750 square pixels.

    Source: Anthropic, guide "Vision": tokens = width x height / 750; a picture with a long edge
    above 1568 px or of more than about 1600 tokens is scaled down first. Models with a high
    resolution mode may use more.
    """
    scale = min(1.0, 1568 / max(width, height))
    return max(1, min(1600, math.ceil(width * height * scale**2 / 750)))


def _google(name: str, width: int, height: int, detail: str | None) -> int | None:
    """Count tiles of 258 tokens, or the fixed tokens of Gemini 3.

    Source: Google, "Image understanding", "Token calculation": 258 tokens with both sides up to
    384 px; else tiles by a crop unit of roughly floor(shortest side / 1.5) px, and at least
    256 px (said of Gemini 1.5, taken for all). "Media resolution" for Gemini 3. Without a model's
    name the tiles are counted.
    """
    if name.startswith("gemini-3"):
        return _GEMINI_3.get(detail or "high")
    if name and not name.startswith(("gemini-1.5", "gemini-2")):
        return None
    if detail not in (None, "auto", "high"):
        return None
    if max(width, height) <= 384:
        return 258
    unit = max(256, math.floor(min(width, height) / 1.5))
    return 258 * _cells(width, unit) * _cells(height, unit)


def _cells(length: float, cell: int) -> int:
    """Return how many cells cover `length`; a rounding error does not open a further one."""
    return max(1, math.ceil(length / cell - 1e-9))
