"""How much of a contact face lies inside a third body, against closed forms and against counted points."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry as hs
from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.coverage import FACE, MAX_CUT, covered_area

#: Points that are counted in a face.
COUNT = 400
UPRIGHT = np.eye(3)


def covered(shape, polygon, normal):
    """Area of the part of a convex polygon (n, 3) that lies inside a geometry, and its centroid (3,)."""
    area, centroid, _ = covered_moments(shape, polygon, normal)
    return area, centroid


def covered_moments(shape, polygon, normal):
    """The same, and its second moments about the centroid as shares of its area (3,), see ``covered_area``."""
    buffers, total = np.zeros((3, MAX_CUT, 3)), np.zeros(12)
    buffers[FACE, : len(polygon)] = polygon
    nodes = np.zeros((1024, 2), dtype=np.int64)
    geometries = make_geometry_set([shape])
    area = covered_area(
        geometries, 0, len(polygon), np.asarray(normal), nodes, buffers, np.zeros(MAX_CUT), total
    )
    return area, total[:3].copy(), total[9:].copy()


def square(side, R=UPRIGHT, p=(0.0, 0.0, 0.0), corners=4):
    """Corners of a regular polygon around p in the plane with the normal R z, and that normal."""
    angle = 2.0 * math.pi * np.arange(corners) / corners + math.pi / 4
    flat = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]) * side / math.sqrt(2.0)
    return flat @ R.T + p, R[:, 2]


def turned(seed):
    return Rotation.random(random_state=seed).as_matrix()


@pytest.mark.parametrize("name", ["rigid", "compliant", "margin", "half space"])
def test_second_moments_of_the_part_inside(name):
    """Of a rectangle of 50 mm that a box of 200 mm leaves 30 mm of: a twelfth of the squares of its sides."""
    shape = hs.half_space() if name == "half space" else boxes()[name]
    polygon = np.array([[-0.02, 0.0, 0.0], [0.03, 0.0, 0.0], [0.03, 0.02, 0.0], [-0.02, 0.02, 0.0]])
    if name == "half space":
        polygon = polygon[:, [1, 2, 0]]  # x is up
    else:
        polygon[:, 0] += 0.09
    normal = np.roll([0.0, 0.0, 1.0], 2 if name == "half space" else 0)
    area, _, moments = covered_moments(shape, polygon, normal)
    length = 0.02 if name == "half space" else 0.03
    assert area == pytest.approx(0.02 * length, rel=1e-12)
    sides = [0.02, length] if name == "half space" else [length, 0.02]
    np.testing.assert_allclose(moments, [sides[0] ** 2 / 12, 0.0, sides[1] ** 2 / 12], rtol=1e-9, atol=1e-18)


def boxes():
    return {
        "rigid": hs.box((0.2, 0.3, 0.4)),
        "compliant": hs.box((0.2, 0.3, 0.4), modulus=1e6),
        "margin": hs.box((0.2, 0.3, 0.4), modulus=1e6, margin=0.02),
    }


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", ["rigid", "compliant", "margin"])
@pytest.mark.parametrize("axis", range(3))
def test_a_square_that_reaches_out_of_a_box(name, axis):
    """Half of it is inside; whichever way the face lies and looks."""
    R = np.roll(np.eye(3), axis, axis=0)
    for flip in (R, R @ np.diag([1.0, -1.0, -1.0])):
        half = np.array([0.1, 0.15, 0.2])
        corner, normal = square(0.05, flip)
        edge = np.array([0.013, 0.15, 0.01] if abs(normal[0]) > 0.5 else [0.1, 0.013, 0.01])
        area, centroid = covered(boxes()[name], corner + edge, normal)
        assert area == pytest.approx(0.5 * 0.05**2, rel=1e-9)
        out = int(np.argmax(np.abs(edge) >= half - 1e-12))
        expected = edge.copy()
        expected[out] -= 0.25 * 0.05
        np.testing.assert_allclose(centroid, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["rigid", "compliant"])
def test_all_and_nothing(name):
    shape = boxes()[name]
    assert covered(shape, *square(0.05, turned(1)))[0] >= 0.05**2 * (1.0 - 1e-9)
    assert covered(shape, *square(0.05, turned(2), (0.5, 0.1, 0.0)))[0] == 0.0
    # Beside it, where columns above the face may pass through the box.
    assert covered(shape, *square(0.05, p=(0.0, 0.0, -0.3)))[0] == 0.0


def ring():
    """A fine torus about z, of radii 100 and 30 mm."""
    mesh = trimesh.creation.torus(0.1, 0.03, 64, 32)
    return hs.rigid_mesh(np.asarray(mesh.vertices), np.asarray(mesh.faces))


RING = ring()


@given(seed=st.integers(0, 10_000), side=st.floats(0.005, 0.2))
def test_a_ring_keeps_its_hole(seed, side):
    """Points that are counted in the face and in the torus agree with the area, within what counting can tell."""
    rng = np.random.default_rng(seed)
    R, p = turned(seed), rng.uniform(-0.13, 0.13, 3) * (1.0, 1.0, 0.3)
    corners, normal = square(side, R, p)
    area, centroid = covered(RING, corners, normal)
    u, v = rng.uniform(-0.5, 0.5, (2, COUNT)) * side
    points = p + np.outer(u, R[:, 0]) + np.outer(v, R[:, 1])
    # The regular polygon's first corner lies at 45 degrees, so that its sides follow the axes.
    x, y, z = points.T
    inside = (np.hypot(x, y) - 0.1) ** 2 + z**2 < 0.03**2
    share = min(area / side**2, 1.0)
    assert share == pytest.approx(inside.mean(), abs=4.0 * 0.5 / math.sqrt(COUNT))
    if 0.2 < share < 0.95 and math.isfinite(area):
        np.testing.assert_allclose(centroid, points[inside].mean(axis=0), atol=0.2 * side)
        assert abs((centroid - p) @ normal) < 1e-12


def test_a_half_space():
    area, centroid = covered(hs.half_space(), *square(0.1, np.roll(np.eye(3), 1, axis=0)))
    assert area == pytest.approx(0.5 * 0.1**2, rel=1e-12)
    assert centroid[2] == pytest.approx(-0.025, rel=1e-9)
