"""Operational-space impedance (Khatib 1987): a frame that yields like a mass on springs and dampers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_array, as_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation.arm import LEVER, Arm
from hydro_sim_core.manipulation.checks import LARGEST, number_within, of_kind
from hydro_sim_core.rotations import twist_between
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: Least eigenvalue of the frame's mobility, as a share of the largest, along which it can still be pushed; a turn of
#: one radian counts as ``LEVER``.
SINGULAR = 1e-6


@dataclass(frozen=True)
class Impedance:
    """How a frame yields.

    Attributes:
        stiffness: (6,) against turns (N m/rad) and shifts (N/m) along the world's axes.
        damping_ratio: Share of critical damping of each mode.
        posture_stiffness: Stiffness with which a redundant arm keeps its posture without moving the frame, N m/rad.

    Raises:
        InputError: A number is negative, not finite or none.
    """

    stiffness: ArrayLike = (30.0, 30.0, 30.0, 500.0, 500.0, 500.0)
    damping_ratio: float = 1.0
    posture_stiffness: float = 5.0

    def __post_init__(self) -> None:
        stiffness = as_array(self.stiffness, (6,), "Impedance", "stiffness")
        mend = "give finite numbers, 0 or more"
        if not np.all((stiffness >= 0.0) & (stiffness <= LARGEST)):
            raise InputError("Impedance", "stiffness", f"is {stiffness}", mend)
        for name in ("damping_ratio", "posture_stiffness"):
            value = number_within("Impedance", name, getattr(self, name), 0.0, LARGEST, mend)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "stiffness", stiffness)


class ImpedanceControl:
    """Makes a link's frame follow a motion and yield to forces like a damped spring.

    The wrench at the frame is ``Lambda (A - Jdot v) + K e + D (V - J v)``, with the frame's inertia
    ``Lambda = (J M^-1 J^T)^-1`` and D so that each mode of Lambda and K has the damping ratio. Along directions in
    which the arm is singular it does not push. Coriolis forces are compensated, and gravity where the drives do not.

    Args:
        world: World with the robot, in whose present state efforts are asked for.
        frame: Name of the link.
        impedance: How it yields.
        posture: Positions (rad or m) by name to which joints are drawn as far as the frame leaves them free, those that
            turn without end to the nearest turn; by default none are, and only their speed is damped.
        joints: Joints that may be given efforts; all that move the frame by default. Others count as held.

    Raises:
        InputError: There is no such frame or joint, no joint moves the frame, or a position of the posture is none.
    """

    def __init__(
        self,
        world: World,
        frame: str,
        impedance: Impedance | None = None,
        posture: Mapping[str, float] | None = None,
        joints: Sequence[str] | None = None,
    ) -> None:
        self._world, self._frame = world, frame
        how = Impedance() if impedance is None else impedance
        self._how = of_kind("ImpedanceControl", "impedance", how, Impedance, "give an Impedance")
        self._arm = Arm("ImpedanceControl", world, frame, joints)
        goal = self._arm.goal({} if posture is None else posture, "posture")
        self._posture = self._arm.wound_goal(goal, self._arm.present)

    def efforts(
        self, X_WF: ArrayLike, V_WF: ArrayLike = (0.0,) * 6, A_WF: ArrayLike = (0.0,) * 6
    ) -> dict[str, float]:
        """Efforts for the world's present state.

        Args:
            X_WF: (4, 4) pose that the frame shall have.
            V_WF: (6,) twist that it shall have, rad/s and m/s, world axes.
            A_WF: (6,) rate of that twist.

        Returns:
            Efforts (N m or N) of the joints, by name, as ``World.set_command`` takes them.

        Raises:
            InputError: An argument has another shape, or is not finite.
        """
        target = as_pose(X_WF, "ImpedanceControl", "X_WF")
        twist, rate = (
            as_array(value, (6,), "ImpedanceControl", name)
            for name, value in (("V_WF", V_WF), ("A_WF", A_WF))
        )
        stiffness = np.asarray(self._how.stiffness)
        M, J, v, bias = self._arm.dynamics(self._world)
        inertia = _inertia(J, M)
        damping = _damping(inertia, np.diag(stiffness), self._how.damping_ratio)
        error = twist_between(self._world.frame_pose(self._frame), target, 1.0)
        wrench = inertia @ (rate - self._arm.jacobian_rate(self._world) @ v)
        wrench += stiffness * error + damping @ (twist - J @ v)
        towards = self._towards_posture(M, v)
        # Of the rest only what does not accelerate the frame (dynamically consistent null space).
        rest = towards - J.T @ (inertia @ (J @ np.linalg.solve(M, towards)))
        return dict(zip(self._arm.names, (J.T @ wrench + bias + rest).tolist(), strict=True))

    def _towards_posture(self, M: Array, v: Array) -> Array:
        """Efforts that draw joints to the posture, and damp all."""
        q, stiffness = self._arm.positions(self._world), self._how.posture_stiffness
        towards = -2.0 * np.sqrt(stiffness * np.diag(M)) * v
        for i, wanted in self._posture.items():
            towards[i] += stiffness * (wanted - q[i])
        return np.asarray(towards)


def _inertia(J: Array, M: Array) -> Array:
    """Inertia (6, 6) of a frame, 0 along directions in which it cannot move."""
    scale = np.array(3 * [LEVER] + 3 * [1.0])
    mobility = scale[:, None] * (J @ np.linalg.solve(M, J.T)) * scale
    values, vectors = np.linalg.eigh(0.5 * (mobility + mobility.T))
    inverse = np.where(values > SINGULAR * values[-1], 1.0 / np.maximum(values, 1e-300), 0.0)
    return np.asarray(scale[:, None] * ((vectors * inverse) @ vectors.T) * scale)


def _damping(inertia: Array, stiffness: Array, ratio: float) -> Array:
    """Damping (6, 6) that gives each mode a ratio, by the square roots of both (Albu-Schäffer 2003)."""
    root_inertia, root_stiffness = (_root(matrix) for matrix in (inertia, stiffness))
    return np.asarray(ratio * (root_inertia @ root_stiffness + root_stiffness @ root_inertia))


def _root(matrix: Array) -> Array:
    """Square root of a symmetric matrix without negative eigenvalues, but for round-off."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
