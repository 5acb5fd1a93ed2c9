"""Impulse, gradient and Hessian of contact patches.

Every face of a patch joins the same two bodies, so a patch is a function of one relative twist V = J v in R^6: its
gradient is a 6-vector and its Hessian 6 x 6 whatever the number of faces ("patch reduction"). Only those are multiplied
by J.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.face_laws import LAGGED, face_law, normal_law
from hydro_sim_core.solvers.problem import ELASTIC, FRICTION, LANES, SLIP, STIFFNESS_DT, N, X

#: Accumulators of one patch: wrench impulse (6), then the upper triangle of the Hessian (21).
NUM_SUMS = 27
#: Squared cosine of the largest turn of a slip velocity in one Newton step of TAMSI, 60 degrees.
COS2_MAX_TURN = 0.25
MAX_HALVINGS = 20


@kernel(inline=True, constants=("law",))
def accumulate_block(law, block, V, dissipation, mu, delassus, dt, sums):
    """Add one block's impulse and Hessian to ``sums``.

    Blocks and sums are flat so that the compiler sees constant distances between rows; otherwise it cannot prove that
    they do not overlap and leaves the loop scalar.

    Args:
        law: A constant, see ``face_law``.
        block: (NUM_FACE_ROWS * LANES,) faces.
        V: (6,) twist of B relative to A at the reference point.
        dissipation: s/m.
        mu: Coefficient of friction.
        delassus: 1/kg.
        dt: Time step, s.
        sums: (NUM_SUMS * LANES,) accumulators.
    """
    w0, w1, w2, u0, u1, u2 = V[0], V[1], V[2], V[3], V[4], V[5]
    for i in range(LANES):
        x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
        n0, n1, n2 = block[N * LANES + i], block[(N + 1) * LANES + i], block[(N + 2) * LANES + i]
        v0 = u0 + w1 * x2 - w2 * x1
        v1 = u1 + w2 * x0 - w0 * x2
        v2 = u2 + w0 * x1 - w1 * x0
        v_n = v0 * n0 + v1 * n1 + v2 * n2
        t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
        normal, fall, drag, bend, couple = face_law(
            law,
            v_n,
            t0 * t0 + t1 * t1 + t2 * t2,
            block[ELASTIC * LANES + i],
            block[STIFFNESS_DT * LANES + i],
            block[FRICTION * LANES + i],
            block[SLIP * LANES + i],
            dissipation,
            mu,
            delassus,
            dt,
        )
        f0 = normal * n0 - drag * t0
        f1 = normal * n1 - drag * t1
        f2 = normal * n2 - drag * t2
        sums[i] += x1 * f2 - x2 * f1
        sums[1 * LANES + i] += x2 * f0 - x0 * f2
        sums[2 * LANES + i] += x0 * f1 - x1 * f0
        sums[3 * LANES + i] += f0
        sums[4 * LANES + i] += f1
        sums[5 * LANES + i] += f2
        # The face's 3 x 3 Hessian.
        a = fall - drag
        k00 = drag + a * n0 * n0 - bend * t0 * t0
        k11 = drag + a * n1 * n1 - bend * t1 * t1
        k22 = drag + a * n2 * n2 - bend * t2 * t2
        k01 = a * n0 * n1 - bend * t0 * t1
        k02 = a * n0 * n2 - bend * t0 * t2
        k12 = a * n1 * n2 - bend * t1 * t2
        if law != LAGGED:
            k00 -= 2.0 * couple * n0 * t0
            k11 -= 2.0 * couple * n1 * t1
            k22 -= 2.0 * couple * n2 * t2
            k01 -= couple * (n0 * t1 + t0 * n1)
            k02 -= couple * (n0 * t2 + t0 * n2)
            k12 -= couple * (n1 * t2 + t1 * n2)
        # Rows of [x] K: moment of the face's resistance to a linear velocity.
        m00, m01, m02 = x1 * k02 - x2 * k01, x1 * k12 - x2 * k11, x1 * k22 - x2 * k12
        m10, m11, m12 = x2 * k00 - x0 * k02, x2 * k01 - x0 * k12, x2 * k02 - x0 * k22
        m20, m21, m22 = x0 * k01 - x1 * k00, x0 * k11 - x1 * k01, x0 * k12 - x1 * k02
        # Angular block: [x] K [x]^T, upper triangle.
        sums[6 * LANES + i] += x1 * m02 - x2 * m01
        sums[7 * LANES + i] += x2 * m00 - x0 * m02
        sums[8 * LANES + i] += x0 * m01 - x1 * m00
        sums[9 * LANES + i] += x2 * m10 - x0 * m12
        sums[10 * LANES + i] += x0 * m11 - x1 * m10
        sums[11 * LANES + i] += x0 * m21 - x1 * m20
        sums[12 * LANES + i] += m00
        sums[13 * LANES + i] += m01
        sums[14 * LANES + i] += m02
        sums[15 * LANES + i] += m10
        sums[16 * LANES + i] += m11
        sums[17 * LANES + i] += m12
        sums[18 * LANES + i] += m20
        sums[19 * LANES + i] += m21
        sums[20 * LANES + i] += m22
        sums[21 * LANES + i] += k00
        sums[22 * LANES + i] += k01
        sums[23 * LANES + i] += k02
        sums[24 * LANES + i] += k11
        sums[25 * LANES + i] += k12
        sums[26 * LANES + i] += k22


@kernel(constants=("law",))
def evaluate_patch(problem, law, patch, V, sums, impulse, hessian):
    """Wrench impulse on B (6,) and Hessian (6, 6) of a patch at relative twist ``V``."""
    d, mu, w = problem.dissipation[patch], problem.friction[patch], problem.delassus[patch]
    blocks, dt = problem.blocks, problem.dt[0]
    sums[: NUM_SUMS * LANES] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        accumulate_block(law, blocks[b], V, d, mu, w, dt, sums)
    # Fixed order of summation: the result does not depend on the vector width.
    for k in range(NUM_SUMS):
        total = 0.0
        for i in range(LANES):
            total += sums[k * LANES + i]
        sums[k] = total
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


@kernel(inline=True, constants=("law",))
def accumulate_slope(law, block, V, dV, dissipation, mu, delassus, dt, sums):
    """Add the power of one block's impulse along ``dV`` to the first ``LANES`` entries of ``sums``."""
    w0, w1, w2, u0, u1, u2 = V[0], V[1], V[2], V[3], V[4], V[5]
    p0, p1, p2, r0, r1, r2 = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    for i in range(LANES):
        x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
        n0, n1, n2 = block[N * LANES + i], block[(N + 1) * LANES + i], block[(N + 2) * LANES + i]
        v0 = u0 + w1 * x2 - w2 * x1
        v1 = u1 + w2 * x0 - w0 * x2
        v2 = u2 + w0 * x1 - w1 * x0
        d0 = r0 + p1 * x2 - p2 * x1
        d1 = r1 + p2 * x0 - p0 * x2
        d2 = r2 + p0 * x1 - p1 * x0
        v_n = v0 * n0 + v1 * n1 + v2 * n2
        d_n = d0 * n0 + d1 * n1 + d2 * n2
        t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
        normal, _, drag, _, _ = face_law(
            law,
            v_n,
            t0 * t0 + t1 * t1 + t2 * t2,
            block[ELASTIC * LANES + i],
            block[STIFFNESS_DT * LANES + i],
            block[FRICTION * LANES + i],
            block[SLIP * LANES + i],
            dissipation,
            mu,
            delassus,
            dt,
        )
        sums[i] += normal * d_n - drag * (t0 * d0 + t1 * d1 + t2 * d2)


