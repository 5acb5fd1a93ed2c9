"""Forces and areas of patches against integrals by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import hydro_sim_core as hs
from support.contact.patches import moment_of_pressure
from support.contact.poses import pose, random_rotation

MODULUS = 1e5
RADIUS = 0.1
#: Pa/m of the compliant half space.
SLOPE = 4e5
RIGID_GROUND = hs.geometry.half_space()
SOFT_GROUND = hs.geometry.half_space(SLOPE * 0.25, slab_thickness=0.25)
SIZE = np.array([0.2, 0.24, 0.16])


def force_from_ground(geometry, X_WA, ground) -> np.ndarray:
    """Force on the geometry, N."""
    return -hs.contact.compute_patch(geometry, X_WA, ground, np.eye(4)).force_on_b


def pressed_into_soft_ground(height: float) -> float:
    """Force of a compliant ball whose centre is at ``height``: its pressure over the disc below, by quadrature."""

    def pressure(radius: float) -> float:
        def ground_minus_ball(z: float) -> float:
            return -SLOPE * z - MODULUS * (1.0 - np.hypot(radius, z - height) / RADIUS)

        rim = height - np.sqrt(RADIUS**2 - radius**2)
        return -SLOPE * brentq(ground_minus_ball, rim, 0.0, xtol=1e-15)

    reach = np.sqrt(RADIUS**2 - height**2)
    return 2.0 * np.pi * quad(lambda radius: radius * pressure(radius), 0.0, reach)[0]


HEIGHT = 0.06
DEPTH = RADIUS - HEIGHT
BALLS = {
    "compliant ball on rigid ground": (
        MODULUS,
        RIGID_GROUND,
        2.0 * np.pi * MODULUS * ((RADIUS**2 - HEIGHT**2) / 2.0 - (RADIUS**3 - HEIGHT**3) / (3.0 * RADIUS)),
    ),
    "rigid ball on compliant ground": (
        None,
        SOFT_GROUND,
        SLOPE * np.pi * DEPTH**2 * (3.0 * RADIUS - DEPTH) / 3.0,
    ),
    "compliant ball on compliant ground": (MODULUS, SOFT_GROUND, pressed_into_soft_ground(HEIGHT)),
}


@pytest.mark.parametrize("case", BALLS)
def test_ball_converges_with_the_square_of_its_facets(case):
    modulus, ground, expected = BALLS[case]
    rotation = random_rotation(np.random.default_rng(2))
    forces = []
    for resolution in (0.02, 0.01, 0.005):
        ball = hs.geometry.sphere(RADIUS, resolution=resolution, modulus=modulus)
        force = force_from_ground(ball, pose([0.3, -0.2, HEIGHT], rotation), ground)
        assert np.linalg.norm(force[:2]) <= 0.01 * force[2]
        forces.append(force[2])
    errors = np.array(forces) / expected - 1.0
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4.0, atol=0.15)
    assert (4.0 * forces[-1] - forces[-2]) / 3.0 == pytest.approx(expected, rel=1e-4)


def test_area_of_a_ball_converges():
    ball = hs.geometry.sphere(RADIUS, resolution=0.005, modulus=MODULUS)
    area = hs.contact.compute_patch(ball, pose([0.0, 0.0, HEIGHT]), RIGID_GROUND, np.eye(4)).area
    disc = np.pi * (RADIUS**2 - HEIGHT**2)
    assert (1.0 - 2e-3) * disc < area < disc


def pressed_box(slope: float, size: np.ndarray, depth: float) -> float:
    """Integral of ``slope * min(depth, distance to the nearest side)`` over a rectangle (its first two lengths)."""
    half = size[:2] / 2.0
    return slope * quad(lambda t: 4.0 * (half[0] - t) * (half[1] - t), 0.0, depth, epsabs=0.0)[0]


@pytest.mark.parametrize("depth", [1e-6, 0.013, 0.05])
def test_compliant_box_on_rigid_ground(depth):
    box = hs.geometry.box(SIZE, modulus=MODULUS)
    patch = hs.contact.compute_patch(box, pose([0.1, 0.2, SIZE[2] / 2.0 - depth]), RIGID_GROUND, np.eye(4))
    expected = pressed_box(MODULUS / (SIZE.min() / 2.0), SIZE, depth)
    np.testing.assert_allclose(patch.force_on_b, [0.0, 0.0, -expected], rtol=1e-9, atol=1e-9 * expected)
    np.testing.assert_allclose(moment_of_pressure(patch, [0.1, 0.2, 0.0]), 0.0, atol=1e-9 * expected)
    assert patch.area == pytest.approx(SIZE[0] * SIZE[1], rel=1e-9)


@pytest.mark.parametrize("depth", [1e-6, 0.013, 0.05])
def test_rigid_box_on_compliant_ground(depth):
    box = hs.geometry.box(SIZE)
    force = force_from_ground(box, pose([0.1, 0.2, SIZE[2] / 2.0 - depth]), SOFT_GROUND)
    expected = SLOPE * depth * SIZE[0] * SIZE[1]
    np.testing.assert_allclose(force, [0.0, 0.0, expected], rtol=1e-9, atol=1e-9 * expected)


@pytest.mark.parametrize("depth", [1e-6, 0.013, 0.05])
def test_compliant_box_on_compliant_ground(depth):
    """Both give way until their pressures agree: depth shared by the slopes, less at the sides of the box."""
    box = hs.geometry.box(SIZE, modulus=MODULUS)
    force = force_from_ground(box, pose([0.1, 0.2, SIZE[2] / 2.0 - depth]), SOFT_GROUND)
    slope = MODULUS / (SIZE.min() / 2.0)
    expected = pressed_box(slope, SIZE, depth * SLOPE / (SLOPE + slope))
    np.testing.assert_allclose(force, [0.0, 0.0, expected], rtol=1e-9, atol=1e-9 * expected)


@pytest.mark.parametrize(("modulus_b", "expected"), [(MODULUS, 3500.0 / 3.0), (3.0 * MODULUS, None)])
def test_two_cubes_that_overlap_by_half(modulus_b, expected):
    """Two cubes of 0.2 m whose pressures rise by 1e6 Pa/m and more from each side: 1166.67 N when both are alike."""
    size = np.full(3, 0.2)
    slope_a, slope_b = MODULUS / 0.1, modulus_b / 0.1
    by_hand = pressed_box(slope_a, size, 0.1 * slope_b / (slope_a + slope_b))
    if expected is not None:
        assert by_hand == pytest.approx(expected, rel=1e-12)
    a, b = hs.geometry.box(size, modulus=MODULUS), hs.geometry.box(size, modulus=modulus_b)
    patch = hs.contact.compute_patch(a, np.eye(4), b, pose([0.0, 0.0, 0.1]))
    np.testing.assert_allclose(patch.force_on_b, [0.0, 0.0, by_hand], rtol=1e-9, atol=1e-9 * by_hand)


def test_compliant_ground_is_a_slab_of_tetrahedra():
    """A half space and a deep slab with the same field make the same contact, of any shape in any pose."""
    lengths = np.array([2.0, 2.0, 1.0])
    slab_box = hs.geometry.box(lengths, modulus=1.0)
    vertices = slab_box.vertices - [0.0, 0.0, 0.5]
    slab = hs.geometry.compliant_mesh(vertices, slab_box.elements, -SLOPE * vertices[:, 2])
    shapes = [
        hs.geometry.ellipsoid(0.08, 0.1, 0.12, resolution=0.05, modulus=MODULUS),
        hs.geometry.capsule(0.05, 0.1, resolution=0.05, modulus=MODULUS),
        hs.geometry.cylinder(0.06, 0.1, resolution=0.04),
    ]
    rng = np.random.default_rng(4)
    for shape in shapes:
        for _ in range(6):
            X_WB = pose(rng.uniform(-1.0, 1.0, 3), random_rotation(rng))
            X_WA = X_WB @ pose([*rng.uniform(-0.1, 0.1, 2), 0.03], random_rotation(rng))
            on_ground = hs.contact.compute_patch(shape, X_WA, SOFT_GROUND, X_WB)
            on_slab = hs.contact.compute_patch(shape, X_WA, slab, X_WB)
            size = np.linalg.norm(on_ground.force_on_b)
            assert size > 1.0
            np.testing.assert_allclose(on_slab.force_on_b, on_ground.force_on_b, atol=1e-11 * size)
            assert on_slab.area == pytest.approx(on_ground.area, rel=1e-11)
            assert on_slab.energy == pytest.approx(on_ground.energy, rel=1e-10)
