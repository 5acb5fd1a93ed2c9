"""Central differences of the energy of two geometries as the second one moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.poses import pose

#: Shift, m, and turn, rad.
STEP = 1e-6


def shifted(X: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The pose moved by ``shift`` (3,) m."""
    return pose(X[:3, 3] + shift, X[:3, :3])


def turned(X: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The pose turned about its own origin by a rotation vector (3,), rad, in the axes of the world."""
    return pose(X[:3, 3], Rotation.from_rotvec(turn).as_matrix() @ X[:3, :3])


def energy_slope(
    a: Geometry,
    X_WA: np.ndarray,
    b: Geometry,
    X_WB: np.ndarray,
    move: Callable[[np.ndarray, np.ndarray], np.ndarray] = shifted,
) -> np.ndarray:
    """Slope (3,) of the energy over motions of B, N or N m."""
    energies = [
        [hs.contact.compute_patch(a, X_WA, b, move(X_WB, sign * step)).energy for sign in (1.0, -1.0)]
        for step in STEP * np.eye(3)
    ]
    return np.array([ahead - behind for ahead, behind in energies]) / (2.0 * STEP)
