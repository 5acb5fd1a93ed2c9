"""A rigid body held by contact points of fixed position, normal and force, with friction without moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description.spec import InertialSpec

Array = NDArray[np.float64]

#: Tolerance of the momentum balance, relative to the applied impulse.
TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class GripPoint:
    """Contact point of a finger.

    Attributes:
        p_WC: (3,) position, m.
        normal: (3,) unit vector into the body.
        force: Force along the normal, N.
    """

    p_WC: Array
    normal: Array
    force: float


@dataclass(eq=False)
class HeldBody:
    """A body at its centre of mass, in the world frame.

    Attributes:
        mass: Mass, kg.
        I_BBo: (3, 3) inertia tensor about the centre of mass, in the body's axes, kg m^2.
        R_WB: (3, 3) orientation.
        p_WBo: (3,) centre of mass, m.
        V_WB: (6,) angular velocity, rad/s, then velocity of the centre of mass, m/s.
    """

    mass: float
    I_BBo: Array
    R_WB: Array
    p_WBo: Array
    V_WB: Array

    @classmethod
    def at_rest(cls, inertial: InertialSpec, X_WL: Array) -> HeldBody:
        """Make a body of a link at rest at pose ``X_WL`` (4, 4)."""
        p_WBo = X_WL[:3, :3] @ inertial.p_LCo + X_WL[:3, 3]
        return cls(inertial.mass, inertial.I_LCo, X_WL[:3, :3].copy(), p_WBo, np.zeros(6))

    @property
    def I_W(self) -> Array:
        """(3, 3) inertia in the world's axes, kg m^2."""
        return self.R_WB @ self.I_BBo @ self.R_WB.T


def reduce_patch(patch: ContactPatch, body: str, force: float) -> GripPoint:
    """Reduce a patch to one point: centre of pressure, mean normal into ``body``, and ``force`` (N) along it."""
    push = patch.normal_force_on_b if patch.name_b == body else -patch.normal_force_on_b
    return GripPoint(patch.centroid, push / np.linalg.norm(push), force)


def step(
    body: HeldBody,
    points: Sequence[GripPoint],
    gravity: Array,
    friction: float,
    stiction_speed: float,
    dt: float,
) -> None:
    """Advance by ``dt`` (s), implicit in velocity like a step of ``World``, with the same friction law.

    Args:
        body: The body, changed in place.
        points: Contact points, fixed in the world.
        gravity: (3,) gravity, m/s^2.
        friction: Coefficient of friction.
        stiction_speed: Sliding speed at which friction is 71 % of its full value, m/s.
        dt: Time step, s.

    Raises:
        ArithmeticError: The momentum balance does not converge.
    """
    mass = np.zeros((6, 6))
    mass[:3, :3], mass[3:, 3:] = body.I_W, body.mass * np.eye(3)
    spin = body.V_WB[:3]
    # Gyroscopic moment at the beginning of the step, because the body turns slowly.
    applied = np.concatenate([-np.cross(spin, body.I_W @ spin), body.mass * gravity])
    jacobians = [np.hstack([-_cross_matrix(point.p_WC - body.p_WBo), np.eye(3)]) for point in points]
    impulse = applied + sum(J.T @ (p.force * p.normal) for J, p in zip(jacobians, points, strict=True))

    def residual(V: Array) -> tuple[Array, Array]:
        momentum, resistance = mass @ (V - body.V_WB) - dt * impulse, mass.copy()
        for J, point in zip(jacobians, points, strict=True):
            tangential = np.eye(3) - np.outer(point.normal, point.normal)
            sliding = tangential @ (J @ V)
            speed = np.sqrt(sliding @ sliding + stiction_speed**2)
            grip = friction * point.force / speed
            momentum += dt * grip * J.T @ sliding
            resistance += dt * grip * J.T @ (tangential - np.outer(sliding, sliding) / speed**2) @ J
        return momentum, resistance

    solution = root(residual, body.V_WB, jac=True, tol=1e-12)
    if not np.abs(solution.fun).max() <= TOLERANCE * dt * np.linalg.norm(impulse):
        raise ArithmeticError(f"the held body's step does not converge: {solution.message}")
    body.V_WB = solution.x
    body.R_WB = Rotation.from_rotvec(dt * body.V_WB[:3]).as_matrix() @ body.R_WB
    body.p_WBo = body.p_WBo + dt * body.V_WB[3:]


def pendulum(body: HeldBody, points: Sequence[GripPoint], gravity: Array, times: Array) -> Array:
    """Angles (rad) at ``times`` (s) of the body on a hinge through two points, initially at rest."""
    first, second = points
    axis = second.p_WC - first.p_WC
    axis /= np.linalg.norm(axis)
    arm = body.p_WBo - first.p_WC
    arm -= axis * (axis @ arm)
    inertia = float(axis @ body.I_W @ axis + body.mass * arm @ arm)

    def rates(_: float, state: Array) -> tuple[float, float]:
        angle, speed = state
        moment = np.cross(Rotation.from_rotvec(angle * axis).apply(arm), body.mass * gravity)
        return speed, float(axis @ moment) / inertia

    span = (float(times[0]), float(times[-1]))
    return solve_ivp(rates, span, (0.0, 0.0), t_eval=times, rtol=1e-10, atol=1e-12).y[0]


def _cross_matrix(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
