"""Pictures for a page: downscaled, as data URIs."""

from __future__ import annotations

import base64
import io

from ..core import Picture

THUMBNAIL_WIDTH = 400
JPEG_QUALITY = 85


def thumbnail(picture: Picture | None, width: int = THUMBNAIL_WIDTH) -> str | None:
    """Return a JPEG data URI of at most `width` px, or None for a missing or broken picture."""
    if picture is None:
        return None
    from PIL import Image

    try:
        image = Image.fromarray(picture.pixels)
    except (OSError, ValueError, SyntaxError):  # what Pillow raises for damaged bytes
        return None
    if image.width > width:
        height = max(1, round(image.height * width / image.width))
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
