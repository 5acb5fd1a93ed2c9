# mypy: allow-untyped-defs
"""The wrench of ``force.contact_wrench`` and its derivatives as kernels: planes and points of no weight cost little.

Weights are exponentials of differences. What weighs less than round-off of the sum, ``e^-40``, is left out: planes at a
point, points, and planes at a point of little weight by their product. All else is as in the array form, within 1e-12.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    ConstInt2D,
    Float1D,
    Float2D,
    Int1D,
    entry,
    kernel,
)
from hydro_sim_core.contact.soft_distance.on_plane import press_on_plane
from hydro_sim_core.contact.soft_distance.pressing import (
    BY_POINT,
    BY_VELOCITY,
    EPSILON1,
    EPSILON2,
    NUM_SUMS,
    SLOPE,
    press,
)
from hydro_sim_core.contact.soft_distance.weighing import (
    BLOCK,
    LEAST,
    block_count,
    exponential,
    fill_lanes,
    weigh,
)


class PairMemory(NamedTuple):
    """Memory of one pair, for clouds of at most N points each; W is N filled up to whole blocks.

    Attributes:
        planes: (6, N) planes of A in the frame of B: points, m, and normals.
        lanes_a: (6 W,) the same for ``weigh``.
        lanes_b: (6 W,) planes of B for ``weigh``.
        balls: (4, B) balls about the blocks of A's planes.
        separation: (2, N) soft distance of the points of B and those of A to the other surface, m.
        weight: (2, N) their weights.
        force: (6, N) weighted force on B at the points of B (3) and of A (3), N.
        gap: (B,) squared distances of the present point from the middles of the balls, m^2.
        near: (W,) planes that count at the present point; as many entries are in use as ``weigh`` found.
        height: (W,) heights of the point over them, m.
        plane_weight: (W,) their weights.
        found: (2 BLOCK,) of clouds of one block each: how many planes count at every point of B, then of A.
        kept: (2, 2 BLOCK^2) what ``weigh`` found there, ``BLOCK`` numbers a point: heights, and weights.
        kept_near: (2 BLOCK^2,) and ``near``.
        speed: (W,) its velocity along their normals, m/s.
        push: (W,) weighted force along them, N.
        drag: (W,) weighted friction a unit of its velocity, N s/m.
        sums: (NUM_SUMS,) results of one point, see ``pressing``.
        products: (7, 12) weighted derivatives of the separations, of all G = (moment, force) times these.
    """

    planes: Float2D
    lanes_a: Float1D
    lanes_b: Float1D
    balls: Float2D
    separation: Float2D
    weight: Float2D
    force: Float2D
    gap: Float1D
    near: Int1D
    height: Float1D
    plane_weight: Float1D
    found: Int1D
    kept: Float2D
    kept_near: Int1D
    speed: Float1D
    push: Float1D
    drag: Float1D
    sums: Float1D
    products: Float2D


def make_pair_memory(count: int) -> PairMemory:
    """Memory for clouds of at most ``count`` points."""
    whole = BLOCK * block_count(count)
    return PairMemory(
        planes=np.zeros((6, count)),
        lanes_a=np.zeros(6 * whole),
        lanes_b=np.zeros(6 * whole),
        balls=np.zeros((4, block_count(count))),
        separation=np.zeros((2, count)),
        weight=np.zeros((2, count)),
        force=np.zeros((6, count)),
        gap=np.zeros(block_count(count)),
        near=np.zeros(whole, dtype=np.int64),
        height=np.zeros(whole),
        plane_weight=np.zeros(whole),
        found=np.zeros(2 * BLOCK, dtype=np.int64),
        kept=np.zeros((2, 2 * BLOCK * BLOCK)),
        kept_near=np.zeros(2 * BLOCK * BLOCK, dtype=np.int64),
        speed=np.zeros(whole),
        push=np.zeros(whole),
        drag=np.zeros(whole),
        sums=np.zeros(NUM_SUMS),
        products=np.zeros((7, 12)),
    )


@kernel
def _separations(points, num_points, lanes, balls, num_planes, epsilon1, row, memory):
    """Soft distances of points to planes; return the least. Of clouds of one block it keeps what weighs at each point.

    Reads memory: height, plane_weight.
    Writes memory: separation.
    """
    least = math.inf
    for f in range(num_points):
        x, y, z = points[0, f], points[1, f], points[2, f]
        found = weigh(lanes, balls, num_planes, x, y, z, epsilon1, LEAST, memory)
        total, mean = 0.0, 0.0
        for k in range(found):
            total += memory.plane_weight[k]
            mean += memory.plane_weight[k] * memory.height[k]
        if num_points <= BLOCK and num_planes <= BLOCK:
            _keep_weighed(row * BLOCK + f, found, memory)
        memory.separation[row, f] = mean / total
        least = min(least, mean / total)
    return least


@kernel
def _keep_weighed(number, found, memory):
    """Keep what ``weigh`` found at a point.

    Reads memory: height, near, plane_weight.
    Writes memory: found, kept, kept_near.
    """
    at = number * BLOCK
    memory.found[number] = found
    height, weight, near = (
        memory.kept[0, at : at + BLOCK],
        memory.kept[1, at : at + BLOCK],
        memory.kept_near[at : at + BLOCK],
    )
    for k in range(found):
        height[k] = memory.height[k]
        weight[k] = memory.plane_weight[k]
        near[k] = memory.near[k]


@kernel
def _recall_weighed(number, memory):
    """Put back what was kept of a point; return how many planes count.

    Reads memory: found, kept, kept_near.
    Writes memory: height, near, plane_weight.
    """
    at, found = number * BLOCK, memory.found[number]
    height, weight, near = (
        memory.kept[0, at : at + BLOCK],
        memory.kept[1, at : at + BLOCK],
        memory.kept_near[at : at + BLOCK],
    )
    for k in range(found):
        memory.height[k] = height[k]
        memory.plane_weight[k] = weight[k]
        memory.near[k] = near[k]
    return found


@kernel
def _place(planes, balls, count, R, p, memory):
    """Place the planes of A and the balls about their blocks in the frame of B.

    Writes memory: balls, planes.
    """
    for b in range((count + BLOCK - 1) // BLOCK):
        x, y, z = balls[0, b], balls[1, b], balls[2, b]
        for r in range(3):
            memory.balls[r, b] = p[r] + (R[r, 0] * x + R[r, 1] * y + R[r, 2] * z)
        memory.balls[3, b] = balls[3, b]
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
            one = exponential(exponent) if exponent > LEAST else 0.0
            memory.weight[row, f] = one
            total += one
    return total


@kernel(inline=True)
def _add_points(points, planes, least, total, twist, parameters, memory, wrench, jacobian):
    """Add the wrenches of one body's points on the other one.

    Args:
        points: Planes of the points, 0 if they are those of B and 1 of A, number of points that press.
        planes: Lanes of the other body's planes, balls about its blocks, number of its planes.
        least: The separation, m.
        total: Sum of all weights.
        twist: As for ``press_pair``.
        parameters: As for ``press_pair``.
        memory: As for ``press_pair``.
        wrench: (6,) the sum.
        jacobian: Its derivatives so far; (0, 0) for none.

    Reads memory: separation, weight.
    Writes memory: weight.
    """
    own, side, num = points
    lanes, balls, num_planes = planes
    for f in range(num):
        memory.weight[side, f] /= total
        floor = LEAST + (memory.separation[side, f] - least) / parameters[EPSILON2]
        if floor < 0.0 and num <= BLOCK and num_planes <= BLOCK:
            found = _recall_weighed(side * BLOCK + f, memory)
        else:
            found = _weigh_at(own, f, lanes, balls, num_planes, parameters[EPSILON1], floor, memory)
        derive = jacobian.shape[0] > 0
        _add_point(own, lanes, found, side, f, twist, parameters, derive, memory, wrench, jacobian)


@kernel(inline=True)
def _move_weights(parameters, memory, wrench, jacobian):
    """Add what follows from weights that move with the separations.

    d(sum w G) = sum w dG - (sum w G dPhi - W sum w dPhi) / epsilon2.

    Reads memory: products.
    """
    for r in range(6):
        for k in range(12):
            moved = memory.products[1 + r, k] - wrench[r] * memory.products[0, k]
            jacobian[r, k] -= moved / parameters[EPSILON2]


@kernel
def _clear(memory, wrench, jacobian):
    """Begin all sums of a pair.

    Writes memory: products.
    """
    wrench[:] = 0.0
    jacobian[:] = 0.0
    memory.products[:] = 0.0


@kernel
def press_pair(
    planes_a,
    planes_b,
    balls_a,
    balls_b,
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
        planes_a: (6, N) planes of A in its frame: points, m, and normals; in blocks, see ``order_in_blocks``.
        planes_b: (6, M) planes of B in its frame.
        balls_a: (4, A) balls about the blocks of A's planes.
        balls_b: (4, B) the same of B.
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

    Reads memory: balls, lanes_a, lanes_b, planes.
    Writes memory: lanes_a, lanes_b.
    """
    _clear(memory, wrench, jacobian)
    _place(planes_a, balls_a, counts_a[0], R_BA, p_BA, memory)
    placed, balls, epsilon1 = memory.planes, memory.balls, parameters[EPSILON1]
    if jacobian.shape[0] == 0 and counts_b[0] == 1 and counts_b[1] == 0:
        return press_on_plane(placed, counts_a[1], 1, planes_b, twist, parameters, memory, wrench)
    if jacobian.shape[0] == 0 and counts_a[0] == 1 and counts_a[1] == 0:
        return press_on_plane(planes_b, counts_b[1], 0, placed, twist, parameters, memory, wrench)
    fill_lanes(placed, counts_a[0], memory.lanes_a)
    fill_lanes(planes_b, counts_b[0], memory.lanes_b)
    least = min(
        _separations(planes_b, counts_b[1], memory.lanes_a, balls, counts_a[0], epsilon1, 0, memory),
        _separations(placed, counts_a[1], memory.lanes_b, balls_b, counts_b[0], epsilon1, 1, memory),
    )
    total = _weigh_points(counts_b[1], counts_a[1], least, parameters[EPSILON2], memory)
    of_b, of_a = (planes_b, 0, counts_b[1]), (placed, 1, counts_a[1])
    on_a, on_b = (memory.lanes_a, balls, counts_a[0]), (memory.lanes_b, balls_b, counts_b[0])
    _add_points(of_b, on_a, least, total, twist, parameters, memory, wrench, jacobian)
    _add_points(of_a, on_b, least, total, twist, parameters, memory, wrench, jacobian)
    if jacobian.shape[0] > 0:
        _move_weights(parameters, memory, wrench, jacobian)
    return least


