# mypy: allow-untyped-defs
"""Points of a body that press on a single plane, as a half space is one: taken several at once.

There is one plane at every point, and its weight is one, so that loops run over points instead of planes. The numbers
are those of ``kernels.press_pair``, within round-off.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.soft_distance.pressing import (
    BLEND,
    DISSIPATION_VELOCITY,
    EPSILON2,
    EPSILON3,
    MU,
    STICTION_VELOCITY,
    STIFFNESS,
    damping_and_slope,
    softplus_and_slope,
)
from hydro_sim_core.contact.soft_distance.weighing import LEAST, exponential


@kernel
def press_on_plane(points, count, row, planes, twist, parameters, memory, wrench):
    """Wrench of the points of one body that press on the only plane of the other one.

    Args:
        points: (6, N) planes of the points, in the frame of B.
        count: Number of points that press.
        row: 0 if they are those of B, 1 of A.
        planes: (6, M) planes of the other body in the frame of B, of which the first is used.
        twist: (6,) twist of B relative to A, see ``kernels.press_pair``.
        parameters: (NUM_PARAMETERS,) of the pair.
        memory: Memory; has separations, weights and weighted forces of the points afterwards.
        wrench: (6,) out: moment about the origin of B and force on B, in its axes, N m and N.

    Returns:
        The separation: least of all heights, m.

    Reads memory: force, separation, weight.
    Writes memory: separation, weight.
    """
    plane = planes[0, 0], planes[1, 0], planes[2, 0], planes[3, 0], planes[4, 0], planes[5, 0]
    least = _weigh_heights(
        points, count, plane, parameters[EPSILON2], memory.separation[row], memory.weight[row]
    )
    sign = 1.0 if row == 0 else -1.0
    _press_points(points, count, row, sign, plane, twist, parameters, memory)
    f = memory.force[3 * row : 3 * row + 3]
    for i in range(count):
        wrench[0] += points[1, i] * f[2, i] - points[2, i] * f[1, i]
        wrench[1] += points[2, i] * f[0, i] - points[0, i] * f[2, i]
        wrench[2] += points[0, i] * f[1, i] - points[1, i] * f[0, i]
        wrench[3] += f[0, i]
        wrench[4] += f[1, i]
        wrench[5] += f[2, i]
    return least


@kernel
def _weigh_heights(points, count, plane, epsilon2, height, weight):
    """Write heights of points over a plane and their weights, which add up to one; return the least height."""
    x, y, z, n0, n1, n2 = plane
    for i in range(count):
        height[i] = (points[0, i] - x) * n0 + (points[1, i] - y) * n1 + (points[2, i] - z) * n2
    least = math.inf
    for i in range(count):
        least = height[i] if height[i] < least else least
    for i in range(count):
        exponent = (least - height[i]) / epsilon2
        one = exponential(exponent if exponent > LEAST else LEAST)
        weight[i] = one if exponent > LEAST else 0.0
    total = 0.0
    for i in range(count):
        total += weight[i]
    for i in range(count):
        weight[i] /= total
    return least


@kernel
def _press_points(points, count, row, sign, plane, twist, parameters, memory):
    """Write the weighted force on B at each point.

    Reads memory: force, separation, weight.
    Writes memory: force.
    """
    _, _, _, n0, n1, n2 = plane
    height, weight = memory.separation[row], memory.weight[row]
    f0, f1, f2 = memory.force[3 * row], memory.force[3 * row + 1], memory.force[3 * row + 2]
    w0, w1, w2, u0, u1, u2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    mu, slowest, blend = parameters[MU], parameters[STICTION_VELOCITY] ** 2, parameters[BLEND]
    stiffness, scale = parameters[STIFFNESS] * parameters[EPSILON3], -1.0 / parameters[EPSILON3]
    pace = 1.0 / parameters[DISSIPATION_VELOCITY]
    for i in range(count):
        normal, _ = softplus_and_slope(height[i] * scale)
        f0[i] = weight[i] * stiffness * normal
    for i in range(count):
        x, y, z = points[0, i], points[1, i], points[2, i]
        a, b, c = u0 + w1 * z - w2 * y, u1 + w2 * x - w0 * z, u2 + w0 * y - w1 * x
        v_n = sign * (a * n0 + b * n1 + c * n2)
        damping, _ = damping_and_slope(v_n * pace, blend)
        slip = a * a + b * b + c * c - v_n * v_n
        push = f0[i] * damping
        rub = mu * push / math.sqrt(slowest + (slip if slip > 0.0 else 0.0))
        along = sign * (push + rub * v_n)
        f0[i] = along * n0 - rub * a
        f1[i] = along * n1 - rub * b
        f2[i] = along * n2 - rub * c
