# mypy: allow-untyped-defs
"""Mean distance of a flat patch from a point: how much friction resists turning about the point.

Under uniform pressure a patch that turns about a point resists with the moment mu p_n e_r, with e_r the mean distance
of its area from the point. The patch may be in pieces, of which the equivalent contact point need not be one.
"""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import logarithm
from hydro_sim_core.compilation import kernel


@kernel
def add_polygon(corners, count, x, y):
    """Area of a polygon, m^2, and the integral of the distance from a point over it, m^3: both exact.

    Args:
        corners: (N, 2) corners, counter-clockwise, m.
        count: Number of corners.
        x: First coordinate of the point, m.
        y: Second coordinate, m.
    """
    area, moment = 0.0, 0.0
    for i in range(count):
        k = i + 1 if i + 1 < count else 0
        ax, ay, bx, by = corners[i, 0] - x, corners[i, 1] - y, corners[k, 0] - x, corners[k, 1] - y
        doubled = ax * by - ay * bx
        area += 0.5 * doubled
        length = length_of(bx - ax, by - ay)
        if length == 0.0:
            continue
        height = doubled / length
        # Along the side from the foot of the perpendicular; the triangle of the point and the side, in polar
        # coordinates, is the integral of r^3 / 3 over the angle.
        begin = (ax * (bx - ax) + ay * (by - ay)) / length
        moment += height * (_along(height, begin + length) - _along(height, begin)) / 6.0
    return area, moment


@kernel
def _along(height, s):
    """Antiderivative of the distance along a side, times two: ``s r + h^2 ln(s + r)``."""
    r, h2 = length_of(height, s), height * height
    if h2 == 0.0:
        return s * r
    # ln((s + r) / |h|), odd in s: for negative s the sum would cancel.
    along = logarithm((abs(s) + r) / abs(height))
    return s * r + h2 * math.copysign(along, s)


@kernel
def length_of(x, y):
    """Length of a vector in the plane, m."""
    return math.sqrt(x * x + y * y)


@kernel
def mean_distance_of_line(corners, x, y):
    """Mean distance of a line between two corners from a point on it, m."""
    a, b = length_of(corners[0, 0] - x, corners[0, 1] - y), length_of(corners[1, 0] - x, corners[1, 1] - y)
    return 0.5 * (a * a + b * b) / (a + b) if a + b > 0.0 else 0.0


@kernel
def clip_to(polygon, count, outline, sides, result):
    """Cut a polygon (N, 2) to a convex outline (M, 2), both counter-clockwise, into ``result`` (2, K, 2).

    Returns:
        Number of corners, and which of the two tables of the result they are in.
    """
    table = 0
    for i in range(count):
        result[0, i, 0], result[0, i, 1] = polygon[i, 0], polygon[i, 1]
    for side in range(sides):
        following = side + 1 if side + 1 < sides else 0
        ox, oy = outline[side, 0], outline[side, 1]
        dx, dy = outline[following, 0] - ox, outline[following, 1] - oy
        source, target, kept = result[table], result[1 - table], 0
        for i in range(count):
            k = i + 1 if i + 1 < count else 0
            at = dx * (source[i, 1] - oy) - dy * (source[i, 0] - ox)
            then = dx * (source[k, 1] - oy) - dy * (source[k, 0] - ox)
            if at >= 0.0:
                target[kept, 0], target[kept, 1] = source[i, 0], source[i, 1]
                kept += 1
            if (at >= 0.0) != (then >= 0.0):
                share = at / (at - then)
                for m in range(2):
                    target[kept, m] = source[i, m] + share * (source[k, m] - source[i, m])
                kept += 1
        count, table = kept, 1 - table
    return count, table
