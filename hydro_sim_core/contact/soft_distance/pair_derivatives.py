# mypy: allow-untyped-defs
"""What a point adds to the derivatives of a pair's wrench, as kernels."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.soft_distance.pressing import BY_POINT, BY_VELOCITY, EPSILON2, SLOPE


@kernel(inline=True)
def move_weights(parameters, memory, wrench, jacobian):
    """Add what follows from weights that move with the separations.

    d(sum w G) = sum w dG - (sum w G dPhi - W sum w dPhi) / epsilon2.

    Reads memory: products.
    """
    for r in range(6):
        for k in range(12):
            moved = memory.products[1 + r, k] - wrench[r] * memory.products[0, k]
            jacobian[r, k] -= moved / parameters[EPSILON2]


@kernel
def add_separation(row, x, y, z, G, share, memory):
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
def add_derivatives(row, x, y, z, v, F, share, twist, memory, jacobian):
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
