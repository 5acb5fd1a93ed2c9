"""Bodies inside bodies: closed contact surfaces that no surface of a body cuts, alone and beside open ones.

A search that starts where the surfaces of two bodies meet does not see them.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.all_pairs import contact_by_all_pairs
from support.contact.pair import Pair
from support.contact.poses import pose, random_direction, random_rotation
from support.contact.solids import (
    ball_surface,
    bumpy_field,
    compliant_shell,
    depth_field,
    grid,
    inner_radius,
    layered,
    lobes,
    outer_radius,
    rigid_shell,
    split_field,
    together,
)

#: Poses of each pair with the small body wholly inside, and with it anywhere.
INSIDE, ANYWHERE = 14, 6
TOLERANCE = 1e-10
#: A slight perturbation, rad and fraction of the size, and how much it may change the contact.
PERTURBATION, CHANGE = 1e-9, 1e-6

g = hs.geometry


def ball(radius: float, profile: list[float], modulus: float = 1e5, resolution: float = 0.8) -> Geometry:
    """Ball of shells."""
    return layered(ball_surface(radius, resolution * radius), profile, modulus)


def small_bodies() -> dict[str, Geometry]:
    """Bodies of up to 0.1 m in radius, with one peak, a ridge, a plateau or several peaks."""
    drop = g.ellipsoid(0.03, 0.03, 0.05, resolution=0.04, modulus=5e5)
    rigid_drop = g.ellipsoid(0.03, 0.03, 0.05, resolution=0.04)
    scattered = [[0.05, 0.0, 0.01], [-0.04, 0.03, 0.0], [-0.01, -0.06, -0.02]]
    return {
        "ellipsoid": g.ellipsoid(0.05, 0.06, 0.09, resolution=0.06, modulus=5e5),
        "box": g.box(0.06, 0.08, 0.12, modulus=5e5),
        "cylinder": g.cylinder(0.04, 0.14, resolution=0.06, modulus=5e5),
        "capsule": g.capsule(0.03, 0.12, resolution=0.04, modulus=5e5),
        "lobed": layered(ball_surface(0.07, 0.07, lobes), [0.0, 0.5, 1.0], 5e5),
        "three": together([drop] * 3, scattered),
        "many peaks": grid(0.11, 3, bumpy_field(0.11, 5e5, 1)),
        "shoulder": ball(0.09, [0.0, 0.7, 0.8, 1.0], 5e5),
        "ridged": ball(0.09, [0.0, 1.0, 0.2, 0.8], 5e5),
        "hollow": compliant_shell(ball_surface(0.09, 0.08), 0.5, 5e5),
        "rigid": g.box(0.06, 0.08, 0.12),
        "rigid lobed": g.rigid_mesh(*ball_surface(0.07, 0.07, lobes)),
        "rigid three": together([rigid_drop] * 3, scattered),
        "rigid hollow": rigid_shell(ball_surface(0.09, 0.08), ball_surface(0.05, 0.06)),
    }


def large_bodies() -> dict[str, Geometry]:
    """Star-shaped bodies around 0.3 m in radius whose pressure rises inwards, outwards or in waves."""
    return {
        "soft ball": ball(0.3, [0.0, 1.0]),
        "stiff ball": ball(0.3, [0.0, 0.5, 1.0], 6e5),
        "bowl": ball(0.3, [1.0, 0.5, 0.0], 3e5),
        "wavy ball": ball(0.3, [0.0, 0.6, 0.3, 1.0], 4e5),
        "lobed": layered(ball_surface(0.32, 0.25, lobes), [0.0, 0.5, 1.0], 4e5),
        "cube": grid(0.5, 3, depth_field(0.5, 4e5)),
        "many peaks": grid(0.5, 4, bumpy_field(0.5, 4e5, 2)),
        "split cube": grid(0.5, 4, split_field(0.5, 8e5)),
    }


SMALL, LARGE = small_bodies(), large_bodies()


def placed(rng: np.random.Generator, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Two turned bodies, their origins at a distance."""
    position = rng.uniform(-0.3, 0.3, 3)
    return (
        pose(position, random_rotation(rng)),
        pose(position + distance * random_direction(rng), random_rotation(rng)),
    )


