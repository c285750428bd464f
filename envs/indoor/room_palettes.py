"""What kitchens are made of: colours and styles that go together. All ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB

Handle = Literal["bar", "knob", "cup", "rail"]

STEEL: RGB = (0.70, 0.70, 0.69)
IRON: RGB = (0.09, 0.09, 0.095)
BRASS: RGB = (0.76, 0.66, 0.46)
WHITE: RGB = (0.90, 0.90, 0.88)


@dataclass(frozen=True, slots=True)
class Palette:
    """Looks of a kitchen; colours are sRGB.

    Attributes:
        fronts: Doors and drawers below the worktop.
        uppers: Doors of the wall cabinets.
        finish: Material of both.
        shaker: Whether doors have a frame and a sunken panel; flat ones otherwise.
        handle: "bar" (tube on two posts), "knob", "cup" (drawers; doors get knobs) or "rail" (a
            flat strip on the upper edge).
        handle_colour: Of the handles and the tap.
        top: Worktop.
        top_material: `Material.WOOD` is laid in staves, `Material.STONE` is one slab.
        rounded: Whether the worktop's front edge is round.
        tiles: Splashback.
        wall: Painted walls.
        floor: Floor.
        planks: Whether the floor is of planks; of large tiles otherwise.
        fridge: Fridge doors.
        fridge_finish: Their material.
        oven: Oven and hood.
        hob: Plate of the cooktop.
        inside: Inner faces of cabinets.
        pots: Flower pots, jars, plates.
    """

    fronts: RGB
    uppers: RGB
    finish: Material
    shaker: bool
    handle: Handle
    handle_colour: RGB
    top: RGB
    top_material: Material
    rounded: bool
    tiles: RGB
    wall: RGB
    floor: RGB
    planks: bool
    fridge: RGB = STEEL
    fridge_finish: Material = Material.METAL
    oven: RGB = STEEL
    hob: RGB = STEEL
    inside: RGB = (0.40, 0.37, 0.33)
    pots: RGB = (0.80, 0.77, 0.70)


LOOKS: dict[str, Palette] = {
    "white": Palette(
        fronts=(0.86, 0.86, 0.84),
        uppers=(0.88, 0.88, 0.86),
        finish=Material.GLOSSY,
        shaker=False,
        handle="bar",
        handle_colour=IRON,
        top=(0.64, 0.53, 0.41),
        top_material=Material.WOOD,
        rounded=False,
        tiles=(0.80, 0.84, 0.84),
        wall=(0.84, 0.83, 0.80),
        floor=(0.66, 0.57, 0.47),
        planks=True,
    ),
    "grey": Palette(
        fronts=(0.47, 0.49, 0.51),
        uppers=(0.47, 0.49, 0.51),
        finish=Material.MATTE,
        shaker=True,
        handle="bar",
        handle_colour=IRON,
        top=(0.86, 0.85, 0.83),
        top_material=Material.STONE,
        rounded=False,
        tiles=(0.90, 0.90, 0.88),
        wall=(0.88, 0.87, 0.84),
        floor=(0.50, 0.42, 0.34),
        planks=True,
        hob=(0.07, 0.07, 0.075),
    ),
    "sage": Palette(
        fronts=(0.60, 0.64, 0.56),
        uppers=(0.60, 0.64, 0.56),
        finish=Material.MATTE,
        shaker=True,
        handle="knob",
        handle_colour=BRASS,
        top=(0.58, 0.46, 0.34),
        top_material=Material.WOOD,
        rounded=True,
        tiles=(0.91, 0.89, 0.82),
        wall=(0.90, 0.88, 0.82),
        floor=(0.60, 0.51, 0.41),
        planks=True,
        fridge=(0.87, 0.87, 0.84),
        fridge_finish=Material.GLOSSY,
        pots=(0.70, 0.50, 0.40),
    ),
    "navy": Palette(
        fronts=(0.27, 0.32, 0.42),
        uppers=(0.88, 0.88, 0.86),
        finish=Material.MATTE,
        shaker=True,
        handle="cup",
        handle_colour=BRASS,
        top=(0.80, 0.79, 0.77),
        top_material=Material.STONE,
        rounded=True,
        tiles=(0.90, 0.91, 0.91),
        wall=(0.79, 0.80, 0.81),
        floor=(0.58, 0.56, 0.53),
        planks=False,
        pots=(0.86, 0.86, 0.84),
    ),
    "wood": Palette(
        fronts=(0.58, 0.47, 0.36),
        uppers=(0.84, 0.82, 0.77),
        finish=Material.WOOD,
        shaker=False,
        handle="rail",
        handle_colour=IRON,
        top=(0.27, 0.27, 0.28),
        top_material=Material.STONE,
        rounded=False,
        tiles=(0.72, 0.74, 0.72),
        wall=(0.89, 0.87, 0.83),
        floor=(0.55, 0.54, 0.52),
        planks=False,
        oven=(0.16, 0.16, 0.17),
        hob=(0.07, 0.07, 0.075),
    ),
    "cream": Palette(
        fronts=(0.87, 0.84, 0.76),
        uppers=(0.87, 0.84, 0.76),
        finish=Material.MATTE,
        shaker=True,
        handle="knob",
        handle_colour=IRON,
        top=(0.40, 0.31, 0.24),
        top_material=Material.WOOD,
        rounded=True,
        tiles=(0.76, 0.82, 0.79),
        wall=(0.91, 0.88, 0.80),
        floor=(0.42, 0.34, 0.27),
        planks=True,
        fridge=(0.88, 0.86, 0.80),
        fridge_finish=Material.GLOSSY,
        pots=(0.62, 0.70, 0.72),
    ),
}
"""Palettes by name."""
