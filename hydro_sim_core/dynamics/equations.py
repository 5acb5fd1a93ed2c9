# mypy: allow-untyped-defs
"""Equations of motion M(q) a + b(q, v) = tau, momentum and energy.

Spatial vectors are about the world's origin, see ``kinematics``. A spatial inertia about that origin is
stored as ten numbers: mass, first moment (3), inertia about the origin (xx, yy, zz, xy, xz, yz).
"""

from __future__ import annotations

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    Float1D,
    Float2D,
    Float3D,
    entry,
    kernel,
)
from hydro_sim_core.dynamics.joint_dispatch import accelerate_joint
from hydro_sim_core.dynamics.kinematics import body_velocities, forward_kinematics
from hydro_sim_core.dynamics.tree import KinematicTree, TreeScratch


@entry
def mass_matrix(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    M: Float2D,
    scratch: TreeScratch,
) -> None:
    """Mass matrix by the composite-rigid-body algorithm.

    Args:
        tree: The ``KinematicTree``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``p_WB`` and ``S``.
        p_WB: (nb, 3) m.
        S: (nb, 6, 6).
        M: (nv, nv) out, symmetric, with the rotor inertias on its diagonal.
        scratch: ``TreeScratch``; uses ``inertia`` and ``F_WB``.

    Reads scratch: F_WB, inertia; tree: parent, rotor_inertia.
    Writes scratch: F_WB, inertia.
    """
    M[:] = 0.0
    for k in range(M.shape[0]):
        M[k, k] = tree.rotor_inertia[k]
    composite = scratch.inertia
    for i in range(tree.parent.shape[0]):
        _spatial_inertia(tree, i, R_WB[i], p_WB[i], composite[i])
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        _add_columns(tree, i, S, composite[i], scratch.F_WB[i], M)
        parent = tree.parent[i]
        if parent >= 0:
            for r in range(10):
                composite[parent, r] += composite[i, r]


@kernel
def _add_columns(tree, i, S, composite, F, M):
    """Add the coupling of joint i with itself and with every joint on its path to the world.

    Reads tree: num_v, parent, v_index.
    """
    for k in range(tree.num_v[i]):
        column = tree.v_index[i] + k
        _multiply_inertia(composite, S[i, k], F)
        for n in range(tree.num_v[i]):
            M[tree.v_index[i] + n, column] += _dot(S[i, n], F)
        j = tree.parent[i]
        while j >= 0:
            for n in range(tree.num_v[j]):
                row = tree.v_index[j] + n
                coupling = _dot(S[j, n], F)
                # Both triangles are written: if a mimic joint makes row and column equal, the entry counts twice.
                M[row, column] += coupling
                M[column, row] += coupling
            j = tree.parent[j]


@entry
def inverse_dynamics(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    v: ConstFloat1D,
    a: ConstFloat1D,
    tau: Float1D,
    scratch: TreeScratch,
) -> None:
    """Joint forces that produce accelerations under gravity, tau = M a + b (recursive Newton-Euler).

    Args:
        tree: The ``KinematicTree``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``p_WB`` and ``S``.
        p_WB: (nb, 3) m.
        S: (nb, 6, 6).
        v: (nv,) velocities.
        a: (nv,) accelerations, rad/s^2 or m/s^2.
        tau: (nv,) out, N m or N; without joint damping and friction.
        scratch: ``TreeScratch``; uses ``V_WB``, ``A_WB``, ``F_WB`` and ``inertia``.

    Reads scratch: A_WB, F_WB, V_WB, inertia; tree: num_v, parent, rotor_inertia, v_index, weightless.
    Writes scratch: A_WB, F_WB, V_WB, inertia.
    """
    V_WB, A_WB, F_WB = scratch.V_WB, scratch.A_WB, scratch.F_WB
    body_velocities(tree, v, S, V_WB)
    for i in range(tree.parent.shape[0]):
        accelerate(tree, i, p_WB[i], S, v, a, V_WB, A_WB)
        _spatial_inertia(tree, i, R_WB[i], p_WB[i], scratch.inertia[i])
        _newton_euler(scratch.inertia[i], V_WB[i], A_WB[i], F_WB[i])
        if tree.weightless[i, 0] > 0.0:
            _take_weight_off(tree, i, R_WB[i], p_WB[i], F_WB[i])
    for k in range(tau.shape[0]):
        tau[k] = tree.rotor_inertia[k] * a[k]
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        for k in range(tree.num_v[i]):
            tau[tree.v_index[i] + k] += _dot(S[i, k], F_WB[i])
        parent = tree.parent[i]
        if parent >= 0:
            for r in range(6):
                F_WB[parent, r] += F_WB[i, r]


