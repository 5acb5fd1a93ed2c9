# mypy: allow-untyped-defs
"""Weights of planes at a point as kernels, by blocks of planes: only what is near the nearest plane is looked at.

A plane weighs ``exp(-(d^2 - d_min^2) / epsilon_1)`` of the nearest one. Below ``e^-40`` that is less than round-off of
the sum, so that planes count up to a distance of ``sqrt(d_min^2 + 40 epsilon_1)``. The planes of a cloud are stored in
blocks of neighbours, each with a ball about it, and a block whose ball is farther away is passed by as a whole.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import kernel

#: Planes of a block; the last one of a cloud may have fewer.
BLOCK = 32
#: Planes that count are filled up to a multiple of this with such of no weight, so that loops that take several at once
#: have no rest to take one by one: as many as the widest processors take.
LANES = 8
#: Exponent below which a weight is no more than round-off.
LEAST = -40.0
#: Where planes lie that fill up a block, m; its square is finite.
_FAR_AWAY = 1e100
#: Coefficients of the exponential's series.
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13, _C14, _C15 = (
    1.0 / math.factorial(k) for k in range(3, 16)
)


def block_count(count: int) -> int:
    """Number of blocks of so many planes."""
    return -(-count // BLOCK)


def order_in_blocks(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order (N,) of points (N, 3) in which every ``BLOCK`` of them are neighbours: halves of halves, the long way."""
    parts, done = [np.arange(len(points))], []
    while parts:
        rows = parts.pop()
        if len(rows) <= BLOCK:
            done.append(rows)
            continue
        axis = int(np.argmax(np.ptp(points[rows], axis=0)))
        rows = rows[np.argsort(points[rows, axis], kind="stable")]
        half = block_count(len(rows)) // 2 * BLOCK
        # The part with the block that is not full comes last.
        parts += [rows[half:], rows[:half]]
    return np.concatenate(done)


