"""Checks of rigid transforms and points from users."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]


def as_array(values: ArrayLike, shape: tuple[int, ...], source: str, element: str) -> Array:
    """Return ``values`` as a finite float array of the given shape.

    Raises:
        InputError: The values are not real numbers, have another shape, or are not finite.
    """
    mend = f"give {shape} finite real numbers"
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(source, element, "has rows of different lengths", mend) from None
    if array.dtype.kind not in "fiu":
        raise InputError(source, element, f"holds {array.dtype.name}, not real numbers", mend)
    if array.shape != shape:
        raise InputError(source, element, f"has shape {array.shape}", mend)
    if not np.all(np.isfinite(array)):
        raise InputError(source, element, "holds NaN or infinity", mend)
    return array.astype(float, copy=False)


def as_pose(X: ArrayLike, source: str, element: str) -> Array:
    """Check that ``X`` is a (4, 4) rigid transform and return it as an array.

    Raises:
        InputError: The matrix has the wrong shape, is not finite, or its rotation is not orthonormal to 1e-6.
    """
    X = as_array(X, (4, 4), source, element)
    R = X[:3, :3]
    # Entries of a rotation are at most 1; larger ones may overflow in the products.
    if np.abs(R).max() > 2.0 or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or not np.linalg.det(R) > 0.0:
        raise InputError(source, element, "is not a rotation", "give an orthonormal right-handed rotation")
    if not np.allclose(X[3], (0.0, 0.0, 0.0, 1.0), atol=1e-12):
        raise InputError(source, element, "has a last row other than 0 0 0 1", "give a homogeneous transform")
    return X


def relative_pose(X_WA: Array, X_WB: Array) -> tuple[Array, Array]:
    """Rotation (3, 3) and origin (3,) of frame A in frame B."""
    R_WB = X_WB[:3, :3]
    return np.ascontiguousarray(R_WB.T @ X_WA[:3, :3]), R_WB.T @ (X_WA[:3, 3] - X_WB[:3, 3])