@entry
def body_accelerations_of_all(
    tree: KinematicTree,
    q: ConstFloat2D,
    v: ConstFloat2D,
    a: ConstFloat2D,
    R_WB: Float3D,
    p_WB: Float2D,
    V_WB: Float2D,
    A_WB: Float2D,
    S: Float3D,
) -> None:
    """Compute poses, spatial velocities and accelerations of all bodies at many postures.

    Args:
        tree: The ``KinematicTree``.
        q: (n, nq) coordinates of each posture. Quaternions need not be normalised.
        v: (n, nv) velocities.
        a: (n, nv) accelerations, rad/s^2 or m/s^2.
        R_WB: (n * nb, 3, 3) out, orientations, one posture after another.
        p_WB: (n * nb, 3) out, origins, m.
        V_WB: (n * nb, 6) out, as for ``body_velocities``.
        A_WB: (n * nb, 6) out, accelerations about the world's origin, relative to free fall.
        S: (nb, 6, 6) scratch memory.
    """
    nb = tree.parent.shape[0]
    for n in range(q.shape[0]):
        first, end = n * nb, (n + 1) * nb
        p, V, A = p_WB[first:end], V_WB[first:end], A_WB[first:end]
        forward_kinematics(tree, q[n], R_WB[first:end], p, S)
        body_velocities(tree, v[n], S, V)
        for i in range(nb):
            accelerate(tree, i, p[i], S, v[n], a[n], V, A)


@entry
def bias_forces(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    v: ConstFloat1D,
    b: Float1D,
    scratch: TreeScratch,
) -> None:
    """Coriolis, centrifugal and gravity terms b of M a + b = tau; arguments as in ``inverse_dynamics``.

    Reads scratch: at_rest.
    """
    inverse_dynamics(tree, R_WB, p_WB, S, v, scratch.at_rest, b, scratch)


@entry
def gravity_forces(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    g: Float1D,
    scratch: TreeScratch,
) -> None:
    """Joint forces g that hold the tree at rest under gravity; arguments as in ``inverse_dynamics``.

    Reads scratch: at_rest.
    """
    inverse_dynamics(tree, R_WB, p_WB, S, scratch.at_rest, scratch.at_rest, g, scratch)


@kernel
def accelerate(tree, i, p, S, v, a, V_WB, A_WB):
    """Spatial acceleration of body i relative to free fall, which accounts for gravity.

    Reads tree: gravity, joint_type, num_v, parent, v_index.
    """
    parent, first = tree.parent[i], tree.v_index[i]
    wx, wy, wz, vx, vy, vz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if parent >= 0:
        wx, wy, wz = V_WB[parent, 0], V_WB[parent, 1], V_WB[parent, 2]
        vx, vy, vz = V_WB[parent, 3], V_WB[parent, 4], V_WB[parent, 5]
    for r in range(3):
        A_WB[i, r] = A_WB[parent, r] if parent >= 0 else 0.0
        A_WB[i, 3 + r] = A_WB[parent, 3 + r] if parent >= 0 else -tree.gravity[r]
    for k in range(tree.num_v[i]):
        for r in range(6):
            A_WB[i, r] += S[i, k, r] * a[first + k]
    V, A = V_WB[i], A_WB[i]
    # The joint's axes move with the parent, which adds V_parent x (a, b) for the twist (a, b) of the joint.
    ax, ay, az, bx, by, bz = V[0] - wx, V[1] - wy, V[2] - wz, V[3] - vx, V[4] - vy, V[5] - vz
    # Rotation axes pass through the body's origin, which planar and floating joints also translate: the axes move with
    # the origin's relative velocity b + a x p.
    vx += bx + ay * p[2] - az * p[1]
    vy += by + az * p[0] - ax * p[2]
    vz += bz + ax * p[1] - ay * p[0]
    A[0] += wy * az - wz * ay
    A[1] += wz * ax - wx * az
    A[2] += wx * ay - wy * ax
    A[3] += wy * bz - wz * by + vy * az - vz * ay
    A[4] += wz * bx - wx * bz + vz * ax - vx * az
    A[5] += wx * by - wy * bx + vx * ay - vy * ax
    accelerate_joint(tree.joint_type[i], v[first : first + tree.num_v[i]], p, S[i], A)