def balls_of_blocks(planes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Balls (4, B) about the blocks of the first ``count`` of (6, N) planes: one of their points and the radius, m."""
    balls = np.zeros((4, block_count(planes.shape[1])))
    for number in range(block_count(count)):
        points = planes[:3, number * BLOCK : min((number + 1) * BLOCK, count)]
        middle = 0.5 * (points.max(axis=1) + points.min(axis=1))
        nearest = points[:, np.argmin(((points - middle[:, None]) ** 2).sum(axis=0))]
        balls[:3, number] = nearest
        # More than round-off of a change of frames.
        balls[3, number] = np.sqrt(((points - nearest[:, None]) ** 2).sum(axis=0).max()) * (1.0 + 1e-9)
    return balls


@kernel(inline=True)
def exponential(x):
    """``exp(x)`` for x in [-40, 0] within 2e-14 of itself."""
    y = x * 0.015625
    # The series of exp(x / 64) to the fifteenth power of it, whose rest is below round-off; then its 64th power.
    e = _C12 + y * (_C13 + y * (_C14 + y * _C15))
    e = _C8 + y * (_C9 + y * (_C10 + y * (_C11 + y * e)))
    e = _C4 + y * (_C5 + y * (_C6 + y * (_C7 + y * e)))
    e = 1.0 + y * (1.0 + y * (0.5 + y * (_C3 + y * e)))
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    return e * e


@kernel(inline=True)
def in_lanes(count):
    """A number of planes, filled up to whole lanes."""
    return (count + LANES - 1) // LANES * LANES


@kernel
def fill_lanes(planes, count, lanes):
    """Write (6, N) planes to ``lanes``, block by block and in a block row by row, and fill the last block up.

    Rows of a block then lie at fixed distances, so that the compiler takes several planes at once.
    """
    for i in range(count):
        start = i // BLOCK * (6 * BLOCK) + i % BLOCK
        for r in range(6):
            lanes[start + r * BLOCK] = planes[r, i]
    for i in range(count, (count + BLOCK - 1) // BLOCK * BLOCK):
        start = i // BLOCK * (6 * BLOCK) + i % BLOCK
        for r in range(3):
            lanes[start + r * BLOCK] = _FAR_AWAY
            lanes[start + (3 + r) * BLOCK] = 0.0


@kernel
def weigh(lanes, balls, count, x, y, z, epsilon1, floor, memory):
    """Heights of a point over the planes near it, and their weights, into the first entries of ``memory``.

    Args:
        lanes: The planes, see ``fill_lanes``.
        balls: (4, B) about their blocks, see ``balls_of_blocks``.
        count: Number of planes.
        x: Place of the point, with y and z, m.
        epsilon1: Temperature, m^2.
        floor: Logarithm of the least weight that counts, from ``LEAST`` to 0.
        memory: ``near``, ``height`` and ``plane_weight`` receive where in ``lanes`` the planes begin that count, their
            heights and weights.

    Returns:
        How many planes count. They are followed by planes of no weight up to whole lanes, see ``in_lanes``.

    Reads memory: gap, plane_weight.
    Writes memory: gap, height, near, plane_weight.
    """
    height, weight, near, gap = memory.height, memory.plane_weight, memory.near, memory.gap
    blocks = (count + BLOCK - 1) // BLOCK
    # The middle of a block's ball is one of its planes, so that the nearest plane is no farther.
    least = math.inf
    for b in range(blocks):
        u, v, w = x - balls[0, b], y - balls[1, b], z - balls[2, b]
        gap[b] = u * u + v * v + w * w
        least = gap[b] if gap[b] < least else least
    reach, found = math.sqrt(least - floor * epsilon1), 0
    for b in range(blocks):
        limit = balls[3, b] + reach
        if gap[b] > limit * limit:
            continue
        # Slices, as an index of a loop is seen to be positive, and their rows to lie apart.
        of_block = lanes[b * (6 * BLOCK) : (b + 1) * (6 * BLOCK)]
        h, d = height[found : found + BLOCK], weight[found : found + BLOCK]
        for i in range(BLOCK):
            u, v, w = x - of_block[i], y - of_block[i + BLOCK], z - of_block[i + 2 * BLOCK]
            h[i] = u * of_block[i + 3 * BLOCK] + v * of_block[i + 4 * BLOCK] + w * of_block[i + 5 * BLOCK]
            d[i] = u * u + v * v + w * w
        near[found] = b * (6 * BLOCK)
        found += BLOCK
    return _keep(_least(weight, found), found, 1.0 / epsilon1, floor, memory)


@kernel
def _least(values, count):
    """The least of ``count`` values, four at a time; ``count`` is a multiple of 4."""
    a = b = c = d = math.inf
    for k in range(0, count, 4):
        a = values[k] if values[k] < a else a
        b = values[k + 1] if values[k + 1] < b else b
        c = values[k + 2] if values[k + 2] < c else c
        d = values[k + 3] if values[k + 3] < d else d
    return min(min(a, b), min(c, d))


@kernel
def _keep(least, found, scale, floor, memory):
    """Keep planes of the blocks found that weigh enough, and put their weights in place of squared distances.

    Reads memory: height, near, plane_weight.
    Writes memory: height, near, plane_weight.
    """
    height, weight, near, kept = memory.height, memory.plane_weight, memory.near, 0
    for block in range(0, found, BLOCK):
        start = near[block]
        for i in range(BLOCK):
            # Each is written to the next place, and the place is used up only if it counts: no branch to guess.
            exponent = (least - weight[block + i]) * scale
            weight[kept], height[kept], near[kept] = exponent, height[block + i], start + i
            kept += 1 if exponent > floor else 0
    whole = in_lanes(kept)
    for k in range(kept, whole):
        weight[k], height[k], near[k] = 0.0, 0.0, 0
    for k in range(whole):
        weight[k] = exponential(weight[k])
    for k in range(kept, whole):
        weight[k] = 0.0
    return kept
