"""The margin: a skirt of negative pressure that is seen before contact and carries nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.poses import pose, random_rotation

MODULUS = 1e5
MARGIN = 4e-3
POINTS = np.random.default_rng(3).normal(size=(30, 3)) * [0.04, 0.05, 0.06]
GROUND = hs.geometry.half_space()
SHAPES: dict[str, Callable[..., Geometry]] = {
    "sphere": lambda **o: hs.geometry.sphere(0.1, resolution=0.05, **o),
    "ellipsoid": lambda **o: hs.geometry.ellipsoid(0.08, 0.1, 0.12, resolution=0.05, **o),
    "box": lambda **o: hs.geometry.box(0.16, 0.2, 0.24, **o),
    "cylinder": lambda **o: hs.geometry.cylinder(0.1, 0.3, resolution=0.06, **o),
    "capsule": lambda **o: hs.geometry.capsule(0.08, 0.1, resolution=0.05, **o),
    "convex": lambda **o: hs.geometry.convex_mesh(POINTS, **o),
}
#: With margin these keep their field to the last facet; an ellipsoid's facets turn, with their corners still on it.
SAME_FIELD = sorted(set(SHAPES) - {"ellipsoid"})


def lowest(geometry: Geometry, rotation: np.ndarray) -> float:
    """Height of the lowest vertex of the turned geometry, m."""
    return (geometry.vertices @ rotation[2]).min()


@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_are_seen_before_they_touch(shape):
    """Within the margin there are faces, all of negative pressure; beyond it none."""
    soft = SHAPES[shape](modulus=MODULUS, margin=MARGIN)
    bare = SHAPES[shape](modulus=MODULUS)
    rng = np.random.default_rng(1)
    for _ in range(5):
        rotation = random_rotation(rng)
        reach, skirt = -lowest(bare, rotation), -lowest(soft, rotation)
        assert skirt > reach + 0.9 * MARGIN
        near = hs.contact.compute_patch(soft, pose([0, 0, reach + 0.5 * MARGIN], rotation), GROUND, np.eye(4))
        assert near.num_faces > 0
        assert (near.pressures < 0.0).all()
        assert near.area == 0.0
        assert near.energy == 0.0
        assert not near.force_on_b.any()
        far = hs.contact.compute_patch(soft, pose([0, 0, skirt + 1e-9], rotation), GROUND, np.eye(4))
        assert far.num_faces == 0
        without = hs.contact.compute_patch(bare, pose([0, 0, reach + 1e-9], rotation), GROUND, np.eye(4))
        assert without.num_faces == 0


@pytest.mark.parametrize("shape", SAME_FIELD)
@pytest.mark.parametrize("depth", [1e-9, 1e-4, 1e-3, 1e-2])
def test_pressure_is_zero_on_the_original_surface(shape, depth):
    """However little a body is pressed in, peak pressure and energy are those without margin."""
    soft = SHAPES[shape](modulus=MODULUS, margin=MARGIN)
    bare = SHAPES[shape](modulus=MODULUS)
    rotation = random_rotation(np.random.default_rng(2))
    X_WA = pose([0.0, 0.0, -lowest(bare, rotation) - depth], rotation)
    with_margin = hs.contact.compute_patch(soft, X_WA, GROUND, np.eye(4))
    without = hs.contact.compute_patch(bare, X_WA, GROUND, np.eye(4))
    # Digits of a depth of 1 nm below a body of 0.1 m are lost in its coordinates.
    digits = 1e-9 + 1e-15 / depth
    assert with_margin.peak_pressure == pytest.approx(without.peak_pressure, rel=digits)
    assert with_margin.energy == pytest.approx(without.energy, rel=10.0 * digits)


@pytest.mark.parametrize("tilt", [0.0, 1e-4, 1e-2])
def test_upright_sides_press_as_without_a_margin(tilt):
    """The line of zero pressure crosses the sides of a box that sank in level."""
    X_WA = pose([0.0, 0.0, 0.119], Rotation.from_rotvec([tilt, 0.7 * tilt, 0.3]).as_matrix())
    with_margin, without = (
        hs.contact.compute_patch(SHAPES["box"](modulus=MODULUS, margin=margin), X_WA, GROUND, np.eye(4))
        for margin in (MARGIN, 0.0)
    )
    for of_one, of_other in (
        (with_margin.force_on_b, without.force_on_b),
        (with_margin.moment_on_b(np.zeros(3)), without.moment_on_b(np.zeros(3))),
    ):
        np.testing.assert_allclose(of_one, of_other, rtol=0, atol=1e-12 * without.face_forces.sum())


@pytest.mark.parametrize("shape", SAME_FIELD)
def test_force_differs_by_the_skirt_of_the_outermost_faces(shape):
    """A face that reaches into the skirt carries its mean pressure: an error of first order in the margin."""
    bare = SHAPES[shape](modulus=MODULUS)
    rotation = random_rotation(np.random.default_rng(2))
    X_WA = pose([0.0, 0.0, -lowest(bare, rotation) - 0.02], rotation)
    exact = hs.contact.compute_patch(bare, X_WA, GROUND, np.eye(4)).force_on_b[2]
    errors = []
    for margin in (1e-4, 1e-5, 1e-6):
        soft = SHAPES[shape](modulus=MODULUS, margin=margin)
        force = hs.contact.compute_patch(soft, X_WA, GROUND, np.eye(4)).force_on_b[2]
        errors.append(abs(force / exact - 1.0))
    assert errors[0] < 0.02
    assert errors[2] < 2e-2 * errors[0] + 1e-12


@pytest.mark.parametrize("with_margin", [(True, True), (True, False), (False, True)])
def test_two_bodies_with_margin(with_margin):
    """Two spheres: the skirts meet before the bodies do, and a rigid partner has no skirt."""
    a, b = (
        hs.geometry.sphere(0.1, resolution=0.05, modulus=MODULUS, margin=MARGIN if grown else 0.0)
        for grown in with_margin
    )
    # Octahedral spheres touch at vertices along the axes.
    for gap, seen in ((0.5 * MARGIN, True), (MARGIN * sum(with_margin) + 1e-9, False)):
        patch = hs.contact.compute_patch(a, np.eye(4), b, pose([0.0, 0.0, 0.2 + gap]))
        assert (patch.num_faces > 0) == (seen and all(with_margin))
        assert (patch.pressures < 0.0).all()
        assert not patch.force_on_b.any()
    rigid = hs.geometry.sphere(0.1, resolution=0.05)
    patch = hs.contact.compute_patch(a, np.eye(4), rigid, pose([0.0, 0.0, 0.2 + 0.5 * MARGIN]))
    assert (patch.num_faces > 0) == with_margin[0]
    assert (patch.pressures < 0.0).all()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.3, 1.0])
def test_an_edge_carries_the_same_with_and_without_a_margin(share):
    """A long box on an edge, at 45 degrees: force E l D^2 / (sqrt 2 h), D deep, whatever the margin.

    The cut through either side goes from the ridge above the edge to the end of the skirt, through the line of zero
    pressure.
    """
    half, length, depth = 0.1, 40.0, 4e-3
    turn = np.sqrt(0.5) * np.array([[np.sqrt(2.0), 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0]])
    X_WA = pose([0.0, 0.0, np.sqrt(2.0) * half - depth], turn)
    margin = share * depth
    soft = hs.geometry.box(length, 2.0 * half, 2.0 * half, modulus=MODULUS, margin=margin)
    force = hs.contact.compute_patch(soft, X_WA, GROUND, np.eye(4)).force_on_b[2]
    expected = MODULUS * length / half * depth**2 / np.sqrt(2.0)
    assert -force == pytest.approx(expected, rel=5e-4)
