"""Pictures on their way to a provider: within its limits, never larger, the same every time."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vlmfail.core import Picture, UsageError
from vlmfail.models import sent_pictures
from vlmfail.models.picture_tokens import picture_tokens
from vlmfail.models.sent_pictures import (
    ANTHROPIC_LIMITS,
    BEDROCK_LIMITS,
    GOOGLE_LIMITS,
    OPENAI_LIMITS,
    PictureLimits,
    SentPicture,
    prepare_picture,
)


def _noise(width: int, height: int, seed: int = 0) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Picture.from_pixels(pixels)


def _plain(width: int, height: int) -> Picture:
    return Picture.from_pixels(np.full((height, width, 3), 90, dtype=np.uint8))


def _check(sent: SentPicture, limits: PictureLimits) -> Image.Image:
    """Assert what holds of everything that is sent, and return the picture in its bytes."""
    assert len(sent.base64) <= limits.max_base64
    assert base64.b64decode(sent.base64) == sent.data
    assert max(sent.width, sent.height) <= limits.max_side
    assert sent.sha256 == hashlib.sha256(sent.data).hexdigest()
    assert sent.media_type in limits.media_types
    image = Image.open(io.BytesIO(sent.data))
    assert Image.MIME[image.format or ""] == sent.media_type
    assert image.size == (sent.width, sent.height)
    assert image.mode == "RGB"
    assert json.loads(json.dumps(sent.note)) == sent.note
    return image


@pytest.mark.parametrize("limits", [OPENAI_LIMITS, ANTHROPIC_LIMITS, GOOGLE_LIMITS, BEDROCK_LIMITS])
def test_a_picture_that_fits_is_sent_as_it_is(limits: PictureLimits) -> None:
    for picture in (_noise(320, 200), _plain(1, 1)):
        sent = prepare_picture(picture, limits)
        _check(sent, limits)
        assert sent.data == picture.png
        assert sent.note == {}


def test_a_picture_that_fits_is_not_decoded() -> None:
    picture = Picture(_noise(64, 48, seed=1).png)
    sent = prepare_picture(picture, OPENAI_LIMITS)
    assert (sent.width, sent.height) == (64, 48)
    assert "pixels" not in picture.__dict__


def test_preparing_a_picture_that_fits_costs_next_to_nothing() -> None:
    pictures = [_noise(40, 30, seed) for seed in range(200)]
    for picture in pictures:
        assert picture.sha256
    best = float("inf")
    for side in (1001, 1002, 1003):
        start = time.perf_counter()
        for picture in pictures:
            prepare_picture(picture, OPENAI_LIMITS, max_side=side)
        best = min(best, (time.perf_counter() - start) / len(pictures))
    assert best < 200e-6  # Measured 13 us; a shared machine is allowed more.


def test_a_long_side_is_scaled_down_and_recorded() -> None:
    picture = _plain(20_000, 10)
    sent = prepare_picture(picture, ANTHROPIC_LIMITS)
    _check(sent, ANTHROPIC_LIMITS)
    assert (sent.width, sent.height, sent.media_type) == (8000, 4, "image/png")
    assert sent.note == {
        "from": [20_000, 10],
        "to": [8000, 4],
        "reason": "longest side 20000 px > 8000 px",
        "media_type": "image/png",
        "sha256_of_original": picture.sha256,
    }
    strip = prepare_picture(_plain(2000, 1), ANTHROPIC_LIMITS, max_side=500)
    assert (strip.width, strip.height) == (500, 1)


def test_scaling_averages_instead_of_dropping_pixels() -> None:
    pixels = np.zeros((400, 400, 3), dtype=np.uint8)
    pixels[:, ::2] = 255
    sent = prepare_picture(Picture.from_pixels(pixels), OPENAI_LIMITS, max_side=100)
    inner = np.asarray(_check(sent, OPENAI_LIMITS))[10:-10, 10:-10]
    assert np.abs(inner.astype(int) - 127).max() <= 3


def test_the_users_side_counts_where_it_is_the_smaller() -> None:
    picture = _noise(300, 150, seed=2)
    limits = PictureLimits(max_side=200)
    assert prepare_picture(picture, limits, max_side=100).note["to"] == [100, 50]
    assert prepare_picture(picture, limits, max_side=4000).note["to"] == [200, 100]
    assert prepare_picture(picture, OPENAI_LIMITS, max_side=300).data == picture.png
    small = _noise(30, 20, seed=3)
    assert prepare_picture(small, limits, max_side=100).data == small.png


@pytest.mark.parametrize("side", [0, -5])
def test_a_side_below_one_pixel_is_refused(side: int) -> None:
    with pytest.raises(UsageError, match="max_side"):
        prepare_picture(_plain(4, 4), OPENAI_LIMITS, max_side=side)


def test_the_limit_counts_the_base64_text_not_the_bytes() -> None:
    picture = _noise(60, 50, seed=4)
    length = len(base64.b64encode(picture.png))
    exact = PictureLimits(max_base64=length)
    assert prepare_picture(picture, exact).data == picture.png
    less = PictureLimits(max_base64=length - 1)
    assert len(picture.png) < less.max_base64
    sent = prepare_picture(picture, less)
    assert sent.note["reason"] == f"base64 {length} > {length - 1} characters"
    _check(sent, less)


def test_too_long_a_text_is_first_packed_without_loss() -> None:
    pixels = np.tile(_noise(16, 16, seed=15).pixels, (40, 40, 1))
    picture = Picture.from_pixels(pixels)
    sent = prepare_picture(picture, PictureLimits(max_base64=len(picture.png) // 2))
    assert (sent.media_type, sent.note["to"]) == ("image/png", [640, 640])
    assert np.array_equal(Picture(sent.data).pixels, pixels)


def test_then_jpeg_of_falling_quality_then_smaller_sides() -> None:
    picture = _noise(400, 400, seed=5)
    seen = []
    for share in (1.25, 0.9, 0.7, 0.1):
        limits = PictureLimits(max_base64=int(len(picture.png) * share))
        sent = prepare_picture(picture, limits)
        image = _check(sent, limits)
        assert sent.media_type == "image/jpeg"
        assert [tuple(layer[1:3]) for layer in image.layer] == [(1, 1)] * 3  # No subsampling.
        seen.append((sent.note["quality"], sent.width))
    assert seen[0] == (95, 400)
    assert all(quality in (95, 85, 75) for quality, _ in seen)
    assert [quality for quality, width in seen if width == 400] == sorted(
        (quality for quality, width in seen if width == 400), reverse=True
    )
    assert seen[-1][1] < 250


def test_a_provider_without_jpeg_gets_a_smaller_png_and_one_without_png_a_jpeg() -> None:
    picture = _noise(200, 100, seed=6)
    limits = PictureLimits(("image/png",), max_base64=20_000)
    sent = prepare_picture(picture, limits)
    _check(sent, limits)
    assert sent.width < 200
    assert abs(sent.width / sent.height - 2) < 0.1
    limits = PictureLimits(("image/jpeg",))
    sent = prepare_picture(picture, limits)
    _check(sent, limits)
    assert (sent.width, sent.note["reason"]) == (200, "image/png is not taken")


def test_a_huge_noise_picture_comes_below_the_limit() -> None:
    picture = _noise(1500, 1500, seed=7)
    assert len(picture.png) * 4 / 3 > ANTHROPIC_LIMITS.max_base64
    sent = prepare_picture(picture, ANTHROPIC_LIMITS)
    _check(sent, ANTHROPIC_LIMITS)
    assert sent.width > 1000  # Not smaller than need be.
    assert sent.note["sha256_of_original"] == picture.sha256


def test_limits_that_nothing_fits_are_an_error_and_no_endless_loop() -> None:
    for limits in (PictureLimits(max_base64=8), PictureLimits(("image/webp",))):
        with pytest.raises(UsageError, match="no picture fits"):
            prepare_picture(_noise(50, 50, seed=8), limits)


def test_bytes_that_are_no_png_are_refused() -> None:
    with pytest.raises(UsageError, match=r"Picture\.from_file"):
        prepare_picture(Picture(b"\xff\xd8\xff\xe0 a JPEG"), OPENAI_LIMITS)


@settings(max_examples=40, deadline=None)
@given(
    width=st.integers(1, 90),
    height=st.integers(1, 90),
    side=st.integers(1, 100),
    base64_length=st.integers(1200, 20_000),
)
def test_whatever_the_limits_the_result_obeys_them(
    width: int, height: int, side: int, base64_length: int
) -> None:
    limits = PictureLimits(max_side=side, max_base64=base64_length)
    sent = prepare_picture(_noise(width, height, seed=9), limits)
    _check(sent, limits)
    assert sent.width <= width
    assert sent.height <= height


def test_the_same_original_gives_the_same_object_and_afresh_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = PictureLimits(max_base64=30_000)
    first = prepare_picture(_noise(200, 100, seed=10), limits)
    assert prepare_picture(_noise(200, 100, seed=10), limits) is first
    assert first.base64 is first.base64
    assert prepare_picture(_noise(200, 100, seed=11), limits) is not first
    assert prepare_picture(_noise(200, 100, seed=10), limits, max_side=64) is not first
    monkeypatch.setattr(sent_pictures, "_prepared", sent_pictures._Prepared())
    again = prepare_picture(_noise(200, 100, seed=10), limits)
    assert again is not first
    assert again == first


def test_many_threads_make_one_picture_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_pictures, "_prepared", sent_pictures._Prepared())
    made = []
    shrunk = sent_pictures._shrunk

    def counted(*args: object) -> SentPicture:
        made.append(args)
        return shrunk(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(sent_pictures, "_shrunk", counted)
    barrier = threading.Barrier(8)

    def prepare(_: int) -> SentPicture:
        barrier.wait(10)
        return prepare_picture(_noise(300, 300, seed=12), OPENAI_LIMITS, max_side=100)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(prepare, range(8)))
    assert all(result is results[0] for result in results)
    assert len(made) == 1


def test_the_pictures_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = sent_pictures._Prepared()
    monkeypatch.setattr(sent_pictures, "_prepared", kept)
    monkeypatch.setattr(sent_pictures, "_CACHED_PICTURES", 5)
    for seed in range(9):
        last = prepare_picture(_noise(20, 20, seed), OPENAI_LIMITS)
    assert len(kept._entries) == 5
    monkeypatch.setattr(sent_pictures, "_CACHED_BYTES", 1)
    prepare_picture(_noise(20, 20, seed=9), OPENAI_LIMITS)
    assert len(kept._entries) == 1
    assert kept._bytes == sum(entry.bytes for entry in kept._entries.values()) > 0
    assert prepare_picture(_noise(20, 20, seed=8), OPENAI_LIMITS) == last


def test_a_failed_preparation_is_tried_again_and_does_not_stay() -> None:
    limits = PictureLimits(max_base64=12)
    for _ in range(2):
        with pytest.raises(UsageError):
            prepare_picture(_noise(10, 10, seed=13), limits)


def test_pickles_carry_the_bytes_and_not_the_text() -> None:
    sent = prepare_picture(_noise(200, 100, seed=14), OPENAI_LIMITS)
    bare = len(pickle.dumps(sent))
    text = sent.base64
    assert len(pickle.dumps(sent)) == bare
    copy = pickle.loads(pickle.dumps(sent))
    assert copy == sent
    assert copy.base64 == text
    assert len(repr(sent)) < 1000
    assert hash(copy) == hash(sent)


@pytest.mark.parametrize(
    ("provider", "model", "size", "detail", "tokens"),
    [
        # The worked examples of the providers' own guides.
        ("openai", "gpt-4o", (1024, 1024), "high", 765),
        ("openai", "gpt-4o", (2048, 4096), "high", 1105),
        ("openai", "gpt-4o-2024-08-06", (4096, 8192), "low", 85),
        ("openai", "gpt-4.1-mini", (1024, 1024), None, 1659),
        ("openai", "gpt-4.1-mini", (1800, 2400), None, 2353),
        ("anthropic", "claude-sonnet-4-5", (200, 200), None, 54),
        ("anthropic", "claude-sonnet-4-5", (1000, 1000), None, 1334),
        ("anthropic", "claude-sonnet-4-5", (1092, 1092), None, 1590),
        ("google", "gemini-2.5-flash", (960, 540), None, 6 * 258),
        ("google", "gemini-2.5-flash", (384, 384), None, 258),
        ("google", "gemini-3-pro-preview", (4000, 4000), None, 1120),
        ("google", "gemini-3-pro-preview", (10, 10), "low", 280),
        # Ours, from the same formulas.
        ("openai", "gpt-4o", (300, 200), None, 255),
        ("openai", "gpt-5-2025-08-07", (512, 512), None, 210),
        ("openai", "gpt-5-mini", (512, 512), None, 415),
        ("openai", "openai/gpt-4o-mini", (512, 512), "low", 2833),
        ("anthropic", None, (8000, 8000), None, 1600),
        ("anthropic", None, (1, 1), None, 1),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-v1:0", (200, 200), None, 54),
        # Unknown.
        ("openai", None, (512, 512), None, None),
        ("openai", "tiny-vlm", (512, 512), None, None),
        ("openai", "gpt-5.9", (512, 512), None, None),
        ("openai", "gpt-4.1-mini", (512, 512), "low", None),
        ("google", "gemini-9", (512, 512), None, None),
        ("bedrock", "amazon.nova-pro-v1:0", (512, 512), None, None),
        ("hf", "any", (512, 512), None, None),
    ],
)
def test_tokens_of_a_picture(
    provider: str,
    model: str | None,
    size: tuple[int, int],
    detail: str | None,
    tokens: int | None,
) -> None:
    assert picture_tokens(provider, *size, detail, model=model) == tokens


@given(width=st.integers(1, 30_000), height=st.integers(1, 30_000))
def test_patches_never_pass_their_cap(width: int, height: int) -> None:
    tokens = picture_tokens("openai", width, height, model="gpt-4.1-nano")
    assert tokens is not None
    assert 1 <= tokens <= 1536 * 2.46 + 1
    assert (picture_tokens("openai", width, height, model="gpt-4o") or 0) > 85


def test_tokens_of_no_picture_are_an_error() -> None:
    with pytest.raises(ValueError, match="positive pixels"):
        picture_tokens("openai", 0, 10, model="gpt-4o")