@kernel(constants=("law",))
def patch_slope(problem, law, patch, V, dV, sums):
    """Power of the patch's impulse along ``dV`` at relative twist ``V``: minus the slope of its cost."""
    d, mu, w = problem.dissipation[patch], problem.friction[patch], problem.delassus[patch]
    blocks, dt = problem.blocks, problem.dt[0]
    sums[:LANES] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        accumulate_slope(law, blocks[b], V, dV, d, mu, w, dt, sums)
    total = 0.0
    for i in range(LANES):
        total += sums[i]
    return total


@kernel(inline=True)
def _contact_velocity(block, i, V):
    """Velocity of B relative to A at the face in lane ``i``: its normal part and its components."""
    x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
    v0 = V[3] + V[1] * x2 - V[2] * x1
    v1 = V[4] + V[2] * x0 - V[0] * x2
    v2 = V[5] + V[0] * x1 - V[1] * x0
    v_n = v0 * block[N * LANES + i] + v1 * block[(N + 1) * LANES + i] + v2 * block[(N + 2) * LANES + i]
    return v_n, v0, v1, v2


@kernel
def lag_friction(problem, patch, V, stiction_speed, softness, sums):
    """Set each face's friction from its normal impulse at twist ``V``.

    Args:
        problem: ``ContactProblem``.
        patch: Which.
        V: (6,) relative twist.
        stiction_speed: Least regularisation speed, m/s.
        softness: Regularisation speed a unit of friction impulse, in units of the inverse mass felt.
        sums: (NUM_SUMS * LANES,) scratch.

    Returns:
        Absolute change of the faces' friction impulses, summed, and the sum of their new values (N s).
    """
    mu, dissipation, dt = problem.friction[patch], problem.dissipation[patch], problem.dt[0]
    softness *= problem.delassus[patch]
    sums[: 2 * LANES] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            v_n, _, _, _ = _contact_velocity(block, i, V)
            normal, _ = normal_law(
                v_n, block[ELASTIC * LANES + i], block[STIFFNESS_DT * LANES + i], dissipation, dt
            )
            friction = mu * normal
            sums[i] += abs(friction - block[FRICTION * LANES + i])
            sums[LANES + i] += friction
            block[FRICTION * LANES + i] = friction
            block[SLIP * LANES + i] = max(stiction_speed, softness * friction)
    change = 0.0
    total = 0.0
    for i in range(LANES):
        change += sums[i]
        total += sums[LANES + i]
    return change, total


