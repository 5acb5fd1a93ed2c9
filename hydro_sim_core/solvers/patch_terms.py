"""Impulse, gradient and Hessian of contact patches.

Every face of a patch joins the same two bodies, so a patch is a function of one relative twist V = J v in R^6: its
gradient is a 6-vector and its Hessian 6 x 6 whatever the number of faces ("patch reduction"). Only those are multiplied
by J.
"""

from __future__ import annotations

import math

from hydro_sim_core.jit import kernel
from hydro_sim_core.solvers.problem import ELASTIC, FRICTION, LANES, SLIP, STIFFNESS_DT, N, X

#: Accumulators of one patch: wrench impulse (6), then the upper triangle of the Hessian (21).
NUM_SUMS = 27

#: Friction is no stiffer than this fraction of what the bodies' inertia resists (Castro 2022, sigma).
FRICTION_SOFTNESS = 1e-3


@kernel(forceinline=True)
def face_law(v_n, v_t2, elastic, stiffness_dt, dissipation, friction, slip, dt):
    """Contact law of one face; every solver, the line search and the GPU call this one.

    Args:
        v_n: Normal velocity, m/s, positive when separating.
        v_t2: Squared tangential speed, m^2/s^2.
        elastic: Elastic force at the beginning of the step, N.
        stiffness_dt: Force lost a unit of v_n, N s/m.
        dissipation: Hunt-Crossley dissipation, s/m.
        friction: mu times the lagged normal impulse, N s.
        slip: Regularisation speed of friction, m/s.
        dt: Time step, s.

    Returns:
        normal impulse ``dt (f_e0 - dt k v_n)_+ (1 - d v_n)_+`` (N s), its fall a unit of v_n, tangential impulse a unit
        of tangential velocity (to be subtracted), and inverse squared soft speed (s^2/m^2).
    """
    force = max(elastic - stiffness_dt * v_n, 0.0)
    damping = max(1.0 - dissipation * v_n, 0.0)
    normal = dt * force * damping
    pressing = 1.0 if force > 0.0 else 0.0
    # The product's derivative vanishes wherever either factor is zero.
    damped = dissipation if damping > 0.0 else 0.0
    fall = dt * (pressing * stiffness_dt * damping + damped * force)
    inverse_soft2 = 1.0 / (v_t2 + slip * slip)
    return normal, fall, friction * math.sqrt(inverse_soft2), inverse_soft2


@kernel
def accumulate_block(block, V, dissipation, dt, sums):
    """Add one block's impulse and Hessian to ``sums``.

    Blocks and sums are flat so that the compiler sees constant distances between rows; otherwise it cannot prove that
    they do not overlap and leaves the loop scalar.

    Args:
        block: (NUM_FACE_ROWS * LANES,) faces.
        V: (6,) twist of B relative to A at the reference point.
        dissipation: s/m.
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
        normal, fall, drag, inverse_soft2 = face_law(
            v_n,
            t0 * t0 + t1 * t1 + t2 * t2,
            block[ELASTIC * LANES + i],
            block[STIFFNESS_DT * LANES + i],
            dissipation,
            block[FRICTION * LANES + i],
            block[SLIP * LANES + i],
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
        # K = drag I + (fall - drag) n n^T - drag/s^2 t t^T, the face's 3 x 3 Hessian.
        a = fall - drag
        c = drag * inverse_soft2
        k00 = drag + a * n0 * n0 - c * t0 * t0
        k11 = drag + a * n1 * n1 - c * t1 * t1
        k22 = drag + a * n2 * n2 - c * t2 * t2
        k01 = a * n0 * n1 - c * t0 * t1
        k02 = a * n0 * n2 - c * t0 * t2
        k12 = a * n1 * n2 - c * t1 * t2
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


@kernel
def evaluate_patch(problem, patch, V, dt, sums, impulse, hessian):
    """Wrench impulse on B (6,) and Hessian (6, 6) of a patch at relative twist ``V``."""
    for k in range(NUM_SUMS * LANES):
        sums[k] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        accumulate_block(problem.blocks[b], V, problem.dissipation[patch], dt, sums)
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


@kernel
def patch_slope(problem, patch, V, dV, dt, sums):
    """Power of the patch's impulse along ``dV`` at relative twist ``V``: minus the slope of its cost."""
    w0, w1, w2, u0, u1, u2 = V[0], V[1], V[2], V[3], V[4], V[5]
    p0, p1, p2, r0, r1, r2 = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
    dissipation = problem.dissipation[patch]
    for i in range(LANES):
        sums[i] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
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
            normal, _, drag, _ = face_law(
                v_n,
                t0 * t0 + t1 * t1 + t2 * t2,
                block[ELASTIC * LANES + i],
                block[STIFFNESS_DT * LANES + i],
                dissipation,
                block[FRICTION * LANES + i],
                block[SLIP * LANES + i],
                dt,
            )
            sums[i] += normal * d_n - drag * (t0 * d0 + t1 * d1 + t2 * d2)
    total = 0.0
    for i in range(LANES):
        total += sums[i]
    return total


@kernel(forceinline=True)
def _normal_velocity(block, i, V):
    """Normal velocity of lane ``i`` at relative twist ``V``."""
    x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
    return (
        (V[3] + V[1] * x2 - V[2] * x1) * block[N * LANES + i]
        + (V[4] + V[2] * x0 - V[0] * x2) * block[(N + 1) * LANES + i]
        + (V[5] + V[0] * x1 - V[1] * x0) * block[(N + 2) * LANES + i]
    )


@kernel
def lag_friction(problem, patch, V, stiction_speed, dt, sums):
    """Set each face's friction from its normal impulse at twist ``V``.

    Returns:
        Absolute change of the faces' friction impulses, summed, and the sum of their new values (N s).
    """
    mu = problem.friction[patch]
    softness = FRICTION_SOFTNESS * problem.delassus[patch]
    dissipation = problem.dissipation[patch]
    for i in range(2 * LANES):
        sums[i] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            normal, _, _, _ = face_law(
                _normal_velocity(block, i, V),
                0.0,
                block[ELASTIC * LANES + i],
                block[STIFFNESS_DT * LANES + i],
                dissipation,
                0.0,
                1.0,
                dt,
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
def normal_impulse(problem, patch, V, dt, impulse):
    """Sum of the faces' normal impulses (3,) on B, without friction, in the patch's axes."""
    for axis in range(3):
        impulse[axis] = 0.0
    for b in range(problem.first_block[patch], problem.first_block[patch + 1]):
        block = problem.blocks[b]
        for i in range(LANES):
            normal, _, _, _ = face_law(
                _normal_velocity(block, i, V),
                0.0,
                block[ELASTIC * LANES + i],
                block[STIFFNESS_DT * LANES + i],
                problem.dissipation[patch],
                0.0,
                1.0,
                dt,
            )
            for axis in range(3):
                impulse[axis] += normal * block[(N + axis) * LANES + i]