@entry
def pair_wrench(
    planes_a: ConstFloat2D,
    planes_b: ConstFloat2D,
    balls_a: ConstFloat2D,
    balls_b: ConstFloat2D,
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
        planes_a,
        planes_b,
        balls_a,
        balls_b,
        counts[0],
        counts[1],
        R_BA,
        p_BA,
        twist,
        parameters,
        memory,
        wrench,
        jacobian,
    )


@kernel
def _weigh_at(points, f, lanes, balls, count, epsilon1, floor, memory):
    """``weigh`` at a point, unless it has no weight itself; return how many planes count."""
    if floor >= 0.0:
        return 0
    return weigh(lanes, balls, count, points[0, f], points[1, f], points[2, f], epsilon1, floor, memory)


@kernel
def _add_point(points, lanes, found, row, f, twist, parameters, derive, memory, wrench, jacobian):
    """Add what presses on one point of B (row 0) or A (row 1); nothing if no plane counts.

    Reads memory: sums, weight.
    Writes memory: force.
    """
    share = memory.weight[row, f]
    for k in range(3):
        memory.force[3 * row + k, f] = 0.0
    if found == 0:
        return
    sign = 1.0 if row == 0 else -1.0
    x, y, z = points[0, f], points[1, f], points[2, f]
    a = sign * (twist[3] + twist[1] * z - twist[2] * y)
    b = sign * (twist[4] + twist[2] * x - twist[0] * z)
    c = sign * (twist[5] + twist[0] * y - twist[1] * x)
    press(lanes, found, x, y, z, a, b, c, parameters, derive, memory)
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
    g0, g1, g2 = memory.sums[SLOPE], memory.sums[SLOPE + 1], memory.sums[SLOPE + 2]
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
    K, D = memory.sums[BY_POINT:BY_VELOCITY], memory.sums[BY_VELOCITY:]
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
