"""The equations of motion over arrays of any array API library, for derivatives and batches.

The same quantities as ``kinematics`` and ``equations`` compute, without writing into arrays, so that JAX differentiates
and vectorises them. Spatial vectors are about the world's origin in world axes, angular part first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from hydro_sim_core.dynamics.joint_dispatch import joint_number
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.errors import InputError

AnyArray = Any


@dataclass(frozen=True, eq=False)
class Posture:
    """Poses and Jacobians of all bodies at coordinates q (..., nq), whose leading axes all of them have.

    Attributes:
        R_WB: Orientation (..., 3, 3) of every body.
        p_WB: Origin (..., 3) of every body, m.
        own: Columns (..., 6, num_v) of every body's joint: twists per unit of its velocities.
        jacobians: (..., 6, nv) of every body: its twist about the world's origin is J v.
    """

    R_WB: list[AnyArray]
    p_WB: list[AnyArray]
    own: list[AnyArray]
    jacobians: list[AnyArray]


class BodyMasses(NamedTuple):
    """Masses of all bodies, of one tree or of many that differ in nothing else, along leading axes.

    Attributes:
        mass: (..., nb) kg.
        p_BCo: (..., nb, 3) centre of mass in the body's frame, m.
        I_BCo: (..., nb, 3, 3) inertia about it, kg m^2.
    """

    mass: AnyArray
    p_BCo: AnyArray
    I_BCo: AnyArray


def masses_of_tree(tree: KinematicTree, like: AnyArray) -> BodyMasses:
    """Those of a tree, as arrays of the library of ``like``."""
    return BodyMasses(*(_constant(like, values) for values in (tree.mass, tree.p_BCo, tree.I_BCo)))


def posture(tree: KinematicTree, q: AnyArray) -> Posture:
    """Poses and Jacobians at coordinates (..., nq), of one posture or many; quaternions need not be normalised.

    Raises:
        InputError: A joint is of a type that a plug-in brought, whose kernels are compiled.
    """
    nv = len(tree.damping)
    result = Posture(*body_poses(tree, q), [])
    for i, parent in enumerate(tree.parent.tolist()):
        own = result.own[i]
        select = np.zeros((own.shape[-1], nv))
        select[np.arange(own.shape[-1]), int(tree.v_index[i]) + np.arange(own.shape[-1])] = 1.0
        jacobian = own @ _constant(q, select)
        if parent >= 0:
            jacobian = jacobian + result.jacobians[parent]
        result.jacobians.append(jacobian)
    return result


def body_poses(tree: KinematicTree, q: AnyArray) -> tuple[list[AnyArray], list[AnyArray], list[AnyArray]]:
    """``R_WB``, ``p_WB`` and ``own`` of a ``Posture``, which take less time than its Jacobians; see ``posture``."""
    R_WB: list[AnyArray] = []
    p_WB: list[AnyArray] = []
    columns: list[AnyArray] = []
    for i, parent in enumerate(tree.parent.tolist()):
        R, p = _for_all(_constant(q, tree.R_PJ[i]), q), _for_all(_constant(q, tree.p_PJ[i]), q)
        if parent >= 0:
            R, p = R_WB[parent] @ R, p_WB[parent] + _rotated(R_WB[parent], p)
        first = int(tree.q_index[i])
        R, p, own = _placed(tree, i, q[..., first : first + int(tree.num_q[i])], R, p)
        for values, value in ((R_WB, R), (p_WB, p), (columns, own)):
            values.append(value)
    return R_WB, p_WB, columns


def body_velocities(tree: KinematicTree, own: list[AnyArray], v: AnyArray) -> list[AnyArray]:
    """Twists (..., 6) of all bodies about the world's origin at velocities (..., nv); ``own`` as in a ``Posture``."""
    V_WB: list[AnyArray] = []
    for i, parent in enumerate(tree.parent.tolist()):
        first = int(tree.v_index[i])
        V = (own[i] @ v[..., first : first + own[i].shape[-1], None])[..., 0]
        V_WB.append(V_WB[parent] + V if parent >= 0 else V)
    return V_WB


