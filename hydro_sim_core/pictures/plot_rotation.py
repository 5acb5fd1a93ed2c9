"""Rotation angle of a body about an axis, from its poses."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError, excerpt

Array = NDArray[np.float64]


def main_axis(X_WB: Array) -> Array:
    """Axis (3,) in the world about which a body turns most, from its poses (N, 4, 4) over time.

    It is the first principal axis of the rotations from one pose to the next; its sign is that of the larger part of
    the rotation.

    Raises:
        InputError: There are fewer than two poses, or they do not turn.
    """
    R_WB = scipy.spatial.transform.Rotation.from_matrix(X_WB[:, :3, :3])
    turns = (R_WB[1:] * R_WB[:-1].inv()).as_rotvec()
    moments = turns.T @ turns
    if not np.trace(moments) > 0.0:
        raise InputError("pitch", "axis", "the body does not turn", "name an axis")
    axis = np.linalg.eigh(moments)[1][:, -1]
    return axis if turns.sum(axis=0) @ axis >= 0.0 else -axis


def angles_about(axis: ArrayLike, X_WB: Array) -> Array:
    """Rotation angles (N,) of a body about an axis since its first pose, rad, unwrapped.

    The rotation is split into a twist about the axis and a swing about a perpendicular axis, which does not count.

    Args:
        axis: (3,) in the world, of any length.
        X_WB: (N, 4, 4) poses of the body in the world over time, less than half a turn apart.

    Raises:
        InputError: The axis has no direction.
    """
    direction = np.asarray(axis, dtype=float)
    length = np.linalg.norm(direction)
    if direction.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        mend = "give three numbers such as 0, 1, 0"
        raise InputError("pitch", "axis", f"{excerpt(direction.tolist())} is no direction", mend)
    R_WB = scipy.spatial.transform.Rotation.from_matrix(X_WB[:, :3, :3])
    quaternions = (R_WB * R_WB[0].inv()).as_quat()  # x, y, z, w
    halves = np.arctan2(quaternions[:, :3] @ (direction / length), quaternions[:, 3])
    return 2.0 * np.unwrap(halves, period=np.pi)
