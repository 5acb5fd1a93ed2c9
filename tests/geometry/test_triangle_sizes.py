"""Sizes of triangles, from which a step knows how large the faces of a patch may be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hydro_sim_core import geometry
from hydro_sim_core.geometry.triangle_sizes import UNBOUNDED, triangle_sizes


def test_of_equal_sides():
    """Mean square distance within, by the second moment of a triangle of edge 2: 4 / 12."""
    corners = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, math.sqrt(3.0), 0.0]])
    sizes = triangle_sizes(corners, np.array([[0, 1, 2]]))
    assert sizes.spread == pytest.approx(1.0 / 3.0, rel=1e-15)
    assert sizes.slenderness == pytest.approx(1.0 / (3.0 * math.sqrt(3.0)), rel=1e-15)


@pytest.mark.parametrize("count", [8, 64])
def test_wedges_of_a_fan_are_as_long_as_the_radius(count):
    """And the more slender, the more there are: of a thin one 1/18 of the square of its length lies within."""
    angles = 2.0 * math.pi * np.arange(count) / count
    rim = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=1)
    triangles = np.array([[count, i, (i + 1) % count] for i in range(count)])
    sizes = triangle_sizes(np.vstack([rim, np.zeros(3)]), triangles)
    chord = 2.0 * math.sin(math.pi / count)
    assert sizes.spread == pytest.approx((2.0 + chord**2) / 36.0, rel=1e-12)
    assert sizes.slenderness == pytest.approx(
        sizes.spread / (0.5 * math.sin(2.0 * math.pi / count)), rel=1e-12
    )


def test_the_largest_counts_whatever_is_beside_it():
    corners = np.array([[0.0, 0, 0], [3.0, 0, 0], [0, 3.0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    both = triangle_sizes(corners, np.array([[0, 1, 2], [0, 3, 4]]))
    large, small = (triangle_sizes(corners, np.array([one])) for one in ([0, 1, 2], [0, 3, 4]))
    assert both.spread == large.spread > small.spread
    assert both.slenderness == pytest.approx(large.slenderness, rel=1e-5)


def test_of_shapes():
    assert geometry.half_space(1e6).triangle_sizes == UNBOUNDED
    coarse, fine = (
        geometry.sphere(0.1, resolution=hint, modulus=1e6).triangle_sizes for hint in (0.05, 0.01)
    )
    assert fine.spread < 0.1 * coarse.spread
    assert fine.slenderness == pytest.approx(0.2, abs=0.03)