@kernel
def _newton_euler(inertia, V, A, F):
    """Wrench F = I A + V x* I V on one body."""
    _multiply_inertia(inertia, V, F)
    lx, ly, lz, px, py, pz = F[0], F[1], F[2], F[3], F[4], F[5]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    _multiply_inertia(inertia, A, F)
    F[0] += wy * lz - wz * ly + vy * pz - vz * py
    F[1] += wz * lx - wx * lz + vz * px - vx * pz
    F[2] += wx * ly - wy * lx + vx * py - vy * px
    F[3] += wy * pz - wz * py
    F[4] += wz * px - wx * pz
    F[5] += wx * py - wy * px


@kernel
def _take_weight_off(tree, i, R, p, F):
    """Take the weight of what gravity does not pull off the wrench on body i.

    Reads tree: gravity, weightless.
    """
    m, g = tree.weightless[i, 0], tree.gravity
    h = weightless_moment(tree, i, R)
    x, y, z = m * p[0] + h[0], m * p[1] + h[1], m * p[2] + h[2]
    F[0] += y * g[2] - z * g[1]
    F[1] += z * g[0] - x * g[2]
    F[2] += x * g[1] - y * g[0]
    for r in range(3):
        F[3 + r] += m * g[r]


@kernel
def weightless_moment(tree, i, R):
    """First moment of the mass of body i that gravity does not pull, about its origin, in world axes, kg m.

    Reads tree: weightless.
    """
    x, y, z = tree.weightless[i, 1], tree.weightless[i, 2], tree.weightless[i, 3]
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@entry
def momentum(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    v: ConstFloat1D,
    L: Float1D,
    scratch: TreeScratch,
) -> None:
    """Momentum of all bodies.

    Args:
        tree: The ``KinematicTree``.
        R_WB: (nb, 3, 3) from ``forward_kinematics``, like ``p_WB`` and ``S``.
        p_WB: (nb, 3) m.
        S: (nb, 6, 6).
        v: (nv,) velocities.
        L: (6,) out, [angular momentum about the world's origin, kg m^2/s; linear momentum, kg m/s].
        scratch: ``TreeScratch``; uses ``V_WB``, ``F_WB`` and ``inertia``.

    Reads scratch: F_WB, V_WB, inertia.
    Writes scratch: F_WB, V_WB, inertia.
    """
    body_velocities(tree, v, S, scratch.V_WB)
    L[:] = 0.0
    for i in range(tree.parent.shape[0]):
        _spatial_inertia(tree, i, R_WB[i], p_WB[i], scratch.inertia[i])
        _multiply_inertia(scratch.inertia[i], scratch.V_WB[i], scratch.F_WB[i])
        for r in range(6):
            L[r] += scratch.F_WB[i, r]


