"""Contact does no work around a closed path, and the moment of the faces approaches the slope of the energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.energy_slopes import energy_slope, turned
from support.contact.patches import moment_at_centroids, moment_of_pressure
from support.contact.poses import pose, random_rotation
from support.contact.solids import ball_surface, layered, lobes

MODULUS = 1e5
SOFT_SPHERE = hs.geometry.sphere(0.08, resolution=0.06, modulus=MODULUS)
STIFFER_SPHERE = hs.geometry.sphere(0.07, resolution=0.05, modulus=2.0 * MODULUS)
RIGID_SPHERE = hs.geometry.sphere(0.07, resolution=0.05)
SOFT_LOBED = layered(ball_surface(0.08, 0.06, lobes), (0.0, 0.6, 1.0), MODULUS)
RIGID_GROUND = hs.geometry.half_space()
SOFT_GROUND = hs.geometry.half_space(MODULUS, slab_thickness=0.1)

#: Pairs and the position of B in A's frame, m, around which it moves. No face is left out along these paths.
PATHS = {
    "two spheres": (SOFT_SPHERE, STIFFER_SPHERE, (0.01, 0.02, 0.123)),
    "two lobed solids": (SOFT_LOBED, SOFT_LOBED, (0.02, 0.01, 0.13)),
    "rigid and compliant sphere": (RIGID_SPHERE, SOFT_SPHERE, (0.01, 0.02, 0.125)),
    "lobed solid on a rigid plane": (SOFT_LOBED, RIGID_GROUND, (0.02, 0.01, -0.06)),
    "lobed solid on a compliant half space": (SOFT_LOBED, SOFT_GROUND, (0.02, 0.01, -0.06)),
}


def closed_path(position: tuple[float, ...], count: int) -> list[np.ndarray]:
    """Poses of B (4, 4) along a loop with two harmonics in every direction, 0.12 rad and 4 mm wide."""
    rng = np.random.default_rng(3)
    R_0 = np.eye(3) if position[2] < 0.0 else random_rotation(rng)
    size = np.r_[np.full(3, 0.12), np.full(3, 0.004)]
    cosines, sines = size * rng.normal(size=(2, 2, 6))
    angles = 2.0 * np.pi * np.outer(np.arange(count) / count, [1.0, 2.0])
    offsets = np.cos(angles) @ cosines + np.sin(angles) @ sines
    turns = Rotation.from_rotvec(offsets[:, :3]).as_matrix()
    return [
        pose(np.add(position, offset[3:]), turn @ R_0) for turn, offset in zip(turns, offsets, strict=True)
    ]


def work_around(a: Geometry, b: Geometry, path: list[np.ndarray]) -> tuple[float, float]:
    """Work of the contact on B, J, by the trapezoidal rule over the chords, and the sum of its sizes."""
    wrenches = []
    for X_WB in path:
        patch = hs.contact.compute_patch(a, np.eye(4), b, X_WB)
        wrenches.append(np.r_[moment_of_pressure(patch, X_WB[:3, 3]), patch.force_on_b])
    pieces = []
    for here, there, wrench, next_wrench in zip(
        path, path[1:] + path[:1], wrenches, wrenches[1:] + wrenches[:1], strict=True
    ):
        turn = Rotation.from_matrix(there[:3, :3] @ here[:3, :3].T).as_rotvec()
        pieces.append(0.5 * (wrench + next_wrench) * np.r_[turn, there[:3, 3] - here[:3, 3]])
    return float(np.sum(pieces)), float(np.abs(pieces).sum())


@pytest.mark.parametrize("name", PATHS)
def test_work_around_a_closed_path_vanishes_with_the_square_of_its_steps(name):
    a, b, position = PATHS[name]
    coarse, _ = work_around(a, b, closed_path(position, 32))
    fine, exchanged = work_around(a, b, closed_path(position, 128))
    assert exchanged > 0.1
    assert abs(fine) <= 1e-4 * exchanged
    # A quarter of the step leaves a sixteenth, but for the kinks of the force where faces come and go.
    assert abs(coarse) >= 10.0 * abs(fine)


ELLIPSOIDS = {
    "two ellipsoids": 2.0 * MODULUS,
    "compliant and rigid ellipsoid": None,
    "ellipsoid on a rigid plane": RIGID_GROUND,
    "ellipsoid on a compliant half space": SOFT_GROUND,
}


def errors_of_moment(name: str, resolution: float) -> float:
    """How far the moment of forces at the faces' centroids, as in a step, is from the slope of the energy, as a share.

    Root of the mean square over some orientations of meshes of one resolution.
    """
    a = hs.geometry.ellipsoid(0.06, 0.08, 0.1, resolution=resolution, modulus=MODULUS)
    if name.startswith("ellipsoid on"):
        b, X_WB = ELLIPSOIDS[name], pose([0.02, 0.01, -0.05])
    else:
        b = hs.geometry.ellipsoid(0.06, 0.07, 0.09, resolution=resolution, modulus=ELLIPSOIDS[name])
        X_WB = pose([0.02, 0.03, 0.12], random_rotation(np.random.default_rng(6)))
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(6):
        X_WA = pose((0.0, 0.0, 0.0), random_rotation(rng))
        slope = energy_slope(a, X_WA, b, X_WB, turned)
        patch = hs.contact.compute_patch(a, X_WA, b, X_WB)
        # The moment of the pressure itself has no such error, as long as no face is left out.
        exact = moment_of_pressure(patch, X_WB[:3, 3])
        assert np.linalg.norm(exact + slope) <= 1e-6 * np.linalg.norm(slope)
        at_centroids = moment_at_centroids(patch, X_WB[:3, 3])
        errors.append(np.linalg.norm(at_centroids - exact) / np.linalg.norm(exact))
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.heavy(4)
@pytest.mark.parametrize("name", ELLIPSOIDS)
def test_the_moment_of_the_faces_converges_with_the_square_of_the_edges(name):
    # Between two meshes the energy visits all pairs of elements, so these stay coarser.
    finest = 0.0075 if name.startswith("ellipsoid on") else 0.0125
    coarse, fine = (errors_of_moment(name, resolution) for resolution in (4.0 * finest, finest))
    # Second order leaves a sixteenth; the coarse meshes are above it by terms of higher order.
    assert coarse >= 10.0 * fine
