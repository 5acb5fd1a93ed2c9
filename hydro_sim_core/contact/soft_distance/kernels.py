# mypy: allow-untyped-defs
"""The wrench of ``force.contact_wrench`` and its derivatives as kernels: planes and points of no weight cost little.

Weights are exponentials of differences. What weighs less than round-off of the sum, ``e^-40``, is left out; all else is
as in the array form, within 1e-12.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.arithmetic import logarithm
from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, ConstInt2D, Float1D, Float2D, entry, kernel

#: Entries of a pair's parameters, in the order of ``SoftContactModel``.
STIFFNESS, MU, DISSIPATION_VELOCITY, STICTION_VELOCITY, EPSILON1, EPSILON2, EPSILON3, BLEND = range(8)
NUM_PARAMETERS = 8
#: Exponent below which a weight is no more than round-off.
_LEAST = -40.0
#: Coefficients of the exponential's series.
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13, _C14, _C15 = (
    1.0 / math.factorial(k) for k in range(3, 16)
)


class PairMemory(NamedTuple):
    """Memory of one pair, for clouds of at most N points each.

    Attributes:
        planes: (6, N) planes of A in the frame of B: points, m, and normals.
        separation: (2, N) soft distance of the points of B and those of A to the other surface, m.
        weight: (2, N) their weights.
        force: (6, N) weighted force on B at the points of B (3) and of A (3), N.
        height: (N,) height of the present point over the planes, m.
        plane_weight: (N,) weights of the planes.
        sums: (NUM_SUMS,) results of one point: force (3), gradient of its distance (3), derivatives of the force by
            the point (3, 3) and by its velocity (3, 3).
        products: (7, 12) weighted derivatives of the separations, of all G = (moment, force) times these.
    """

    planes: Float2D
    separation: Float2D
    weight: Float2D
    force: Float2D
    height: Float1D
    plane_weight: Float1D
    sums: Float1D
    products: Float2D


_FORCE, _SLOPE, _BY_POINT, _BY_VELOCITY, NUM_SUMS = 0, 3, 6, 15, 24


def make_pair_memory(count: int) -> PairMemory:
    """Memory for clouds of at most ``count`` points."""
    return PairMemory(
        planes=np.zeros((6, count)),
        separation=np.zeros((2, count)),
        weight=np.zeros((2, count)),
        force=np.zeros((6, count)),
        height=np.zeros(count),
        plane_weight=np.zeros(count),
        sums=np.zeros(NUM_SUMS),
        products=np.zeros((7, 12)),
    )


@kernel
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


@kernel
def softplus_and_slope(x):
    """``log(1 + exp(x))`` and its derivative."""
    e = exponential(-abs(x)) if -abs(x) > _LEAST else 0.0
    u = 1.0 + e
    # As exact for small e as for large ones.
    tail = logarithm(u) * (e / (u - 1.0)) if u > 1.0 else e
    if x > 0.0:
        return x + tail, 1.0 / u
    return tail, e / u


@kernel
def damping_and_slope(x, blend):
    """``force.damping_factor`` and its derivative."""
    if x <= -blend:
        return 1.0 - x, -1.0
    if x < blend:
        y = x + blend
        return 1.0 - x + y * y * y / (24.0 * blend), -1.0 + y * y / (8.0 * blend)
    if x <= 2.0 - blend:
        return 0.25 * (x - 2.0) * (x - 2.0) + blend * blend / 12.0, 0.5 * (x - 2.0)
    y = 2.0 + blend - x
    if y > 0.0:
        return y * y * y / (24.0 * blend), -y * y / (8.0 * blend)
    return 0.0, 0.0


@kernel
def _weigh(planes, count, x, y, z, epsilon1, memory):
    """Heights over all planes and weights of these; return the total weight and the weighted sum of heights.

    Reads memory: height, plane_weight.
    Writes memory: height, plane_weight.
    """
    height, weight = memory.height, memory.plane_weight
    least = math.inf
    for i in range(count):
        u, v, w = x - planes[0, i], y - planes[1, i], z - planes[2, i]
        height[i] = u * planes[3, i] + v * planes[4, i] + w * planes[5, i]
        weight[i] = u * u + v * v + w * w
    for i in range(count):
        least = weight[i] if weight[i] < least else least
    scale = 1.0 / epsilon1
    total, mean = 0.0, 0.0
    for i in range(count):
        exponent = (least - weight[i]) * scale
        # Of most planes nothing is left: to pass them by is faster than exponentials of several at once.
        if exponent > _LEAST:
            one = exponential(exponent)
            weight[i] = one
            total += one
            mean += one * height[i]
        else:
            weight[i] = 0.0
    return total, mean


@kernel
def _press(planes, count, x, y, z, a, b, c, parameters, derive, memory):
    """Force on a point at (x, y, z) with velocity (a, b, c) relative to the planes, into ``memory.sums``.

    ``_weigh`` has been called for the point. With ``derive`` also the derivatives.

    Reads memory: height, plane_weight, sums.
    Writes memory: sums.
    """
    sums, height, weight = memory.sums, memory.height, memory.plane_weight
    sums[:] = 0.0
    mu, slip = parameters[MU], parameters[STICTION_VELOCITY]
    speed, epsilon3, scale = (
        parameters[DISSIPATION_VELOCITY],
        parameters[EPSILON3],
        2.0 / parameters[EPSILON1],
    )
    total, mean = 0.0, 0.0
    c0 = c1 = c2 = 0.0
    for i in range(count):
        s = weight[i]
        if s == 0.0:
            continue
        n0, n1, n2 = planes[3, i], planes[4, i], planes[5, i]
        h = height[i]
        push, push_slope = softplus_and_slope(-h / epsilon3)
        v_n = a * n0 + b * n1 + c * n2
        damping, damping_slope = damping_and_slope(v_n / speed, parameters[BLEND])
        spring = parameters[STIFFNESS] * epsilon3 * push
        normal = spring * damping
        t0, t1, t2 = a - v_n * n0, b - v_n * n1, c - v_n * n2
        root = math.sqrt(slip * slip + t0 * t0 + t1 * t1 + t2 * t2)
        drag = mu / root
        u0, u1, u2 = n0 - drag * t0, n1 - drag * t1, n2 - drag * t2
        f0, f1, f2 = normal * u0, normal * u1, normal * u2
        sums[_FORCE] += s * f0
        sums[_FORCE + 1] += s * f1
        sums[_FORCE + 2] += s * f2
        if not derive:
            total += s
            continue
        p0, p1, p2 = planes[0, i] - x, planes[1, i] - y, planes[2, i] - z
        total += s
        mean += s * h
        c0, c1, c2 = c0 + s * p0, c1 + s * p1, c2 + s * p2
        sums[_SLOPE] += s * (n0 + scale * h * p0)
        sums[_SLOPE + 1] += s * (n1 + scale * h * p1)
        sums[_SLOPE + 2] += s * (n2 + scale * h * p2)
        by_height = -s * parameters[STIFFNESS] * push_slope * damping
        by_speed = s * spring * damping_slope / speed
        curl, rub = s * normal * drag / (root * root), s * normal * drag
        u, f, n, t, p = (u0, u1, u2), (f0, f1, f2), (n0, n1, n2), (t0, t1, t2), (p0, p1, p2)
        _add_slopes(sums, s * scale, by_height, by_speed, curl, rub, u, f, n, t, p)
    _divide(sums, total, mean, scale, (c0, c1, c2), derive)


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
        k = _BY_POINT + 3 * r
        along, apart = by_height * u_r, away * _pick(r, f[0], f[1], f[2])
        sums[k] += along * n0 + apart * p0
        sums[k + 1] += along * n1 + apart * p1
        sums[k + 2] += along * n2 + apart * p2
        k = _BY_VELOCITY + 3 * r
        along = by_speed * u_r + rub * n_r
        sums[k] += along * n0 + curl * t_r * t0
        sums[k + 1] += along * n1 + curl * t_r * t1
        sums[k + 2] += along * n2 + curl * t_r * t2
        sums[k + r] -= rub


@kernel
def _divide(sums, total, mean, scale, c, derive):
    """Divide weighted sums by the sum of the weights; of derivatives take what the change of that sum makes.

    Args:
        sums: ``memory.sums``.
        total: Sum of the weights.
        mean: Weighted sum of the heights, m.
        scale: 2 / epsilon_1, 1/m^2.
        c: Weighted sum of the planes' points from the point, m.
        derive: Whether there are derivatives.
    """
    for k in range(NUM_SUMS):
        sums[k] /= total
    if derive:
        mean /= total
        for k in range(3):
            centre = scale * _pick(k, c[0], c[1], c[2]) / total
            sums[_SLOPE + k] -= mean * centre
            for r in range(3):
                sums[_BY_POINT + 3 * r + k] -= sums[_FORCE + r] * centre


@kernel
def _pick(k, x, y, z):
    return x if k == 0 else (y if k == 1 else z)


@kernel
def _separations(points, num_points, planes, num_planes, epsilon1, row, memory):
    """Soft distances of points to planes; return the least.

    Writes memory: separation.
    """
    least = math.inf
    for f in range(num_points):
        total, mean = _weigh(planes, num_planes, points[0, f], points[1, f], points[2, f], epsilon1, memory)
        memory.separation[row, f] = mean / total
        least = min(least, mean / total)
    return least


@kernel
def _place(planes, count, R, p, memory):
    """Place the planes of A in the frame of B.

    Writes memory: planes.
    """
    for f in range(count):
        x, y, z = planes[0, f], planes[1, f], planes[2, f]
        u, v, w = planes[3, f], planes[4, f], planes[5, f]
        for r in range(3):
            memory.planes[r, f] = p[r] + (R[r, 0] * x + R[r, 1] * y + R[r, 2] * z)
            memory.planes[3 + r, f] = R[r, 0] * u + R[r, 1] * v + R[r, 2] * w


@kernel
def _weigh_points(count_b, count_a, least, epsilon2, memory):
    """Write the weights of the points of B and A by their separations, relative to the ``least``, m; return their sum.

    Reads memory: separation.
    Writes memory: weight.
    """
    total = 0.0
    for row in range(2):
        for f in range(count_b if row == 0 else count_a):
            exponent = (least - memory.separation[row, f]) / epsilon2
            one = exponential(exponent) if exponent > _LEAST else 0.0
            memory.weight[row, f] = one
            total += one
    return total


@kernel
def press_pair(
    planes_a,
    planes_b,
    counts_a,
    counts_b,
    R_BA,
    p_BA,
    twist,
    parameters,
    memory,
    wrench,
    jacobian,
):
    """Wrench of a pair, as ``force.contact_wrench``, in the frame of B.

    Args:
        planes_a: (6, N) planes of A in its frame: points, m, and normals.
        planes_b: (6, M) planes of B in its frame.
        counts_a: Number of the planes of A, and of its points that may press: of a half space none.
        counts_b: The same of B.
        R_BA: (3, 3) orientation of A in B.
        p_BA: (3,) origin of A in B, m.
        twist: (6,) twist of B relative to A at the origin of B and in its axes: angular, rad/s, then linear, m/s.
        parameters: (NUM_PARAMETERS,) of the pair.
        memory: Memory; has separations, weights and weighted forces of all points afterwards.
        wrench: (6,) out: moment about the origin of B and force on B, in its axes, N m and N.
        jacobian: (6, 12) out: derivatives of the wrench by a small motion of A in the frame of B (rotation about its
            origin, then translation), then by ``twist``; (0, 0) for none.

    Returns:
        The separation: least of all soft distances, m.

    Reads memory: planes, products, weight.
    Writes memory: products, weight.
    """
    derive = jacobian.shape[0] > 0
    wrench[:] = 0.0
    _place(planes_a, counts_a[0], R_BA, p_BA, memory)
    placed, epsilon1 = memory.planes, parameters[EPSILON1]
    least = min(
        _separations(planes_b, counts_b[1], placed, counts_a[0], epsilon1, 0, memory),
        _separations(placed, counts_a[1], planes_b, counts_b[0], epsilon1, 1, memory),
    )
    total = _weigh_points(counts_b[1], counts_a[1], least, parameters[EPSILON2], memory)
    memory.products[:] = 0.0
    if derive:
        jacobian[:] = 0.0
    for f in range(counts_b[1]):
        memory.weight[0, f] /= total
        _add_point(planes_b, placed, counts_a[0], 0, f, twist, parameters, derive, memory, wrench, jacobian)
    for f in range(counts_a[1]):
        memory.weight[1, f] /= total
        _add_point(placed, planes_b, counts_b[0], 1, f, twist, parameters, derive, memory, wrench, jacobian)
    if derive:
        # Weights move with the separations: d(sum w G) = sum w dG - (sum w G dPhi - W sum w dPhi) / epsilon2.
        for r in range(6):
            for k in range(12):
                moved = memory.products[1 + r, k] - wrench[r] * memory.products[0, k]
                jacobian[r, k] -= moved / parameters[EPSILON2]
    return least


@entry
def pair_wrench(
    planes_a: ConstFloat2D,
    planes_b: ConstFloat2D,
    counts: ConstInt2D,
    R_BA: Float2D,
    p_BA: Float1D,
    twist: Float1D,
    parameters: ConstFloat1D,
    memory: PairMemory,
    wrench: Float1D,
    jacobian: Float2D,
) -> float:
    """Wrench of a pair and its derivatives, see ``press_pair``; ``counts`` (2, 2) has those of A, then those of B."""
    return press_pair(
        planes_a, planes_b, counts[0], counts[1], R_BA, p_BA, twist, parameters, memory, wrench, jacobian
    )


@kernel
def _add_point(points, planes, num_planes, row, f, twist, parameters, derive, memory, wrench, jacobian):
    """Add what presses on one point of B (row 0) or A (row 1).

    Reads memory: sums, weight.
    Writes memory: force.
    """
    share = memory.weight[row, f]
    for k in range(3):
        memory.force[3 * row + k, f] = 0.0
    if share == 0.0:
        return
    sign = 1.0 if row == 0 else -1.0
    x, y, z = points[0, f], points[1, f], points[2, f]
    a = sign * (twist[3] + twist[1] * z - twist[2] * y)
    b = sign * (twist[4] + twist[2] * x - twist[0] * z)
    c = sign * (twist[5] + twist[0] * y - twist[1] * x)
    _weigh(planes, num_planes, x, y, z, parameters[EPSILON1], memory)
    _press(planes, num_planes, x, y, z, a, b, c, parameters, derive, memory)
    sums = memory.sums
    f0, f1, f2 = sign * sums[0], sign * sums[1], sign * sums[2]
    m0, m1, m2 = y * f2 - z * f1, z * f0 - x * f2, x * f1 - y * f0
    wrench[0] += share * m0
    wrench[1] += share * m1
    wrench[2] += share * m2
    wrench[3] += share * f0
    wrench[4] += share * f1
    wrench[5] += share * f2
    memory.force[3 * row, f] = share * f0
    memory.force[3 * row + 1, f] = share * f1
    memory.force[3 * row + 2, f] = share * f2
    if derive:
        _add_derivatives(row, x, y, z, (a, b, c), (f0, f1, f2), share, twist, memory, jacobian)
        _add_separation(row, x, y, z, (m0, m1, m2, f0, f1, f2), share, memory)


@kernel
def _add_separation(row, x, y, z, G, share, memory):
    """Add the derivative of a point's separation by a motion of A, and its products with (moment, force).

    Reads memory: products, sums.
    Writes memory: products.
    """
    sign = -share if row == 0 else share
    g0, g1, g2 = memory.sums[_SLOPE], memory.sums[_SLOPE + 1], memory.sums[_SLOPE + 2]
    slope = (y * g2 - z * g1, z * g0 - x * g2, x * g1 - y * g0, g0, g1, g2)
    for k in range(6):
        memory.products[0, k] += sign * slope[k]
        for r in range(6):
            memory.products[1 + r, k] += sign * G[r] * slope[k]


@kernel
def _add_derivatives(row, x, y, z, v, F, share, twist, memory, jacobian):
    """Add a point's share of the derivatives of (moment, force) on B.

    Args:
        row: 0 for a point of B, 1 for one of A.
        x: Place of the point, with y and z, m.
        v: Its velocity relative to the other body (3), m/s.
        F: Force on B at it (3), N.
        share: Its weight.
        twist: (6,) of B relative to A.
        memory: ``sums`` has the derivatives of the force on the point.
        jacobian: (6, 12) in and out.

    Reads memory: sums.
    """
    K, D = memory.sums[_BY_POINT:_BY_VELOCITY], memory.sums[_BY_VELOCITY:]
    for k in range(12):
        e0, e1, e2 = 1.0 * (k % 3 == 0), 1.0 * (k % 3 == 1), 1.0 * (k % 3 == 2)
        # How far the point moves, in rotations about the origin and in translations.
        d0, d1, d2 = e0, e1, e2
        if k % 6 < 3:
            d0, d1, d2 = e1 * z - e2 * y, e2 * x - e0 * z, e0 * y - e1 * x
        moves = k < 6
        r0 = r1 = r2 = 0.0
        if row == 0 and moves:
            # The planes move: seen from them the point and its velocity move the other way, and the force turns along.
            s0 = s1 = s2 = 0.0
            if k < 3:
                s0, s1, s2 = e1 * v[2] - e2 * v[1], e2 * v[0] - e0 * v[2], e0 * v[1] - e1 * v[0]
                r0, r1, r2 = e1 * F[2] - e2 * F[1], e2 * F[0] - e0 * F[2], e0 * F[1] - e1 * F[0]
            q0, q1, q2, s0, s1, s2 = -d0, -d1, -d2, -s0, -s1, -s2
        elif row == 0:
            q0, q1, q2, s0, s1, s2 = 0.0, 0.0, 0.0, d0, d1, d2
        elif moves:
            q0, q1, q2 = d0, d1, d2
            s0 = -(twist[1] * d2 - twist[2] * d1)
            s1 = -(twist[2] * d0 - twist[0] * d2)
            s2 = -(twist[0] * d1 - twist[1] * d0)
        else:
            q0, q1, q2, s0, s1, s2 = 0.0, 0.0, 0.0, -d0, -d1, -d2
        sign = 1.0 if row == 0 else -1.0
        r0 += sign * (K[0] * q0 + K[1] * q1 + K[2] * q2 + D[0] * s0 + D[1] * s1 + D[2] * s2)
        r1 += sign * (K[3] * q0 + K[4] * q1 + K[5] * q2 + D[3] * s0 + D[4] * s1 + D[5] * s2)
        r2 += sign * (K[6] * q0 + K[7] * q1 + K[8] * q2 + D[6] * s0 + D[7] * s1 + D[8] * s2)
        m0, m1, m2 = y * r2 - z * r1, z * r0 - x * r2, x * r1 - y * r0
        if row == 1 and moves:
            m0 += d1 * F[2] - d2 * F[1]
            m1 += d2 * F[0] - d0 * F[2]
            m2 += d0 * F[1] - d1 * F[0]
        jacobian[0, k] += share * m0
        jacobian[1, k] += share * m1
        jacobian[2, k] += share * m2
        jacobian[3, k] += share * r0
        jacobian[4, k] += share * r1
        jacobian[5, k] += share * r2
