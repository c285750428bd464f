"""Block letters as flat quads, for signs and vehicles, and how they are laid on a body."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..mesh import Material, Mesh

_FONT: dict[str, str] = {
    " ": "00 00 00 00 00 00 00",
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "11110 00001 00001 01110 00001 00001 11110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "01110 10000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 00100 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00001 01110",
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01111 10000 10000 10000 10000 10000 01111",
    "D": "11110 10001 10001 10001 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01111 10000 10000 10111 10001 10001 01110",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "111 010 010 010 010 010 111",
    "J": "00111 00010 00010 00010 00010 10010 01100",
    "K": "10001 10010 10100 11000 10100 10010 10001",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 11001 10101 10101 10011 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "P": "11110 10001 10001 11110 10000 10000 10000",
    "Q": "01110 10001 10001 10001 10101 10010 01101",
    "R": "11110 10001 10001 11110 10100 10010 10001",
    "S": "01111 10000 10000 01110 00001 00001 11110",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110",
    "V": "10001 10001 10001 10001 01010 01010 00100",
    "W": "10001 10001 10001 10101 10101 11011 10001",
    "X": "10001 01010 00100 00100 00100 01010 10001",
    "Y": "10001 10001 01010 00100 00100 00100 00100",
    "Z": "11111 00001 00010 00100 01000 10000 11111",
}


def lettering(
    text: str,
    height: float,
    colour: npt.ArrayLike,
    material: Material = Material.MATTE,
    *,
    width: float | None = None,
) -> Mesh:
    """Return a word that stands in the y-z plane, centred on the origin, read by who looks at +x.

    Args:
        text: Capitals A to Z, digits and blanks.
        height: Height of a capital, m.
        colour: sRGB.
        material: Material.
        width: Width of the word, m; None = letters 5 : 7.

    Raises:
        KeyError: A letter has no shape.
    """
    quads = []
    at = 0
    for letter in text:
        rows = _FONT[letter].split()
        for row, cells in enumerate(rows):
            column = 0
            while column < len(cells):
                if cells[column] == "0":
                    column += 1
                    continue
                end = column
                while end < len(cells) and cells[end] == "1":
                    end += 1
                quads.append((at + column, at + end, 6 - row, 7 - row))
                column = end
        at += len(rows[0]) + 1
    pixel_z = height / 7
    pixel_y = pixel_z if width is None else width / (at - 1)
    q = np.array(quads, dtype=np.float64)
    # The reader faces -x, so their right is +y of the word.
    y = (q[:, :2] - (at - 1) / 2) * pixel_y
    z = (q[:, 2:] - 3.5) * pixel_z
    corners = np.stack(
        [
            np.stack([np.zeros(len(q)), y[:, i], z[:, j]], 1)
            for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))
        ],
        axis=1,
    ).reshape(-1, 3)
    first = np.arange(len(q)) * 4
    faces = np.concatenate(
        [np.stack([first, first + 1, first + 2], 1), np.stack([first, first + 2, first + 3], 1)]
    )
    return Mesh.build(corners, faces, colour, material, 0.0)


def draped(
    flat: Mesh, body: Mesh, towards: npt.ArrayLike, lift: float = 0.002, reach: float = 0.3
) -> Mesh:
    """Return a flat mark pressed along `towards` onto a body, `lift` m above its skin.

    A mark that floats before a bulged panel throws a shadow of its own and looks doubled.

    Args:
        flat: Small faces near the skin, such as a word of `lettering`.
        body: What they are pressed onto.
        towards: Direction into the body, 3 numbers.
        lift: How far the mark stays off the skin, m.
        reach: How far from its place a corner may be moved, m; others stay.
    """
    way = np.asarray(towards, dtype=np.float64)
    way = way / np.linalg.norm(way)
    corners = body.vertices[body.faces].astype(np.float64)
    start = flat.vertices.astype(np.float64) - way * reach
    swept = np.concatenate([start, start + 2 * reach * way])
    low, high = swept.min(axis=0), swept.max(axis=0)
    near = np.all(corners.min(axis=1) <= high, axis=1) & np.all(corners.max(axis=1) >= low, axis=1)
    corners = corners[near]
    # Moeller and Trumbore (1997): every corner of the mark against every face.
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, second)
    determinant = np.einsum("fi,fi->f", first, across)
    usable = np.abs(determinant) > 1e-12
    inverse = np.where(usable, 1.0 / np.where(usable, determinant, 1.0), 0.0)
    offset = start[:, None, :] - corners[None, :, 0]
    u = np.einsum("vfi,fi->vf", offset, across) * inverse
    sideways = np.cross(offset, first[None])
    v = (sideways @ way) * inverse
    t = np.einsum("vfi,fi->vf", sideways, second) * inverse
    met = usable & (u > -1e-6) & (v > -1e-6) & (u + v < 1 + 1e-6) & (t > 0) & (t < 2 * reach)
    t = np.where(met, t, np.inf)
    depth = t.min(axis=1) if t.shape[1] else np.full(len(start), np.inf)
    found = np.isfinite(depth)
    vertices = flat.vertices.copy()
    vertices[found] = (start[found] + (depth[found, None] - lift) * way).astype(np.float32)
    built = Mesh.build(vertices, flat.faces, flat.colours, Material.MATTE, 0.0)
    return Mesh(built.vertices, built.faces, built.colours, flat.materials, built.normals)
