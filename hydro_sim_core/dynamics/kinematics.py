# mypy: allow-untyped-defs
"""Kinematics of the tree: poses, motion subspaces, velocities, Jacobians, integration.

Every spatial vector is taken about the world's origin in world axes, angular part first: a twist is [w; v_O],
with v_O the velocity of the body-fixed point that passes through the world's origin. Quantities of different
bodies then add without any change of frame, and a column of the motion subspace is a column of every
descendant's Jacobian.
"""

from __future__ import annotations

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, Float1D, Float2D, Float3D, entry, kernel
from hydro_sim_core.dynamics.joint_dispatch import integrate_joint, joint_rates, place_joint
from hydro_sim_core.dynamics.tree import KinematicTree


@entry
def forward_kinematics(
    tree: KinematicTree, q: ConstFloat1D, R_WB: Float3D, p_WB: Float2D, S: Float3D
) -> None:
    """Compute poses and motion subspaces of all bodies.

    Args:
        tree: The ``KinematicTree``.
        q: (nq,) coordinates. Quaternions need not be normalised.
        R_WB: (nb, 3, 3) out, orientations.
        p_WB: (nb, 3) out, origins, m.
        S: (nb, 6, 6) out; row ``S[i, k]`` is the twist of body i relative to its parent for a unit of the
            k-th velocity of its joint. Rows from ``num_v[i]`` on are scratch memory of its type.

    Reads tree: axis, joint_type, num_q, q_index, q_offset, q_scale.
    """
    for i in range(tree.parent.shape[0]):
        _place_joint_frame(tree, i, R_WB, p_WB)
        first = tree.q_index[i]
        place_joint(
            tree.joint_type[i],
            q[first : first + tree.num_q[i]],
            tree.q_scale[i],
            tree.q_offset[i],
            tree.axis[i],
            R_WB[i],
            p_WB[i],
            S[i],
        )


@kernel
def _place_joint_frame(tree, i, R_WB, p_WB):
    """Write the pose of joint frame J of body i to the entries of its body frame.

    Reads tree: R_PJ, p_PJ, parent.
    """
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


@entry
def body_velocities(tree: KinematicTree, v: ConstFloat1D, S: Float3D, V_WB: Float2D) -> None:
    """Spatial velocities of all bodies.

    Args:
        tree: The ``KinematicTree``.
        v: (nv,) velocities.
        S: (nb, 6, 6) motion subspaces from ``forward_kinematics``.
        V_WB: (nb, 6) out; [w_WB; velocity of the body-fixed point at the world's origin], rad/s and m/s.

    Reads tree: num_v, parent, v_index.
    """
    for i in range(tree.parent.shape[0]):
        parent, first = tree.parent[i], tree.v_index[i]
        for r in range(6):
            V_WB[i, r] = V_WB[parent, r] if parent >= 0 else 0.0
        for k in range(tree.num_v[i]):
            for r in range(6):
                V_WB[i, r] += S[i, k, r] * v[first + k]


@entry
def body_motions_of_all(
    tree: KinematicTree,
    q: ConstFloat2D,
    v: ConstFloat2D,
    R_WB: Float3D,
    p_WB: Float2D,
    V_WB: Float2D,
    S: Float3D,
) -> None:
    """Compute poses and spatial velocities of all bodies at many postures.

    Args:
        tree: The ``KinematicTree``.
        q: (n, nq) coordinates of each posture. Quaternions need not be normalised.
        v: (n, nv) velocities.
        R_WB: (n * nb, 3, 3) out, orientations, one posture after another.
        p_WB: (n * nb, 3) out, origins, m.
        V_WB: (n * nb, 6) out, as for ``body_velocities``.
        S: (nb, 6, 6) scratch memory.
    """
    nb = tree.parent.shape[0]
    for i in range(q.shape[0]):
        first, end = i * nb, (i + 1) * nb
        forward_kinematics(tree, q[i], R_WB[first:end], p_WB[first:end], S)
        body_velocities(tree, v[i], S, V_WB[first:end])


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

    Reads tree: num_v, v_index.
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
        q: (nq,) coordinates. Quaternions need not be normalised; the rates preserve their norm.
        v: (nv,) velocities.
        rates: (nq,) out.

    Reads tree: joint_type, num_q, num_v, q_index, q_of_v, v_index.
    """
    for k in range(tree.q_of_v.shape[0]):
        coordinate = tree.q_of_v[k]
        if coordinate >= 0:
            rates[coordinate] = v[k]
    for i in range(tree.parent.shape[0]):
        first, first_v = tree.q_index[i], tree.v_index[i]
        end, end_v = first + tree.num_q[i], first_v + tree.num_v[i]
        joint_rates(tree.joint_type[i], q[first:end], v[first_v:end_v], rates[first:end])


@entry
def integrate_positions(
    tree: KinematicTree, q: ConstFloat1D, v: ConstFloat1D, dt: float, q_out: Float1D
) -> None:
    """Integrate the coordinates at constant velocities over a time ``dt``; exact for every joint.

    Args:
        tree: The ``KinematicTree``.
        q: (nq,) coordinates.
        v: (nv,) velocities.
        dt: Duration, s.
        q_out: (nq,) out, quaternions normalised; may be ``q`` itself.

    Reads tree: joint_type, num_q, num_v, q_index, q_of_v, v_index.
    """
    for k in range(tree.q_of_v.shape[0]):
        coordinate = tree.q_of_v[k]
        if coordinate >= 0:
            q_out[coordinate] = q[coordinate] + dt * v[k]
    for i in range(tree.parent.shape[0]):
        first, first_v = tree.q_index[i], tree.v_index[i]
        end, end_v = first + tree.num_q[i], first_v + tree.num_v[i]
        integrate_joint(tree.joint_type[i], q[first:end], v[first_v:end_v], dt, q_out[first:end])
