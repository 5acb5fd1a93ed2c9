"""The rate at which pressure rises on a face, beside the smooth field of Elandt 2019 (equations 2 and 3).

Elandt interpolates a gradient between the vertices, towards the centre on the surface and zero at the centre, so that
the rate is continuous. Ours is the constant one of the element that the face lies in. See docs/contact_models.md.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry
from hydro_sim_core.contact import compute_patch

RADIUS, MODULUS, DEPTH = 0.1, 1e5, 0.01


def mean_rates(resolution: float, turn: np.ndarray) -> tuple[float, float]:
    """Rates of pressure of a ball that sinks into rigid ground, E v / R, ours and smooth, weighted by the pressure."""
    ball, ground = geometry.sphere(RADIUS, resolution=resolution, modulus=MODULUS), geometry.half_space()
    X_WB = np.eye(4)
    X_WB[:3, :3], X_WB[2, 3] = Rotation.from_rotvec(turn).as_matrix(), RADIUS - DEPTH
    patch = compute_patch(ball, X_WB, ground, np.eye(4))
    weights = patch.areas * patch.pressures
    ours = patch.gradients[:, 0] * RADIUS / MODULUS
    # Interpolated linearly between the vertices of a ball: as far from the centre as the face, over the radius.
    smooth = np.abs(np.sum((patch.centroids - X_WB[:3, 3]) * patch.normals, axis=1)) / RADIUS
    return float(weights @ ours / weights.sum()), float(weights @ smooth / weights.sum())


@pytest.mark.parametrize(
    ("resolution", "deviation", "spread"), [(0.04, 0.06, 0.05), (0.02, 0.02, 0.01), (0.01, 0.005, 0.003)]
)
def test_the_rate_is_that_of_a_true_ball_and_hardly_depends_on_how_it_is_turned(
    resolution, deviation, spread
):
    turns = np.random.default_rng(1).normal(size=(40, 3))
    ours, smooth = np.array([mean_rates(resolution, turn) for turn in turns]).T
    # Of a true ball: the cosine h / r between radius and plane, weighted by the pressure 1 - r / R over the disc.
    h = RADIUS - DEPTH
    force = (RADIUS**2 - h**2) / 2.0 - (RADIUS**3 - h**3) / (3.0 * RADIUS)
    exact = h * (DEPTH - (RADIUS**2 - h**2) / (2.0 * RADIUS)) / force
    assert exact == pytest.approx(0.9643, abs=1e-4)
    assert ours.mean() == pytest.approx(exact, rel=deviation)
    assert np.ptp(ours) < spread
    # The smooth field is the same from all sides, but fades with the depth where the true one does not.
    np.testing.assert_allclose(smooth, 1.0 - DEPTH / RADIUS, rtol=1e-12)
