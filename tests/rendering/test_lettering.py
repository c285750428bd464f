"""Words, and marks laid on bodies."""

from __future__ import annotations

import string

import numpy as np
import pytest

from vlmfail.rendering.mesh import Material
from vlmfail.rendering.shapes.lettering import draped, lettering
from vlmfail.rendering.shapes.primitives import box, cylinder


@pytest.mark.parametrize("letter", string.ascii_uppercase + string.digits)
def test_every_capital_and_digit_has_a_shape_of_its_own(letter: str) -> None:
    shape = lettering(letter, 0.7, (0, 0, 0))
    low, high = shape.bounds
    assert high[2] - low[2] == pytest.approx(0.7)
    others = set(string.ascii_uppercase + string.digits) - {letter}
    assert all(
        lettering(other, 0.7, (0, 0, 0)).vertices.tobytes() != shape.vertices.tobytes()
        for other in others
    )


def test_a_draped_word_lies_on_a_bulge() -> None:
    barrel = cylinder((0, 0, -1), (0, 0, 1), 0.5, segments=96)
    word = lettering("POLICE", 0.2, (0, 0, 1), Material.RETRO, width=0.6)
    laid = draped(word.transformed((0.6, 0, 0)), barrel, (-1, 0, 0), lift=0.002)
    radius = np.hypot(laid.vertices[:, 0], laid.vertices[:, 1])
    np.testing.assert_allclose(radius, 0.5, atol=0.004)
    assert np.all(radius > 0.5 * np.cos(np.pi / 96))
    np.testing.assert_allclose(laid.vertices[:, 1:], word.vertices[:, 1:], atol=1e-6)
    assert np.all(laid.materials == Material.RETRO)
    assert np.all(laid.normals[..., 0] > 0.5)


def test_the_skin_met_first_counts_and_corners_beside_the_body_stay() -> None:
    block = box((0.2, 0.4, 1.0))
    word = lettering("L", 0.2, (0, 0, 0), width=0.6).transformed((0.12, 0, 0))
    laid = draped(word, block, (-1, 0, 0), lift=0.01)
    inside = np.abs(word.vertices[:, 1]) < 0.2
    assert inside.any()
    assert not inside.all()
    np.testing.assert_allclose(laid.vertices[inside, 0], 0.11, atol=1e-5)
    np.testing.assert_allclose(laid.vertices[~inside, 0], 0.12, atol=1e-6)


def test_a_body_out_of_reach_moves_nothing() -> None:
    word = lettering("A", 0.2, (0, 0, 0)).transformed((2.0, 0, 0))
    laid = draped(word, box((0.2, 0.6, 1.0)), (-1, 0, 0), reach=0.3)
    np.testing.assert_array_equal(laid.vertices, word.vertices)
