"""Poses of the contact tests."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def pose(position: object = (0.0, 0.0, 0.0), rotation: np.ndarray | None = None) -> np.ndarray:
    """(4, 4) pose from an origin, m, and a rotation matrix (identity when None)."""
    X = np.eye(4)
    X[:3, :3] = np.eye(3) if rotation is None else rotation
    X[:3, 3] = position
    return X


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation matrix, uniformly distributed."""
    return Rotation.random(random_state=rng).as_matrix()


def random_direction(rng: np.random.Generator) -> np.ndarray:
    """A unit vector, uniformly distributed."""
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)
