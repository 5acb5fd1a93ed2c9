"""Resolved-rate control (Whitney 1969): joint velocities that give a link a desired twist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Characteristic length (m) that weighs rotations against displacements: the size of an arm's hand.
HAND_LENGTH = 0.3
#: Smallest singular value of the Jacobian (m) below which motion is damped, and the damping where it is zero.
NEAR_SINGULAR = 0.03
LARGEST_DAMPING = 0.03
#: Constant damping (m), because joints at their bounds may leave the others in a singular posture.
LEAST_DAMPING = 1e-3


def joint_rates(J: Array, twist: Array, lower: Array, upper: Array) -> Array:
    """Joint velocities within their bounds whose twist is closest to the desired one.

    Damped least squares: near a singular posture the damping grows smoothly from zero (Chiaverini 1994), so that
    velocities stay bounded and do not jump. A joint at a bound stays there and the others compensate for it.

    Args:
        J: (6, n) Jacobian, angular first.
        twist: (6,) desired angular (rad/s) and linear velocity (m/s).
        lower: (n,) lowest velocities, rad/s or m/s.
        upper: (n,) highest velocities.

    Returns:
        (n,) velocities.
    """
    weights = np.array([HAND_LENGTH] * 3 + [1.0] * 3)
    J, twist = weights[:, None] * J, weights * twist
    # The damping is the same in all iterations, so that velocities are continuous when a joint reaches its bound.
    damping = _damping(J)
    rates = np.zeros(J.shape[1])
    free = np.ones(J.shape[1], dtype=bool)
    while free.any():
        F, rest = J[:, free], twist - J[:, ~free] @ rates[~free]
        rates[free] = F.T @ np.linalg.solve(F @ F.T + damping * np.eye(6), rest)
        out = free & ((rates < lower) | (rates > upper))
        if not out.any():
            break
        rates[out] = np.clip(rates[out], lower[out], upper[out])
        free &= ~out
    return rates


def _damping(J: Array) -> float:
    """Damping that is added to the squares of the singular values, m^2."""
    smallest = np.linalg.svd(J, compute_uv=False)[-1] if J.shape[1] >= J.shape[0] else 0.0
    closeness = max(0.0, 1.0 - (smallest / NEAR_SINGULAR) ** 2)
    return float(LEAST_DAMPING**2 + LARGEST_DAMPING**2 * closeness)
