"""Gyroscopic moments of free bodies, taken at the end of a step."""

from __future__ import annotations

from hydro_sim_core.dynamics.equations import rotated_entry
from hydro_sim_core.dynamics.tree import FLOATING
from hydro_sim_core.jit import kernel


@kernel
def make_spin_implicit(tree, R_WB, S, v, dt, b):
    """Change the bias forces so that a step of ``dt`` cannot feed energy into the spin of a free body.

    Taken at the beginning of a step, the moment w x I w adds energy in every step, and a body that turns by a third of
    a radian a step runs away. Angular momentum L = I w is constant in the world while the inertia I turns with the
    body; to first order in dt the angular velocity w* at the end of a step solves

        (I - dt [L]x) w* = L,

    which always has a solution, and w*^T I w* = w*^T L <= |w*|_I |w|_I, so that the energy never grows.

    Args:
        tree: The ``KinematicTree``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``S``.
        S: (nb, 6, 6).
        v: (nv,) velocities.
        dt: s.
        b: (nv,) in and out, from ``bias_forces``; changed at the angular velocities of joints that float in the world.
    """
    for i in range(tree.parent.shape[0]):
        if tree.joint_type[i] == FLOATING and tree.parent[i] < 0:
            _replace_moment(R_WB[i], tree.I_BCo[i], S[i], v, tree.v_index[i], dt, b)


@kernel
def _replace_moment(R, I_BCo, S, v, first, dt, b):
    w0 = w1 = w2 = 0.0
    for k in range(3):
        w0 += S[k, 0] * v[first + k]
        w1 += S[k, 1] * v[first + k]
        w2 += S[k, 2] * v[first + k]
    xx, yy, zz = rotated_entry(R, I_BCo, 0, 0), rotated_entry(R, I_BCo, 1, 1), rotated_entry(R, I_BCo, 2, 2)
    xy, xz, yz = rotated_entry(R, I_BCo, 0, 1), rotated_entry(R, I_BCo, 0, 2), rotated_entry(R, I_BCo, 1, 2)
    l0, l1, l2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
    # With u = w* - w the equation reads (I - dt [L]x) u = dt L x w: no digits are lost where the body hardly turns.
    m0, m1, m2 = dt * (l1 * w2 - l2 * w1), dt * (l2 * w0 - l0 * w2), dt * (l0 * w1 - l1 * w0)
    a01, a10 = xy + dt * l2, xy - dt * l2
    a02, a20 = xz - dt * l1, xz + dt * l1
    a12, a21 = yz + dt * l0, yz - dt * l0
    c00, c01, c02 = yy * zz - a12 * a21, a12 * a20 - a10 * zz, a10 * a21 - yy * a20
    determinant = xx * c00 + a01 * c01 + a02 * c02
    if not determinant > 0.0:
        return
    c10, c11, c12 = a02 * a21 - a01 * zz, xx * zz - a02 * a20, a01 * a20 - xx * a21
    c20, c21, c22 = a01 * a12 - a02 * yy, a02 * a10 - xx * a12, xx * yy - a01 * a10
    u0 = (c00 * m0 + c10 * m1 + c20 * m2) / determinant
    u1 = (c01 * m0 + c11 * m1 + c21 * m2) / determinant
    u2 = (c02 * m0 + c12 * m1 + c22 * m2) / determinant
    # I u / dt is the new moment; the old one, m / dt, was part of the bias forces with the opposite sign.
    t0 = (xx * u0 + xy * u1 + xz * u2 - m0) / dt
    t1 = (xy * u0 + yy * u1 + yz * u2 - m1) / dt
    t2 = (xz * u0 + yz * u1 + zz * u2 - m2) / dt
    for k in range(3):
        b[first + k] -= S[k, 0] * t0 + S[k, 1] * t1 + S[k, 2] * t2