def body_accelerations(
    tree: KinematicTree, posed: Posture, V_WB: list[AnyArray], v: AnyArray, a: AnyArray
) -> list[AnyArray]:
    """Accelerations (..., 6) of all bodies about the world's origin, relative to free fall.

    Args:
        tree: The tree.
        posed: Its posture, whose Jacobians are not needed.
        V_WB: Twists of the bodies at the velocities.
        v: (..., nv) velocities.
        a: (..., nv) accelerations, rad/s^2 or m/s^2.
    """
    xp = array_api_compat.array_namespace(v)
    fall = _constant(v, np.concatenate([np.zeros(3), -tree.gravity]))
    A_WB: list[AnyArray] = []
    for i, parent in enumerate(tree.parent.tolist()):
        first, V = int(tree.v_index[i]), V_WB[i]
        before = V_WB[parent] if parent >= 0 else xp.zeros_like(V)
        A = A_WB[parent] if parent >= 0 else fall
        A = A + (posed.own[i] @ a[..., first : first + posed.own[i].shape[-1], None])[..., 0]
        A_WB.append(A + _joint_acceleration(tree, i, posed, V, before, v))
    return A_WB


def mass_matrix(tree: KinematicTree, posed: Posture, masses: BodyMasses) -> AnyArray:
    """(..., nv, nv) mass matrix with rotors."""
    xp = array_api_compat.array_namespace(masses.mass)
    rotors = _constant(masses.mass, np.diag(tree.rotor_inertia))
    M = xp.zeros((*masses.mass.shape[:-1], *rotors.shape), dtype=rotors.dtype) + rotors
    for i, J in enumerate(posed.jacobians):
        M = M + xp.matrix_transpose(J) @ _spatial_inertia(masses, i, posed) @ J
    return M


def bias_forces(tree: KinematicTree, posed: Posture, masses: BodyMasses, v: AnyArray) -> AnyArray:
    """(..., nv) Coriolis, centrifugal and gravity terms c of M a + c = tau at velocities (..., nv)."""
    xp = array_api_compat.array_namespace(v)
    total = xp.zeros_like(v)
    V_WB = [_rotated(J, v) for J in posed.jacobians]
    A_WB = body_accelerations(tree, posed, V_WB, v, total)
    for i, (V, A) in enumerate(zip(V_WB, A_WB, strict=True)):
        inertia = _spatial_inertia(masses, i, posed)
        F = _rotated(inertia, A) + _cross_wrench(V, _rotated(inertia, V)) + _weight_off(tree, i, posed)
        total = total + _rotated(xp.matrix_transpose(posed.jacobians[i]), F)
    return total


def point_jacobian(tree: KinematicTree, posed: Posture, body: int, p_BP: AnyArray, q: AnyArray) -> AnyArray:
    """(..., 6, nv) Jacobian of a point of a body, or of the world (-1), in world axes.

    Args:
        tree: The tree.
        posed: Its posture.
        body: The body.
        p_BP: (3,) the point in its frame, m.
        q: (..., nq) the coordinates.
    """
    xp = array_api_compat.array_namespace(q)
    if body < 0:
        return xp.zeros((*q.shape[:-1], 6, len(tree.damping)), dtype=q.dtype)
    J, p_WP = posed.jacobians[body], posed.p_WB[body] + _rotated(posed.R_WB[body], _constant(q, p_BP))
    turning, moving = J[..., :3, :], J[..., 3:, :]
    return xp.concat([turning, moving - _skew(p_WP) @ turning], axis=-2)


