# mypy: allow-untyped-defs
"""Bodies so far apart that nothing presses, as kernels: told without a look at every point and plane.

A plane's force ends in floating-point numbers, see ``pressing``: what is more than ``40 epsilon3`` above it is pressed
with exactly nothing. So what is left out here is zero in the step too, and not only small.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.soft_distance.pressing import EPSILON1, EPSILON3
from hydro_sim_core.contact.soft_distance.weighing import BLOCK, LEAST, in_lanes, least_of

#: Pairs of planes that are compared beyond those with the nearest plane: these take a few microseconds.
_MOST_COMPARED = 1000


@kernel
def gap_if_apart(planes_a, planes_b, counts_a, counts_b, R_BA, p_BA, parameters, memory):
    """Bound from below of the separation of bodies that do not press on each other, m; -inf if they may.

    All arguments are those of ``kernels.press_pair``.
    """
    limit = -LEAST * parameters[EPSILON3]
    over_a = _lowest(planes_a, counts_a[0], planes_b, counts_b[1], R_BA, p_BA, True, parameters, memory)
    if not over_a > limit:
        return -math.inf
    over_b = _lowest(planes_b, counts_b[0], planes_a, counts_a[1], R_BA, p_BA, False, parameters, memory)
    return min(over_a, over_b) if over_b > limit else -math.inf


@kernel
def _lowest(planes, count, points, num_points, R, p, is_back, parameters, memory):
    """Bound from below of the heights of all points of one body over planes of the other one that count there, m.

    First of a box about all points; where that does not do, of those about their blocks, as long as nothing presses.

    Args:
        planes: (6, N) planes of the other body in its frame.
        count: Number of planes.
        points: (6, M) planes of the points in theirs.
        num_points: Number of points.
        R: (3, 3) orientation of A in B.
        p: (3,) origin of A in B, m.
        is_back: Whether the points are those of B, so that they are to be seen from A.
        parameters: (NUM_PARAMETERS,) of the pair.
        memory: Memory.
    """
    if num_points == 0:
        return math.inf
    epsilon1, limit = parameters[EPSILON1], -LEAST * parameters[EPSILON3]
    lowest = _lowest_of_box(planes, count, points, 0, num_points, R, p, is_back, epsilon1, limit, memory)
    if lowest > limit or num_points <= BLOCK:
        return lowest
    lowest = math.inf
    for start in range(0, num_points, BLOCK):
        end = min(start + BLOCK, num_points)
        bound = _lowest_of_box(planes, count, points, start, end, R, p, is_back, epsilon1, limit, memory)
        lowest = min(lowest, bound)
        if not lowest > limit:
            break
    return lowest


@kernel
def _lowest_of_box(planes, count, points, start, end, R, p, is_back, epsilon1, limit, memory):
    """Bound from below of the heights of all places of a box about some points over all planes that count there, m.

    A plane i weighs less than ``e^-40`` of plane j in all of the box if ``d_i^2 - d_j^2 - 2 w`` is more than
    ``40 epsilon1``, with distances d from its middle, and w how far it reaches along ``p_i - p_j``, times the length of
    this.

    Args:
        planes: As for ``_lowest``, and so are count, points and R to memory.
        start: The first point.
        end: The one after the last.
        limit: Height over a plane above which it does not press, m.

    Reads memory: height, plane_weight, speed.
    Writes memory: height, plane_weight, speed.
    """
    x, x_half = _middle_and_half(points[0, start:end])
    y, y_half = _middle_and_half(points[1, start:end])
    z, z_half = _middle_and_half(points[2, start:end])
    if is_back:
        x, y, z = x - p[0], y - p[1], z - p[2]
        x, y, z = _turned(R, True, x, y, z)
    else:
        x, y, z = _turned(R, False, x, y, z)
        x, y, z = x + p[0], y + p[1], z + p[2]
    # The three half axes of the box.
    a0, a1, a2 = _turned(R, is_back, x_half, 0.0, 0.0)
    b0, b1, b2 = _turned(R, is_back, 0.0, y_half, 0.0)
    c0, c1, c2 = _turned(R, is_back, 0.0, 0.0, z_half)
    axes = (a0, a1, a2, b0, b1, b2, c0, c1, c2)
    p0, p1, p2, n0, n1, n2 = planes[0], planes[1], planes[2], planes[3], planes[4], planes[5]
    square, height, beyond, whole = memory.plane_weight, memory.height, memory.speed, in_lanes(count)
    for i in range(count):
        u, v, w = x - p0[i], y - p1[i], z - p2[i]
        square[i] = u * u + v * v + w * w
        height[i] = u * n0[i] + v * n1[i] + w * n2[i] - _reach(axes, n0[i], n1[i], n2[i])
    for i in range(count, whole):
        square[i], height[i] = math.inf, math.inf
    least, j = least_of(square, whole), 0
    while square[j] != least and j < count - 1:
        j += 1
    q0, q1, q2 = p0[j], p1[j], p2[j]
    for i in range(count):
        beyond[i] = square[i] - least - 2.0 * _reach(axes, p0[i] - q0, p1[i] - q1, p2[i] - q2)
    for i in range(count):
        height[i] = math.inf if beyond[i] > -LEAST * epsilon1 else height[i]
    _look_at_others(planes, count, axes, -LEAST * epsilon1, limit, memory)
    return least_of(height, whole)


@kernel
def _look_at_others(planes, count, axes, spread, limit, memory):
    """Put off planes that may press until one is found that counts more everywhere, where the nearest one does not.

    It ends at a plane for which there is none, or after some thousand comparisons.

    Args:
        planes: As for ``_lowest``, with count.
        axes: The half axes of the box (9), m.
        spread: ``40 epsilon1``, m^2.
        limit: Height over a plane above which it does not press, m.
        memory: ``height`` has the bounds of all planes, of such that do not count infinity.

    Reads memory: height, plane_weight.
    Writes memory: height.
    """
    p0, p1, p2, square, left = planes[0], planes[1], planes[2], memory.plane_weight, _MOST_COMPARED
    for i in range(count):
        if memory.height[i] > limit:
            continue
        j, is_beyond = 0, False
        while j < count and not is_beyond:
            reach = _reach(axes, p0[i] - p0[j], p1[i] - p1[j], p2[i] - p2[j])
            is_beyond = square[i] - square[j] - 2.0 * reach > spread
            j += 1
        left -= j
        if not is_beyond or left < 0:
            return
        memory.height[i] = math.inf


@kernel(inline=True)
def _reach(axes, u, v, w):
    """How far a box of these half axes (9) reaches from its middle along a direction, times the length of this."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = axes
    return abs(a0 * u + a1 * v + a2 * w) + abs(b0 * u + b1 * v + b2 * w) + abs(c0 * u + c1 * v + c2 * w)


@kernel
def _middle_and_half(values):
    """Middle of the range of some numbers, and half of its width."""
    count = values.shape[0]
    low = high = values[0]
    a = b = c = d = low
    e = f = g = h = low
    for k in range(0, count // 4 * 4, 4):
        p, q, r, s = values[k], values[k + 1], values[k + 2], values[k + 3]
        a, b, c, d = (p if p < a else a), (q if q < b else b), (r if r < c else c), (s if s < d else d)
        e, f, g, h = (p if p > e else e), (q if q > f else f), (r if r > g else g), (s if s > h else h)
    for k in range(count // 4 * 4, count):
        a, e = min(a, values[k]), max(e, values[k])
    low, high = min(min(a, b), min(c, d)), max(max(e, f), max(g, h))
    return 0.5 * (low + high), 0.5 * (high - low)


@kernel(inline=True)
def _turned(R, is_back, x, y, z):
    """A direction of the frame of A in that of B; or back."""
    if is_back:
        return (
            R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
            R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
            R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
        )
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )
