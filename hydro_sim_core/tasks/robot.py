"""A robot as the controller of a task sees it: what is measured, and what it is told."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, told_apart
from hydro_sim_core.manipulation.arm import Arm
from hydro_sim_core.simulation import JointCommand, World

Array = NDArray[np.float64]
#: (A, B) of the wrench of A on B.
Pair = tuple[str, str]
#: Speeds are compared to their limits with this factor for rounding.
_ROUNDED = 1.0 + 1e-9


@dataclass(frozen=True)
class Measurement:
    """What the node publishes of an instant. It can be read, not written: what a controller sees is what is judged.

    Attributes:
        time: s.
        positions: Of joints by name, rad or m (``joint_states``).
        wrenches: (6,) force (N) and moment (N m) of A on B about B's origin, in B's axes, by (A, B)
            (``~/wrench/A_on_B``), of the pairs that the scene reports; an item of the environment has the world's.
        poses: (4, 4) pose in the world by link: from the positions of joints, and of objects as from a camera that
            tells where they are (``multi_dof_joint_states``). What is welded is where a seed has put it, for the judge:
            before a real arm nobody tells a controller of that.
        images: (H, W) depth of the membrane (m, NaN where there is none) by Soft-bubble finger, of those that a task
            looks through (``bubble_N/depth/image_rect_raw``).
    """

    time: float
    positions: Mapping[str, float]
    wrenches: Mapping[Pair, Array]
    poses: Mapping[str, Array]
    images: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", MappingProxyType({**self.positions}))
        for name in ("wrenches", "poses", "images"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))


def _read_only(arrays: Mapping[Any, NDArray[Any]]) -> Mapping[Any, NDArray[Any]]:
    """The same arrays by name, which nobody can write to through what is given."""
    return MappingProxyType({name: _unwritten(array) for name, array in arrays.items()})


def _unwritten(array: NDArray[Any]) -> NDArray[Any]:
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


#: A controller, or a part of one: each ``yield`` gives the commands of a period (``joint_commands``) and receives what
#: is measured at its end.
Script = Generator[dict[str, JointCommand], Measurement, None]


class TaskFailed(Exception):
    """What a controller ends with that cannot go on, with the reason."""


class GraspLost(TaskFailed):
    """Something is not grasped, or not any more: the one failure that another try may mend."""


@dataclass(frozen=True)
class Gripper:
    """Two fingers that move against each other along the y axis of the palm.

    Attributes:
        palm: Link that carries them.
        joints: Their joints.
        links: Their links, in the same order.
        sides: Sign of y on the side of each.
        called: What one and what both are, in reasons of a failure.
    """

    palm: str
    joints: tuple[str, str]
    links: tuple[str, str]
    sides: tuple[float, float]
    called: tuple[str, str] = ("finger", "fingers")


class ToolArm:
    """An arm that holds a tool.

    Args:
        model: World with the robot at its place, for its kinematics and dynamics.
        flange: Link that carries the tool.
        period: Time between two commands, s.

    Attributes:
        X_PT: (4, 4) tool in the flange.
        phase: What it is doing, in words.
    """

    def __init__(self, model: World, flange: str, period: float) -> None:
        self.arm = Arm("task", model, flange, None)
        self.flange, self.period = flange, period
        self.X_PT: Array = np.eye(4)
        self.phase = "begin"
        self._limits = dict(zip(model.joint_names, zip(*model.joint_limits(), strict=True), strict=True))
        self._v = np.zeros(len(self.arm.names))
        self._efforts = np.zeros(len(self.arm.names))
        self._moves = False
        self._measured: Measurement | None = None
        self._q: Array | None = None

    def start(self, measured: Measurement) -> None:
        """Begin where the robot stands."""
        self.measured = measured
        self.q = np.array([self.within_limits(name, measured.positions[name]) for name in self.arm.names])

    # --- what is known

    @property
    def measured(self) -> Measurement:
        """The newest measurement."""
        return _begun(self._measured)

    @measured.setter
    def measured(self, measured: Measurement) -> None:
        self._measured = measured

    @property
    def q(self) -> Array:
        """(J,) commanded positions of the arm, rad."""
        return _begun(self._q)

    @q.setter
    def q(self, q: Array) -> None:
        self._q = q

    def within_limits(self, joint: str, position: float) -> float:
        """The position (rad or m) nearest to a measured one that a joint can be commanded to.

        Limits are elastic: what presses on a joint may hold it a little beyond one, where no command may lead it.
        """
        lower, upper = self._limits[joint]
        return float(min(max(position, lower), upper))

    @property
    def measured_q(self) -> Array:
        """(J,) measured positions of the arm, rad."""
        return np.array([self.measured.positions[name] for name in self.arm.names])

    @property
    def X_WT(self) -> Array:
        """Commanded pose (4, 4) of the tool."""
        return np.asarray(self.arm.pose(self.q) @ self.X_PT)

    @property
    def most_in_a_period(self) -> Array:
        """(J,) the furthest that joints can move in a period, rad."""
        return np.asarray(self.period * self.arm.speed_limits)

    def towards(self, X_WT: Array) -> Array:
        """(J,) positions that take the tool from where it is to a pose (4, 4) near by."""
        return self.arm.step_towards(self.q, X_WT @ np.linalg.inv(self.X_PT))

    def hold_tool(self, link: str) -> None:
        """Take a link as the tool, as it is held now.

        Raises:
            TaskFailed: There is no such link.
        """
        poses = self.measured.poses
        _check_link(link, poses)
        self.X_PT = np.linalg.inv(poses[self.flange]) @ poses[link]

    # --- what it is told

    def go_to(self, q: Array) -> None:
        """Be at positions (J,) at the end of the coming period, with the efforts that this takes.

        Raises:
            TaskFailed: A joint cannot be there, or not so soon.
        """
        if beyond := self.arm.beyond(q):
            raise TaskFailed(f"the arm cannot go on: {beyond[0]} is at the end of its range")
        v = (q - self.q) / self.period
        for name, speed, limit in zip(self.arm.names, np.abs(v), self.arm.speed_limits, strict=True):
            if not speed <= limit * _ROUNDED:
                fast, most = told_apart(speed, limit)
                told = f"{name} would move at {fast}, and its velocity limit is {most}"
                raise TaskFailed(f"the arm cannot go on: {told}")
        self._efforts = self.arm.efforts(self.q, self._v, (v - self._v) / self.period)
        self.q, self._v, self._moves = q, v, True

    def commands(self) -> dict[str, JointCommand]:
        """Commands of the coming period; the arm stands still unless it was told to go."""
        if not self._moves:
            self._v, self._efforts = np.zeros((2, len(self.q)))
        self._moves = False
        return {
            name: JointCommand(float(q), float(v), float(effort))
            for name, q, v, effort in zip(self.arm.names, self.q, self._v, self._efforts, strict=True)
        }


class Robot(ToolArm):
    """An arm with a gripper.

    Args:
        model: World with the robot at its place, for its kinematics and dynamics.
        gripper: Its gripper.
        period: Time between two commands, s.

    Attributes:
        opening: Commanded distance of each finger from the middle, m.
        squeeze: Force (N) with which fingers close instead; they then keep their middle, as geared ones do.

    Raises:
        InputError: The world has no such joint or link of a gripper.
    """

    def __init__(self, model: World, gripper: Gripper, period: float) -> None:
        super().__init__(model, gripper.palm, period)
        _check_gripper(gripper, model)
        self.gripper = gripper
        self.squeeze: float | None = None

    def start(self, measured: Measurement) -> None:
        """Begin where the robot stands."""
        super().start(measured)
        self.opening = self.kept_opening

    # --- what is known

    @property
    def side(self) -> str:
        """What one of those is that hold."""
        return self.gripper.called[0]

    @property
    def measured_opening(self) -> float:
        """Mean distance of the fingers from the middle, m."""
        fingers = zip(self.gripper.joints, self.gripper.sides, strict=True)
        return float(np.mean([side * self.measured.positions[name] for name, side in fingers]))

    @property
    def kept_opening(self) -> float:
        """Distance of each finger from the middle (m) that leaves it where it is: as measured, within both limits."""
        opening = self.measured_opening
        for name, side in zip(self.gripper.joints, self.gripper.sides, strict=True):
            opening = side * self.within_limits(name, side * opening)
        return opening

    def forces_of(self, held: str) -> Array:
        """(2, 3) contact force of a link on each finger, in the axes of the palm, N.

        Raises:
            TaskFailed: There is no such link, or the scene does not report the wrenches.
        """
        return np.array([self._force_of(held, link) for link in self.gripper.links])

    def _force_of(self, held: str, finger: str) -> Array:
        poses, wrenches = self.measured.poses, self.measured.wrenches
        R_PW = poses[self.gripper.palm][:3, :3].T
        # A scene tells of a pair in the order of its models.
        if (held, finger) in wrenches:
            return np.asarray(R_PW @ poses[finger][:3, :3] @ wrenches[held, finger][:3])
        if (finger, held) in wrenches:
            return np.asarray(-(R_PW @ poses[held][:3, :3]) @ wrenches[finger, held][:3])
        _check_link(held, poses)
        raise TaskFailed(
            f"the scene reports no wrench of {held} on {finger}; add [{held}, {finger}] to its report.wrenches"
        )

    def grip_on(self, held: str) -> float:
        """Force with which the looser of the fingers presses on a link, N."""
        outward = self.forces_of(held)[:, 1] * np.array(self.gripper.sides)
        return float(outward.min())

    def load_of(self, held: str) -> Array:
        """(3,) force of a link on the fingers together, world axes, N."""
        return np.asarray(self.measured.poses[self.gripper.palm][:3, :3] @ self.forces_of(held).sum(axis=0))

    # --- what it is told

    def commands(self) -> dict[str, JointCommand]:
        """Commands of the coming period; the arm stands still unless it was told to go."""
        commands = super().commands()
        opening = self.opening if self.squeeze is None else self.kept_opening
        for name, side in zip(self.gripper.joints, self.gripper.sides, strict=True):
            commands[name] = JointCommand(side * opening, 0.0, -side * (self.squeeze or 0.0))
        return commands


_Value = TypeVar("_Value")


def _begun(value: _Value | None) -> _Value:
    """What a robot knows since its start."""
    if value is None:
        raise TaskFailed("the robot is used before its start; call robot.start(measured) first")
    return value


def _check_link(link: str, poses: Mapping[str, Array]) -> None:
    if link not in poses:
        raise TaskFailed(f"the scene has no link '{link}'; {did_you_mean(str(link), poses)}")


def _check_gripper(gripper: Gripper, model: World) -> None:
    for kind, names, known in (
        ("joint", gripper.joints, model.joint_names),
        ("link", gripper.links, model.frame_names),
    ):
        for name in names:
            if name not in known:
                problem = "of the gripper is not in the scene"
                raise InputError("task", f"{kind} '{name}'", problem, did_you_mean(str(name), known))
