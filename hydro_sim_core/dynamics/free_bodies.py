# mypy: allow-untyped-defs
"""Integration of free bodies with conserved linear and angular momentum and bounded energy error.

A free body's coordinates are those of its link's origin. Relative to that point, the motion of the centre of mass
involves Coriolis and centrifugal forces, which make explicit steps unstable for large rotations per step. Here the
centre of mass keeps its velocity instead, and the rotation follows a variational integrator (Bou-Rabee and Marsden
2009), see ``gyroscopic_moment``.
"""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.compilation import Bool1D, ConstFloat1D, Float1D, Float3D, entry, kernel
from hydro_sim_core.dynamics.equations import rotated_entry, weightless_moment
from hydro_sim_core.dynamics.forest import Forest
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.triples import cross, dot

#: Newton iterations for the angular velocity at the end of a step; four or five suffice below half a radian per step.
MAX_ITERATIONS = 12
#: Residuals, relative to the angular momentum: round-off, at which the iterations end, and the largest acceptable one.
ROUND_OFF, SOLVED = 1e-15, 1e-12
#: Largest rotation per step, rad, for the variational rule. For a thin rod that rotates further it may have no
#: solution, and beyond a full turn it has no meaning.
LARGEST_TURN = 1.0


@entry
def free_body_forces(
    tree: KinematicTree,
    forest: Forest,
    R_WB: Float3D,
    S: Float3D,
    v: ConstFloat1D,
    v_next: Float1D,
    spins_alone: Bool1D,
    dt_before: float,
    dt: float,
    b: Float1D,
) -> None:
    """Write the bias forces of free bodies: weight and gyroscopic moment, without terms due to the choice of origin.

    Args:
        tree: The ``KinematicTree``.
        forest: Its ``Forest``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``S``.
        S: (nb, 6, 6).
        v: (nv,) velocities.
        v_next: (nv,) velocities at the end of the step, used for the gyroscopic moments; an output for trees in
            ``spins_alone``.
        spins_alone: (trees,) whether a tree is a free body without torque.
        dt_before: Length of the step that ``v`` is the velocity over, s.
        dt: Length of this step, s.
        b: (nv,) in and out; the entries of free bodies are replaced.

    Reads forest: is_free_body, tree_of_body; tree: I_BCo, gravity, mass, p_BCo, v_index, weightless.
    """
    for i in range(tree.parent.shape[0]):
        if not forest.is_free_body[i]:
            continue
        first, R, c, g, m = tree.v_index[i], R_WB[i], tree.p_BCo[i], tree.gravity, tree.mass[i]
        J = _inertia_in_world(R, tree.I_BCo[i])
        w = _angular_velocity(S[i], v, first)
        if spins_alone[forest.tree_of_body[i]]:
            _set_angular_velocity(S[i], _spin_on(J, w, dt_before, dt), v_next, first)
        w_next = _angular_velocity(S[i], v_next, first)
        moment = gyroscopic_moment(J, w, w_next, dt_before, dt)
        c0 = R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2]
        c1 = R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2]
        c2 = R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2]
        t0 = moment[0] + m * (c1 * g[2] - c2 * g[1])
        t1 = moment[1] + m * (c2 * g[0] - c0 * g[2])
        t2 = moment[2] + m * (c0 * g[1] - c1 * g[0])
        if tree.weightless[i, 0] > 0.0:
            h = weightless_moment(tree, i, R)
            t0 -= h[1] * g[2] - h[2] * g[1]
            t1 -= h[2] * g[0] - h[0] * g[2]
            t2 -= h[0] * g[1] - h[1] * g[0]
            m -= tree.weightless[i, 0]
        for k in range(3):
            axis = S[i, k]
            b[first + k] = -(axis[0] * t0 + axis[1] * t1 + axis[2] * t2)
            b[first + 3 + k] = -m * (axis[0] * g[0] + axis[1] * g[1] + axis[2] * g[2])


@kernel
def gyroscopic_moment(J, w, w_next, dt_before, dt):
    """Moment t (N m, world axes) for which J (w_next - w) = dt (t + tau) is the discrete Euler equation, torque tau.

    Over a step a body rotates by exp(dt w). Its angular momentum at the end of one step and at the beginning of the
    next is

        L- = J w - h / 2 w x J w + a w x (w x J w),    L+ = J w' + dt / 2 w' x J w' + a' w' x (w' x J w'),

    with J at the posture in between, h the length of the step before, which in pieces is another than dt, and
    a = (1 - x cot x) / |w|^2, x = |w| dt / 2, from the transposed differential of the exponential map. The rule is
    L+ = L- + dt tau. Without torque it conserves angular momentum to round-off, and
    energy to a relative error of order (|w| dt)^2 that does not grow.
    """
    if not _is_followed(w, dt_before) or not _is_followed(w_next, dt):
        return _implicit_moment(J, w, dt)
    before, after = _turned(J, w, -dt_before), _turned(J, w_next, dt)
    return (before[0] - after[0]) / dt, (before[1] - after[1]) / dt, (before[2] - after[2]) / dt


@kernel
def _spin_on(J, w, dt_before, dt):
    """Angular velocity after a step without torque, L+ = L-, by Newton's method; too large if that fails."""
    too_large = 2.0 * LARGEST_TURN / dt
    if not _is_followed(w, dt_before):
        return too_large, 0.0, 0.0
    turned = _turned(J, w, -dt_before)
    L = _times(J, w)
    L = (L[0] + turned[0], L[1] + turned[1], L[2] + turned[2])
    size = dot(L, L)
    u, last = w, math.inf
    for _ in range(MAX_ITERATIONS):
        H, turned = _times(J, u), _turned(J, u, dt)
        r = (L[0] - H[0] - turned[0], L[1] - H[1] - turned[1], L[2] - H[2] - turned[2])
        error = dot(r, r)
        if not error < last:
            break
        last = error
        if error <= ROUND_OFF * ROUND_OFF * size:
            break
        d = _solve_turned(J, u, H, 0.5 * dt, r)
        u = (u[0] + d[0], u[1] + d[1], u[2] + d[2])
        if not _is_followed(u, dt):
            break
    return u if last <= SOLVED * SOLVED * size else (too_large, 0.0, 0.0)