def coordinate_rates(tree: KinematicTree, q: AnyArray, v: AnyArray) -> AnyArray:
    """(nq,) time derivatives of the coordinates; those of quaternions keep their length."""
    xp = array_api_compat.array_namespace(q)
    rates: list[AnyArray] = []
    by_coordinate = {int(c): k for k, c in enumerate(tree.q_of_v) if c >= 0}
    starts = {int(tree.q_index[i]): int(tree.v_index[i]) for i in _floating(tree)}
    coordinate = 0
    while coordinate < q.shape[0]:
        if coordinate in starts:
            w = v[starts[coordinate] : starts[coordinate] + 6]
            rates.append(0.5 * _turned(w[:3], q[coordinate : coordinate + 4]))
            rates.append(w[3:])
            coordinate += 7
        else:
            rates.append(v[by_coordinate[coordinate]][None])
            coordinate += 1
    return xp.concat(rates) if rates else q


def integrated(tree: KinematicTree, q: AnyArray, v: AnyArray, dt: float) -> AnyArray:
    """(nq,) coordinates after ``dt`` (s) at constant velocities, quaternions normalised; exact for every joint."""
    xp = array_api_compat.array_namespace(q)
    moved = q + dt * coordinate_rates(tree, q, v)
    for i in _floating(tree):
        first, w = int(tree.q_index[i]), v[int(tree.v_index[i]) : int(tree.v_index[i]) + 3]
        before = q[first : first + 4]
        turned = before * _cosine_half(w, dt) + _turned(w, before) * _sine_half(w, dt)
        turned = turned / xp.sqrt(xp.sum(turned * turned))
        moved = xp.concat([moved[:first], turned, moved[first + 4 :]])
    return moved


def normalised(tree: KinematicTree, q: AnyArray) -> AnyArray:
    """The coordinates with quaternions of length 1."""
    xp = array_api_compat.array_namespace(q)
    for i in _floating(tree):
        first = int(tree.q_index[i])
        quaternion = q[first : first + 4]
        quaternion = quaternion / xp.sqrt(xp.sum(quaternion * quaternion))
        q = xp.concat([q[:first], quaternion, q[first + 4 :]])
    return q


def cross(a: AnyArray, b: AnyArray) -> AnyArray:
    """Cross product along the last axis, of which ``linalg`` is an optional part of the array API."""
    xp = array_api_compat.array_namespace(a, b)
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def _constant(like: AnyArray, values: np.ndarray) -> AnyArray:
    """A constant as an array of the library of ``like``."""
    return array_api_compat.array_namespace(like).asarray(np.array(values), dtype=like.dtype)


def _floating(tree: KinematicTree) -> list[int]:
    return np.flatnonzero(tree.num_q > tree.num_v).tolist()


def _placed(tree: KinematicTree, i: int, q: AnyArray, R: AnyArray, p: AnyArray) -> tuple[Any, Any, Any]:
    """Pose of body i, and its joint's columns (6, num_v), from the pose of its joint's frame."""
    place = _places().get(int(tree.joint_type[i]))
    if place is None:
        mend = "take a revolute, prismatic, planar, universal or floating one"
        raise InputError("posture", f"joint of body {i}", "is of a type without an array form", mend)
    return place(q, float(tree.q_scale[i]), float(tree.q_offset[i]), _constant(q, tree.axis[i]), R, p)


_Place = Callable[..., tuple[AnyArray, AnyArray, AnyArray]]


def _places() -> dict[int, _Place]:
    types = {
        "revolute": _turn,
        "prismatic": _slide,
        "planar": _move_in_plane,
        "floating": _float,
        "universal": _turn_twice,
    }
    return {joint_number(name): place for name, place in types.items()}


def _for_all(constant: AnyArray, q: AnyArray) -> AnyArray:
    """A constant for each of the postures ``q`` (..., nq)."""
    return array_api_compat.array_namespace(q).broadcast_to(constant, (*q.shape[:-1], *constant.shape))


def _rotated(R: AnyArray, p: AnyArray) -> AnyArray:
    """Products of vectors p (..., k) and matrices R (..., m, k), such as points and rotations."""
    return (R @ p[..., None])[..., 0]