def perturbed(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pose slightly turned and shifted."""
    turn = Rotation.from_rotvec(PERTURBATION * random_direction(rng)).as_matrix()
    return pose(X[:3, 3] + 0.1 * PERTURBATION * random_direction(rng), turn @ X[:3, :3])


def assert_same(found, expected, tolerance: float) -> None:
    """Two contacts agree to a fraction of their load, if it is 1 N or more, and of their area."""
    atol = tolerance * max(expected.load, 1.0)
    np.testing.assert_allclose(found.force, expected.force, rtol=0.0, atol=atol)
    np.testing.assert_allclose(found.moment, expected.moment, rtol=0.0, atol=0.1 * atol)
    assert found.area == pytest.approx(expected.area, rel=tolerance, abs=1e-6 * tolerance)


@pytest.mark.heavy(8)
@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("small", SMALL)
def test_contact_is_that_of_all_pairs(small, large):
    a, b = SMALL[small], LARGE[large]
    pair, swapped = Pair(a, b), Pair(b, a)
    rng = np.random.default_rng(len(small) * 100 + len(large))
    room = inner_radius(b) - outer_radius(a)
    assert room > 0.0
    pressed = 0
    for i in range(INSIDE + ANYWHERE):
        distance = rng.uniform(0.0, room) if i < INSIDE else rng.uniform(room, outer_radius(b))
        X_WA, X_WB = placed(rng, distance)
        expected = contact_by_all_pairs(a, X_WA, b, X_WB)
        found = pair.contact(X_WA, X_WB)
        assert_same(found, expected, TOLERANCE)
        if expected.load > 0.0:  # else round-off decides about faces in a plane where both pressures are zero
            assert found.num_faces == expected.num_faces
        assert_same(pair.contact(perturbed(X_WA, rng), X_WB), expected, CHANGE)
        backward = swapped.contact(X_WB, X_WA)
        np.testing.assert_allclose(-backward.force, found.force, rtol=0.0, atol=TOLERANCE * expected.load)
        pressed += i < INSIDE and expected.load > 0.0
    assert pressed >= INSIDE // 2


@pytest.mark.parametrize("small", [name for name in SMALL if not SMALL[name].is_rigid])
def test_no_contact_wholly_inside_a_rigid_body(small):
    """There is no surface to press on, and no pressure in a rigid body."""
    a, b = SMALL[small], g.rigid_mesh(*ball_surface(0.3, 0.2))
    pair = Pair(a, b)
    rng = np.random.default_rng(5)
    room = inner_radius(b) - outer_radius(a)
    for _ in range(10):
        found = pair.contact(*placed(rng, rng.uniform(0.0, room)))
        assert found.num_faces == 0


def test_bump_on_a_slope():
    """The pressures agree around a vertex that is no peak of either: a ring of faces with culled ones on both sides."""
    slope = np.array([6e5, 0.0, 0.0])
    a = grid(0.4, 4, lambda x: sunk_rim(x, 1e5 + x @ slope + 3e4 * (np.linalg.norm(x, axis=1) < 1e-9)))
    b = grid(1.0, 4, lambda x: sunk_rim(x, 1.1e5 + x @ slope))
    bump = np.linalg.norm(a.vertices, axis=1).argmin()
    neighbours = a.elements[(a.elements == bump).any(axis=1)]
    assert a.pressure[neighbours].max() > a.pressure[bump]
    pair = Pair(a, b)
    rng = np.random.default_rng(6)
    for _ in range(20):
        X_WA, X_WB = pose(), pose(rng.uniform(-0.004, 0.004, 3))
        faces = pair.faces(X_WA, X_WB)
        assert np.count_nonzero(np.linalg.norm(faces.centroids, axis=1) < 0.1) > 10
        assert_same(pair.contact(X_WA, X_WB), contact_by_all_pairs(a, X_WA, b, X_WB), TOLERANCE)


def sunk_rim(x: np.ndarray, pressure: np.ndarray) -> np.ndarray:
    """The pressure of a cube with values below zero, no two alike, on its surface."""
    outside = np.abs(x).max(axis=1) > np.abs(x).max() - 1e-9
    return np.where(outside, -2e4 - 1e4 * np.abs(x @ [1.0, 2.0, 3.0]), pressure)
