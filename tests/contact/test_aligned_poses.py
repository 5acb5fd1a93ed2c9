"""Aligned bodies, whose contact faces lie in faces that tetrahedra share, have the force of slightly turned ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from support.contact.pair import Pair
from support.contact.poses import pose, random_direction

#: Turns and shifts of two aligned bodies, from below round-off to far above it, rad and m.
PERTURBATIONS = (0.0, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 3e-12, 1e-11, 1e-10, 1e-9)
QUARTER_TURNS = [(0, 0, 0), (0, 0, 90), (0, 90, 0), (180, 0, 0), (0, 0, 180), (90, 90, 0), (0, 0, 45)]
OFFSETS = [(0, 0, 0.1), (0, 0, 0.05), (0.05, 0, 0.1), (0.05, 0.1, 0.15), (0, 0, 0.15), (0.05, 0, 0.05)]


def compliant_shapes() -> dict[str, hs.geometry.Geometry]:
    """Shapes whose meshes have many faces in planes of symmetry."""
    g = hs.geometry
    return {
        "cube": g.box(0.2, 0.2, 0.2, modulus=1e5),
        "plate": g.box(0.2, 0.2, 0.3, modulus=1e5),
        "octahedral sphere": g.sphere(0.1, resolution=0.05, modulus=1e5),
        "cylinder": g.cylinder(0.1, 0.2, resolution=0.1, modulus=1e5),
    }


def rigid_shapes() -> dict[str, hs.geometry.Geometry]:
    """Rigid partners of the same sizes."""
    g = hs.geometry
    return {"rigid cube": g.box(0.2, 0.2, 0.2), "rigid sphere": g.sphere(0.1, resolution=0.05)}


def exact_rotation(angles: tuple[int, int, int]) -> np.ndarray:
    """Rotation matrix by Euler angles in degrees, free of round-off where its entries are whole."""
    rotation = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    return np.where(np.abs(rotation - np.round(rotation)) < 1e-9, np.round(rotation), rotation)


def perturbed(X: np.ndarray, amount: float, rng: np.random.Generator) -> np.ndarray:
    """The pose turned by ``amount`` rad about a random axis and shifted by a tenth of it, m."""
    turn = Rotation.from_rotvec(amount * random_direction(rng)).as_matrix()
    return pose(X[:3, 3] + 0.1 * amount * random_direction(rng), turn @ X[:3, :3])


def force(a, X_WA, b, X_WB) -> np.ndarray:
    """Static force on B, N."""
    return hs.contact.compute_patch(a, X_WA, b, X_WB).force_on_b


def check_alignments(a, b) -> int:
    """Compare every alignment with its perturbations; returns how many there were.

    The model itself jumps at some alignments, for example where flush sides of two boxes stop overlapping. The force at
    visible perturbations in many directions tells: there these forces differ among each other, and such an alignment
    has no one force to be held to.
    """
    rng = np.random.default_rng(0)
    pair = Pair(a, b)
    compared = 0
    for angles in QUARTER_TURNS:
        X_WB = pose(rotation=exact_rotation(angles))
        for offset in OFFSETS:
            X_WA = pose(offset)
            around = [pair.contact(perturbed(X_WA, 1e-6, rng), X_WB).force for _ in range(12)]
            expected, size = np.mean(around, axis=0), np.abs(around).max()
            if size < 1.0 or np.ptp(around, axis=0).max() > 1e-4 * size:
                continue
            for amount in PERTURBATIONS:
                found = pair.contact(perturbed(X_WA, amount, rng), X_WB).force
                assert np.abs(found - expected).max() <= 1e-4 * size, (angles, offset, amount)
            compared += 1
    return compared


def test_two_compliant_bodies():
    shapes = compliant_shapes().values()
    assert sum(check_alignments(a, b) for a in shapes for b in shapes) > 200


def test_rigid_and_compliant_body():
    compared = [check_alignments(a, b) for a in rigid_shapes().values() for b in compliant_shapes().values()]
    assert sum(compared) > 100


@pytest.mark.parametrize(
    "ground", [hs.geometry.half_space(), hs.geometry.half_space(1e5, slab_thickness=0.1)]
)
def test_body_on_half_space(ground):
    """The plane of the half space is that of the faces inside the body."""
    rng = np.random.default_rng(1)
    for shape in compliant_shapes().values():
        for height in (0.0, 0.05):
            X_WA = pose([0.1, 0.0, height])
            expected = force(shape, pose([0.1, 0.0, height + 1e-7]), ground, np.eye(4))
            for amount in PERTURBATIONS:
                found = force(shape, perturbed(X_WA, amount, rng), ground, np.eye(4))
                np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_resting_plate_counts_its_middle_once():
    """A plane through the corner where all tetrahedra of an octahedral sphere meet: a disc, found once."""
    ball = hs.geometry.sphere(0.1, resolution=0.05, modulus=1e5)
    plate = hs.geometry.box(0.4, 0.4, 0.2)
    patch = hs.contact.compute_patch(plate, pose([0.0, 0.0, 0.1]), ball, np.eye(4))
    ring = ball.vertices[np.abs(ball.vertices[:, 2]) < 1e-12]
    ring = ring[np.linalg.norm(ring, axis=1) > 0.05]
    order = np.argsort(np.arctan2(ring[:, 1], ring[:, 0]))
    x, y = ring[order, 0], ring[order, 1]
    assert patch.area == pytest.approx(0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)), rel=1e-9)
