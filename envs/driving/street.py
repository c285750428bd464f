"""Cross-section of every driving street: the numbers that towns and scenes share.

Town coordinates: the ego drives along +x in the right lane, y points left, z up, metres. Ours.
"""

from __future__ import annotations

LANE_WIDTH = 3.5
"""Width of each of the two lanes, m."""

EGO_LANE_Y = 0.0
"""Centre of the ego's lane, m."""

OPPOSITE_LANE_Y = EGO_LANE_Y + LANE_WIDTH
"""Centre of the oncoming lane, m."""

CENTRE_LINE_Y = EGO_LANE_Y + LANE_WIDTH / 2
"""The dashed line between the lanes, m."""

GUTTER_WIDTH = 0.3
"""Drained strip between lane and kerb, m."""

RIGHT_EDGE_Y = EGO_LANE_Y - LANE_WIDTH / 2 - GUTTER_WIDTH
"""Face of the right kerb, m."""

LEFT_EDGE_Y = OPPOSITE_LANE_Y + LANE_WIDTH / 2 + GUTTER_WIDTH
"""Face of the left kerb, m."""

SIDEWALK_WIDTH = 2.25
"""Width of each sidewalk, kerb stone included, m."""

SIDEWALK_HEIGHT = 0.12
"""Height of kerb and sidewalk over the carriageway, m."""

RIGHT_SIDEWALK = (RIGHT_EDGE_Y - SIDEWALK_WIDTH, RIGHT_EDGE_Y)
"""y range of the right sidewalk, kept free for the scene's people and things, m."""

LEFT_SIDEWALK = (LEFT_EDGE_Y, LEFT_EDGE_Y + SIDEWALK_WIDTH)
"""y range of the left sidewalk, m."""

JUNCTION_SETBACK = 1.5
"""From the stop line to the near kerb line of the crossing street, m."""

CROSSING_WIDTH = 9.0
"""Width of a crossing street between its kerbs, m."""