def _rotation(axis: AnyArray, angle: AnyArray) -> AnyArray:
    """Matrices (..., 3, 3) of rotations by angles (...,) about a unit axis (3,), by Rodrigues' formula."""
    xp = array_api_compat.array_namespace(axis)
    x, y, z = axis[0], axis[1], axis[2]
    zero = xp.zeros_like(x)
    K = xp.stack(
        [xp.stack([zero, -z, y]), xp.stack([z, zero, -x]), xp.stack([-y, x, zero])],
    )
    eye, angle = _constant(axis, np.eye(3)), angle[..., None, None]
    return eye + xp.sin(angle) * K + (1.0 - xp.cos(angle)) * (K @ K)


def _turning(direction: AnyArray, p: AnyArray) -> AnyArray:
    """Twist (..., 6) of a unit rotation about a direction through p."""
    xp = array_api_compat.array_namespace(direction)
    return xp.concat([direction, cross(p, direction)], axis=-1)


def _sliding(direction: AnyArray) -> AnyArray:
    """Twist (..., 6) of a unit translation along a direction."""
    xp = array_api_compat.array_namespace(direction)
    return xp.concat([xp.zeros_like(direction), direction], axis=-1)


def _columns(twists: list[AnyArray]) -> AnyArray:
    return array_api_compat.array_namespace(twists[0]).stack(twists, axis=-1)


def _turn(q: Any, scale: float, offset: float, axis: Any, R: Any, p: Any) -> tuple[Any, Any, Any]:
    columns = _columns([scale * _turning(_rotated(R, axis), p)])
    return R @ _rotation(axis, scale * q[..., 0] + offset), p, columns


def _slide(q: Any, scale: float, offset: float, axis: Any, R: Any, p: Any) -> tuple[Any, Any, Any]:
    direction = _rotated(R, axis)
    return R, p + (scale * q[..., 0:1] + offset) * direction, _columns([scale * _sliding(direction)])


def _move_in_plane(q: Any, scale: float, offset: float, axis: Any, R: Any, p: Any) -> tuple[Any, Any, Any]:
    p = p + q[..., 0:1] * R[..., 0] + q[..., 1:2] * R[..., 1]
    columns = _columns([_sliding(R[..., 0]), _sliding(R[..., 1]), _turning(R[..., 2], p)])
    return R @ _rotation(_constant(q, np.array([0.0, 0.0, 1.0])), q[..., 2]), p, columns


def _float(q: Any, scale: float, offset: float, axis: Any, R: Any, p: Any) -> tuple[Any, Any, Any]:
    xp = array_api_compat.array_namespace(q)
    p = p + _rotated(R, q[..., 4:7])
    columns = [_turning(R[..., k], p) for k in range(3)] + [_sliding(R[..., k]) for k in range(3)]
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    rows = (
        (1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)),
    )
    turned = xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
    return R @ turned, p, _columns(columns)


def _turn_twice(q: Any, scale: float, offset: float, axis: Any, R: Any, p: Any) -> tuple[Any, Any, Any]:
    first = _turning(R[..., 0], p)
    R = R @ _rotation(_constant(q, np.array([1.0, 0.0, 0.0])), q[..., 0])
    second = _turning(R[..., 1], p)
    turned = _rotation(_constant(q, np.array([0.0, 1.0, 0.0])), q[..., 1])
    return R @ turned, p, _columns([first, second])


def _skew(p: AnyArray) -> AnyArray:
    """Matrices (..., 3, 3) of the cross product with p (..., 3)."""
    xp = array_api_compat.array_namespace(p)
    x, y, z = p[..., 0], p[..., 1], p[..., 2]
    zero = xp.zeros_like(x)
    rows = (zero, -z, y), (z, zero, -x), (-y, x, zero)
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def _spatial_inertia(masses: BodyMasses, i: int, posed: Posture) -> AnyArray:
    """(..., 6, 6) inertia of body i about the world's origin."""
    R, p = posed.R_WB[i], posed.p_WB[i]
    xp = array_api_compat.array_namespace(R)
    mass = masses.mass[..., i, None, None]
    C = _skew(p + _rotated(R, masses.p_BCo[..., i, :]))
    about_centre = R @ masses.I_BCo[..., i, :, :] @ xp.matrix_transpose(R)
    top = xp.concat([about_centre - mass * (C @ C), mass * C], axis=-1)
    eye = _constant(R, np.eye(3)) + xp.zeros_like(C)
    return xp.concat([top, xp.concat([-mass * C, mass * eye], axis=-1)], axis=-2)


