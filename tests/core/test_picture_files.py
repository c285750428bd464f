"""Foreign picture files: every kind comes out upright, 8-bit and RGB, or with one clear error."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from vlmfail.core import Picture, UsageError
from vlmfail.core.picture_files import png_size, read_bytes

RAMP = [0, 128, 129, 255, 256, 257, 511, 32767, 32896, 33023, 65279, 65535]
SCALED = [round(value / 257) for value in RAMP]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png(width: int, height: int, depth: int, colour: int, rows: bytes, *extra: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    end = _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + b"".join(extra) + end


def _deep_png(*channels: list[int], colour: int, extra: bytes = b"") -> bytes:
    samples = np.array(channels, dtype=">u2").T.tobytes()
    return _png(len(channels[0]), 1, 16, colour, b"\0" + samples, extra)


def _noise(width: int = 12, height: int = 8) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _row(data: bytes) -> list[list[int]]:
    return Picture.from_bytes(data).pixels[0].tolist()


def _grey(values: list[int]) -> list[list[int]]:
    return [[value] * 3 for value in values]


def test_the_type_follows_from_the_bytes_not_from_the_name(tmp_path: Path) -> None:
    path = tmp_path / "street.png"
    data = _saved(Image.fromarray(_noise()), "JPEG", quality=95)
    path.write_bytes(data)
    picture = Picture.from_file(path)
    with Image.open(io.BytesIO(data)) as image:
        assert np.array_equal(picture.pixels, np.asarray(image))
    assert picture.png.startswith(b"\x89PNG")
    assert picture == Picture.from_bytes(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_once(kind: str, orientation: int) -> None:
    image = Image.fromarray(_noise())
    tags = image.getexif()
    tags[0x0112] = orientation
    options = {"lossless": True} if kind == "WEBP" else {"quality": 95} if kind == "JPEG" else {}
    data = _saved(image, kind, exif=tags, **options)
    with Image.open(io.BytesIO(data)) as stored:
        upright = np.asarray(ImageOps.exif_transpose(stored).convert("RGB"))
    picture = Picture.from_bytes(data)
    assert np.array_equal(picture.pixels, upright)
    assert picture.size == ((12, 8) if orientation < 5 else (8, 12))
    again = Picture.from_bytes(picture.png)
    assert again.png == picture.png
    with Image.open(io.BytesIO(picture.png)) as stored:
        assert stored.getexif().get(0x0112, 1) == 1 or orientation == 1


def test_a_damaged_or_senseless_orientation_is_no_orientation() -> None:
    image = Image.fromarray(_noise())
    senseless = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x63\0\0\0\0\0\0"
    for exif in (b"Exif\0\0rubbish", b"Exif\0\0" + senseless):
        data = _saved(image, "PNG", exif=exif)
        assert np.array_equal(Picture.from_bytes(data).pixels, _noise())


def test_a_16_bit_grey_png_is_scaled_and_not_clipped() -> None:
    assert _row(_deep_png(RAMP, colour=0)) == _grey(SCALED)


@pytest.mark.parametrize("colour", [2, 6])
def test_a_16_bit_colour_png_is_scaled_to_the_nearest_level(colour: int) -> None:
    opaque = [[65535] * len(RAMP)] if colour == 6 else []
    row = _row(_deep_png(RAMP, RAMP[::-1], RAMP, *opaque, colour=colour))
    assert row == [list(each) for each in zip(SCALED, SCALED[::-1], SCALED, strict=True)]


def test_a_16_bit_grey_png_with_alpha_lies_on_white() -> None:
    row = _row(_deep_png([*RAMP, 0, 0], [65535] * len(RAMP) + [0, 32896], colour=4))
    assert row == _grey([*SCALED, 255, 127])


def test_an_interlaced_16_bit_png_keeps_its_order() -> None:
    # Adam7 on a row of four: pixel 0, then pixel 2, then pixels 1 and 3.
    red, green, blue, grey = ((65535, 0, 257), (0, 65535, 257), (0, 0, 65535), (514, 514, 514))
    passes = ((red,), (blue,), (green, grey))
    rows = b"".join(b"\0" + np.array(each, ">u2").tobytes() for each in passes)
    header = struct.pack(">IIBBBBB", 4, 1, 16, 2, 0, 0, 1)
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)
    data += _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    assert _row(data) == [[255, 0, 1], [0, 255, 1], [0, 0, 255], [2, 2, 2]]


def test_the_transparent_value_of_a_16_bit_png_is_that_value_alone() -> None:
    clear = _chunk(b"tRNS", struct.pack(">H", 257))
    assert _row(_deep_png([256, 257, 258], colour=0, extra=clear)) == _grey([1, 255, 1])
    clear = _chunk(b"tRNS", struct.pack(">HHH", 257, 257, 257))
    values = [256, 257, 258]
    assert _row(_deep_png(values, values, values, colour=2, extra=clear)) == _grey([1, 255, 1])


def test_16_bit_tiff_grey_is_scaled_whichever_value_is_white() -> None:
    image = Image.fromarray(np.array([RAMP], np.uint16))
    assert _row(_saved(image, "TIFF")) == _grey(SCALED)
    turned = _row(_saved(image, "TIFF", tiffinfo={262: 0}))
    assert turned == _grey([round((65535 - value) / 257) for value in RAMP])


@pytest.mark.parametrize("samples", [np.int32, np.float32])
def test_samples_without_an_agreed_white_are_refused(samples: type) -> None:
    data = _saved(Image.fromarray(np.array([[0, 1, 70000]], samples)), "TIFF")
    with pytest.raises(UsageError, match="no agreed white"):
        Picture.from_bytes(data)


def test_bits_and_few_bits_are_stretched_and_their_transparent_value_is_white() -> None:
    assert _row(_png(4, 1, 1, 0, b"\0\x50")) == _grey([0, 255, 0, 255])
    assert _row(_png(4, 1, 2, 0, b"\0\x1b")) == _grey([0, 85, 170, 255])
    for depth, byte, grey in ((2, b"\x1b", [0, 255, 170, 255]), (4, b"\x01\x23", [0, 255, 34, 51])):
        clear = _chunk(b"tRNS", struct.pack(">H", 1))
        assert _row(_png(4, 1, depth, 0, b"\0" + byte, clear)) == _grey(grey)


def test_palettes_show_their_colours_and_white_where_they_are_clear() -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([10, 20, 30, 200, 100, 0, 0, 0, 0])
    image.putdata([0, 1, 2])
    assert _row(_saved(image, "PNG")) == [[10, 20, 30], [200, 100, 0], [0, 0, 0]]
    clear = [[10, 20, 30], [255, 255, 255], [0, 0, 0]]
    assert _row(_saved(image, "PNG", transparency=1)) == clear
    assert _row(_saved(image, "GIF", transparency=1)) == clear
    half = _row(_saved(image, "PNG", transparency=bytes([255, 128, 0])))
    assert half == [[10, 20, 30], [227, 177, 127], [255, 255, 255]]


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_alpha_lies_on_white(mode: str) -> None:
    image = Image.new(mode, (3, 1))
    colour = (0,) * (len(mode) - 1)
    image.putdata([(*colour, 255), (*colour, 128), (*colour, 0)])
    assert _row(_saved(image, "PNG")) == _grey([0, 127, 255])


def test_a_cmyk_jpeg_is_not_inverted() -> None:
    for ink, colour in (((0, 0, 0, 0), 255), ((0, 0, 0, 255), 0), ((0, 255, 255, 0), None)):
        data = _saved(Image.new("CMYK", (16, 16), ink), "JPEG", quality=100)
        assert b"Adobe" in data
        pixel = Picture.from_bytes(data).pixels[8, 8].astype(int)
        expected = [255, 0, 0] if colour is None else [colour] * 3
        assert np.abs(pixel - expected).max() <= 2


def test_a_ycck_jpeg_is_turned_into_inks_first() -> None:
    # Red as Adobe writes it: luma and chroma of the inverted inks, told by the transform byte.
    data = bytearray(_saved(Image.new("CMYK", (16, 16), (76, 84, 254, 0)), "JPEG", quality=100))
    data[data.index(b"Adobe") + 11] = 2
    pixel = Picture.from_bytes(bytes(data)).pixels[8, 8].astype(int)
    assert np.abs(pixel - [255, 0, 0]).max() <= 4


def test_a_colour_profile_becomes_srgb() -> None:
    plain = _saved(Image.fromarray(_noise()), "PNG")
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    image = Image.fromarray(_noise())
    assert np.array_equal(
        Picture.from_bytes(_saved(image, "PNG", icc_profile=srgb)).pixels, _noise()
    )
    for profile in (_linear_profile(srgb), b"rubbish"):
        data = _saved(image, "PNG", icc_profile=profile)
        picture = Picture.from_bytes(data)
        assert picture.png != plain
        if profile == b"rubbish":
            assert np.array_equal(picture.pixels, _noise())
        else:
            # Linear light is stored darker than sRGB: the same numbers mean brighter colours.
            assert picture.pixels.mean() > _noise().mean() + 20


def _linear_profile(srgb: bytes) -> bytes:
    """Return the sRGB profile with its tone curves made straight lines, and another name."""
    count = struct.unpack_from(">I", srgb, 128)[0]
    data = bytearray(srgb)
    for tag in range(count):
        name, at, length = struct.unpack_from(">4sII", srgb, 132 + 12 * tag)
        if name in (b"rTRC", b"gTRC", b"bTRC"):
            data[at : at + 12] = b"curv" + bytes(8)
            struct.pack_into(">4sII", data, 132 + 12 * tag, name, at, 12)
        if name == b"desc":
            body = bytes(data[at : at + length]).replace(
                "sRGB".encode("utf-16-be"), b"\0l\0i\0n\0e"
            )
            data[at : at + length] = body
    return bytes(data)


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "PNG", "WEBP"):
        options = {"lossless": True} if kind == "WEBP" else {}
        data = _saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        picture = Picture.from_bytes(data)
        assert (picture.pixels == (255, 0, 0)).all()
        assert b"acTL" not in picture.png


def test_a_plain_png_keeps_its_own_bytes(tmp_path: Path) -> None:
    data = _saved(Image.fromarray(_noise()), "PNG", compress_level=9)
    assert data != Picture.from_pixels(_noise()).png
    path = tmp_path / "picture.jpg"
    path.write_bytes(data)
    picture = Picture.from_file(path)
    assert picture.png == data
    assert np.array_equal(picture.pixels, _noise())
    assert (
        Picture.from_bytes(Picture.from_pixels(_noise()).png).png
        == Picture.from_pixels(_noise()).png
    )


def test_an_unsound_png_does_not_keep_its_bytes() -> None:
    data = _saved(Image.fromarray(_noise()), "PNG", compress_level=9)
    wrong_sum = data[:-13] + bytes([data[-13] ^ 1]) + data[-12:]
    for unsound in (data + b"more", data[:-12], wrong_sum):
        picture = Picture.from_bytes(unsound)
        assert picture.png == Picture.from_pixels(_noise()).png


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_bytes_are_read_or_refused_and_nothing_else(kind: str) -> None:
    rng = np.random.default_rng(0)
    sound = _saved(Image.fromarray(_noise()), kind)
    for _ in range(60):
        data = bytearray(sound)
        for at in rng.integers(0, len(data), rng.choice([1, 3, 10])):
            data[at] = rng.integers(256)
        with contextlib.suppress(UsageError):
            assert Picture.from_bytes(bytes(data)).pixels.dtype == np.uint8


def test_the_smallest_picture() -> None:
    for kind in ("PNG", "JPEG", "GIF", "BMP"):
        assert Picture.from_bytes(_saved(Image.new("L", (1, 1), 255), kind)).size == (1, 1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF"])
def test_a_picture_that_is_cut_off_is_one_clear_error(kind: str) -> None:
    data = _saved(Image.fromarray(_noise(40, 40)), kind)
    for share in (0.02, 0.3, 0.6, 0.9):
        with pytest.raises(UsageError) as caught:
            Picture.from_bytes(data[: int(len(data) * share)], name="'cut'")
        assert str(caught.value).startswith("'cut' ")
        assert "\n" not in str(caught.value)


def test_what_is_no_picture_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("a letter")
    (tmp_path / "page.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    for name, reason in (
        ("empty.png", "is empty"),
        ("text.png", "no picture that is known"),
        ("page.png", "no picture that is known"),
        ("missing.png", "there is no picture file"),
        (".", "cannot be read"),
    ):
        with pytest.raises(UsageError, match=reason) as caught:
            Picture.from_file(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pipe", "\ud800", "a\0b"])
def test_what_can_be_no_picture_file_is_told_at_once(tmp_path: Path, name: str) -> None:
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match=r"no regular file|there is no picture file"):
        read_bytes(tmp_path / name)


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    bomb = _png(60_000, 60_000, 8, 2, bytes(1000))
    gif = b"GIF89a" + struct.pack("<HH", 60_000, 60_000) + b"\0\0\0," + bytes(4)
    gif += struct.pack("<HH", 60_000, 60_000) + b"\0\x02\0;"
    for data in (bomb, gif):
        with pytest.raises(UsageError, match="too many pixels"):
            Picture.from_bytes(data)


def test_the_size_is_in_the_header_of_a_png_alone() -> None:
    assert png_size(_saved(Image.new("L", (20_000, 10)), "PNG")) == (20_000, 10)
    assert png_size(_saved(Image.new("L", (2, 1)), "JPEG")) is None
    assert png_size(b"") is None
