# mypy: allow-untyped-defs
"""Impulse, gradient and Hessian of contact patches.

Every face of a patch joins the same two bodies, so a patch is a function of one relative twist V = J v in R^6: its
gradient is a 6-vector and its Hessian 6 x 6 for any number of faces ("patch reduction"). Only these are multiplied
by J.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import one_thread_a_world
from hydro_sim_core.solvers.face_laws import normal_law
from hydro_sim_core.solvers.face_state import face_state, patch_state, twist_of
from hydro_sim_core.solvers.point_law import evaluate_point, point_slope, sum_pressed
from hydro_sim_core.solvers.problem import FRICTION, LANES, SLIP

#: Accumulators of one patch: wrench impulse (6), then the upper triangle of the Hessian (21).
NUM_SUMS = 27
_NOTHING = (0.0,) * NUM_SUMS
#: Squared cosine of 60 degrees, the largest change of a slip direction in one Newton step of TAMSI.
COS2_MAX_TURN = 0.25
MAX_HALVINGS = 20


@kernel(inline=True)
def is_point(problem, p):
    """Whether patch ``p`` is a contact at an equivalent point.

    Reads problem.points: first_patch.
    """
    return p >= problem.points.first_patch[0]


@kernel(inline=True)
def _terms(law, face, patch):
    """What a face adds to the ``NUM_SUMS`` accumulators of its patch.

    Reads face: x0, x1, x2; law: respond.
    """
    x0, x1, x2 = face.x0, face.x1, face.x2
    f0, f1, f2, k00, k01, k02, k11, k12, k22 = law.respond(face, patch)
    moment = x1 * f2 - x2 * f1, x2 * f0 - x0 * f2, x0 * f1 - x1 * f0
    # Rows of [x] K: moment of the face's impulse per unit of linear velocity.
    m00, m01, m02 = x1 * k02 - x2 * k01, x1 * k12 - x2 * k11, x1 * k22 - x2 * k12
    m10, m11, m12 = x2 * k00 - x0 * k02, x2 * k01 - x0 * k12, x2 * k02 - x0 * k22
    m20, m21, m22 = x0 * k01 - x1 * k00, x0 * k11 - x1 * k01, x0 * k12 - x1 * k02
    # Angular block: [x] K [x]^T, upper triangle.
    a00, a01, a02 = x1 * m02 - x2 * m01, x2 * m00 - x0 * m02, x0 * m01 - x1 * m00
    a11, a12, a22 = x2 * m10 - x0 * m12, x0 * m11 - x1 * m10, x0 * m21 - x1 * m20
    mixed = m00, m01, m02, m10, m11, m12, m20, m21, m22
    return (*moment, f0, f1, f2, a00, a01, a02, a11, a12, a22, *mixed, k00, k01, k02, k11, k12, k22)


@kernel(inline=True)
def _plus(x, y):
    return (
        *(x[0] + y[0], x[1] + y[1], x[2] + y[2]),
        *(x[3] + y[3], x[4] + y[4], x[5] + y[5]),
        *(x[6] + y[6], x[7] + y[7], x[8] + y[8]),
        *(x[9] + y[9], x[10] + y[10], x[11] + y[11]),
        *(x[12] + y[12], x[13] + y[13], x[14] + y[14]),
        *(x[15] + y[15], x[16] + y[16], x[17] + y[17]),
        *(x[18] + y[18], x[19] + y[19], x[20] + y[20]),
        *(x[21] + y[21], x[22] + y[22], x[23] + y[23]),
        *(x[24] + y[24], x[25] + y[25], x[26] + y[26]),
    )


@kernel(inline=True)
def _add(sums, row, i, terms):
    """Add terms to the accumulators in column ``i`` of rows of this length.

    One by one: the compiler then sees all distances between rows, and makes vector instructions of a loop over columns.
    """
    sums[i] += terms[0]
    sums[row + i] += terms[1]
    sums[2 * row + i] += terms[2]
    sums[3 * row + i] += terms[3]
    sums[4 * row + i] += terms[4]
    sums[5 * row + i] += terms[5]
    sums[6 * row + i] += terms[6]
    sums[7 * row + i] += terms[7]
    sums[8 * row + i] += terms[8]
    sums[9 * row + i] += terms[9]
    sums[10 * row + i] += terms[10]
    sums[11 * row + i] += terms[11]
    sums[12 * row + i] += terms[12]
    sums[13 * row + i] += terms[13]
    sums[14 * row + i] += terms[14]
    sums[15 * row + i] += terms[15]
    sums[16 * row + i] += terms[16]
    sums[17 * row + i] += terms[17]
    sums[18 * row + i] += terms[18]
    sums[19 * row + i] += terms[19]
    sums[20 * row + i] += terms[20]
    sums[21 * row + i] += terms[21]
    sums[22 * row + i] += terms[22]
    sums[23 * row + i] += terms[23]
    sums[24 * row + i] += terms[24]
    sums[25 * row + i] += terms[25]
    sums[26 * row + i] += terms[26]


@kernel(inline=True)
def _accumulate_block(law, block, twist, patch, sums):
    """Add one block's impulse and Hessian to ``sums``.

    Blocks and sums are flat arrays, so that distances between rows are constants to the compiler; otherwise it cannot
    exclude aliasing and does not vectorise the loop.

    Args:
        law: ``FaceLaw``.
        block: (NUM_FACE_ROWS * LANES,) faces.
        twist: ``Twist`` of B relative to A at the reference point.
        patch: ``PatchState``.
        sums: (NUM_SUMS * LANES,) accumulators.
    """
    for i in range(LANES):
        _add(sums, LANES, i, _terms(law, face_state(block, i, twist), patch))


@kernel(inline=True)
def _sum_over_faces(law, blocks, first, last, twist, patch, sums):
    """Write impulse and Hessian of all faces of blocks ``first`` to ``last`` - 1 to the first entries of ``sums``.

    The order of summation is fixed, so that the result does not depend on the width of vectors: every lane by itself,
    then the lanes. Where one thread steps a world it takes one lane after another, and sums stay in registers.
    """
    if one_thread_a_world():
        sums[:NUM_SUMS] = 0.0
        for i in range(LANES):
            of_lane = _NOTHING
            for b in range(first, last):
                of_lane = _plus(of_lane, _terms(law, face_state(blocks[b], i, twist), patch))
            _add(sums, 1, 0, of_lane)
        return
    sums[: NUM_SUMS * LANES] = 0.0
    for b in range(first, last):
        _accumulate_block(law, blocks[b], twist, patch, sums)
    for k in range(NUM_SUMS):
        total = 0.0
        for i in range(LANES):
            total += sums[k * LANES + i]
        sums[k] = total


@kernel
def evaluate_patch(problem, law, p, V, sums, impulse, hessian):
    """Wrench impulse on B (6,) and Hessian (6, 6) of patch ``p`` at relative twist ``V`` (6,).

    Reads problem: blocks, end_block, first_block, friction; problem.points: first_patch.
    """
    if is_point(problem, p):
        j = p - problem.points.first_patch[0]
        evaluate_point(problem.points, problem.friction[p], j, V, impulse, hessian)
        return
    blocks, patch, twist = problem.blocks, patch_state(problem, p), twist_of(V)
    _sum_over_faces(law, blocks, problem.first_block[p], problem.end_block[p], twist, patch, sums)
    for k in range(6):
        impulse[k] = sums[k]
    k = 6
    for row in range(3):
        for column in range(row, 3):
            hessian[row, column] = hessian[column, row] = sums[k]
            hessian[row + 3, column + 3] = hessian[column + 3, row + 3] = sums[k + 15]
            k += 1
    k = 12
    for row in range(3):
        for column in range(3):
            hessian[row, column + 3] = hessian[column + 3, row] = sums[k]
            k += 1


@kernel(inline=True)
def _accumulate_power(law, block, twist, change, patch, sums):
    """Add the power of one block's impulse along the twist ``change`` to the first ``LANES`` entries of ``sums``.

    Reads law: power_along.
    """
    for i in range(LANES):
        sums[i] += law.power_along(face_state(block, i, twist), patch, face_state(block, i, change))


@kernel
def patch_slope(problem, law, p, V, dV, sums):
    """Power of the impulse of patch ``p`` along ``dV`` at relative twist ``V``: minus the slope of its cost.

    Reads problem: blocks, end_block, first_block; problem.points: first_patch.
    """
    if is_point(problem, p):
        return point_slope(problem.points, p - problem.points.first_patch[0], V, dV)
    blocks, patch, twist, change = problem.blocks, patch_state(problem, p), twist_of(V), twist_of(dV)
    sums[:LANES] = 0.0
    for b in range(problem.first_block[p], problem.end_block[p]):
        _accumulate_power(law, blocks[b], twist, change, patch, sums)
    total = 0.0
    for i in range(LANES):
        total += sums[i]
    return total


@kernel
def update_patch_friction_bounds(problem, law, p, V, stiction_speed, softness):
    """Set each face's friction bound from its normal impulse at twist ``V``.

    Args:
        problem: ``ContactProblem``.
        law: ``FaceLaw``.
        p: Which patch.
        V: (6,) relative twist.
        stiction_speed: Smallest regularisation speed, m/s.
        softness: Regularisation speed per unit of friction impulse, in units of the face's ``inverse_mass``.

    Reads law: normal_impulse; problem: blocks, end_block, first_block.
    Writes problem: blocks.
    """
    patch, twist = patch_state(problem, p), twist_of(V)
    for b in range(problem.first_block[p], problem.end_block[p]):
        block = problem.blocks[b]
        for i in range(LANES):
            face = face_state(block, i, twist)
            friction = patch.mu * law.normal_impulse(face, patch)
            block[FRICTION * LANES + i] = friction
            block[SLIP * LANES + i] = max(stiction_speed, softness * face.inverse_mass * friction)


@kernel
def change_of_friction_bounds(problem, law, p, V, sums):
    """How far friction bounds at twist ``V`` would be from those that the faces of patch ``p`` have.

    Args:
        problem: ``ContactProblem``.
        law: ``FaceLaw``.
        p: Which patch.
        V: (6,) relative twist.
        sums: (NUM_SUMS * LANES,) scratch.

    Returns:
        Sum of the absolute changes of the faces' friction bounds, and sum of their new values, N s.

    Reads law: normal_impulse; problem: blocks, end_block, first_block.
    """
    patch, twist = patch_state(problem, p), twist_of(V)
    sums[: 2 * LANES] = 0.0
    for b in range(problem.first_block[p], problem.end_block[p]):
        block = problem.blocks[b]
        for i in range(LANES):
            face = face_state(block, i, twist)
            friction = patch.mu * law.normal_impulse(face, patch)
            sums[i] += abs(friction - face.friction)
            sums[LANES + i] += friction
    change = 0.0
    total = 0.0
    for i in range(LANES):
        change += sums[i]
        total += sums[LANES + i]
    return change, total


@kernel
def sum_normal_impulses(problem, law, p, V, impulse):
    """Sum of the faces' normal impulses (3,) on B, without friction, in the patch's axes.

    Reads law: normal_impulse; problem: blocks, end_block, first_block; problem.points: first_patch.
    """
    if is_point(problem, p):
        sum_pressed(problem.points, p - problem.points.first_patch[0], V, impulse)
        return
    patch, twist = patch_state(problem, p), twist_of(V)
    impulse[:] = 0.0
    for b in range(problem.first_block[p], problem.end_block[p]):
        block = problem.blocks[b]
        for i in range(LANES):
            face = face_state(block, i, twist)
            normal = law.normal_impulse(face, patch)
            impulse[0] += normal * face.n0
            impulse[1] += normal * face.n1
            impulse[2] += normal * face.n2


@kernel
def friction_coupling(problem, p, V, coupling):
    """Term that the lagged Hessian lacks when friction follows the normal impulse of the same velocities (TAMSI).

    Minus the derivative of ``-mu n(v_n) v_t / soft`` through n: an unsymmetric matrix.

    Args:
        problem: ``ContactProblem`` with the friction bounds of ``V``.
        p: Index of the patch.
        V: (6,) relative twist.
        coupling: (6, 6) out.

    Reads problem: blocks, end_block, first_block.
    """
    patch, twist = patch_state(problem, p), twist_of(V)
    coupling[:] = 0.0
    for b in range(problem.first_block[p], problem.end_block[p]):
        block = problem.blocks[b]
        for i in range(LANES):
            face = face_state(block, i, twist)
            _, H_nn = normal_law(face.v_n, face.elastic, face.stiffness_dt, patch.dissipation, patch.dt)
            if H_nn == 0.0:
                continue
            x0, x1, x2 = face.x0, face.x1, face.x2
            n0, n1, n2, t0, t1, t2 = face.n0, face.n1, face.n2, face.t0, face.t1, face.t2
            factor = -patch.mu * H_nn / math.sqrt(face.v_t2 + face.slip * face.slip)
            along = (x1 * t2 - x2 * t1, x2 * t0 - x0 * t2, x0 * t1 - x1 * t0, t0, t1, t2)
            press = (x1 * n2 - x2 * n1, x2 * n0 - x0 * n2, x0 * n1 - x1 * n0, n0, n1, n2)
            for row in range(6):
                for column in range(6):
                    coupling[row, column] += factor * along[row] * press[column]


@kernel
def slip_step_limit(problem, p, V, dV, stiction_speed):
    """Largest share of the change ``dV``, at most 1, within which no slip passes stiction or turns too far.

    A face whose slip would pass through the stiction region stops at its smallest slip speed; one that keeps sliding
    turns by at most 60 degrees (Castro 2020, transition-aware steps).

    Reads problem: blocks, end_block, first_block.
    """
    limit, stiction2 = 1.0, stiction_speed * stiction_speed
    twist, twist_change = twist_of(V), twist_of(dV)
    for b in range(problem.first_block[p], problem.end_block[p]):
        block = problem.blocks[b]
        for i in range(LANES):
            face, change = face_state(block, i, twist), face_state(block, i, twist_change)
            slip2, change2 = face.v_t2, change.v_t2
            if face.friction == 0.0 or slip2 <= stiction2 or change2 == 0.0:
                continue
            along = face.t0 * change.t0 + face.t1 * change.t1 + face.t2 * change.t2
            closest = -along / change2
            if 0.0 < closest < 1.0 and slip2 + closest * along <= stiction2:
                limit = min(limit, closest)
                continue
            for _ in range(MAX_HALVINGS):
                # Cosine of the angle between the slips before and after, times both lengths.
                dot = slip2 + limit * along
                after2 = slip2 + 2.0 * limit * along + limit * limit * change2
                if dot > 0.0 and dot * dot >= COS2_MAX_TURN * slip2 * after2:
                    break
                limit *= 0.5
    return limit
