# mypy: allow-untyped-defs
"""Impulses between bounds that hold velocities: the linear complementarity problem of stops and dry friction of joints.

By Murty's principal pivoting (Rohn 1990): the impulses that are within their bounds hold exactly, and one after the
other changes to or from a bound. For inverse masses this ends after finitely many changes, most often after about as
many as there are impulses, and takes no longer where they differ by powers of ten.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D, kernel
from hydro_sim_core.solvers.linear import factorise, solve_factorised

#: What an impulse does: it is at its lower or upper bound, or holds.
AT_LEAST, AT_MOST, HOLDS = 0, 1, 2
#: Changes at most, for each impulse and one more.
_CHANGES = 20
#: What is of no account beside what is held, and beside what bounds are good for.
_TOLERANCE = 1e-12


class BoundedImpulses(NamedTuple):
    """A problem of n impulses, its solution and memory.

    Attributes:
        W: (n, n) inverse mass; rows of impulses that may differ from zero.
        excess: (n,) velocities before the impulses, less those at which they are held.
        least: (n,) lower bounds; equal to the upper one where there is no choice.
        most: (n,) upper bounds.
        impulse: (n,) out; ``W impulse`` is to be taken from the velocities.
        side: (n,) out; ``AT_LEAST`` where the excess that is left is not above zero, ``AT_MOST`` where it is not below,
            ``HOLDS`` where it is zero.
        free: (n,) indices of the impulses that hold.
        factor: (n, n) factor of their part of W.
        envelope: (n,) zeros.
        right: (n,) right side and solution of their equations.
    """

    W: Float2D
    excess: Float1D
    least: Float1D
    most: Float1D
    impulse: Float1D
    side: Int1D
    free: Int1D
    factor: Float2D
    envelope: Int1D
    right: Float1D


def make_bounded_impulses(n: int) -> BoundedImpulses:
    """Memory for n impulses."""
    return BoundedImpulses(
        W=np.zeros((n, n)),
        excess=np.zeros(n),
        least=np.zeros(n),
        most=np.zeros(n),
        impulse=np.zeros(n),
        side=np.zeros(n, dtype=np.int64),
        free=np.zeros(n, dtype=np.int64),
        factor=np.zeros((n, n)),
        envelope=np.zeros(n, dtype=np.int64),
        right=np.zeros(n),
    )


@kernel
def solve_bounded(bounded):
    """Find the impulses.

    Reads bounded: W, excess, impulse, least, most, side.
    Writes bounded: impulse, side.
    """
    excess, least, most, impulse, side = (
        bounded.excess,
        bounded.least,
        bounded.most,
        bounded.impulse,
        bounded.side,
    )
    n, scale = excess.shape[0], 0.0
    for i in range(n):
        side[i] = AT_LEAST
        for bound in (least[i], most[i]):
            if 0.0 < abs(bound) < math.inf:
                scale = max(scale, bounded.W[i, i] * abs(bound))
        if least[i] < most[i]:
            scale = max(scale, abs(excess[i]))
            if not (least[i] == 0.0 and excess[i] <= 0.0):
                side[i] = AT_MOST if most[i] == 0.0 and excess[i] >= 0.0 else HOLDS
    for _ in range(_CHANGES * (n + 1)):
        _hold(bounded)
        i = n - 1
        while i >= 0 and _side(bounded, i, _TOLERANCE * scale) == side[i]:
            i -= 1
        if i < 0:
            break
        side[i] = _side(bounded, i, _TOLERANCE * scale)
    for i in range(n):
        impulse[i] = min(max(impulse[i], least[i]), most[i])


@kernel
def _hold(bounded):
    """Find the impulses that hold, the others being at their bounds.

    Reads bounded: W, envelope, factor, free, least, most, right, side.
    Writes bounded: factor, free, impulse, right.
    """
    W, impulse, right, free, num = bounded.W, bounded.impulse, bounded.right, bounded.free, 0
    n = impulse.shape[0]
    for i in range(n):
        if bounded.side[i] == HOLDS:
            impulse[i] = 0.0
            free[num] = i
            num += 1
        else:
            impulse[i] = bounded.least[i] if bounded.side[i] == AT_LEAST else bounded.most[i]
    for a in range(num):
        right[a] = _rest(bounded, free[a])
        for b in range(a + 1):
            bounded.factor[a, b] = W[free[a], free[b]]
    if factorise(bounded.factor, bounded.factor, 0, num, bounded.envelope):
        solve_factorised(bounded.factor, 0, num, bounded.envelope, right)
        for a in range(num):
            impulse[free[a]] = right[a]


@kernel
def _rest(bounded, i):
    """Excess of velocity i that is left.

    Reads bounded: W, excess, impulse.
    """
    rest = bounded.excess[i]
    for j in range(bounded.impulse.shape[0]):
        if bounded.impulse[j] != 0.0:
            rest -= bounded.W[j, i] * bounded.impulse[j]
    return rest


@kernel
def _side(bounded, i, tolerance):
    """Side at which impulse i ought to be.

    Reads bounded: W, impulse, least, most, side.
    """
    side = bounded.side[i]
    if bounded.least[i] == bounded.most[i]:
        return side
    if side == HOLDS:
        if (bounded.least[i] - bounded.impulse[i]) * bounded.W[i, i] > tolerance:
            return AT_LEAST
        if (bounded.impulse[i] - bounded.most[i]) * bounded.W[i, i] > tolerance:
            return AT_MOST
        return HOLDS
    rest = _rest(bounded, i)
    is_wrong = rest > tolerance if side == AT_LEAST else rest < -tolerance
    return HOLDS if is_wrong else side
