"""The joints of a robot that move a frame, and their positions for its pose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, excerpt, shortened
from hydro_sim_core.manipulation.checks import LARGEST, number_within
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
#: The same while an arm moves within itself: with a pose that gives way at first, the way there has no narrow bends.
SOFT_WEIGHTS = (1e2, 1e3)
#: How far (rad, m) a frame may seem to move as a joint turns by a whole turn, if it comes back: rounding.
SAME_PLACE = 1e-9
#: Steps in which a pose near by is reached, each with about the square of the error before.
NEWTON_STEPS = 4
#: Largest change of a joint's position in the difference that gives the rate of the Jacobian, rad or m.
RATE_STEP = 1e-5


class Arm:
    """The joints that may move a frame, with a copy of the world to try them in.

    Args:
        asks: Name of the function that asks, for errors.
        world: World with the robot.
        frame: Name of the link.
        joints: Joints that may move; all that move the frame by default.

    Attributes:
        frame: Name of the link.
        names: Joints that may move.
        present: Their positions, within their limits, rad or m.
        speed_limits: Their largest speeds, rad/s or m/s.

    Raises:
        InputError: There is no such frame or joint, or no joint moves the frame.
    """

    def __init__(self, asks: str, world: World, frame: str, joints: Sequence[str] | None) -> None:
        self._asks, self._world, self.frame = asks, world.copy(), frame
        if frame not in world.frame_names:
            mend = did_you_mean(str(frame), world.frame_names)
            raise InputError(asks, f"frame '{shortened(str(frame))}'", "is not in the scene", mend)
        moves = np.abs(self._world.frame_jacobian(frame)).max(axis=0) > 0.0
        own = [
            name
            for name, can_move in zip(world.velocity_names, moves, strict=True)
            if can_move and name in world.joint_names
        ]
        self.names = tuple(own) if joints is None else self._checked(joints, own)
        if not self.names:
            raise InputError(
                self._asks,
                f"frame '{frame}'",
                "is moved by no joint",
                "give a link of a robot with joints",
            )
        self._columns = [world.velocity_names.index(name) for name in self.names]
        self._rows = [world.joint_names.index(name) for name in self.names]
        self._lower, self._upper = (limits[self._rows] for limits in world.joint_limits())
        weightless = world.weightless_joint_names
        self._is_borne = np.array([name in weightless for name in self.names])
        self.speed_limits = world.joint_velocity_limits()[self._rows]
        self.present = self.positions(world)
        self._at: Array | None = None
        self._turns = self._find_turns()

    def positions(self, world: World) -> Array:
        """Positions of the joints in a world, within their limits, rad or m."""
        return np.asarray(np.clip(world.joint_positions()[self._rows], self._lower, self._upper))

    def beyond(self, q: Array) -> list[str]:
        """Names of the joints that positions (J,) have outside their limits."""
        outside = (q < self._lower) | (q > self._upper)
        return [name for name, is_out in zip(self.names, outside, strict=True) if is_out]

    def goal(self, preferred: Mapping[str, float], argument: str = "preferred") -> dict[int, float]:
        """Preferred positions by the number of the joint; ``argument`` is what the user calls them."""
        mend = "give rad or m by name of joint"
        if not isinstance(preferred, Mapping):
            raise InputError(self._asks, argument, f"is {excerpt(preferred)}", mend)
        goal = {}
        for name, value in preferred.items():
            element = f"{argument}['{shortened(str(name))}']"
            if name not in self.names:
                mend = did_you_mean(str(name), self.names)
                raise InputError(self._asks, element, "is no joint that may move", mend)
            goal[self.names.index(name)] = number_within(
                self._asks, element, value, -LARGEST, LARGEST, "give rad or m"
            )
        return goal

    def wound(self, q: Array, near: Array) -> Array:
        """Positions (J,) of the same pose whose joints are within half a turn of others, where whole turns are free."""
        turns = np.round((q - near) / (2.0 * math.pi))
        return np.where(self._turns, q - 2.0 * math.pi * turns, q)

    def wound_goal(self, goal: Mapping[int, float], near: Array) -> dict[int, float]:
        """A goal that is met by the same angles, of the turns that are nearest to positions (J,)."""
        wanted = near.copy()
        wanted[list(goal)] = list(goal.values())
        wanted = self.wound(wanted, near)
        return {i: float(wanted[i]) for i in goal}

    def starts(self) -> list[Array]:
        """Where to start from: the present positions, then others within the limits, the same ones every time."""
        rng = np.random.default_rng(0)
        low = np.where(np.isfinite(self._lower), self._lower, self.present - math.pi)
        high = np.where(np.isfinite(self._upper), self._upper, self.present + math.pi)
        return [self.present, *rng.uniform(low, high, (ATTEMPTS, len(self.names)))]

    def pose(self, q: Array) -> Array:
        """Pose (4, 4) of the frame."""
        self._move(q)
        return self._world.frame_pose(self.frame)

    def efforts(self, q: Array, v: Array, a: Array) -> Array:
        """Efforts (J,) that a motion through positions takes, but for what drives bear of gravity."""
        self._move(q)
        self._world.set_joint_velocities(dict(zip(self.names, v.tolist(), strict=True)))
        M, bias = self._inertia_and_bias(self._world)
        return np.asarray(M @ a + bias)

    def step_towards(self, q: Array, target: Array) -> Array:
        """Positions after one Newton step from ``q`` towards a pose near to the present one."""
        error = self.error(q, target)
        # From here to there the least motion, whose error is of second order in the way.
        return np.asarray(q - np.linalg.lstsq(self._jacobian(self._world), error, rcond=None)[0])

    def close_by(self, start: Array, target: Array) -> Array:
        """Positions with a pose, or close to it, as near as they can be to others that nearly have it."""
        q = start
        for _ in range(NEWTON_STEPS):
            q = self.step_towards(q, target)
            if not is_reached(100.0 * self.error(q, target)):
                continue
            if self.beyond(q):
                break
            return q
        return self.nearest(self.nearest(start, target, dict(enumerate(start.tolist()))), target)

    def error(self, q: Array, target: Array) -> Array:
        """Turn (rad) and shift (m) of the frame from where it shall be, (6,), world axes."""
        self._move(q)
        return twist_between(target, self._world.frame_pose(self.frame), 1.0)

    def drawn(self, start: Array, target: Array, goal: Mapping[int, float]) -> Array:
        """Positions with a pose that the arm gets to from others with it, as it moves within itself to a goal."""
        q = start
        for weight in (*SOFT_WEIGHTS, POSE_WEIGHT):
            q = self.nearest(q, target, goal, weight)
        return self.nearest(q, target)

    def nearest(
        self,
        start: Array,
        target: Array,
        goal: Mapping[int, float] | None = None,
        pose_weight: float = POSE_WEIGHT,
    ) -> Array:
        """Positions from ``start`` on at which the error is least, and with a goal those among them nearest to it."""
        from scipy.optimize import least_squares  # 0.3 s, which not every start of a program should take

        goal = goal or {}
        towards, weight = list(goal), pose_weight if goal else 1.0
        scale = weight * np.array(3 * [LEVER] + 3 * [1.0])
        wanted = np.array([goal[i] for i in towards])

        def residual(q: Array) -> Array:
            return np.concatenate([scale * self.error(q, target), q[towards] - wanted])

        def slope(q: Array) -> Array:
            error = self.error(q, target)
            J = self._jacobian(self._world)
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

    def velocities(self, q: Array, V_WF: Array) -> Array:
        """The least joint velocities that come closest to a twist (6,) of the frame at ``q``."""
        self._move(q)
        return np.asarray(np.linalg.lstsq(self._jacobian(self._world), V_WF, rcond=None)[0])

    def dynamics(self, world: World) -> tuple[Array, Array, Array, Array]:
        """Mass matrix (J, J), Jacobian (6, J), velocities (J,) and bias forces (J,) of the joints in a world.

        All other joints count as held. What drives bear of gravity is not among the bias forces.
        """
        M, bias = self._inertia_and_bias(world)
        return M, self._jacobian(world), np.array(world.v)[self._columns], bias

    def jacobian_rate(self, world: World) -> Array:
        """Rate of the Jacobian (6, J) as the joints move in a world, 1/s: a central difference."""
        q, v = self.positions(world), np.array(world.v)[self._columns]
        h = RATE_STEP / (1.0 + float(np.abs(v).max()))
        ends = []
        for sign in (1.0, -1.0):
            self._move(q + sign * h * v)
            ends.append(self._jacobian(self._world))
        return np.asarray((ends[0] - ends[1]) / (2.0 * h))

    def by_name(self, q: Array) -> dict[str, float]:
        """Positions by name, those of joints without ends within half a turn of the present ones."""
        return dict(zip(self.names, self.wound(q, self.present).tolist(), strict=True))

    def _checked(self, joints: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
        """Joints that a user has named, of those that move the frame."""
        if isinstance(joints, str) or not isinstance(joints, Iterable):
            raise InputError(self._asks, "joints", f"is {excerpt(joints)}", "give a list of names")
        names = tuple(joints)
        for i, name in enumerate(names):
            element = f"joint '{shortened(str(name))}'"
            if name not in own:
                mend = did_you_mean(str(name), own)
                raise InputError(self._asks, element, f"does not move '{self.frame}'", mend)
            if name in names[:i]:
                raise InputError(self._asks, element, "is named twice in joints", "name it once")
        return names

    def _find_turns(self) -> NDArray[np.bool_]:
        """(J,) of joints without ends whether a whole turn brings the frame back, as of no slide and no screw."""
        turns = np.isinf(self._upper) & np.isinf(self._lower)
        X_WF = self.pose(self.present)
        for i in np.flatnonzero(turns):
            X_turned = self.pose(self.present + 2.0 * math.pi * (np.arange(len(self.names)) == i))
            turns[i] = np.abs(twist_between(X_WF, X_turned, 1.0)).max() <= SAME_PLACE
        self.pose(self.present)
        return turns

    def _inertia_and_bias(self, world: World) -> tuple[Array, Array]:
        """Mass matrix (J, J) and bias forces (J,), see ``dynamics``."""
        columns = self._columns
        M = world.mass_matrix()[np.ix_(columns, columns)]
        borne = np.where(self._is_borne, world.gravity_forces()[columns], 0.0)
        return M, world.bias_forces()[columns] - borne

    def _jacobian(self, world: World) -> Array:
        """Jacobian (6, J) of the frame as the joints stand in a world."""
        return world.frame_jacobian(self.frame)[:, self._columns]

    def _move(self, q: Array) -> None:
        if self._at is not None and np.array_equal(q, self._at):
            return  # a controller asks for pose, Jacobian and efforts of one place
        self._at = np.array(q)
        # Ways to a pose may lead beyond limits, and nothing steps this world.
        positions = dict(zip(self.names, q.tolist(), strict=True))
        self._world.set_state(self._world.coordinates(positions, {}), self._world.v)


def size_of(error: Array) -> float:
    return float(np.hypot(LEVER * np.linalg.norm(error[:3]), np.linalg.norm(error[3:])))


def is_reached(error: Array) -> bool:
    return bool(max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) <= TOLERANCE)


def off_by(error: Array) -> str:
    """An error (6,) of a pose, rad and m, as people write it: without a part that is none."""
    angle, distance = math.degrees(float(np.linalg.norm(error[:3]))), float(np.linalg.norm(error[3:]))
    parts = []
    if distance >= 1e-6 or angle < 1e-3:
        # Three digits, and in no case an exponent.
        is_far = distance >= 0.9995
        parts.append(
            f"{distance:.0f} m" if distance >= 999.5 else f"{distance:.3g} m" if is_far else _in_mm(distance)
        )
    if angle >= 1e-3:
        parts.append(f"{angle:.3g} degrees")
    return " and ".join(parts)


def _in_mm(distance: float) -> str:
    return f"{1e3 * distance:.3g} mm" if distance >= 1e-6 else "less than 0.001 mm"


def _rate_of_turn(turn: Array) -> Array:
    """Rate of a rotation vector per angular velocity, (3, 3), both in the axes that it turns from."""
    x, y, z = turn
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = float(np.linalg.norm(turn))
    # (1 - (t/2) cot(t/2)) / t^2 with its limit 1/12.
    bend = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle**2 if angle > 1e-4 else 1.0 / 12.0
    return np.asarray(np.eye(3) - 0.5 * cross + bend * cross @ cross)
