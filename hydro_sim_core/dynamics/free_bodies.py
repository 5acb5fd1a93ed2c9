"""Steps of bodies that fly alone: momentum is kept, and spin gains no energy.

A free body's coordinates are those of its link's origin. Seen from there, the motion of the centre of mass is a matter
of Coriolis and centrifugal forces, which a step takes where it begins; a body that turns by a third of a radian a step
runs away on them. Here the centre keeps its velocity instead, and the gyroscopic moment is taken at the step's end.
"""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.compilation import ConstFloat1D, Float1D, Float3D, entry, kernel
from hydro_sim_core.dynamics.equations import rotated_entry
from hydro_sim_core.dynamics.forest import Forest
from hydro_sim_core.dynamics.tree import KinematicTree


@entry
def free_body_forces(
    tree: KinematicTree,
    forest: Forest,
    R_WB: Float3D,
    S: Float3D,
    v: ConstFloat1D,
    dt: float,
    b: Float1D,
) -> None:
    """Write the bias forces of free bodies: weight and gyroscopic moment, without what only the choice of origin makes.

    Angular momentum L = I w about the centre is constant in the world while I turns with the body. To first order in dt
    the angular velocity at the end of a step, w* = w + u, solves

        (I - dt [L]x) u = dt L x w,

    which always has a solution, and w*^T I w* = w*^T L <= |w*|_I |w|_I: the energy never grows.

    Args:
        tree: The ``KinematicTree``.
        forest: Its ``Forest``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``S``.
        S: (nb, 6, 6).
        v: (nv,) velocities.
        dt: s.
        b: (nv,) in and out; the entries of free bodies are replaced.
    """
    for i in range(tree.parent.shape[0]):
        if not forest.is_free_body[i]:
            continue
        first, R, c, g = tree.v_index[i], R_WB[i], tree.p_BCo[i], tree.gravity
        m = tree.mass[i]
        c0 = R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2]
        c1 = R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2]
        c2 = R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2]
        t0, t1, t2 = _gyroscopic_moment(R, tree.I_BCo[i], S[i], v, first, dt)
        t0 += m * (c1 * g[2] - c2 * g[1])
        t1 += m * (c2 * g[0] - c0 * g[2])
        t2 += m * (c0 * g[1] - c1 * g[0])
        for k in range(3):
            axis = S[i, k]
            b[first + k] = -(axis[0] * t0 + axis[1] * t1 + axis[2] * t2)
            b[first + 3 + k] = -m * (axis[0] * g[0] + axis[1] * g[1] + axis[2] * g[2])


@kernel
def _gyroscopic_moment(R, I_BCo, S, v, first, dt):
    """I u / dt in world axes, N m."""
    w0 = w1 = w2 = 0.0
    for k in range(3):
        w0 += S[k, 0] * v[first + k]
        w1 += S[k, 1] * v[first + k]
        w2 += S[k, 2] * v[first + k]
    xx, yy, zz = rotated_entry(R, I_BCo, 0, 0), rotated_entry(R, I_BCo, 1, 1), rotated_entry(R, I_BCo, 2, 2)
    xy, xz, yz = rotated_entry(R, I_BCo, 0, 1), rotated_entry(R, I_BCo, 0, 2), rotated_entry(R, I_BCo, 1, 2)
    l0, l1, l2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
    m0, m1, m2 = l1 * w2 - l2 * w1, l2 * w0 - l0 * w2, l0 * w1 - l1 * w0
    a01, a10 = xy + dt * l2, xy - dt * l2
    a02, a20 = xz - dt * l1, xz + dt * l1
    a12, a21 = yz + dt * l0, yz - dt * l0
    # Cramer's rule; the determinant is at least that of I.
    c00, c01, c02 = yy * zz - a12 * a21, a12 * a20 - a10 * zz, a10 * a21 - yy * a20
    c10, c11, c12 = a02 * a21 - a01 * zz, xx * zz - a02 * a20, a01 * a20 - xx * a21
    c20, c21, c22 = a01 * a12 - a02 * yy, a02 * a10 - xx * a12, xx * yy - a01 * a10
    determinant = xx * c00 + a01 * c01 + a02 * c02
    if not determinant > 0.0:
        return m0, m1, m2
    u0 = (c00 * m0 + c10 * m1 + c20 * m2) / determinant
    u1 = (c01 * m0 + c11 * m1 + c21 * m2) / determinant
    u2 = (c02 * m0 + c12 * m1 + c22 * m2) / determinant
    return xx * u0 + xy * u1 + xz * u2, xy * u0 + yy * u1 + yz * u2, xz * u0 + yz * u1 + zz * u2


@kernel
def carry_centres(tree, forest, R_WB, S, dt, v, q):
    """Correct the end of a step so that the centres of free bodies went on at constant velocity, not their origins.

    The centre, at c from the origin, moves at v_O + w x c. While c turns into c' the origin falls back by c' - c.

    Args:
        tree: The ``KinematicTree``.
        forest: Its ``Forest``.
        R_WB: (nb, 3, 3) from ``forward_kinematics`` at the beginning of the step, like ``S``.
        S: (nb, 6, 6).
        dt: s.
        v: (nv,) in: velocities over the step; out: at its end.
        q: (nq,) in and out: coordinates at its end, as ``integrate_positions`` leaves them.
    """
    for i in range(tree.parent.shape[0]):
        if not forest.is_free_body[i]:
            continue
        first, first_q, R, c = tree.v_index[i], tree.q_index[i], R_WB[i], tree.p_BCo[i]
        w0 = w1 = w2 = 0.0
        for k in range(3):
            w0 += S[i, k, 0] * v[first + k]
            w1 += S[i, k, 1] * v[first + k]
            w2 += S[i, k, 2] * v[first + k]
        c0 = R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2]
        c1 = R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2]
        c2 = R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2]
        # Rodrigues: c' - c = sin(a) / |w| w x c + (1 - cos a) / |w|^2 w x (w x c), a = |w| dt.
        d0, d1, d2 = w1 * c2 - w2 * c1, w2 * c0 - w0 * c2, w0 * c1 - w1 * c0
        e0, e1, e2 = w1 * d2 - w2 * d1, w2 * d0 - w0 * d2, w0 * d1 - w1 * d0
        half = 0.5 * dt * math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        sine, cosine = sine_cosine(half)
        sinc = sine / half if half > 1e-4 else 1.0 - half * half / 6.0
        along, across = dt * sinc * cosine, 0.5 * dt * dt * sinc * sinc
        s0, s1, s2 = along * d0 + across * e0, along * d1 + across * e1, along * d2 + across * e2
        for k in range(3):
            axis = S[i, k]
            x, y, z = axis[0], axis[1], axis[2]
            q[first_q + 4 + k] += x * (dt * d0 - s0) + y * (dt * d1 - s1) + z * (dt * d2 - s2)
            v[first + 3 + k] -= x * (w1 * s2 - w2 * s1) + y * (w2 * s0 - w0 * s2) + z * (w0 * s1 - w1 * s0)
