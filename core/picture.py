"""A picture: pixels, their PNG bytes and their digest."""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from functools import cached_property

import numpy as np
import numpy.typing as npt


class Picture:
    """An immutable RGB picture with lossless bytes.

    The PNG bytes are the identity: what the model saw, what the run stores and what the digest
    names are the same bytes.
    """

    def __init__(self, png: bytes) -> None:
        """Wrap PNG bytes; they are decoded on first use of `pixels`."""
        self.png = png

    @classmethod
    def from_pixels(cls, pixels: npt.NDArray[np.uint8]) -> Picture:
        """Encode a `height x width x 3` uint8 array."""
        from PIL import Image

        pixels = np.ascontiguousarray(pixels)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise ValueError(
                f"pixels: expected uint8 of shape (height, width, 3), "
                f"got {pixels.dtype} of shape {pixels.shape}"
            )
        buffer = io.BytesIO()
        # Grained pictures have runs and no repeated strings: run lengths (zlib's Z_RLE) come out
        # smaller than level 3 finds them, in half the time.
        Image.fromarray(pixels).save(
            buffer, format="PNG", compress_level=1, compress_type=zlib.Z_RLE
        )
        picture = cls(buffer.getvalue())
        pixels.flags.writeable = False
        picture.__dict__["pixels"] = pixels
        return picture

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Picture:
        """Read a picture file of any usual kind; its name says nothing, its bytes do.

        Raises:
            UsageError: When the file is missing, unreadable, damaged, too large or no picture.
        """
        from .picture_files import read_bytes

        return cls.from_bytes(read_bytes(path), name=f"the picture file {os.fspath(path)!r}")

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "the picture") -> Picture:
        """Read the bytes of a picture of any usual kind.

        A plain 8-bit RGB PNG keeps its own bytes; everything else is turned upright, laid on
        white, brought to 8-bit sRGB and encoded as by `from_pixels`.

        Args:
            data: A whole file.
            name: What errors call it.

        Raises:
            UsageError: When `data` is damaged, too large or no picture.
        """
        from .picture_files import decode

        pixels, plain = decode(data, name)
        if not plain:
            return cls.from_pixels(pixels)
        picture = cls(bytes(data))
        pixels.flags.writeable = False
        picture.__dict__["pixels"] = pixels
        return picture

    @cached_property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels, `height x width x 3`, read-only."""
        from PIL import Image

        with Image.open(io.BytesIO(self.png)) as image:
            pixels = np.array(image.convert("RGB"), dtype=np.uint8)
        pixels.flags.writeable = False
        return pixels

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the PNG bytes."""
        return hashlib.sha256(self.png).hexdigest()

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        height, width = self.pixels.shape[:2]
        return width, height

    def __getstate__(self) -> bytes:
        """Pickle the bytes alone: decoded pixels would travel twice."""
        return self.png

    def __setstate__(self, state: bytes) -> None:
        """Restore from bytes."""
        self.png = state

    def __eq__(self, other: object) -> bool:
        """Two pictures are equal when their bytes are."""
        return isinstance(other, Picture) and self.png == other.png

    def __hash__(self) -> int:
        """Hash of the bytes."""
        return hash(self.png)

    def __repr__(self) -> str:
        """Digest and size."""
        return f"Picture({self.sha256[:12]}, {len(self.png)} bytes)"
