"""Joint trajectory controller, like joint_trajectory_controller: on a topic, or as goals with tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.motion import Motion, PositionLimits, check_between_knots, position_limits
from hydro_sim.controllers.tolerances import JointTolerance, Tolerances, violation
from hydro_sim.controllers.trajectory import Knot, Trajectory, parse_trajectory, trajectory_is_over
from hydro_sim.hil.link import Action
from hydro_sim.rejections import STOP_COMPLIANCE
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.realtime.plan import LEFT, REACHED, RUNS, Plan
from hydro_sim_core.simulation.running.sources import steps_before

Array = NDArray[np.float64]
#: Result codes of FollowJointTrajectory.
SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS = 0, -1, -2
OLD_HEADER_TIMESTAMP, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -3, -4, -5
#: Simulated time between two reports of progress, s; the default of joint_trajectory_controller.
FEEDBACK_PERIOD = 0.05
_NONE = JointTolerance()


@dataclass(frozen=True)
class Progress:
    """Desired and actual state of a motion at a simulated ``time`` (s)."""

    time: float
    joints: tuple[str, ...]
    desired: Knot
    actual: Knot


class Goal(Protocol):
    """Protocol of a goal that receives feedback and result of a trajectory."""

    def tell(self, progress: Progress) -> None:
        """Report progress."""

    def finish(self, outcome: str, code: int, reason: str) -> None:
        """Report the end: ``succeeded``, ``aborted`` or ``canceled``."""


@dataclass(eq=False)
class _Order:
    """A trajectory that has not started."""

    trajectory: Trajectory
    goal: Goal | None
    tolerances: Tolerances | None

    def end(self, code: int, reason: str) -> None:
        if self.goal is not None:
            self.goal.finish("aborted", code, reason)


@dataclass(eq=False)
class _Run(_Order):
    """A running trajectory; ``joints`` are those not taken over by others, ``columns`` their columns in the motion."""

    motion: Motion
    joints: tuple[str, ...]
    columns: list[int]
    desired: Knot  # desired at the beginning of the coming step
    over: bool = False
    told_at: float = -math.inf

    def leave(self, joints: Collection[str]) -> None:
        kept = [(joint, column) for joint, column in zip(self.joints, self.columns, strict=True)]
        kept = [(joint, column) for joint, column in kept if joint not in joints]
        self.joints = tuple(joint for joint, _ in kept)
        self.columns = [column for _, column in kept]


class JointTrajectoryController(Controller):
    """Follows trajectories; several can run at the same time if they share no joint.

    Args:
        world: World with the joints, which checks trajectories.
        arbiter: Arbiter of the joints.
        now: Returns the simulated time as known in the executor's thread, s.
        refuse: Called with the error when a trajectory cannot be started or continued.
        publish: Called with the progress of all joints that trajectories move, every ``FEEDBACK_PERIOD``.
    """

    interface = "trajectory"

    def __init__(
        self,
        world: World,
        arbiter: Arbiter,
        now: Callable[[], float],
        refuse: Callable[[InputError], None],
        publish: Callable[[Progress], None] | None = None,
    ) -> None:
        self._arbiter = arbiter
        self._now = now
        self._refuse = refuse
        self._publish = publish
        self._published_at = -math.inf
        self._waiting: list[_Order] = []
        self._runs: list[_Run] = []
        self._stopping: set[str] = set()
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world
        self._limits = position_limits(world)
        self._index = {name: i for i, name in enumerate(world.joint_names)}
        self._damped = {name for name in self._limits if world.takes(name, "velocity")}
        for order in [
            order for order in self._waiting if not set(order.trajectory.joints) <= set(self._limits)
        ]:
            self._waiting.remove(order)
            order.end(INVALID_JOINTS, "a joint is no longer in the scene")

    # --- called in the executor's thread

    def check(self, message: JointTrajectory) -> Action:
        """Check a message; return the action that starts it.

        Raises:
            InputError: The trajectory is malformed, already over, or leaves the limits of its joints.
        """
        trajectory = self.checked(message)
        return lambda world: self.follow(trajectory)

    def checked(self, message: JointTrajectory) -> Trajectory:
        """Parse and check a trajectory, a little beyond the limits moved to them; errors as for ``check``."""
        trajectory = _off_the_stops(parse_trajectory(message, self._now()), self._limits)
        for knot in trajectory.knots:
            self._world.check_command(knot.positions, mode="position", joints=trajectory.joints)
        check_between_knots(trajectory, self._limits)
        return trajectory

    # --- called in the stepping thread

    def follow(
        self,
        trajectory: Trajectory,
        goal: Goal | None = None,
        tolerances: Tolerances | None = None,
    ) -> None:
        """Schedule a trajectory for its start time; present motions of its joints continue until then.

        Args:
            trajectory: Checked trajectory.
            goal: Goal that receives feedback and result.
            tolerances: Tolerances of the goal.

        Raises:
            InputError: A joint is no longer in the scene; the goal is then aborted.
        """
        for joint in trajectory.joints:
            if joint not in self._limits:
                if goal is not None:
                    goal.finish("aborted", INVALID_JOINTS, f"{joint}: no longer in the scene")
                mend = "reset the simulation, or command the joints that remain"
                raise InputError("trajectory", f"'{joint}'", "is no longer in the scene", mend)
        for order in [
            order for order in self._waiting if set(order.trajectory.joints) & set(trajectory.joints)
        ]:
            self._waiting.remove(order)
            order.end(INVALID_GOAL, "preempted by a new trajectory")
        if goal is not None:
            self._leave(trajectory.joints, "preempted by a new goal", goals_only=True)
        self._waiting.append(_Order(trajectory, goal, tolerances))

    def cancel(self, goal: Goal) -> None:
        """Hold the joints of a goal in place."""
        for run in [run for run in self._runs if run.goal == goal]:
            self._stop(run)
        self._waiting = [order for order in self._waiting if order.goal != goal]
        goal.finish("canceled", SUCCESSFUL, "canceled; the joints hold their positions")

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``: a goal that loses a joint ends, other trajectories continue with the remaining joints."""
        self._stopping -= joints
        if to is None:
            self._leave(joints, "no longer in the scene", INVALID_JOINTS)
        else:
            self._leave(joints, f"preempted by {to} commands")

    def _leave(
        self, joints: Collection[str], why: str, code: int = INVALID_GOAL, goals_only: bool = False
    ) -> None:
        for run in [run for run in self._runs if set(run.joints) & set(joints)]:
            if run.goal is not None:
                run.end(code, f"{', '.join(sorted(set(run.joints) & set(joints)))}: {why}")
                run.goal = None
                if not goals_only:
                    self._stop(run, except_for=joints)
            elif not goals_only:
                run.leave(joints)
                if not run.joints:
                    self._runs.remove(run)

    def _stop(self, run: _Run, except_for: Collection[str] = ()) -> None:
        """End a motion; its joints hold their desired positions before the coming step."""
        self._runs.remove(run)
        self._stopping |= set(run.joints) - set(except_for)

    def forget(self) -> None:
        """See ``Controller``."""
        for order in (*self._waiting, *self._runs):
            order.end(INVALID_GOAL, "the simulation was reset")
        self._waiting.clear()
        self._runs.clear()
        self._stopping.clear()
        self._published_at = -math.inf

    def busy_until(self) -> float:
        """See ``Controller``: silence begins when a trajectory has ended and its goal is reached."""
        return max(
            (math.inf if run.goal is not None else run.motion.end_time for run in self._runs),
            default=-math.inf,
        )

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``: until the next start, end, report, or state outside or within tolerances."""
        if self._stopping:
            return 0.0
        due = [
            0.0 if one.trajectory.start_time is None else one.trajectory.start_time for one in self._waiting
        ]
        if self._runs and self._publish is not None:
            due.append(self._published_at + FEEDBACK_PERIOD * (1.0 - 1e-9))
        for run in self._runs:
            due.append(self._hand_over_run(run, world, plan))
        return steps_before(min(due, default=math.inf) - world.time, world)

    def _hand_over_run(self, run: _Run, world: World, plan: Plan) -> float:
        """Have the compiled loop follow a motion; return the simulated time at which it is to be looked at, s."""
        rows = [self._index[joint] for joint in run.joints]
        plan.is_rated[rows] = [joint in self._damped for joint in run.joints]
        desired = run.desired
        assert desired.velocities is not None
        plan.desired[rows] = np.stack([desired.positions, desired.velocities], axis=-1)[run.columns]
        until = math.inf
        if not run.over:
            # A step samples the motion at its end, which Python is to see first.
            until = run.motion.hand_over(plan, rows, run.columns) - world.time_step
        if run.goal is None or run.tolerances is None:
            return until
        allowed = run.tolerances.goal if run.over else run.tolerances.path
        plan.watch[rows], plan.run[rows] = REACHED if run.over else LEFT, plan.whole[RUNS]
        plan.allowed[rows] = [
            (one.position, one.velocity) for one in (allowed.get(j, _NONE) for j in run.joints)
        ]
        plan.whole[RUNS] += 1
        if run.over and run.tolerances.goal_time > 0.0:
            until = run.motion.end_time + run.tolerances.goal_time
        return min(until, run.told_at + FEEDBACK_PERIOD * (1.0 - 1e-9))

    def take_back(self, world: World, plan: Plan) -> None:
        """See ``Controller``."""
        before = float(world.step_count - 1) * world.time_step
        for run in self._runs:
            run.desired, run.over = run.motion.sample(before + world.time_step)

    def advance(self, world: World) -> None:
        """Command the desired positions at the end of the coming step.

        Never raises: a trajectory that cannot be started does not affect present ones, and the joints of a motion that
        cannot continue hold the last command.
        """
        for order in [order for order in self._waiting if _is_due(order.trajectory, world.time)]:
            self._waiting.remove(order)
            self._take_up(order, world)
        if self._runs:
            positions, velocities = world.joint_positions(), world.joint_velocities()
            for run in list(self._runs):
                self._judge(run, self._actual(run.joints, positions, velocities), world.time)
            self._publish_all(world.time, positions, velocities)
        if self._stopping:
            self._hold(world)
        for run in list(self._runs):
            self._command(run, world)

    def _take_up(self, order: _Order, world: World) -> None:
        trajectory = order.trajectory
        start_time = world.time if trajectory.start_time is None else trajectory.start_time
        if start_time + trajectory.knots[-1].time < world.time:
            self._give_up(order, trajectory_is_over(), OLD_HEADER_TIMESTAMP)
            return
        state = self._state(trajectory.joints, world)
        try:
            motion = Motion(trajectory, start_time, world.time, state, self._limits)
        except InputError as error:
            self._give_up(order, error)
            return
        self._leave(trajectory.joints, "preempted by a new trajectory")
        self._arbiter.take(self, trajectory.joints, world.time)
        columns = list(range(len(trajectory.joints)))
        self._runs.append(
            _Run(**vars(order), motion=motion, joints=trajectory.joints, columns=columns, desired=state)
        )

    def _give_up(self, order: _Order, error: InputError, code: int = INVALID_GOAL) -> None:
        self._refuse(error)
        order.end(code, f"{error.element}: {error.problem}; {error.mend}")

    def _state(self, joints: tuple[str, ...], world: World) -> Knot:
        """Start state of a motion: per joint, the desired state of its present motion, else its actual state."""
        actual = self._actual(joints, world.joint_positions(), world.joint_velocities())
        columns = np.array([actual.positions, actual.velocities, np.zeros(len(joints))])
        for run in self._runs:
            for joint, column in zip(run.joints, run.columns, strict=True):
                if joint in joints:
                    columns[:, joints.index(joint)] = _column(run.desired, column)
        return Knot(math.nan, *columns)

    def _actual(self, joints: Sequence[str], positions: Array, velocities: Array) -> Knot:
        index = [self._index[joint] for joint in joints]
        return Knot(math.nan, positions[index], velocities[index])

    def _judge(self, run: _Run, actual: Knot, time: float) -> None:
        """Send feedback to the goal of a motion, and end it when it is reached or a tolerance is violated."""
        if run.goal is None or run.tolerances is None:
            return
        desired = run.desired
        if time - run.told_at >= FEEDBACK_PERIOD * (1.0 - 1e-9):  # times are sums of steps
            run.told_at = time
            run.goal.tell(Progress(time, run.joints, desired, actual))
        assert desired.velocities is not None
        assert actual.velocities is not None
        errors = desired.positions - actual.positions, desired.velocities - actual.velocities
        if not run.over:
            off = violation(run.tolerances.path, run.joints, *errors)
            if off is not None:
                run.end(PATH_TOLERANCE_VIOLATED, off)
                self._stop(run)
            return
        off = violation(run.tolerances.goal, run.joints, *errors)
        late = time - run.motion.end_time
        if off is None:
            run.goal.finish("succeeded", SUCCESSFUL, "goal reached")
            self._runs.remove(run)
        elif 0.0 < run.tolerances.goal_time < late:
            run.end(GOAL_TOLERANCE_VIOLATED, f"{late:.3f} s after the end of the trajectory {off}")
            self._stop(run)

    def _publish_all(self, time: float, positions: Array, velocities: Array) -> None:
        if (
            self._publish is None
            or not self._runs
            or time - self._published_at < FEEDBACK_PERIOD * (1.0 - 1e-9)
        ):
            return
        self._published_at = time
        joints = tuple(joint for run in self._runs for joint in run.joints)
        columns = [_column(run.desired, column) for run in self._runs for column in run.columns]
        since = max(run.desired.time for run in self._runs)
        desired = Knot(since, *np.array(columns).T)
        self._publish(Progress(time, joints, desired, self._actual(joints, positions, velocities)))

    def _hold(self, world: World) -> None:
        joints = [joint for joint in self._stopping if joint in self._limits]
        self._stopping.clear()
        places = world.joint_positions()
        commands = {}
        for joint in joints:
            lower, upper = self._limits[joint]
            commands[joint] = JointCommand(position=max(lower, min(float(places[self._index[joint]]), upper)))
        world.command_joints(commands)

    def _command(self, run: _Run, world: World) -> None:
        run.desired, run.over = run.motion.sample(world.time + world.time_step)
        positions = run.desired.positions.tolist()
        assert run.desired.velocities is not None
        velocities = run.desired.velocities.tolist()
        try:
            world.command_joints(
                {
                    joint: JointCommand(
                        positions[column], velocities[column] if joint in self._damped else None
                    )
                    for joint, column in zip(run.joints, run.columns, strict=True)
                }
            )
        except InputError as error:
            self._runs.remove(run)
            self._give_up(run, error)
            return
        if run.over and run.goal is None:
            self._runs.remove(run)


def _off_the_stops(trajectory: Trajectory, limits: PositionLimits) -> Trajectory:
    """The trajectory with points at compliant stops moved to the limits; planners begin where joints are found."""
    lower, upper = np.array([limits.get(joint, (-math.inf, math.inf)) for joint in trajectory.joints]).T

    def moved(positions: Array) -> Array:
        inside = np.clip(positions, lower, upper)
        return np.where(np.abs(inside - positions) <= STOP_COMPLIANCE, inside, positions)

    return replace(
        trajectory,
        knots=tuple(replace(knot, positions=moved(knot.positions)) for knot in trajectory.knots),
    )


def _is_due(trajectory: Trajectory, time: float) -> bool:
    return trajectory.start_time is None or time >= trajectory.start_time


def _column(knot: Knot, column: int) -> list[float]:
    """Position, velocity and acceleration of one joint."""
    given: list[Any] = [knot.positions, knot.velocities, knot.accelerations]
    return [float(values[column]) if values is not None else 0.0 for values in given]
