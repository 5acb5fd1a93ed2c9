# mypy: allow-untyped-defs
"""Weights of planes at a point as kernels: only what is near the nearest plane is looked at.

A plane weighs ``exp(-(d^2 - d_min^2) / epsilon_1)`` of the nearest one. Below ``e^-40`` that is less than round-off of
the sum. Points and planes are stored in blocks of neighbours, each with a ball about it. Which planes may count is
found out once for all points of a block, see ``nearby``; at each of them no branch is left, so that the compiler takes
several planes at once.
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
    _fill_up(lanes, count)


@kernel(inline=True)
def _fill_up(lanes, count):
    """Fill the last block of ``count`` planes up with such as are far away."""
    for i in range(count, (count + BLOCK - 1) // BLOCK * BLOCK):
        start = i // BLOCK * (6 * BLOCK) + i % BLOCK
        for r in range(3):
            lanes[start + r * BLOCK] = _FAR_AWAY
            lanes[start + (3 + r) * BLOCK] = 0.0


@kernel
def nearby(lanes, balls, count, ball, epsilon1, floor, memory):
    """Find the planes that may count at any place of a ball, into ``memory.near_lanes``.

    Args:
        lanes: The planes, see ``fill_lanes``.
        balls: (4, B) about their blocks, see ``balls_of_blocks``.
        count: Number of planes.
        ball: Middle of the ball (3) and radius, m.
        epsilon1: Temperature, m^2.
        floor: Logarithm of the least weight that counts, from ``LEAST`` to 0.
        memory: ``near_lanes`` receives the planes, as ``fill_lanes`` writes them.

    Returns:
        How many there are.

    Reads memory: near, plane_weight.
    Writes memory: near_lanes, plane_weight.
    """
    x, y, z, radius = ball
    found, nearest = _look_around(lanes, balls, count, x, y, z, radius, floor * epsilon1, memory)
    a, b, c = lanes[nearest], lanes[nearest + BLOCK], lanes[nearest + 2 * BLOCK]
    u, v, w = x - a, y - b, z - c
    limit, kept = u * u + v * v + w * w - floor * epsilon1, 0
    for block in range(0, found, BLOCK):
        start = memory.near[block]
        of_block, square = lanes[start : start + 6 * BLOCK], memory.plane_weight[block : block + BLOCK]
        for i in range(BLOCK):
            u, v, w = a - of_block[i], b - of_block[i + BLOCK], c - of_block[i + 2 * BLOCK]
            square[i] -= 2.0 * radius * math.sqrt(u * u + v * v + w * w)
        for i in range(BLOCK):
            # Each is written to the next place, and the place is used up only if it counts: no branch to guess.
            to = kept // BLOCK * (6 * BLOCK) + kept % BLOCK
            for r in range(6):
                memory.near_lanes[to + r * BLOCK] = of_block[i + r * BLOCK]
            kept += 0 if square[i] > limit else 1
    _fill_up(memory.near_lanes, kept)
    return kept


@kernel
def _look_around(lanes, balls, count, x, y, z, radius, spread, memory):
    """Squared distances of a ball's middle from planes of blocks that may count in the ball.

    Args:
        lanes: As for ``nearby``, with balls and count.
        x: Middle of the ball, with y and z, m.
        radius: Of the ball, m.
        spread: ``floor epsilon1``, m^2.
        memory: ``near`` receives where in ``lanes`` the blocks begin, one number for each block of ``plane_weight``,
            which receives the squares.

    Returns:
        How many planes there are in these blocks, and where in ``lanes`` the nearest plane is.

    Reads memory: gap, near, plane_weight.
    Writes memory: gap, near, plane_weight.
    """
    gap, near, square = memory.gap, memory.near, memory.plane_weight
    blocks = (count + BLOCK - 1) // BLOCK
    # The middle of a block's ball is one of its planes, so that the nearest plane is no farther.
    least = math.inf
    for b in range(blocks):
        u, v, w = x - balls[0, b], y - balls[1, b], z - balls[2, b]
        gap[b] = u * u + v * v + w * w
        least = gap[b] if gap[b] < least else least
    most = math.sqrt(least) + radius
    reach, found = radius + math.sqrt(most * most - spread), 0
    for b in range(blocks):
        limit = balls[3, b] + reach
        if gap[b] > limit * limit:
            continue
        # Slices, as an index of a loop is seen to be positive, and their rows to lie apart.
        of_block, d = lanes[b * (6 * BLOCK) : (b + 1) * (6 * BLOCK)], square[found : found + BLOCK]
        for i in range(BLOCK):
            u, v, w = x - of_block[i], y - of_block[i + BLOCK], z - of_block[i + 2 * BLOCK]
            d[i] = u * u + v * v + w * w
        near[found] = b * (6 * BLOCK)
        found += BLOCK
    least, k = least_of(square, found), 0
    while square[k] != least and k < found - 1:
        k += 1
    return found, near[k // BLOCK * BLOCK] + k % BLOCK


@kernel
def weigh(lanes, count, x, y, z, epsilon1, memory):
    """Heights of a point over planes and their weights relative to that of the nearest, of those that count.

    Args:
        lanes: The planes, see ``fill_lanes``.
        count: Number of planes.
        x: Place of the point, with y and z, m.
        epsilon1: Temperature, m^2.
        memory: ``near``, ``height`` and ``plane_weight`` receive where in ``lanes`` the planes begin that count, their
            heights, m, and weights.

    Returns:
        How many planes count; the sum of their weights; and that of weights times heights, m. They are followed by
        planes of no weight up to whole lanes.

    Reads memory: height, plane_weight.
    Writes memory: height, plane_weight.
    """
    h, s = memory.height, memory.plane_weight
    blocks = (count + BLOCK - 1) // BLOCK
    for b in range(blocks):
        # Slices, as an index of a loop is seen to be positive, and their rows to lie apart.
        of_block = lanes[b * (6 * BLOCK) : (b + 1) * (6 * BLOCK)]
        height, square = h[b * BLOCK : (b + 1) * BLOCK], s[b * BLOCK : (b + 1) * BLOCK]
        for i in range(BLOCK):
            u, v, w = x - of_block[i], y - of_block[i + BLOCK], z - of_block[i + 2 * BLOCK]
            height[i] = (
                u * of_block[i + 3 * BLOCK] + v * of_block[i + 4 * BLOCK] + w * of_block[i + 5 * BLOCK]
            )
            square[i] = u * u + v * v + w * w
    found = _keep(blocks, least_of(s, blocks * BLOCK), 1.0 / epsilon1, memory)
    t0 = t1 = t2 = t3 = m0 = m1 = m2 = m3 = 0.0
    for k in range(0, in_lanes(found), 4):
        t0, t1, t2, t3 = t0 + s[k], t1 + s[k + 1], t2 + s[k + 2], t3 + s[k + 3]
        m0, m1 = m0 + s[k] * h[k], m1 + s[k + 1] * h[k + 1]
        m2, m3 = m2 + s[k + 2] * h[k + 2], m3 + s[k + 3] * h[k + 3]
    return found, (t0 + t1) + (t2 + t3), (m0 + m1) + (m2 + m3)


@kernel
def _keep(blocks, least, scale, memory):
    """Keep the planes that count, and put their weights in place of squared distances.

    Reads memory: height, plane_weight.
    Writes memory: height, near, plane_weight.
    """
    height, weight, near, kept = memory.height, memory.plane_weight, memory.near, 0
    for b in range(blocks):
        for i in range(BLOCK):
            # As in ``nearby``.
            exponent = (least - weight[b * BLOCK + i]) * scale
            weight[kept], height[kept], near[kept] = exponent, height[b * BLOCK + i], b * (6 * BLOCK) + i
            kept += 1 if exponent > LEAST else 0
    for k in range(kept, in_lanes(kept)):
        weight[k], height[k], near[k] = 0.0, 0.0, 0
    for k in range(in_lanes(kept)):
        weight[k] = exponential(weight[k])
    for k in range(kept, in_lanes(kept)):
        weight[k] = 0.0
    return kept


@kernel
def least_of(values, count):
    """The least of ``count`` values, four at a time; ``count`` is a multiple of 4."""
    a = b = c = d = math.inf
    for k in range(0, count, 4):
        a = values[k] if values[k] < a else a
        b = values[k + 1] if values[k + 1] < b else b
        c = values[k + 2] if values[k + 2] < c else c
        d = values[k + 3] if values[k + 3] < d else d
    return min(min(a, b), min(c, d))


@kernel
def keep_heavy(found, floor, memory):
    """Keep planes that weigh more than ``e^floor`` of the heaviest, of those that ``weigh`` found; return how many.

    They are followed by planes of no weight up to whole lanes.

    Reads memory: height, near, plane_weight.
    Writes memory: height, near, plane_weight.
    """
    near, height, weight = memory.near, memory.height, memory.plane_weight
    least, kept = exponential(floor), 0
    for k in range(found):
        # The weight is not read back: what is to be written next would have to wait for it.
        one = weight[k]
        weight[kept], height[kept], near[kept] = one, height[k], near[k]
        kept += 1 if one > least else 0
    for k in range(kept, in_lanes(kept)):
        weight[k], height[k], near[k] = 0.0, 0.0, 0
    return kept
