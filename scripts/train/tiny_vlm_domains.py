"""The domains that the built-in models are trained on: a new one joins by a row here.

A domain's class offers `wording`, `identity()`, `draw(sizes, rng) -> (picture, record)` (with
`even`, where a set of pictures has it) and, for the report, `prompt()` and `card()`.

A record holds `question`, `options` as [id, text], `accepted` and `expected` option ids, `facts` as
[statement, holds, is a thing's bare name], `groups` (table → groups, for the report) and
`concepts`; where more than one question can be asked of a picture, also `family`, `asks` (other
words of its question) and `others` (further questions in the same form); whatever else it holds is
for people to read.
"""

from __future__ import annotations

from typing import Any

from tiny_vlm_driving import DrivingPictures
from tiny_vlm_indoor import IndoorPictures

DOMAINS: dict[str, Any] = {"driving": DrivingPictures, "indoor": IndoorPictures}
