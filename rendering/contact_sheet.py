"""Many pictures on one sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core import Picture

_GAP = 8
_FONT_SIZE = 16
_PAPER = (250, 250, 248)
_INK = (25, 25, 28)


def contact_sheet(
    pictures: Sequence[Picture],
    captions: Sequence[str] = (),
    *,
    columns: int | None = None,
    tile_width: int = 384,
) -> Picture:
    """Tile pictures with their captions, row by row.

    Args:
        pictures: At least one.
        captions: One a picture, or none at all; long ones are wrapped to the tile's width.
        columns: Tiles in a row; by default the sheet comes out about square.
        tile_width: Width of a tile, pixels; pictures keep their proportions.

    Raises:
        ValueError: No pictures, or as many captions as pictures are not given.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not pictures:
        raise ValueError("pictures: expected at least one, got none")
    if captions and len(captions) != len(pictures):
        raise ValueError(
            f"captions: expected one for each of {len(pictures)} pictures, got {len(captions)}"
        )
    if columns is None:
        columns = max(1, round(len(pictures) ** 0.5 + 0.49))
    columns = min(max(columns, 1), len(pictures))
    font = ImageFont.load_default(size=_FONT_SIZE)
    tiles = []
    for picture in pictures:
        image = Image.fromarray(picture.pixels)
        height = max(1, round(image.height * tile_width / image.width))
        if image.width != tile_width:
            image = image.resize((tile_width, height), Image.Resampling.LANCZOS)
        tiles.append(image)
    texts = ["\n".join(_wrapped(text, font.getlength, tile_width)) for text in captions]
    ruler = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    text_heights = [
        ruler.multiline_textbbox((0, 0), text, font=font)[3] + 4 if text else 0 for text in texts
    ] or [0] * len(tiles)

    rows = [range(k, min(k + columns, len(tiles))) for k in range(0, len(tiles), columns)]
    row_heights = [max(tiles[k].height + int(text_heights[k]) for k in row) for row in rows]
    sheet = Image.new(
        "RGB",
        (columns * (tile_width + _GAP) + _GAP, sum(row_heights) + _GAP * (len(rows) + 1)),
        _PAPER,
    )
    draw = ImageDraw.Draw(sheet)
    top = _GAP
    for row, height in zip(rows, row_heights, strict=True):
        for place, k in enumerate(row):
            left = _GAP + place * (tile_width + _GAP)
            sheet.paste(tiles[k], (left, top))
            if texts and texts[k]:
                draw.multiline_text(
                    (left, top + tiles[k].height + 2), texts[k], fill=_INK, font=font
                )
        top += height + _GAP
    return Picture.from_pixels(np.array(sheet, dtype=np.uint8))


def _wrapped(text: str, length: Callable[[str], float], width: int) -> list[str]:
    """Return the lines of `text`, broken at spaces so that each is at most `width` pixels."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and length(longer) > width:
                lines.append(line)
                line = word
            else:
                line = longer
        lines.append(line)
    return lines
