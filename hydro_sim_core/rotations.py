"""Conversions between rotation matrices, quaternions and angles, without SciPy, which takes 0.25 s to import."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import norm, sines_cosines

Array = NDArray[np.float64]


def quaternions_of(R: Array) -> Array:
    """Unit quaternions (x, y, z, w) of rotation matrices, computed without cancellation in the largest component.

    Args:
        R: (..., 3, 3).

    Returns:
        (..., 4), with w >= 0.
    """
    trace = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    # 4 q q^T, whose row of the largest diagonal entry is a multiple of q.
    outer = np.empty((*R.shape[:-2], 4, 4))
    outer[..., :3, :3] = R + np.swapaxes(R, -1, -2)
    outer[..., range(3), range(3)] = 1.0 + 2.0 * diagonal - trace[..., None]
    outer[..., 3, 3] = 1.0 + trace
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[..., 3, k] = outer[..., k, 3] = R[..., i, j] - R[..., j, i]
    largest = np.argmax(outer[..., range(4), range(4)], axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.sqrt(q[..., 0] ** 2 + q[..., 1] ** 2 + q[..., 2] ** 2 + q[..., 3] ** 2)[..., None]
    return np.where(q[..., 3:] < 0.0, -q, q)


def matrix_of(quaternion: Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion (x, y, z, w), which need not be normalised."""
    x, y, z, w = quaternion / norm(quaternion)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def matrix_of_turn(turn: Array) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,), rad: a turn about its direction by its length."""
    half = 0.5 * norm(turn)
    sine, cosine = sines_cosines(half)
    # Sine of half the angle over the angle, with limit 1/2.
    share = 0.5 * sine / half if half > 0.0 else 0.5
    return matrix_of(np.array([*(share * turn), cosine]))


def roll_pitch_yaw(R: Array) -> Array:
    """Angles (3,) about the fixed axes x, y, z (rad) of a rotation matrix (3, 3).

    In gimbal lock only the sum or difference of roll and yaw is determined; one of the possible pairs is returned.
    """
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def twist_between(X_WA: Array, X_WB: Array, duration: float) -> Array:
    """Constant twist (6,) between two poses (4, 4): angular velocity, rad/s, then that of the frame's origin, m/s.

    Args:
        X_WA: Pose at the beginning.
        X_WB: Pose at the end; the frame turns the shorter way.
        duration: s.
    """
    x, y, z, w = quaternions_of(X_WB[:3, :3] @ X_WA[:3, :3].T)
    sine = norm(np.array([x, y, z]))
    # Angle over the sine of its half, with limit 2 where both vanish.
    ratio = 2.0 * np.arctan2(sine, w) / sine if sine > 0.0 else 2.0
    return np.concatenate([ratio * np.array([x, y, z]), X_WB[:3, 3] - X_WA[:3, 3]]) / duration
