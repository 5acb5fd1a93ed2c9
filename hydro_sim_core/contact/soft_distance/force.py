"""The soft-minimum contact model: one smooth wrench for a pair of bodies.

Equation numbers are those of Beker 2025. Each point of one cloud meets every plane of the other with a
spring, a damper and regularised friction (eqs. 14 to 20); the planes are averaged by the softmax of their distances
(eq. 22), the points of both clouds by the softmax of their separations (eq. 23).

In eq. 21 the reaction acts at the plane's centre, which leaves a couple, and gives friction between two bodies that
rotate as one. Here action and reaction act at the point, with the velocities of both bodies there: Newton's third law
then holds for moments too, and a common rigid motion gives no force. The two versions agree in the limit of a dense
cloud.

The paper's damping factor has a second derivative that jumps where a body begins to part and where damping has taken
all force. ``damping_blend`` replaces it by its mean over an interval of speeds, which is twice differentiable.
"""

from __future__ import annotations

from dataclasses import dataclass

import array_api_compat
import numpy as np

from hydro_sim_core.contact.soft_distance.checks import (
    AnyArray,
    check_bits,
    check_libraries,
    check_parameter,
    checked_array,
    checked_pose,
    is_traced,
)
from hydro_sim_core.contact.soft_distance.cloud import (
    OrientedCloud,
    Planes,
    blocks,
    inverse_times,
    placed,
)
from hydro_sim_core.contact.soft_distance.distance import softmax, weights_and_heights
from hydro_sim_core.contact.soft_distance.pytrees import pytree, register_pytrees
from hydro_sim_core.errors import InputError

#: Names of the parameters, in the order of ``SoftContactModel``.
PARAMETERS = (
    "stiffness",
    "mu",
    "dissipation_velocity",
    "stiction_velocity",
    "epsilon1",
    "epsilon2",
    "epsilon3",
    "damping_blend",
)


@pytree(traced=PARAMETERS)
@dataclass(frozen=True)
class SoftContactModel:
    """Parameters of the model: numbers, or what JAX traces, whose values are not known and not checked.

    Once JAX is imported, models are pytrees, so that ``jax.grad`` gives derivatives by all parameters.

    Attributes:
        stiffness: k, N/m of penetration, for the pair as a whole.
        mu: Coefficient of friction; may be 0.
        dissipation_velocity: v_d, m/s; at twice this separation speed the normal force is damped to zero.
        stiction_velocity: v_s, m/s; well below it friction is viscous.
        epsilon1: Temperature of the average over planes, m^2.
        epsilon2: Temperature of the average over points, m.
        epsilon3: Temperature of the spring's softplus, m: how far the force reaches before contact.
        damping_blend: Half of the interval of speeds over which the damping factor is averaged, in units of
            ``dissipation_velocity``, below 1: with more than 0 the force is twice differentiable, with 0 it is that of
            the paper. The factor of a body at rest is ``1 + damping_blend^2 / 24`` and not 1.

    Raises:
        InputError: A parameter is outside of its range, see ``description.soft_ranges``.
    """

    stiffness: float
    mu: float
    dissipation_velocity: float
    stiction_velocity: float
    epsilon1: float
    epsilon2: float
    epsilon3: float
    damping_blend: float = 0.1

    def __post_init__(self) -> None:
        register_pytrees()
        for name in PARAMETERS:
            check_parameter(getattr(self, name), "SoftContactModel", name)


