"""Contact surfaces without a rim: a body inside another whose pressure rises all around it."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.patches import open_edges
from support.contact.poses import pose, random_rotation

MODULUS = 1e5
STEP = 1e-6


def bowl() -> Geometry:
    """A ball of 0.4 m whose pressure grows from zero at its centre to the modulus at its surface."""
    ball = hs.geometry.sphere(0.4, resolution=0.2, modulus=1.0)
    return hs.geometry.compliant_mesh(ball.vertices, ball.elements, MODULUS * (1.0 - ball.pressure))


BODIES = {
    "compliant": hs.geometry.ellipsoid(0.08, 0.1, 0.12, resolution=0.06, modulus=MODULUS),
    "rigid": hs.geometry.ellipsoid(0.08, 0.1, 0.12, resolution=0.06),
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("seed", range(3))
def test_surface_closes(kind, seed):
    a, b = BODIES[kind], bowl()
    rng = np.random.default_rng(seed)
    center = np.array([0.5, -0.1, 0.2])
    X_WA = pose(center + rng.uniform(-0.01, 0.01, 3), random_rotation(rng))
    X_WB = pose(center, random_rotation(rng))
    patch = hs.contact.compute_patch(a, X_WA, b, X_WB)
    assert open_edges(patch) == 0
    assert np.linalg.norm(patch.areas @ patch.normals) <= 1e-12 * patch.area
    volume = np.sum(patch.areas * np.sum(patch.centroids * patch.normals, axis=1)) / 3.0
    if a.is_rigid:
        assert volume == pytest.approx(a.volume(), rel=1e-12)
    else:
        assert 0.1 * a.volume() < volume < 0.9 * a.volume()

    def energy(shift: np.ndarray) -> float:
        return hs.contact.compute_patch(a, X_WA, b, pose(center + shift, X_WB[:3, :3])).energy

    slope = [(energy(step) - energy(-step)) / (2.0 * STEP) for step in STEP * np.eye(3)]
    size = np.linalg.norm(patch.force_on_b)
    assert size > 1.0
    np.testing.assert_allclose(-np.array(slope), patch.force_on_b, atol=1e-6 * size)


def test_a_gap_in_the_surface_is_noticed():
    """The measure that the other test relies on."""
    patch = hs.contact.compute_patch(
        BODIES["compliant"], np.eye(4), hs.geometry.half_space(), pose([0.0, 0.0, -0.02])
    )
    assert open_edges(patch) > 5