@kernel
def normal_impulse(problem, law, patch, V, impulse):
    """Sum of the faces' normal impulses (3,) on B, without friction, in the patch's axes."""
    d, mu, w = problem.dissipation[patch], problem.friction[patch], problem.delassus[patch]
    dt = problem.dt[0]
    impulse[:] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            v_n, v0, v1, v2 = _contact_velocity(block, i, V)
            normal, _, _, _, _ = face_law(
                law,
                v_n,
                max(v0 * v0 + v1 * v1 + v2 * v2 - v_n * v_n, 0.0),
                block[ELASTIC * LANES + i],
                block[STIFFNESS_DT * LANES + i],
                block[FRICTION * LANES + i],
                block[SLIP * LANES + i],
                d,
                mu,
                w,
                dt,
            )
            for axis in range(3):
                impulse[axis] += normal * block[(N + axis) * LANES + i]


@kernel
def friction_coupling(problem, patch, V, coupling):
    """What the lagged Hessian leaves out when friction follows the normal impulse of the same velocities (TAMSI).

    Minus the derivative of ``-mu n(v_n) v_t / soft`` through n: a matrix without symmetry.

    Args:
        problem: ``ContactProblem`` with friction lagged at ``V`` itself.
        patch: Which.
        V: (6,) relative twist.
        coupling: (6, 6) out.
    """
    mu, dissipation, dt = problem.friction[patch], problem.dissipation[patch], problem.dt[0]
    coupling[:] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            v_n, v0, v1, v2 = _contact_velocity(block, i, V)
            _, fall = normal_law(
                v_n, block[ELASTIC * LANES + i], block[STIFFNESS_DT * LANES + i], dissipation, dt
            )
            if fall == 0.0:
                continue
            x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
            n0, n1, n2 = block[N * LANES + i], block[(N + 1) * LANES + i], block[(N + 2) * LANES + i]
            t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
            slip = block[SLIP * LANES + i]
            factor = -mu * fall / math.sqrt(t0 * t0 + t1 * t1 + t2 * t2 + slip * slip)
            along = (x1 * t2 - x2 * t1, x2 * t0 - x0 * t2, x0 * t1 - x1 * t0, t0, t1, t2)
            press = (x1 * n2 - x2 * n1, x2 * n0 - x0 * n2, x0 * n1 - x1 * n0, n0, n1, n2)
            for row in range(6):
                for column in range(6):
                    coupling[row, column] += factor * along[row] * press[column]


@kernel
def slip_step_limit(problem, patch, V, dV, stiction_speed):
    """Largest share of the change ``dV``, at most 1, over which no face's slip passes stiction or turns too far.

    A face whose slip would pass through the stiction region stops where it comes closest to rest; one that slides on
    turns by at most 60 degrees (Castro 2020, transition-aware steps).
    """
    limit = 1.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            if block[FRICTION * LANES + i] == 0.0:
                continue
            n0, n1, n2 = block[N * LANES + i], block[(N + 1) * LANES + i], block[(N + 2) * LANES + i]
            v_n, v0, v1, v2 = _contact_velocity(block, i, V)
            d_n, d0, d1, d2 = _contact_velocity(block, i, dV)
            t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
            s0, s1, s2 = d0 - d_n * n0, d1 - d_n * n1, d2 - d_n * n2
            slip2 = t0 * t0 + t1 * t1 + t2 * t2
            change2 = s0 * s0 + s1 * s1 + s2 * s2
            along = t0 * s0 + t1 * s1 + t2 * s2
            stiction2 = stiction_speed * stiction_speed
            if slip2 <= stiction2 or change2 == 0.0:
                continue
            closest = -along / change2
            if 0.0 < closest < 1.0 and slip2 + closest * along <= stiction2:
                limit = min(limit, closest)
                continue
            for _ in range(MAX_HALVINGS):
                # Cosine between slip before and after, times both lengths.
                dot = slip2 + limit * along
                after2 = slip2 + 2.0 * limit * along + limit * limit * change2
                if dot > 0.0 and dot * dot >= COS2_MAX_TURN * slip2 * after2:
                    break
                limit *= 0.5
    return limit
