"""The three points of a face that leans move together, and stay in the face."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import AHEAD, face_at
from hydro_sim_core.simulation.stepping.face_points import set_points
from support.contact.single_faces import one_face


@kernel
def points_of_first(faces, points):
    """The points of the first face, of a rigid pair."""
    return set_points(faces, 0, face_at(faces.data, 0), True, 1.0, 0.0, points)


def leaning(corners: np.ndarray, away: float, towards: np.ndarray):
    """A triangle (3, 3) between rigid bodies whose pressure rises at an angle from its normal, along ``towards``."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.linalg.norm(normal)
    along = towards - (towards @ normal) * normal
    along /= np.linalg.norm(along)
    faces = one_face(corners, np.zeros(3), 10.0, np.cos(away) * normal + np.sin(away) * along)
    faces.data[AHEAD, 0] = np.inf
    return faces, along


@pytest.mark.parametrize("away", [0.0, 30.0, 34.0, 45.0])
def test_points_stay_within_the_face(away):
    """Drawn together straight down the pressure they came to lie beside a slanted one, by up to a third of its size."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        corners = rng.normal(size=(3, 3))
        corners -= corners.mean(axis=0)
        faces, along = leaning(corners, np.radians(away), rng.normal(size=3))
        points = np.zeros((3, 3))
        assert points_of_first(faces, points) == 3
        assert np.abs(points.mean(axis=0)).max() < 1e-12
        shares = np.linalg.lstsq(
            np.vstack([corners.T, np.ones(3)]), np.vstack([points.T, np.ones(3)]), rcond=None
        )[0]
        assert shares.min() > -1e-9
        assert np.abs(corners.T @ shares - points.T).max() < 1e-9  # in its plane, too
        if away > 37.0:
            assert np.abs(points @ along).max() < 1e-9
