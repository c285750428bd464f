"""Block letters as flat quads, for signs and vehicles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..mesh import Material, Mesh

_FONT: dict[str, str] = {
    " ": "00 00 00 00 00 00 00",
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01111 10000 10000 10000 10000 10000 01111",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "I": "111 010 010 010 010 010 111",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 11001 10101 10101 10011 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "P": "11110 10001 10001 11110 10000 10000 10000",
    "S": "01111 10000 10000 01110 00001 00001 11110",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110",
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
        text: Capitals out of A B C E I L M N O P S T U, and blanks.
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