@entry
def kinetic_energy(
    tree: KinematicTree,
    R_WB: Float3D,
    p_WB: Float2D,
    S: Float3D,
    v: ConstFloat1D,
    scratch: TreeScratch,
) -> float:
    """Kinetic energy of bodies and rotors, J; arguments as in ``momentum``.

    Reads scratch: F_WB, V_WB, inertia; tree: rotor_inertia.
    Writes scratch: F_WB, V_WB, inertia.
    """
    body_velocities(tree, v, S, scratch.V_WB)
    twice = 0.0
    for k in range(v.shape[0]):
        twice += tree.rotor_inertia[k] * v[k] * v[k]
    for i in range(tree.parent.shape[0]):
        _spatial_inertia(tree, i, R_WB[i], p_WB[i], scratch.inertia[i])
        _multiply_inertia(scratch.inertia[i], scratch.V_WB[i], scratch.F_WB[i])
        twice += _dot(scratch.V_WB[i], scratch.F_WB[i])
    return 0.5 * twice


@entry
def potential_energy(tree: KinematicTree, R_WB: Float3D, p_WB: Float2D) -> float:
    """Gravitational potential energy, J; zero with all mass at the world's origin.

    Reads tree: gravity, mass, p_BCo, weightless.
    """
    energy = 0.0
    for i in range(tree.parent.shape[0]):
        for r in range(3):
            height = p_WB[i, r]
            for c in range(3):
                height += R_WB[i, r, c] * tree.p_BCo[i, c]
            energy -= tree.mass[i] * tree.gravity[r] * height
        if tree.weightless[i, 0] > 0.0:
            moment = weightless_moment(tree, i, R_WB[i])
            for r in range(3):
                energy += tree.gravity[r] * (tree.weightless[i, 0] * p_WB[i, r] + moment[r])
    return energy


@kernel
def _spatial_inertia(tree, i, R, p, out):
    """Spatial inertia of body i about the world's origin.

    Reads tree: I_BCo, mass, p_BCo.
    """
    m, c, I_BCo = tree.mass[i], tree.p_BCo[i], tree.I_BCo[i]
    x = p[0] + R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2]
    y = p[1] + R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2]
    z = p[2] + R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2]
    out[0], out[1], out[2], out[3] = m, m * x, m * y, m * z
    out[4] = rotated_entry(R, I_BCo, 0, 0) + m * (y * y + z * z)
    out[5] = rotated_entry(R, I_BCo, 1, 1) + m * (x * x + z * z)
    out[6] = rotated_entry(R, I_BCo, 2, 2) + m * (x * x + y * y)
    out[7] = rotated_entry(R, I_BCo, 0, 1) - m * x * y
    out[8] = rotated_entry(R, I_BCo, 0, 2) - m * x * z
    out[9] = rotated_entry(R, I_BCo, 1, 2) - m * y * z


@kernel
def rotated_entry(R, I_BCo, r, c):
    """Entry (r, c) of R I_BCo R^T."""
    x = I_BCo[0, 0] * R[c, 0] + I_BCo[0, 1] * R[c, 1] + I_BCo[0, 2] * R[c, 2]
    y = I_BCo[1, 0] * R[c, 0] + I_BCo[1, 1] * R[c, 1] + I_BCo[1, 2] * R[c, 2]
    z = I_BCo[2, 0] * R[c, 0] + I_BCo[2, 1] * R[c, 1] + I_BCo[2, 2] * R[c, 2]
    return R[r, 0] * x + R[r, 1] * y + R[r, 2] * z


@kernel
def _multiply_inertia(inertia, V, F):
    """F = I V: wrench (momentum) of a twist."""
    m, hx, hy, hz = inertia[0], inertia[1], inertia[2], inertia[3]
    xx, yy, zz, xy, xz, yz = inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    F[0] = xx * wx + xy * wy + xz * wz + hy * vz - hz * vy
    F[1] = xy * wx + yy * wy + yz * wz + hz * vx - hx * vz
    F[2] = xz * wx + yz * wy + zz * wz + hx * vy - hy * vx
    F[3] = m * vx + wy * hz - wz * hy
    F[4] = m * vy + wz * hx - wx * hz
    F[5] = m * vz + wx * hy - wy * hx


@kernel
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
