from __future__ import annotations

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.rendering.contact_sheet import contact_sheet


def _plain(value: int, width: int = 64, height: int = 48) -> Picture:
    return Picture.from_pixels(np.full((height, width, 3), value, dtype=np.uint8))


def test_tiles_in_order_with_captions():
    sheet = contact_sheet(
        [_plain(10), _plain(90), _plain(170)], ["one", "two", "three"], columns=2, tile_width=64
    ).pixels
    assert sheet.shape[1] == 2 * 72 + 8
    assert (sheet[10:50, 10:70] == 10).all()
    assert (sheet[10:50, 82:140] == 90).all()
    lower = sheet[sheet.shape[0] // 2 :, :72]
    assert (lower == 170).all(axis=2).sum() == 64 * 48
    assert (sheet[56:72, 8:72].min(axis=2) < 100).any(), "the caption is drawn"


def test_long_captions_wrap():
    words = "a container straight ahead and debris far behind it in the rain"
    short = contact_sheet([_plain(1)], ["a"], tile_width=120).size
    wrapped = contact_sheet([_plain(1)], [words], tile_width=120).size
    assert wrapped[0] == short[0]
    assert wrapped[1] > short[1] + 20


def test_wrong_arguments():
    with pytest.raises(ValueError, match="at least one"):
        contact_sheet([])
    with pytest.raises(ValueError, match="each of 2 pictures, got 1"):
        contact_sheet([_plain(1), _plain(2)], ["one"])
