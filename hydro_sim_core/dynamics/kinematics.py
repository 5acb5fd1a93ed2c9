# mypy: allow-untyped-defs
"""Where bodies are and how they move: poses, motion subspaces, velocities, Jacobians, integration.

Every spatial vector is taken about the world's origin in world axes, angular part first: a twist is [w; v_O],
with v_O the velocity of the body-fixed point that passes through the world's origin. Quantities of different
bodies then add without any change of frame, and a column of the motion subspace is a column of every
descendant's Jacobian.
"""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.compilation import ConstFloat1D, Float1D, Float2D, Float3D, entry, kernel
from hydro_sim_core.dynamics.tree import FLOATING, PLANAR, PRISMATIC, REVOLUTE, KinematicTree


@entry
def forward_kinematics(
    tree: KinematicTree, q: ConstFloat1D, R_WB: Float3D, p_WB: Float2D, S: Float3D
) -> None:
    """Place all bodies.

    Args:
        tree: The ``KinematicTree``.
        q: (nq,) coordinates. Quaternions need not be normalised.
        R_WB: (nb, 3, 3) out, orientations.
        p_WB: (nb, 3) out, origins, m.
        S: (nb, 6, 6) out; row ``S[i, k]`` is the twist of body i relative to its parent for a unit of the
            k-th velocity of its joint. Rows from ``num_v[i]`` on are left alone.
    """
    for i in range(tree.parent.shape[0]):
        _place_joint_frame(tree, i, R_WB, p_WB)
        R, p, Si, first = R_WB[i], p_WB[i], S[i], tree.q_index[i]
        joint_type = tree.joint_type[i]
        if joint_type == REVOLUTE:
            angle = tree.q_scale[i] * q[first] + tree.q_offset[i]
            _turn(tree.axis[i], angle, tree.q_scale[i], R, p, Si)
        elif joint_type == PRISMATIC:
            displacement = tree.q_scale[i] * q[first] + tree.q_offset[i]
            _slide(tree.axis[i], displacement, tree.q_scale[i], R, p, Si)
        elif joint_type == PLANAR:
            _move_in_plane(q[first : first + 3], R, p, Si)
        else:
            _float(q[first : first + 7], R, p, Si)


@kernel
def _place_joint_frame(tree, i, R_WB, p_WB):
    """Write the pose of joint frame J of body i into the place of its body frame."""
    parent = tree.parent[i]
    R_PJ, p_PJ = tree.R_PJ[i], tree.p_PJ[i]
    if parent < 0:
        for r in range(3):
            p_WB[i, r] = p_PJ[r]
            for c in range(3):
                R_WB[i, r, c] = R_PJ[r, c]
        return
    for r in range(3):
        x, y, z = R_WB[parent, r, 0], R_WB[parent, r, 1], R_WB[parent, r, 2]
        p_WB[i, r] = p_WB[parent, r] + x * p_PJ[0] + y * p_PJ[1] + z * p_PJ[2]
        for c in range(3):
            R_WB[i, r, c] = x * R_PJ[0, c] + y * R_PJ[1, c] + z * R_PJ[2, c]


@kernel
def _set_rotation_about(x, y, z, p, row):
    """Twist of a unit rotation about the axis (x, y, z) through p: [axis; p x axis]."""
    row[0], row[1], row[2] = x, y, z
    row[3] = p[1] * z - p[2] * y
    row[4] = p[2] * x - p[0] * z
    row[5] = p[0] * y - p[1] * x


@kernel
def _set_translation_along(x, y, z, row):
    row[0], row[1], row[2] = 0.0, 0.0, 0.0
    row[3], row[4], row[5] = x, y, z


