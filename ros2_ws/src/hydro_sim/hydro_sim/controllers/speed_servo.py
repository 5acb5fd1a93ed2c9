"""Speed servo: velocity commands of joints, obeyed as by the drives of real arms."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hydro_sim.controllers.motion import position_limits
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.realtime.plan import DAMPER, SERVO, Plan


@dataclass
class _SetPoint:
    """Position that moves at a speed (rad/s or m/s), with a feed-forward effort; no position without a gain for it."""

    speed: float
    effort: float | None
    position: float | None


class SpeedServo:
    """Moves a set-point of position at the commanded speed, so that a load does not make a joint creep.

    A drive that is told a velocity alone is a damper: it yields to every load, without end. Drives of real arms
    integrate. The set-point stays within the limits of its joint, and so near to the joint that the drive gives at most
    its whole effort: a joint that was blocked obeys the next command at once.

    Joints whose drives have no position gain keep the damper.

    Args:
        world: World with the joints.
    """

    def __init__(self, world: World) -> None:
        self._set_points: dict[str, _SetPoint] = {}
        self._is_commanded = True  # gains and efforts of all of them
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """Continue with another World; joints that it lacks have already been dropped."""
        self._limits = position_limits(world)
        self._index = {name: i for i, name in enumerate(world.joint_names)}
        tree, names = world.built.assembly.tree, world.velocity_names
        self._fastest = {name: float(tree.velocity_limit[names.index(name)]) for name in self._limits}
        self._reach = {
            name: world.drive_reach(name) for name in self._limits if world.takes(name, "position")
        }

    def command(self, world: World, commands: Mapping[str, JointCommand]) -> None:
        """Move joints at the velocities of their commands from the coming step on, with the efforts as feed-forward.

        A joint that moves already continues from its set-point, another one from where it is.

        Raises:
            InputError: As for ``World.command_joints``; nothing is changed then.
        """
        world.check_joint_commands(commands)
        self._is_commanded = False
        places = world.joint_positions()
        for joint, command in commands.items():
            assert command.velocity is not None
            fastest = self._fastest[joint]
            speed = max(-fastest, min(command.velocity, fastest))
            before = self._set_points.get(joint)
            position = float(places[self._index[joint]]) if joint in self._reach else None
            if before is not None:
                position = before.position
            self._set_points[joint] = _SetPoint(speed, command.effort, position)

    def drop(self, joints: Collection[str]) -> None:
        """Leave joints to others."""
        for joint in joints:
            self._set_points.pop(joint, None)

    def forget(self) -> None:
        """Leave all joints to others."""
        self._set_points.clear()

    def hand_over(self, world: World, plan: Plan) -> float:
        """Have the compiled loop move the set-points; return for how many steps it can."""
        if not self._is_commanded:
            return 0.0
        for joint, point in self._set_points.items():
            row = self._index[joint]
            plan.kind[row] = DAMPER if point.position is None else SERVO
            plan.speed[row] = point.speed
            plan.place[row] = plan.coming[row] = point.position or 0.0
            plan.reach[row] = self._reach.get(joint, 0.0)
        return math.inf

    def take_back(self, plan: Plan) -> None:
        """Go on from the set-points that the compiled loop has moved."""
        for joint, point in self._set_points.items():
            row = self._index[joint]
            point.speed = float(plan.speed[row])
            if point.position is not None:
                point.position = float(plan.place[row])

    def advance(self, world: World) -> None:
        """Command the set-points at the end of the coming step; must not raise."""
        self._is_commanded = True
        if not self._set_points:
            return
        places, step = world.joint_positions(), world.time_step
        commands = {}
        for joint, point in self._set_points.items():
            if point.position is None:
                commands[joint] = JointCommand(velocity=point.speed, effort=point.effort)
                continue
            # From where the joint is at the end of the step: a stiff drive's reach is less than the way to there.
            place, reach = float(places[self._index[joint]]), self._reach[joint] + step * abs(point.speed)
            lower, upper = self._limits[joint]
            near = max(place - reach, min(point.position + step * point.speed, place + reach))
            point.position = max(lower, min(near, upper))
            speed = point.speed if point.position == near else 0.0
            commands[joint] = JointCommand(point.position, speed, point.effort)
        world.command_joints(commands)
