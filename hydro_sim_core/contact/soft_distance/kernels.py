# mypy: allow-untyped-defs
"""The wrench of ``force.contact_wrench`` and its derivatives as kernels: planes and points of no weight cost little.

Weights are exponentials of differences. What weighs less than round-off of the sum, ``e^-40``, is left out: planes at a
point, points, and planes at a point of little weight by their product. Bodies that are apart are told first, see
``apart``. All else is as in the array form, within 1e-12.
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
from hydro_sim_core.contact.soft_distance.apart import gap_if_apart
from hydro_sim_core.contact.soft_distance.on_plane import press_on_plane
from hydro_sim_core.contact.soft_distance.pair_derivatives import (
    add_derivatives,
    add_separation,
    move_weights,
)
from hydro_sim_core.contact.soft_distance.pressing import EPSILON1, EPSILON2, NUM_SUMS, press
from hydro_sim_core.contact.soft_distance.weighing import (
    BLOCK,
    LEAST,
    block_count,
    exponential,
    fill_lanes,
    keep_heavy,
    nearby,
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
        gap: (B,) squared distances of the present ball from the middles of the balls, m^2.
        near_lanes: (6 W,) planes that may count at the points of the present block, see ``nearby``.
        near: (W,) planes that count at the present point; as many entries are in use as ``weigh`` found.
        height: (W,) heights of the point over them, m.
        plane_weight: (W,) their weights.
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
    near_lanes: Float1D
    near: Int1D
    height: Float1D
    plane_weight: Float1D
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
        near_lanes=np.zeros(6 * whole),
        near=np.zeros(whole, dtype=np.int64),
        height=np.zeros(whole),
        plane_weight=np.zeros(whole),
        speed=np.zeros(whole),
        push=np.zeros(whole),
        drag=np.zeros(whole),
        sums=np.zeros(NUM_SUMS),
        products=np.zeros((7, 12)),
    )


@kernel
def _press_points(of_body, planes, least, twist, parameters, derive, memory):
    """Soft distances of one body's points to the other one's planes, and the forces on them, block by block of points.

    A block so far above all planes that count there that none of its points weighs anything beside the least distance
    known so far gets a bound from below instead.

    Args:
        of_body: Planes of the points, balls about their blocks, 0 if they are those of B and 1 of A, number of points
            that press.
        planes: Lanes of the other body's planes, balls about its blocks, number of its planes.
        least: Least soft distance known so far, m.
        twist: As for ``press_pair``.
        parameters: As for ``press_pair``.
        derive: Whether forces are left to ``_derive_points``.
        memory: As for ``press_pair``.

    Returns:
        The least soft distance, m.

    Reads memory: near_lanes.
    Writes memory: force, separation.
    """
    points, own, row, num = of_body
    lanes, balls, num_planes = planes
    # Planes of one block are looked at all.
    seen, found = (lanes if num_planes <= BLOCK else memory.near_lanes), num_planes
    blocks, first = (num + BLOCK - 1) // BLOCK, 0
    if blocks > 1:
        first = _foremost(own, blocks, balls, (num_planes + BLOCK - 1) // BLOCK)
    for k in range(blocks):
        g = (first + k) % blocks
        start, end, bound = g * BLOCK, min((g + 1) * BLOCK, num), -math.inf
        if num_planes > BLOCK:
            ball = own[0, g], own[1, g], own[2, g], own[3, g]
            found = nearby(lanes, balls, num_planes, ball, parameters[EPSILON1], LEAST, memory)
            bound = _lowest_of_nearby(found, ball, memory)
        if bound > least - LEAST * parameters[EPSILON2]:
            memory.separation[row, start:end] = bound
            memory.force[3 * row : 3 * row + 3, start:end] = 0.0
            continue
        for f in range(start, end):
            x, y, z = points[0, f], points[1, f], points[2, f]
            counting, total, mean = weigh(seen, found, x, y, z, parameters[EPSILON1], memory)
            memory.separation[row, f] = mean / total
            least = min(least, mean / total)
            if not derive:
                _press_point(points, seen, counting, row, f, least, twist, parameters, False, memory)
    return least


@kernel
def _foremost(own, blocks, balls, blocks_of_planes):
    """Block of points nearest to the other body's blocks, by the middles of balls."""
    first, least = 0, math.inf
    for g in range(blocks):
        for b in range(blocks_of_planes):
            u, v, w = own[0, g] - balls[0, b], own[1, g] - balls[1, b], own[2, g] - balls[2, b]
            square = u * u + v * v + w * w
            first, least = (g if square < least else first), (square if square < least else least)
    return first