@kernel
def _turn(axis, angle, scale, R, p, S):
    a, b, c = axis[0], axis[1], axis[2]
    sine, cosine = sine_cosine(angle)
    u = R[0, 0] * a + R[0, 1] * b + R[0, 2] * c
    v = R[1, 0] * a + R[1, 1] * b + R[1, 2] * c
    w = R[2, 0] * a + R[2, 1] * b + R[2, 2] * c
    _set_rotation_about(scale * u, scale * v, scale * w, p, S[0])
    for r in range(3):
        # Rodrigues' formula applied from the right, row by row.
        x, y, z = R[r, 0], R[r, 1], R[r, 2]
        along = (1.0 - cosine) * (x * a + y * b + z * c)
        R[r, 0] = cosine * x + along * a + sine * (y * c - z * b)
        R[r, 1] = cosine * y + along * b + sine * (z * a - x * c)
        R[r, 2] = cosine * z + along * c + sine * (x * b - y * a)


@kernel
def _slide(axis, displacement, scale, R, p, S):
    x = R[0, 0] * axis[0] + R[0, 1] * axis[1] + R[0, 2] * axis[2]
    y = R[1, 0] * axis[0] + R[1, 1] * axis[1] + R[1, 2] * axis[2]
    z = R[2, 0] * axis[0] + R[2, 1] * axis[1] + R[2, 2] * axis[2]
    p[0] += displacement * x
    p[1] += displacement * y
    p[2] += displacement * z
    _set_translation_along(scale * x, scale * y, scale * z, S[0])


@kernel
def _move_in_plane(q, R, p, S):
    for r in range(3):
        p[r] += q[0] * R[r, 0] + q[1] * R[r, 1]
    _set_translation_along(R[0, 0], R[1, 0], R[2, 0], S[0])
    _set_translation_along(R[0, 1], R[1, 1], R[2, 1], S[1])
    _set_rotation_about(R[0, 2], R[1, 2], R[2, 2], p, S[2])
    sine, cosine = sine_cosine(q[2])
    for r in range(3):
        x, y = R[r, 0], R[r, 1]
        R[r, 0] = cosine * x + sine * y
        R[r, 1] = cosine * y - sine * x


@kernel
def _float(q, R, p, S):
    for r in range(3):
        p[r] += q[4] * R[r, 0] + q[5] * R[r, 1] + q[6] * R[r, 2]
    for k in range(3):
        _set_rotation_about(R[0, k], R[1, k], R[2, k], p, S[k])
        _set_translation_along(R[0, k], R[1, k], R[2, k], S[3 + k])
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    for r in range(3):
        a, b, c = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] = a * (1.0 - s * (y * y + z * z)) + b * s * (x * y + w * z) + c * s * (x * z - w * y)
        R[r, 1] = a * s * (x * y - w * z) + b * (1.0 - s * (x * x + z * z)) + c * s * (y * z + w * x)
        R[r, 2] = a * s * (x * z + w * y) + b * s * (y * z - w * x) + c * (1.0 - s * (x * x + y * y))


@entry
def body_velocities(tree: KinematicTree, v: ConstFloat1D, S: Float3D, V_WB: Float2D) -> None:
    """Spatial velocities of all bodies.

    Args:
        tree: The ``KinematicTree``.
        v: (nv,) velocities.
        S: (nb, 6, 6) motion subspaces from ``forward_kinematics``.
        V_WB: (nb, 6) out; [w_WB; velocity of the body-fixed point at the world's origin], rad/s and m/s.
    """
    for i in range(tree.parent.shape[0]):
        parent, first = tree.parent[i], tree.v_index[i]
        for r in range(6):
            V_WB[i, r] = V_WB[parent, r] if parent >= 0 else 0.0
        for k in range(tree.num_v[i]):
            for r in range(6):
                V_WB[i, r] += S[i, k, r] * v[first + k]