@kernel
def _is_followed(w, dt):
    return dot(w, w) * dt * dt <= LARGEST_TURN * LARGEST_TURN


@kernel
def _turned(J, w, dt):
    """dt / 2 w x J w + a w x (w x J w), see ``gyroscopic_moment``."""
    H = _times(J, w)
    first = cross(w, H)
    second = cross(w, first)
    x = 0.5 * dt * math.sqrt(dot(w, w))
    sine, cosine = sine_cosine(x)
    # (1 - x cot x) / x^2; the series is accurate to round-off where the quotient suffers from cancellation.
    share = 1.0 / 3.0 + x * x * (1.0 / 45.0 + x * x * 2.0 / 945.0)
    if abs(x) > 0.02:
        share = (1.0 - x * cosine / sine) / (x * x)
    a = 0.25 * dt * dt * share
    h = 0.5 * dt
    return h * first[0] + a * second[0], h * first[1] + a * second[1], h * first[2] + a * second[2]


@kernel
def _implicit_moment(J, w, dt):
    """Gyroscopic moment for bodies that rotate too far in a step; their energy decreases and never grows.

    To first order in dt, the angular velocity w* = w + u at the end of a step solves

        (J - dt [L]x) u = dt L x w,    L = J w,

    which always has a solution, and w*^T J w* = w*^T L <= |w*|_J |w|_J.
    """
    L = _times(J, w)
    m = cross(L, w)
    u = _solve_turned(J, (0.0, 0.0, 0.0), L, dt, m)
    return _times(J, u)


@kernel
def _solve_turned(J, w, L, h, r):
    """Solve (J + h [w]x J - h [L]x) u = r by Cramer's rule."""
    x, y, z = w
    p, q, s = h * L[0], h * L[1], h * L[2]
    xx, yy, zz, xy, xz, yz = J
    x, y, z = h * x, h * y, h * z
    a00, a01, a02 = xx + y * xz - z * xy, xy + y * yz - z * yy + s, xz + y * zz - z * yz - q
    a10, a11, a12 = xy + z * xx - x * xz - s, yy + z * xy - x * yz, yz + z * xz - x * zz + p
    a20, a21, a22 = xz + x * xy - y * xx + q, yz + x * yy - y * xy - p, zz + x * yz - y * xz
    c00, c01, c02 = a11 * a22 - a12 * a21, a12 * a20 - a10 * a22, a10 * a21 - a11 * a20
    c10, c11, c12 = a02 * a21 - a01 * a22, a00 * a22 - a02 * a20, a01 * a20 - a00 * a21
    c20, c21, c22 = a01 * a12 - a02 * a11, a02 * a10 - a00 * a12, a00 * a11 - a01 * a10
    determinant = a00 * c00 + a01 * c01 + a02 * c02
    if not determinant > 0.0:
        return 0.0, 0.0, 0.0
    return (
        (c00 * r[0] + c10 * r[1] + c20 * r[2]) / determinant,
        (c01 * r[0] + c11 * r[1] + c21 * r[2]) / determinant,
        (c02 * r[0] + c12 * r[1] + c22 * r[2]) / determinant,
    )


@kernel
def _inertia_in_world(R, I_BCo):
    """R I_BCo R^T as (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz = rotated_entry(R, I_BCo, 0, 0), rotated_entry(R, I_BCo, 1, 1), rotated_entry(R, I_BCo, 2, 2)
    xy, xz, yz = rotated_entry(R, I_BCo, 0, 1), rotated_entry(R, I_BCo, 0, 2), rotated_entry(R, I_BCo, 1, 2)
    return xx, yy, zz, xy, xz, yz


@kernel
def _angular_velocity(S, v, first):
    w0 = w1 = w2 = 0.0
    for k in range(3):
        w0 += S[k, 0] * v[first + k]
        w1 += S[k, 1] * v[first + k]
        w2 += S[k, 2] * v[first + k]
    return w0, w1, w2


@kernel
def _set_angular_velocity(S, w, v, first):
    for k in range(3):
        v[first + k] = S[k, 0] * w[0] + S[k, 1] * w[1] + S[k, 2] * w[2]


@kernel
def _times(J, w):
    xx, yy, zz, xy, xz, yz = J
    return (
        xx * w[0] + xy * w[1] + xz * w[2],
        xy * w[0] + yy * w[1] + yz * w[2],
        xz * w[0] + yz * w[1] + zz * w[2],
    )


@kernel
def carry_centres(tree, forest, R_WB, S, dt, v, q):
    """Correct a step so that the centres of mass of free bodies, not their origins, move at constant velocity.

    The centre of mass, at c from the origin, moves at v_O + w x c. While c rotates to c', the origin is displaced by c
    - c' relative to the centre.

    Args:
        tree: The ``KinematicTree``.
        forest: Its ``Forest``.
        R_WB: (nb, 3, 3) from ``forward_kinematics`` at the beginning of the step, like ``S``.
        S: (nb, 6, 6).
        dt: s.
        v: (nv,) in: velocities during the step; out: at its end.
        q: (nq,) in and out: coordinates at its end, in: from ``integrate_positions``.

    Reads forest: is_free_body; tree: p_BCo, q_index, v_index.
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