@kernel
def _lowest_of_nearby(found, ball, memory):
    """Bound from below of the heights of all places of a ball over planes that ``nearby`` found, m.

    Reads memory: near_lanes.
    """
    x, y, z, radius = ball
    planes, least = memory.near_lanes, math.inf
    for k in range(found):
        i = k // BLOCK * (6 * BLOCK) + k % BLOCK
        u, v, w = x - planes[i], y - planes[i + BLOCK], z - planes[i + 2 * BLOCK]
        height = u * planes[i + 3 * BLOCK] + v * planes[i + 4 * BLOCK] + w * planes[i + 5 * BLOCK]
        least = height if height < least else least
    return least - radius


@kernel
def _press_point(points, lanes, found, row, f, least, twist, parameters, derive, memory):
    """Write the force on B at a point of B (row 0) or A (row 1), N; nothing if it weighs nothing beside the ``least``.

    Returns:
        The point's velocity relative to the other body (3), m/s.

    Reads memory: separation, sums.
    Writes memory: force.
    """
    sign = 1.0 if row == 0 else -1.0
    x, y, z = points[0, f], points[1, f], points[2, f]
    a = sign * (twist[3] + twist[1] * z - twist[2] * y)
    b = sign * (twist[4] + twist[2] * x - twist[0] * z)
    c = sign * (twist[5] + twist[0] * y - twist[1] * x)
    floor = LEAST + (memory.separation[row, f] - least) / parameters[EPSILON2]
    if floor >= 0.0:
        memory.force[3 * row : 3 * row + 3, f] = 0.0
        return a, b, c
    heavy = keep_heavy(found, floor, memory)
    press(lanes, heavy, x, y, z, a, b, c, parameters, derive, memory)
    for k in range(3):
        memory.force[3 * row + k, f] = sign * memory.sums[k]
    return a, b, c


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
    """Write the weights of the points of B and A by their separations, which add up to one; ``least`` of them, m.

    Reads memory: separation, weight.
    Writes memory: weight.
    """
    total = 0.0
    for row in range(2):
        for f in range(count_b if row == 0 else count_a):
            exponent = (least - memory.separation[row, f]) / epsilon2
            one = exponential(exponent) if exponent > LEAST else 0.0
            memory.weight[row, f] = one
            total += one
    for row in range(2):
        for f in range(count_b if row == 0 else count_a):
            memory.weight[row, f] /= total


@kernel
def _add_forces(points, row, num, memory, wrench):
    """Weigh the forces on B at one body's points, and add them up.

    Reads memory: force, weight.
    Writes memory: force.
    """
    for f in range(num):
        share, x, y, z = memory.weight[row, f], points[0, f], points[1, f], points[2, f]
        f0, f1, f2 = (
            share * memory.force[3 * row, f],
            share * memory.force[3 * row + 1, f],
            share * memory.force[3 * row + 2, f],
        )
        memory.force[3 * row, f], memory.force[3 * row + 1, f], memory.force[3 * row + 2, f] = f0, f1, f2
        wrench[0] += y * f2 - z * f1
        wrench[1] += z * f0 - x * f2
        wrench[2] += x * f1 - y * f0
        wrench[3] += f0
        wrench[4] += f1
        wrench[5] += f2


