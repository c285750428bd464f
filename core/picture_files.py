"""Foreign picture files: any bytes that hold a picture, read into upright 8-bit RGB pixels.

The kind of file follows from its bytes, never from its name. Orientation tags are applied, so that
nothing downstream has to know them; samples of more than 8 bits are scaled, not clipped; what is
transparent shows white; CMYK and colour profiles become sRGB; of several frames the first counts.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import UsageError

if TYPE_CHECKING:
    from PIL import Image, ImageFile

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

MAX_BYTES = 256 * 1024 * 1024
MAX_PIXELS = 89_478_485
"""Largest picture that is decoded, pixels: where Pillow begins to suspect a decompression bomb."""

# Formats by name: Pillow would otherwise also start an external PostScript interpreter on EPS.
_FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")
_READABLE = "PNG, JPEG, WebP, GIF, BMP, TIFF, AVIF, JPEG 2000 and PPM can be read"

# A PNG with any other chunk (palette, transparency, profile, animation) is decoded and re-encoded.
_PLAIN_CHUNKS = frozenset(
    b"IHDR IDAT IEND sRGB gAMA cHRM sBIT pHYs tIME tEXt zTXt iTXt eXIf".split()
)

_ORIENTATION = 0x0112
_TURNS: dict[int, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    1: lambda pixels: pixels,
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: np.rot90(pixels),
}


def png_size(png: bytes) -> tuple[int, int] | None:
    """Return (width, height) in pixels from a PNG's header alone, None when it is no PNG."""
    if len(png) < 33 or png[:8] != PNG_SIGNATURE or png[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", png, 16)
    return width, height


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a picture file.

    Raises:
        UsageError: When there is no such file, or it cannot be read, is no regular file, or is
            larger than `MAX_BYTES`.
    """
    path = Path(path)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(
                    f"{str(path)!r} is no regular file: give the path of a file that holds a "
                    "picture"
                )
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(
            f"there is no picture file {str(path)!r}: give the path of an existing file"
        ) from None
    except OSError as error:
        raise UsageError(
            f"the picture file {str(path)!r} cannot be read ({error.strerror}): "
            f"give the path of a readable file"
        ) from None
    except ValueError as error:  # a name that no file can have
        raise UsageError(f"there is no picture file {str(path)!r} ({error})") from None
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"the picture file {str(path)!r} is larger than {MAX_BYTES >> 20} MiB: save it smaller"
        )
    return data


def _open_at_once(path: str, flags: int) -> int:
    # A pipe that nobody writes to would otherwise be waited for without end.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decode(data: bytes, name: str) -> tuple[npt.NDArray[np.uint8], bool]:
    """Decode the bytes of a picture.

    Args:
        data: A whole file.
        name: What errors call it.

    Returns:
        The upright pixels, `height x width x 3`, and whether `data` is a plain PNG that says
        exactly that: 8-bit RGB, upright, without transparency, profile or further frames.

    Raises:
        UsageError: When `data` is no picture, is damaged, too large, or of a kind without an
            agreed white (32-bit and floating-point samples).
    """
    from PIL import Image, UnidentifiedImageError

    if not data:
        raise UsageError(f"{name} is empty: give a file that holds a picture")
    size = png_size(data)
    if size is not None:
        _check_size(*size, name)
    Image.init()
    formats = [kind for kind in _FORMATS if kind in Image.OPEN]
    try:
        with Image.open(io.BytesIO(data), formats=formats) as image:
            _check_size(*image.size, name)
            pixels = _upright(image, data, name)
            plain = _is_plain_png(data) and _orientation(image) == 1
    except UsageError:
        raise
    except UnidentifiedImageError:
        raise UsageError(f"{name} holds no picture that is known: {_READABLE}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UsageError(_too_large(name)) from None
    except Exception as error:  # Pillow's readers raise whatever their parsing runs into.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(
            f"{name} cannot be decoded ({why}): it is damaged, cut off or of a rare kind; "
            f"save it again as PNG or JPEG"
        ) from None
    return pixels, plain


def _check_size(width: int, height: int, name: str) -> None:
    if width * height > MAX_PIXELS:
        raise UsageError(_too_large(name, f" of {width} x {height}"))


def _too_large(name: str, size: str = "") -> str:
    return (
        f"{name} claims to be a picture{size} of too many pixels: "
        f"at most {MAX_PIXELS} are decoded; scale it down first"
    )


def _upright(image: ImageFile.ImageFile, data: bytes, name: str) -> npt.NDArray[np.uint8]:
    deep = _deep_png_samples(image, data)
    # Loading turns a TIFF by itself and drops the tag: the tag is asked for afterwards.
    image.load()
    turn = _TURNS[_orientation(image)]
    if image.format == "PNG" and data[25] == 0 and data[24] in (2, 4):
        # Pillow stretches such samples to 0..255 but leaves the transparent one as it was.
        clear = image.info.get("transparency")
        if isinstance(clear, int):
            image.info["transparency"] = clear * 255 // ((1 << data[24]) - 1)
    shown: Image.Image = image
    if deep is not None:
        from PIL import Image

        shown = _copy_info(Image.fromarray(_to_8_bit(deep)), image)
    elif image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        shown = _copy_info(_grey_8_bit(image), image)
    elif image.mode in ("I", "F"):
        raise UsageError(
            f"{name} has 32-bit or floating-point samples, which have no agreed white: "
            f"save it with 8 or 16 bits per sample"
        )
    pixels: npt.NDArray[np.uint8] = np.asarray(_on_white(shown), dtype=np.uint8)
    return np.ascontiguousarray(turn(pixels))


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # A damaged tag block says nothing about the pixels.
        return 1
    return value if isinstance(value, int) and value in _TURNS else 1


# -- deep samples ---------------------------------------------------------------------------------


def _to_8_bit(samples: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Scale 16-bit samples to 8 bits: 65535 / 255 = 257, rounded to nearest."""
    levels: npt.NDArray[np.uint8] = ((np.arange(65536) + 128) // 257).astype(np.uint8)
    scaled: npt.NDArray[np.uint8] = levels[samples]
    return scaled


def _grey_8_bit(image: Image.Image) -> Image.Image:
    """Scale 16-bit grey, which Pillow would clip at 255; a transparent value becomes alpha."""
    from PIL import Image

    samples = np.clip(np.asarray(image), 0, 65535)
    tags = getattr(image, "tag_v2", {})
    bits = tags.get(258, (16,))[0]
    if bits < 16:
        samples = samples.astype(np.uint32) * 65535 // ((1 << bits) - 1)
    if tags.get(262) == 0:  # White is zero: Pillow turns it round for 8 bits alone.
        samples = 65535 - samples
    grey = _to_8_bit(samples)
    clear = image.info.get("transparency")
    if not isinstance(clear, int):
        return Image.fromarray(grey)
    alpha = np.where(samples == clear, 0, 255).astype(np.uint8)
    return Image.fromarray(np.dstack((grey, grey, grey, alpha)))


def _deep_png_samples(image: ImageFile.ImageFile, data: bytes) -> npt.NDArray[np.uint16] | None:
    """Return the samples of a PNG with 16-bit colour or alpha; None for any other picture.

    Pillow keeps the high byte of such samples alone, which is off by one level for a quarter of all
    values and confuses neighbours of the transparent colour. Reading the same rows a second time
    with the bytes' order declared the other way round gives the low bytes.
    """
    if image.format != "PNG" or data[24] != 16 or data[25] not in (2, 4, 6):
        return None
    if data[25] == 4:
        # Two 16-bit channels are as wide as four 8-bit ones: one reading gives all four bytes.
        raw = _decode_as(data, "RGBA").astype(np.uint16)
        grey, alpha = raw[..., 0] << 8 | raw[..., 1], raw[..., 2] << 8 | raw[..., 3]
        return np.dstack((grey, grey, grey, alpha))
    mode = "RGB" if data[25] == 2 else "RGBA"
    high, low = _decode_as(data, f"{mode};16B"), _decode_as(data, f"{mode};16L")
    samples = (high.astype(np.uint16) << 8 | low).astype(np.uint16, copy=False)
    clear = image.info.get("transparency")
    if mode == "RGB" and isinstance(clear, tuple):
        opaque = (samples != np.array(clear, np.uint16)).any(axis=2)
        alpha = np.where(opaque, 65535, 0).astype(np.uint16)
        samples = np.dstack((samples, alpha))
    return samples


def _decode_as(data: bytes, raw_mode: str) -> npt.NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        tiles: Any = [(*tile[:3], raw_mode) for tile in image.tile]
        image.tile = tiles
        return np.array(image, dtype=np.uint8)


# -- colour ---------------------------------------------------------------------------------------


def _copy_info(image: Image.Image, original: Image.Image) -> Image.Image:
    if "icc_profile" in original.info:
        image.info["icc_profile"] = original.info["icc_profile"]
    return image


def _on_white(image: Image.Image) -> Image.Image:
    """Return `image` as sRGB, laid on white where it is transparent."""
    from PIL import Image

    profile = image.info.get("icc_profile")
    transparent = "transparency" in image.info or image.mode in ("LA", "La", "RGBA", "RGBa", "PA")
    if not transparent:
        return _to_srgb(image.convert("RGB") if image.mode == "P" else image, profile)
    image = image.convert("RGBA")
    alpha = image.getchannel("A")
    colour = _to_srgb(image.convert("RGB"), profile)
    white = Image.new("RGB", image.size, (255, 255, 255))
    white.paste(colour, mask=alpha)
    return white


def _to_srgb(image: Image.Image, profile: object) -> Image.Image:
    """Return `image` as sRGB by its embedded profile; one that does not fit it is left aside."""
    from PIL import ImageCms

    spaces = {"RGB": "RGB ", "L": "GRAY", "CMYK": "CMYK"}
    if not isinstance(profile, bytes) or image.mode not in spaces:
        return image.convert("RGB")
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        described = ImageCms.getProfileDescription(source).strip().lower()
        known = described.startswith("srgb") and "linear" not in described
        if known or source.profile.xcolor_space != spaces[image.mode]:
            return image.convert("RGB")
        target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        turned = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image.convert("RGB")
    return turned or image.convert("RGB")


# -- plain files ----------------------------------------------------------------------------------


def _is_plain_png(data: bytes) -> bool:
    """Whether `data` is a whole, sound 8-bit RGB PNG of chunks that do not change its pixels."""
    if png_size(data) is None or data[24:26] != b"\x08\x02":
        return False
    at, chunk = 8, b""
    while at + 12 <= len(data) and chunk != b"IEND":
        length = int.from_bytes(data[at : at + 4], "big")
        chunk = data[at + 4 : at + 8]
        body = memoryview(data)[at + 4 : at + 8 + length]
        at += 12 + length
        if chunk not in _PLAIN_CHUNKS or at > len(data):
            return False
        if zlib.crc32(body) != int.from_bytes(data[at - 4 : at], "big"):
            return False
    return chunk == b"IEND" and at == len(data)
