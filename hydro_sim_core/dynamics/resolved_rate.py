# mypy: allow-untyped-defs
"""Resolved-rate control (Whitney 1969): joint velocities that give a link a desired twist."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D, entry, kernel
from hydro_sim_core.dynamics.tree import Floats

#: Characteristic length (m) that weighs rotations against displacements: the size of an arm's hand.
HAND_LENGTH = 0.3
#: Smallest singular value of the Jacobian (m) below which motion is damped, and the damping where it is zero.
NEAR_SINGULAR = 0.03
LARGEST_DAMPING = 0.03
#: Constant damping (m), because joints at their bounds may leave the others in a singular posture.
LEAST_DAMPING = 1e-3
#: Of Jacobi's method for a 6 x 6 matrix: it converges quadratically, in about six sweeps.
_MOST_SWEEPS = 30
_NEGLIGIBLE = 1e-15


def joint_rates(J: Floats, twist: Floats, lower: Floats, upper: Floats) -> Floats:
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
    num = J.shape[1]
    rates, is_free = np.zeros(num), np.zeros(num, dtype=np.int64)
    weighed, wanted = np.array(J, dtype=float, order="C"), np.array(twist, dtype=float)
    bounds = np.array([lower, upper], dtype=float)
    resolve_rates(weighed, num, wanted, bounds, rates, is_free, np.zeros((6, 6)), np.zeros(6))
    return rates


@entry
def resolve_rates(
    J: Float2D,
    num: int,
    twist: Float1D,
    bounds: Float2D,
    rates: Float1D,
    is_free: Int1D,
    A: Float2D,
    x: Float1D,
) -> None:
    """Joint velocities as ``joint_rates`` returns them.

    Args:
        J: (6, >= num) Jacobian; weighed in place.
        num: Number of joints.
        twist: (6,) desired twist; weighed in place.
        bounds: (2, >= num) lowest and highest velocities.
        rates: (>= num,) velocities, out.
        is_free: (>= num,) scratch.
        A: (6, 6) scratch.
        x: (6,) scratch.
    """
    for r in range(3):
        twist[r] *= HAND_LENGTH
        for i in range(num):
            J[r, i] *= HAND_LENGTH
    for i in range(num):
        rates[i], is_free[i] = 0.0, 1
    # The damping is the same in all iterations, so that velocities are continuous when a joint reaches its bound.
    _square(J, num, is_free, A)
    damping = _damping(A, num)
    is_done = num == 0
    while not is_done:
        _square(J, num, is_free, A)
        for r in range(6):
            A[r, r] += damping
            x[r] = twist[r]
            for i in range(num):
                x[r] -= 0.0 if is_free[i] else J[r, i] * rates[i]
        solve_positive(A, x)
        is_done, num_free = True, 0
        for i in range(num):
            if is_free[i]:
                rates[i] = 0.0
                for r in range(6):
                    rates[i] += J[r, i] * x[r]
        for i in range(num):
            if is_free[i] and not bounds[0, i] <= rates[i] <= bounds[1, i]:
                rates[i] = max(bounds[0, i], min(rates[i], bounds[1, i]))
                is_free[i], is_done = 0, False
            num_free += is_free[i]
        is_done = is_done or num_free == 0


@kernel
def _square(J, num, is_free, A):
    """Products of the rows of J, of its free columns alone."""
    for r in range(6):
        for c in range(6):
            A[r, c] = 0.0
            for i in range(num):
                if is_free[i]:
                    A[r, c] += J[r, i] * J[c, i]


@kernel
def _damping(A, num):
    """Damping that is added to the squares of the singular values, m^2; A is overwritten."""
    smallest = 0.0
    if num >= 6:
        _diagonalise(A)
        smallest = A[0, 0]
        for r in range(1, 6):
            smallest = min(smallest, A[r, r])
    closeness = max(0.0, 1.0 - smallest / (NEAR_SINGULAR * NEAR_SINGULAR))
    return LEAST_DAMPING * LEAST_DAMPING + LARGEST_DAMPING * LARGEST_DAMPING * closeness


@kernel
def _diagonalise(A):
    """Turn a symmetric 6 x 6 matrix until its eigenvalues are on its diagonal, by Jacobi's method."""
    for _ in range(_MOST_SWEEPS):
        off, total = 0.0, 0.0
        for r in range(6):
            total += A[r, r] * A[r, r]
            for c in range(r):
                off += A[r, c] * A[r, c]
        if off <= _NEGLIGIBLE * _NEGLIGIBLE * total:
            return
        for p in range(5):
            for q in range(p + 1, 6):
                if A[p, q] != 0.0:
                    _annul(A, p, q)


@kernel
def _annul(A, p, q):
    """Turn rows and columns p and q so that the entry between them becomes zero."""
    ratio = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
    t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    if ratio < 0.0:
        t = -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(6):
        a, b = A[k, p], A[k, q]
        A[k, p], A[k, q] = c * a - s * b, s * a + c * b
    for k in range(6):
        a, b = A[p, k], A[q, k]
        A[p, k], A[q, k] = c * a - s * b, s * a + c * b


@kernel
def solve_positive(A, x):
    """Solve A y = x for a positive definite 6 x 6 matrix, by Cholesky's method; A is overwritten, and x becomes y."""
    for r in range(6):
        for c in range(r + 1):
            total = A[r, c]
            for k in range(c):
                total -= A[r, k] * A[c, k]
            A[r, c] = math.sqrt(total) if r == c else total / A[c, c]
        for k in range(r):
            x[r] -= A[r, k] * x[k]
        x[r] /= A[r, r]
    for back in range(6):
        r = 5 - back
        for k in range(r + 1, 6):
            x[r] -= A[k, r] * x[k]
        x[r] /= A[r, r]