def _cross_wrench(V: AnyArray, H: AnyArray) -> AnyArray:
    """Rate of change (..., 6) of a momentum H that moves with the twist V."""
    xp = array_api_compat.array_namespace(V)
    w, u, moment, force = V[..., :3], V[..., 3:], H[..., :3], H[..., 3:]
    return xp.concat([cross(w, moment) + cross(u, force), cross(w, force)], axis=-1)


def _weight_off(tree: KinematicTree, i: int, posed: Posture) -> AnyArray:
    """Wrench (..., 6) that takes the weight off of what gravity does not pull."""
    R, p = posed.R_WB[i], posed.p_WB[i]
    xp = array_api_compat.array_namespace(R)
    mass, g = float(tree.weightless[i, 0]), _constant(R, tree.gravity)
    moment = mass * p + _rotated(R, _constant(R, tree.weightless[i, 1:]))
    return xp.concat([cross(moment, g), mass * g + xp.zeros_like(p)], axis=-1)


def _joint_acceleration(
    tree: KinematicTree, i: int, posed: Posture, V: AnyArray, before: AnyArray, v: AnyArray
) -> AnyArray:
    """Acceleration (..., 6) of body i beyond its parent's at constant joint velocities; as the kernels have it."""
    xp = array_api_compat.array_namespace(V)
    p, joint = posed.p_WB[i], V - before
    w, a, b = before[..., :3], joint[..., :3], joint[..., 3:]
    # Axes pass through the body's origin and move with it.
    u = before[..., 3:] + b + cross(a, p)
    result = xp.concat([cross(w, a), cross(w, b) + cross(u, a)], axis=-1)
    if int(tree.joint_type[i]) == joint_number("universal"):
        first, second = posed.own[i][..., :3, 0], posed.own[i][..., :3, 1]
        k = int(tree.v_index[i])
        turn = (v[..., k] * v[..., k + 1])[..., None] * cross(first, second)
        result = result + xp.concat([turn, cross(p, turn)], axis=-1)
    return result


def _turned(w: AnyArray, quaternion: AnyArray) -> AnyArray:
    """Product (4,) of the pure quaternion of w (3,), in the axes of the fixed frame, and a quaternion."""
    xp = array_api_compat.array_namespace(w)
    b, c, d = w[0], w[1], w[2]
    e, f, g, h = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    return xp.stack(
        [-b * f - c * g - d * h, b * e + c * h - d * g, c * e + d * f - b * h, d * e + b * g - c * f]
    )


def _cosine_half(w: AnyArray, dt: float) -> AnyArray:
    """Cosine of half the angle of w dt, a smooth function of its square."""
    xp = array_api_compat.array_namespace(w)
    square = 0.25 * dt * dt * xp.sum(w * w)
    # A root has no derivative at 0: near it the series is as exact.
    large = square > 1e-4
    angle = xp.sqrt(xp.where(large, square, xp.ones_like(square)))
    return xp.where(large, xp.cos(angle), 1.0 - square * (0.5 - square * (1.0 / 24.0 - square / 720.0)))


def _sine_half(w: AnyArray, dt: float) -> AnyArray:
    """Sine of half the angle of w dt, divided by the length of w."""
    xp = array_api_compat.array_namespace(w)
    square = 0.25 * dt * dt * xp.sum(w * w)
    large = square > 1e-4
    angle = xp.sqrt(xp.where(large, square, xp.ones_like(square)))
    series = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0))
    return 0.5 * dt * xp.where(large, xp.sin(angle) / angle, series)