def contact_wrench(
    a: OrientedCloud,
    X_WA: AnyArray,
    V_WA: AnyArray,
    b: OrientedCloud,
    X_WB: AnyArray,
    V_WB: AnyArray,
    model: SoftContactModel,
) -> AnyArray:
    """Contact wrench on B, about the origin of B, in world axes; eqs. 14 to 23.

    Args:
        a: Surface A in its frame.
        X_WA: (4, 4) pose of A in the world.
        V_WA: (6,) twist of A's origin in world axes, angular then linear, rad/s and m/s.
        b: Surface B in its frame.
        X_WB: (4, 4) pose of B in the world.
        V_WB: (6,) twist of B.
        model: The parameters.

    Returns:
        (6,) moment, N m, then force, N. The wrench on A is its opposite, shifted to A's origin.

    Raises:
        InputError: A pose is no rigid transform or a twist not six finite numbers. Arrays of other libraries
            than NumPy are checked by their shape and bits only.
    """
    X_WA, X_WB = checked_pose(X_WA, "contact_wrench", "X_WA"), checked_pose(X_WB, "contact_wrench", "X_WB")
    V_WA, V_WB = _checked_twist(V_WA, "V_WA"), _checked_twist(V_WB, "V_WB")
    check_libraries("contact_wrench", a=a.points, b=b.points, X_WA=X_WA, X_WB=X_WB, V_WA=V_WA, V_WB=V_WB)
    xp = array_api_compat.array_namespace(a.points)

    # Computed in B's frame, so that the result does not depend on the world's origin.
    X_BA, R_WB = inverse_times(X_WB, X_WA), X_WB[:3, :3]
    w_WA, v_WA = R_WB.T @ V_WA[:3], R_WB.T @ V_WA[3:]
    w_WB, v_WB = R_WB.T @ V_WB[:3], R_WB.T @ V_WB[3:]
    # Velocity of B relative to A as a field: an angular velocity, and a linear one at B's origin.
    v_AB = v_WB - v_WA + _cross(w_WA[None, :], X_BA[None, :3, 3])[0, :]
    on_b = point_forces(
        placed(a, X_BA[:3, :3], X_BA[:3, 3]),
        Planes(b.points, b.normals, b.is_half_space),
        w_WB - w_WA,
        v_AB,
        model,
    )
    moments = _cross(on_b.points, on_b.forces)
    return xp.concat([R_WB @ xp.sum(moments, axis=0), R_WB @ xp.sum(on_b.forces, axis=0)])


@dataclass(frozen=True, eq=False)
class PointForces:
    """What presses on the points of two clouds, those of B first; a half space has no points.

    Attributes:
        points: (F, 3) m.
        weights: (F,) softmax of minus the separations, with sum 1.
        separations: (F,) soft distance of each to the other cloud, m.
        forces: (F, 3) weighted force on B, N; eq. 23 sums them up.
    """

    points: AnyArray
    weights: AnyArray
    separations: AnyArray
    forces: AnyArray


def point_forces(
    a: Planes, b: Planes, w_AB: AnyArray, v_AB: AnyArray, model: SoftContactModel
) -> PointForces:
    """Forces on all points, eqs. 14 to 23; both clouds in one frame.

    Args:
        a: Surface A.
        b: Surface B.
        w_AB: (3,) angular velocity of B relative to A, rad/s.
        v_AB: (3,) velocity relative to A of the point of B at the origin, m/s.
        model: The parameters.

    Raises:
        InputError: Both are half spaces.
    """
    xp = array_api_compat.array_namespace(a.points, b.points)
    if a.is_half_space and b.is_half_space:
        raise InputError("contact_wrench", "clouds", "are two half spaces", "give one of them a bounded body")
    points, separations, forces = [], [], []
    for cloud, other, sign in ((b, a, 1.0), (a, b, -1.0)):
        if cloud.is_half_space:
            continue
        velocities = sign * (v_AB + _cross(xp.broadcast_to(w_AB, cloud.points.shape), cloud.points))
        heights, pushes = _point_forces(cloud.points, velocities, other.points, other.normals, model)
        points.append(cloud.points)
        separations.append(heights)
        forces.append(sign * pushes)
    separation = xp.concat(separations)
    weights = softmax(-separation / model.epsilon2)
    return PointForces(xp.concat(points), weights, separation, weights[:, None] * xp.concat(forces))


