# mypy: allow-untyped-defs
"""Force of the planes that count on one point, and its derivatives, as kernels; eqs. 14 to 22 of Beker 2025."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.soft_distance.weighing import BLOCK, LEAST, exponential, in_lanes

#: Entries of a pair's parameters, in the order of ``SoftContactModel``.
STIFFNESS, MU, DISSIPATION_VELOCITY, STICTION_VELOCITY, EPSILON1, EPSILON2, EPSILON3, BLEND = range(8)
NUM_PARAMETERS = 8
#: Entries of ``sums``: force (3), gradient of the distance (3), derivatives of the force by the point (3, 3) and by its
#: velocity (3, 3).
FORCE, SLOPE, BY_POINT, BY_VELOCITY, NUM_SUMS = 0, 3, 6, 15, 24
#: Coefficients 1 / (2 k + 1) of the logarithm's series.
_L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9, _L10, _L11, _L12, _L13, _L14, _L15 = (
    1.0 / (2 * k + 1) for k in range(1, 16)
)


@kernel(inline=True)
def softplus_and_slope(x):
    """``log(1 + exp(x))`` and its derivative, without a branch."""
    below = -abs(x)
    e = exponential(below if below > LEAST else LEAST)
    e = e if below > LEAST else 0.0
    # log(1 + e) = 2 artanh(z), z = e / (2 + e) <= 1/3: as exact for small e as for large ones.
    z = e / (2.0 + e)
    y = z * z
    t = _L12 + y * (_L13 + y * (_L14 + y * _L15))
    t = _L8 + y * (_L9 + y * (_L10 + y * (_L11 + y * t)))
    t = _L4 + y * (_L5 + y * (_L6 + y * (_L7 + y * t)))
    t = 1.0 + y * (_L1 + y * (_L2 + y * (_L3 + y * t)))
    tail, slope = 2.0 * z * t, 1.0 / (1.0 + e)
    return (x if x > 0.0 else 0.0) + tail, (slope if x > 0.0 else e * slope)


@kernel(inline=True)
def damping_and_slope(x, blend):
    """``force.damping_factor`` and its derivative, without a branch."""
    y, z = x + blend, 2.0 + blend - x
    scale = 1.0 / (24.0 * blend) if blend > 0.0 else 0.0
    onset, ending = 1.0 - x + y * y * y * scale, z * z * z * scale
    middle = 0.25 * (x - 2.0) * (x - 2.0) + blend * blend / 12.0
    value = ending if x > 2.0 - blend else middle
    slope = -3.0 * z * z * scale if x > 2.0 - blend else 0.5 * (x - 2.0)
    value, slope = (onset if x < blend else value), (3.0 * y * y * scale - 1.0 if x < blend else slope)
    value, slope = (1.0 - x if x <= -blend else value), (-1.0 if x <= -blend else slope)
    return (value if z > 0.0 else 0.0), (slope if z > 0.0 else 0.0)


@kernel
def press(lanes, found, x, y, z, a, b, c, parameters, derive, memory):
    """Force on a point at (x, y, z) with velocity (a, b, c) relative to the planes, into ``memory.sums``.

    ``found`` planes count, see ``keep_heavy``. With ``derive`` also the derivatives.

    Reads memory: drag, near, plane_weight, push.
    Writes memory: speed, sums.
    """
    sums, weight, near, speed = memory.sums, memory.plane_weight, memory.near, memory.speed
    for k in range(in_lanes(found)):
        i = near[k] + 3 * BLOCK
        speed[k] = a * lanes[i] + b * lanes[i + BLOCK] + c * lanes[i + 2 * BLOCK]
    _push(in_lanes(found), a * a + b * b + c * c, parameters, memory)
    sums[:] = 0.0
    f0 = f1 = f2 = rub = total = 0.0
    for k in range(found):
        i, along = near[k] + 3 * BLOCK, memory.push[k]
        f0 += along * lanes[i]
        f1 += along * lanes[i + BLOCK]
        f2 += along * lanes[i + 2 * BLOCK]
        rub += memory.drag[k]
        total += weight[k]
    sums[FORCE], sums[FORCE + 1], sums[FORCE + 2] = (
        (f0 - rub * a) / total,
        (f1 - rub * b) / total,
        (f2 - rub * c) / total,
    )
    if derive:
        _derive(lanes, found, x, y, z, a, b, c, total, parameters, memory)


@kernel
def _push(count, square, parameters, memory):
    """Weighted force along the normal, N, and weighted friction a unit of velocity, N s/m, of a number of planes.

    A plane's force ``l_n n - mu l_n v_t / s`` with ``v_t = v - v_n n`` is ``l_n (1 + mu v_n / s) n - (mu l_n / s) v``.
    No branch is in the loop, so that it takes several planes at once.

    Reads memory: height, plane_weight, push, speed.
    Writes memory: drag, push.
    """
    height, weight, speed, push, drag = (
        memory.height,
        memory.plane_weight,
        memory.speed,
        memory.push,
        memory.drag,
    )
    mu, least, blend = parameters[MU], parameters[STICTION_VELOCITY] ** 2, parameters[BLEND]
    stiffness, scale = parameters[STIFFNESS] * parameters[EPSILON3], -1.0 / parameters[EPSILON3]
    pace = 1.0 / parameters[DISSIPATION_VELOCITY]
    for k in range(count):
        normal, _ = softplus_and_slope(height[k] * scale)
        push[k] = weight[k] * stiffness * normal
    for k in range(count):
        v_n = speed[k]
        damping, _ = damping_and_slope(v_n * pace, blend)
        slip = square - v_n * v_n
        normal = push[k] * damping
        rub = mu * normal / math.sqrt(least + (slip if slip > 0.0 else 0.0))
        push[k], drag[k] = normal + rub * v_n, rub


@kernel
def _derive(lanes, found, x, y, z, a, b, c, total, parameters, memory):
    """Write the derivatives of the force and the gradient of the distance to ``memory.sums``, which has the force.

    Reads memory: height, near, plane_weight, speed, sums.
    Writes memory: sums.
    """
    sums, height, weight, near = memory.sums, memory.height, memory.plane_weight, memory.near
    mu, slip = parameters[MU], parameters[STICTION_VELOCITY]
    pace, epsilon3, scale = (
        parameters[DISSIPATION_VELOCITY],
        parameters[EPSILON3],
        2.0 / parameters[EPSILON1],
    )
    mean = c0 = c1 = c2 = 0.0
    for k in range(found):
        s, h, i = weight[k], height[k], near[k]
        n0, n1, n2 = lanes[i + 3 * BLOCK], lanes[i + 4 * BLOCK], lanes[i + 5 * BLOCK]
        push, push_slope = softplus_and_slope(-h / epsilon3)
        v_n = memory.speed[k]
        damping, damping_slope = damping_and_slope(v_n / pace, parameters[BLEND])
        spring = parameters[STIFFNESS] * epsilon3 * push
        normal = spring * damping
        t0, t1, t2 = a - v_n * n0, b - v_n * n1, c - v_n * n2
        root = math.sqrt(slip * slip + t0 * t0 + t1 * t1 + t2 * t2)
        drag = mu / root
        u0, u1, u2 = n0 - drag * t0, n1 - drag * t1, n2 - drag * t2
        p0, p1, p2 = lanes[i] - x, lanes[i + BLOCK] - y, lanes[i + 2 * BLOCK] - z
        mean += s * h
        c0, c1, c2 = c0 + s * p0, c1 + s * p1, c2 + s * p2
        sums[SLOPE] += s * (n0 + scale * h * p0)
        sums[SLOPE + 1] += s * (n1 + scale * h * p1)
        sums[SLOPE + 2] += s * (n2 + scale * h * p2)
        by_height = -s * parameters[STIFFNESS] * push_slope * damping
        by_speed = s * spring * damping_slope / pace
        curl, rub = s * normal * drag / (root * root), s * normal * drag
        u, f, n = (u0, u1, u2), (normal * u0, normal * u1, normal * u2), (n0, n1, n2)
        _add_slopes(sums, s * scale, by_height, by_speed, curl, rub, u, f, n, (t0, t1, t2), (p0, p1, p2))
    _divide(sums, total, mean, scale, (c0, c1, c2))


@kernel(inline=True)
def _add_slopes(sums, away, by_height, by_speed, curl, rub, u, f, n, t, p):
    """Add what one plane contributes to the derivatives of the force by point and velocity.

    Args:
        sums: ``memory.sums``.
        away: Fall of the plane's weight a metre of the point's distance, 1/m, times the weight.
        by_height: Derivative of the force along ``u`` by the height, N/m.
        by_speed: The same by the normal velocity, N s/m.
        curl: Derivative of friction by the direction of sliding, N s^3/m^3.
        rub: Friction a unit of sliding velocity, N s/m.
        u: Direction of the force, not of unit length.
        f: The force, N.
        n: Normal.
        t: Sliding velocity, m/s.
        p: The plane's point from the point, m.
    """
    n0, n1, n2 = n
    t0, t1, t2 = t
    p0, p1, p2 = p
    for r in range(3):
        u_r, n_r, t_r = _pick(r, u[0], u[1], u[2]), _pick(r, n0, n1, n2), _pick(r, t0, t1, t2)
        k = BY_POINT + 3 * r
        along, apart = by_height * u_r, away * _pick(r, f[0], f[1], f[2])
        sums[k] += along * n0 + apart * p0
        sums[k + 1] += along * n1 + apart * p1
        sums[k + 2] += along * n2 + apart * p2
        k = BY_VELOCITY + 3 * r
        along = by_speed * u_r + rub * n_r
        sums[k] += along * n0 + curl * t_r * t0
        sums[k + 1] += along * n1 + curl * t_r * t1
        sums[k + 2] += along * n2 + curl * t_r * t2
        sums[k + r] -= rub


@kernel
def _divide(sums, total, mean, scale, c):
    """Divide sums for derivatives by the sum of the weights, and take off what the change of that sum makes.

    Args:
        sums: ``memory.sums``; the force is divided already.
        total: Sum of the weights.
        mean: Weighted sum of the heights, m.
        scale: 2 / epsilon_1, 1/m^2.
        c: Weighted sum of the planes' points from the point, m.
    """
    for k in range(SLOPE, NUM_SUMS):
        sums[k] /= total
    mean /= total
    for k in range(3):
        centre = scale * _pick(k, c[0], c[1], c[2]) / total
        sums[SLOPE + k] -= mean * centre
        for r in range(3):
            sums[BY_POINT + 3 * r + k] -= sums[FORCE + r] * centre


@kernel
def _pick(k, x, y, z):
    return x if k == 0 else (y if k == 1 else z)