@entry
def add_point_jacobian(
    tree: KinematicTree,
    S: Float3D,
    body: int,
    p_WP: ConstFloat1D,
    sign: float,
    J: Float2D,
) -> None:
    """Add ``sign`` times the Jacobian of a body-fixed point to J.

    Two calls, +1 for B and -1 for A, give the Jacobian of B's twist relative to A's at one point.

    Args:
        tree: The ``KinematicTree``.
        S: (nb, 6, 6) motion subspaces from ``forward_kinematics``.
        body: Index of the body; -1, the world, adds nothing.
        p_WP: (3,) the point, m.
        sign: Factor.
        J: (6, nv) in and out; J v = [w_WB; v_WP] in world axes.
    """
    while body >= 0:
        for k in range(tree.num_v[body]):
            column = tree.v_index[body] + k
            x, y, z = S[body, k, 0], S[body, k, 1], S[body, k, 2]
            J[0, column] += sign * x
            J[1, column] += sign * y
            J[2, column] += sign * z
            J[3, column] += sign * (S[body, k, 3] + y * p_WP[2] - z * p_WP[1])
            J[4, column] += sign * (S[body, k, 4] + z * p_WP[0] - x * p_WP[2])
            J[5, column] += sign * (S[body, k, 5] + x * p_WP[1] - y * p_WP[0])
        body = tree.parent[body]


@entry
def coordinate_rates(tree: KinematicTree, q: ConstFloat1D, v: ConstFloat1D, rates: Float1D) -> None:
    """Time derivative of the coordinates.

    Args:
        tree: The ``KinematicTree``.
        q: (nq,) coordinates. Quaternions need not be normalised; their norm stays.
        v: (nv,) velocities.
        rates: (nq,) out.
    """
    for k in range(tree.q_of_v.shape[0]):
        coordinate = tree.q_of_v[k]
        if coordinate >= 0:
            rates[coordinate] = v[k]
    for i in range(tree.parent.shape[0]):
        first_q, first_v = tree.q_index[i], tree.v_index[i]
        if tree.joint_type[i] == FLOATING:
            e, f, g, h = q[first_q], q[first_q + 1], q[first_q + 2], q[first_q + 3]
            b, c, d = 0.5 * v[first_v], 0.5 * v[first_v + 1], 0.5 * v[first_v + 2]
            rates[first_q] = -b * f - c * g - d * h
            rates[first_q + 1] = b * e + c * h - d * g
            rates[first_q + 2] = c * e + d * f - b * h
            rates[first_q + 3] = d * e + b * g - c * f
            for k in range(3):
                rates[first_q + 4 + k] = v[first_v + 3 + k]


@entry
def integrate_positions(
    tree: KinematicTree, q: ConstFloat1D, v: ConstFloat1D, dt: float, q_out: Float1D
) -> None:
    """Move the coordinates along constant velocities for a time ``dt``; exact for every joint.

    Args:
        tree: The ``KinematicTree``.
        q: (nq,) coordinates.
        v: (nv,) velocities.
        dt: Duration, s.
        q_out: (nq,) out, quaternions normalised; may be ``q`` itself.
    """
    for k in range(tree.q_of_v.shape[0]):
        coordinate = tree.q_of_v[k]
        if coordinate >= 0:
            q_out[coordinate] = q[coordinate] + dt * v[k]
    for i in range(tree.parent.shape[0]):
        first_q, first_v = tree.q_index[i], tree.v_index[i]
        if tree.joint_type[i] == FLOATING:
            _rotate_quaternion(
                q[first_q : first_q + 4], v[first_v : first_v + 3], dt, q_out[first_q : first_q + 4]
            )
            for k in range(3):
                q_out[first_q + 4 + k] = q[first_q + 4 + k] + dt * v[first_v + 3 + k]


@kernel
def _rotate_quaternion(quaternion, w, dt, out):
    """Exponential map of w dt, in the axes of the fixed frame, times the quaternion."""
    half = 0.5 * dt * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    sine, a = sine_cosine(half)
    # sin(x)/x loses its meaning at 0; the dropped term of the series is below rounding here.
    sinc = sine / half if half > 1e-4 else 1.0 - half * half / 6.0
    b, c, d = 0.5 * dt * sinc * w[0], 0.5 * dt * sinc * w[1], 0.5 * dt * sinc * w[2]
    e, f, g, h = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    norm = math.sqrt(e * e + f * f + g * g + h * h)
    a, b, c, d = a / norm, b / norm, c / norm, d / norm
    out[0] = a * e - b * f - c * g - d * h
    out[1] = a * f + b * e + c * h - d * g
    out[2] = a * g - b * h + c * e + d * f
    out[3] = a * h + b * g - c * f + d * e