def damping_factor(x: AnyArray, blend: float = 0.0) -> AnyArray:
    """Damping factor d of the normal force at separation speed ``x v_d``: the mean of eqs. 16 and 17 over x +- blend.

    Its second derivative is 1/2 between 0 and 2, without ``blend``; with it, a trapezoid whose ramps are 2 ``blend``
    wide, so that d is made of cubic and square polynomials.
    """
    xp = array_api_compat.array_namespace(x)
    zero = xp.zeros_like(x)
    # Without a blend no speed lies on a ramp. JAX has to see a number there all the same.
    width = xp.where(blend > 0.0, blend, 1.0) if is_traced(blend) else blend or 1.0
    onset = 1.0 - x + (x + blend) ** 3 / (24.0 * width)
    middle = 0.25 * (x - 2.0) ** 2 + blend * blend / 12.0
    ending = (2.0 + blend - x) ** 3 / (24.0 * width)
    late = xp.where(x <= 2.0 - blend, middle, xp.where(x <= 2.0 + blend, ending, zero))
    return xp.where(x <= -blend, 1.0 - x, xp.where(x <= blend, onset, late))


def _point_forces(
    points: AnyArray,
    velocities: AnyArray,
    plane_points: AnyArray,
    plane_normals: AnyArray,
    model: SoftContactModel,
) -> tuple[AnyArray, AnyArray]:
    """Soft distance (M,) of points to a cloud and force (M, 3) on each, from velocities relative to the cloud.

    A plane's force ``l_n n - mu l_n v_t / s`` with ``v_t = v - v_n n`` is ``l_n (1 + mu v_n / s) n - (mu l_n / s) v``:
    its weighted sum over planes takes two matrix products and no (M, N, 3) array.
    """
    xp = array_api_compat.array_namespace(points, plane_points)
    distances, forces = [], []
    for block in blocks(points.shape[0], plane_points.shape[0]):
        p, v = points[block, :], velocities[block, :]
        weights, heights = weights_and_heights(plane_points, plane_normals, p, model.epsilon1)
        v_n = v @ plane_normals.T
        normal_force = (
            model.stiffness
            * softplus(-heights, model.epsilon3)
            * damping_factor(v_n / model.dissipation_velocity, model.damping_blend)
        )
        slip_squared = xp.sum(v * v, axis=1)[:, None] - v_n * v_n
        slip_squared = xp.where(slip_squared > 0.0, slip_squared, xp.zeros_like(slip_squared))  # round-off
        friction = model.mu * normal_force / xp.sqrt(model.stiction_velocity**2 + slip_squared)
        along_normals = weights * (normal_force + friction * v_n)
        distances.append(xp.sum(weights * heights, axis=1))
        forces.append(along_normals @ plane_normals - xp.sum(weights * friction, axis=1)[:, None] * v)
    return xp.concat(distances), xp.concat(forces)


def softplus(x: AnyArray, epsilon: float) -> AnyArray:
    """``epsilon log(1 + exp(x / epsilon))`` without overflow, eq. 3."""
    xp = array_api_compat.array_namespace(x)
    return epsilon * xp.logaddexp(x / epsilon, xp.zeros_like(x))


def _cross(a: AnyArray, b: AnyArray) -> AnyArray:
    """Cross product of rows; ``linalg.cross`` is only an optional extension of the array API."""
    xp = array_api_compat.array_namespace(a, b)
    a0, a1, a2 = a[:, 0], a[:, 1], a[:, 2]
    b0, b1, b2 = b[:, 0], b[:, 1], b[:, 2]
    return xp.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=1)


def _checked_twist(V: AnyArray, element: str) -> AnyArray:
    V = checked_array(V, "contact_wrench", element)
    if V.shape != (6,):
        raise InputError("contact_wrench", element, f"has shape {V.shape}", "give six numbers, angular first")
    if array_api_compat.is_numpy_array(V) and not np.all(np.isfinite(V)):
        raise InputError("contact_wrench", element, "holds NaN or infinity", "give finite numbers")
    if not array_api_compat.is_numpy_array(V):
        check_bits("contact_wrench", element, V)
    return V
