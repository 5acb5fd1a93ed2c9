"""Joint positions at which a frame has a pose, within the joints' limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.rotations import twist_between
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: A turn of one radian counts as much as this distance, m.
LEVER = 0.3
#: Errors below which a pose is reached, m and rad.
TOLERANCE = 1e-7
#: Starts from other positions of the joints, after the present one: the arm's ways around are few.
ATTEMPTS = 20
#: Weight of the pose beside the distance from the preferred positions, 1/m.
POSE_WEIGHT = 1e4


def inverse_kinematics(
    world: World,
    frame: str,
    X_WF: ArrayLike,
    *,
    joints: Sequence[str] | None = None,
    preferred: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Find joint positions at which a link's frame has a pose, near those that the joints have now.

    The sum of squares of the pose's error is minimised within the limits of the joints, from the present positions and,
    if these lead nowhere, from twenty others, which are always the same. The world is not changed:
    ``world.set_joint_positions`` and ``world.set_command`` take the result.

    Args:
        world: World whose robots stand where the frame's base shall be.
        frame: Name of the link.
        X_WF: (4, 4) pose that it shall have in the world.
        joints: Joints that may move; all that move the frame by default.
        preferred: Positions (rad or m) that joints shall be near to as far as the pose leaves them free, by name.

    Returns:
        Positions (rad or m) of the joints that may move, by name. Joints without limits stay within half a turn of
        where they are.

    Raises:
        InputError: There is no such frame or joint, no joint moves the frame, the pose is none, or no positions within
            the limits reach it.
    """
    target = as_pose(X_WF, "inverse_kinematics", "X_WF")
    arm = _Arm(world, frame, joints)
    goal = arm.goal(preferred or {})
    least = np.full(6, np.inf)
    for start in arm.starts():
        q = arm.nearest(start, target)
        least = min(least, arm.error(q, target), key=_size)
        if _is_reached(least):
            break
    else:
        raise InputError(
            "inverse_kinematics",
            f"frame '{shortened(frame)}'",
            f"stays {1e3 * float(np.linalg.norm(least[3:])):.3g} mm and {math.degrees(np.linalg.norm(least[:3])):.3g} "
            f"degrees off the pose within the limits of {', '.join(arm.names)}",
            "give a pose that is in reach",
        )
    if goal:
        q = arm.nearest(arm.nearest(q, target, goal), target)
    return arm.by_name(q)


class _Arm:
    """The joints that may move a frame, with a copy of the world to try them in."""

    def __init__(self, world: World, frame: str, joints: Sequence[str] | None) -> None:
        self._world, self._frame = world.copy(), frame
        moves = np.abs(self._world.frame_jacobian(frame)).max(axis=0) > 0.0
        own = [
            name
            for name, can_move in zip(world.velocity_names, moves, strict=True)
            if can_move and name in world.joint_names
        ]
        for name in joints if joints is not None else ():
            if name not in own:
                element = f"joint '{shortened(str(name))}'"
                raise InputError(
                    "inverse_kinematics", element, f"does not move '{frame}'", did_you_mean(str(name), own)
                )
        self.names = tuple(own if joints is None else joints)
        if not self.names:
            raise InputError(
                "inverse_kinematics",
                f"frame '{frame}'",
                "is moved by no joint",
                "give a link of a robot with joints",
            )
        self._columns = [world.velocity_names.index(name) for name in self.names]
        rows = [world.joint_names.index(name) for name in self.names]
        self._lower, self._upper = (limits[rows] for limits in world.joint_limits())
        self.present = np.clip(world.joint_positions()[rows], self._lower, self._upper)

    def goal(self, preferred: Mapping[str, float]) -> dict[int, float]:
        """Preferred positions by the number of the joint."""
        for name in preferred:
            if name not in self.names:
                element = f"preferred['{shortened(str(name))}']"
                mend = did_you_mean(str(name), self.names)
                raise InputError("inverse_kinematics", element, "is no joint that may move", mend)
            if not math.isfinite(preferred[name]):
                raise InputError(
                    "inverse_kinematics",
                    f"preferred['{shortened(name)}']",
                    "is not finite",
                    "give rad or m",
                )
        return {self.names.index(name): float(value) for name, value in preferred.items()}

    def starts(self) -> list[Array]:
        """Where to start from: the present positions, then others within the limits, the same ones every time."""
        rng = np.random.default_rng(0)
        low = np.where(np.isfinite(self._lower), self._lower, self.present - math.pi)
        high = np.where(np.isfinite(self._upper), self._upper, self.present + math.pi)
        return [self.present, *rng.uniform(low, high, (ATTEMPTS, len(self.names)))]

    def error(self, q: Array, target: Array) -> Array:
        """Turn (rad) and shift (m) of the frame from where it shall be, (6,), world axes."""
        self._move(q)
        return twist_between(target, self._world.frame_pose(self._frame), 1.0)

    def nearest(self, start: Array, target: Array, goal: Mapping[int, float] | None = None) -> Array:
        """Positions from ``start`` on at which the error is least, and with a goal those among them nearest to it."""
        from scipy.optimize import least_squares  # 0.3 s, which not every start of a program should take

        goal = goal or {}
        towards, weight = list(goal), POSE_WEIGHT if goal else 1.0
        scale = weight * np.array(3 * [LEVER] + 3 * [1.0])
        wanted = np.array([goal[i] for i in towards])

        def residual(q: Array) -> Array:
            return np.concatenate([scale * self.error(q, target), q[towards] - wanted])

        def slope(q: Array) -> Array:
            error = self.error(q, target)
            J = self._world.frame_jacobian(self._frame)[:, self._columns]
            J[:3] = _rate_of_turn(error[:3]) @ J[:3]
            return np.vstack([scale[:, None] * J, np.eye(len(q))[towards]])

        # Starts on a limit would be refused by the method, which stays inside.
        width = np.where(np.isfinite(self._upper - self._lower), self._upper - self._lower, 1.0)
        inside = np.clip(start, self._lower + 1e-9 * width, self._upper - 1e-9 * width)
        found = least_squares(
            residual,
            inside,
            slope,
            (self._lower, self._upper),
            ftol=1e-15,
            xtol=1e-15,
            gtol=1e-15,
            max_nfev=200,
        )
        return np.asarray(found.x)

    def by_name(self, q: Array) -> dict[str, float]:
        """Positions by name, those of joints without limits within half a turn of the present ones."""
        turns = np.round((q - self.present) / (2.0 * math.pi))
        q = np.where(np.isinf(self._upper - self._lower), q - 2.0 * math.pi * turns, q)
        return dict(zip(self.names, q.tolist(), strict=True))

    def _move(self, q: Array) -> None:
        self._world.set_joint_positions(dict(zip(self.names, q.tolist(), strict=True)))


def _size(error: Array) -> float:
    return float(np.hypot(LEVER * np.linalg.norm(error[:3]), np.linalg.norm(error[3:])))


def _is_reached(error: Array) -> bool:
    return bool(max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) <= TOLERANCE)


def _rate_of_turn(turn: Array) -> Array:
    """Rate of a rotation vector per angular velocity, (3, 3), both in the axes that it turns from."""
    x, y, z = turn
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = float(np.linalg.norm(turn))
    # (1 - (t/2) cot(t/2)) / t^2 with its limit 1/12.
    bend = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle**2 if angle > 1e-4 else 1.0 / 12.0
    return np.asarray(np.eye(3) - 0.5 * cross + bend * cross @ cross)