@kernel(inline=True)
def _derive_points(of_body, planes, least, twist, parameters, memory, jacobian):
    """Write the forces on B at one body's points, and add the derivatives of their moments and sum.

    Args:
        of_body: As for ``_press_points``.
        planes: As for ``_press_points``.
        least: The separation, m.
        twist: As for ``press_pair``.
        parameters: As for ``press_pair``.
        memory: As for ``press_pair``.
        jacobian: (6, 12) in and out.

    Reads memory: force, near_lanes, weight.
    Writes memory: force.
    """
    points, own, row, num = of_body
    lanes, balls, num_planes = planes
    # Planes of one block are looked at all.
    seen, found = (lanes if num_planes <= BLOCK else memory.near_lanes), num_planes
    for g in range((num + BLOCK - 1) // BLOCK):
        start, end = g * BLOCK, min((g + 1) * BLOCK, num)
        heaviest = 0.0
        for f in range(start, end):
            heaviest = max(heaviest, memory.weight[row, f])
        memory.force[3 * row : 3 * row + 3, start:end] = 0.0
        if heaviest == 0.0:
            continue
        if num_planes > BLOCK:
            ball = own[0, g], own[1, g], own[2, g], own[3, g]
            found = nearby(lanes, balls, num_planes, ball, parameters[EPSILON1], LEAST, memory)
        for f in range(start, end):
            share, x, y, z = memory.weight[row, f], points[0, f], points[1, f], points[2, f]
            if share == 0.0:
                continue
            counting, _, _ = weigh(seen, found, x, y, z, parameters[EPSILON1], memory)
            v = _press_point(points, seen, counting, row, f, least, twist, parameters, True, memory)
            f0, f1, f2 = (
                memory.force[3 * row, f],
                memory.force[3 * row + 1, f],
                memory.force[3 * row + 2, f],
            )
            G = (y * f2 - z * f1, z * f0 - x * f2, x * f1 - y * f0, f0, f1, f2)
            add_derivatives(row, x, y, z, v, (f0, f1, f2), share, twist, memory, jacobian)
            add_separation(row, x, y, z, G, share, memory)


@kernel
def _clear(memory, wrench, jacobian):
    """Begin all sums of a pair.

    Writes memory: products.
    """
    wrench[:] = 0.0
    jacobian[:] = 0.0
    memory.products[:] = 0.0


@kernel(inline=True)
def _press_clouds(
    placed, planes_b, balls, balls_b, counts_a, counts_b, twist, parameters, memory, wrench, jacobian
):
    """``press_pair`` of two clouds whose planes and balls are in the frame of B.

    Reads memory: lanes_a, lanes_b.
    Writes memory: lanes_a, lanes_b.
    """
    fill_lanes(placed, counts_a[0], memory.lanes_a)
    fill_lanes(planes_b, counts_b[0], memory.lanes_b)
    of_b, of_a = (planes_b, balls_b, 0, counts_b[1]), (placed, balls, 1, counts_a[1])
    on_a, on_b = (memory.lanes_a, balls, counts_a[0]), (memory.lanes_b, balls_b, counts_b[0])
    derive = jacobian.shape[0] > 0
    least = _press_points(of_b, on_a, math.inf, twist, parameters, derive, memory)
    least = _press_points(of_a, on_b, least, twist, parameters, derive, memory)
    _weigh_points(counts_b[1], counts_a[1], least, parameters[EPSILON2], memory)
    if derive:
        _derive_points(of_b, on_a, least, twist, parameters, memory, jacobian)
        _derive_points(of_a, on_b, least, twist, parameters, memory, jacobian)
    _add_forces(planes_b, 0, counts_b[1], memory, wrench)
    _add_forces(placed, 1, counts_a[1], memory, wrench)
    if derive:
        move_weights(parameters, memory, wrench, jacobian)
    return least


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
        counts_a: Number of planes, and of points that may press: of a half space none; ``counts_b`` of B.
        R_BA: (3, 3) orientation of A in B.
        p_BA: (3,) origin of A in B, m.
        twist: (6,) twist of B relative to A at the origin of B and in its axes: angular, rad/s, then linear, m/s.
        parameters: (NUM_PARAMETERS,) of the pair.
        memory: Memory; has weights and weighted forces of all points afterwards, unless nothing presses, see ``apart``.
        wrench: (6,) out: moment about the origin of B and force on B, in its axes, N m and N.
        jacobian: (6, 12) out: derivatives of the wrench by a small motion of A in the frame of B (rotation about its
            origin, then translation), then by ``twist``; (0, 0) for none.

    Returns:
        The separation: least of all soft distances, m; a bound from below of it where nothing presses.

    Reads memory: balls, planes.
    """
    _clear(memory, wrench, jacobian)
    gap = gap_if_apart(planes_a, planes_b, counts_a, counts_b, R_BA, p_BA, parameters, memory)
    if gap > -math.inf:
        return gap
    _place(planes_a, balls_a, counts_a[0], R_BA, p_BA, memory)
    placed, balls = memory.planes, memory.balls
    if jacobian.shape[0] == 0 and counts_b[0] == 1 and counts_b[1] == 0:
        return press_on_plane(placed, counts_a[1], 1, planes_b, twist, parameters, memory, wrench)
    if jacobian.shape[0] == 0 and counts_a[0] == 1 and counts_a[1] == 0:
        return press_on_plane(planes_b, counts_b[1], 0, placed, twist, parameters, memory, wrench)
    return _press_clouds(
        placed,
        planes_b,
        balls,
        balls_b,
        counts_a,
        counts_b,
        twist,
        parameters,
        memory,
        wrench,
        jacobian,
    )


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
