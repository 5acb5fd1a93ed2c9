"""Rigid transforms handed in by users."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]


def as_pose(X: ArrayLike, source: str, element: str) -> Array:
    """Check that ``X`` is a (4, 4) rigid transform and return it as an array.

    Raises:
        InputError: Wrong shape, not finite, or the rotation is not orthonormal to 1e-6.
    """
    X = np.asarray(X, dtype=float)
    if X.shape != (4, 4):
        raise InputError(source, element, f"has shape {X.shape}", "give a (4, 4) homogeneous transform")
    R = X[:3, :3]
    if not np.all(np.isfinite(X)):
        raise InputError(source, element, "holds NaN or infinity", "give finite numbers")
    if not (np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0):
        raise InputError(source, element, "is not a rotation", "give an orthonormal right-handed rotation")
    if not np.allclose(X[3], (0.0, 0.0, 0.0, 1.0), atol=1e-12):
        raise InputError(source, element, "has a last row other than 0 0 0 1", "give a homogeneous transform")
    return X


def relative_pose(X_WA: Array, X_WB: Array) -> tuple[Array, Array]:
    """Rotation (3, 3) and origin (3,) of frame A in frame B."""
    R_WB = X_WB[:3, :3]
    return np.ascontiguousarray(R_WB.T @ X_WA[:3, :3]), R_WB.T @ (X_WA[:3, 3] - X_WB[:3, 3])
