"""Joint commands of ros2_control's topic-based hardware interface: a JointState for any joints and modes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sensor_msgs.msg import JointState

from hydro_sim.controllers.direct import DirectController
from hydro_sim.hil.link import Action
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World

_SOURCE = "joint command"


class JointCommandsController(DirectController):
    """Passes positions, velocities and efforts on to the drives; empty or NaN values are not commanded.

    With a position, a velocity is the rate of that position; with either, an effort is a feed-forward. Positions beyond
    the limits are moved to them. A velocity alone goes through a servo.
    """

    interface = "joint"

    # --- called in the executor's thread

    def check(self, message: JointState) -> Action:
        """Check a message; return the action that carries it out.

        Raises:
            InputError: Arrays do not match the names, values are infinite, or a joint cannot be commanded so.
        """
        parsed = parse_joint_commands(message)
        commands = {joint: self._clamp.command_inside(joint, command) for joint, command in parsed.items()}
        self._world.check_joint_commands(commands)
        self._clamp.tell(
            {joint: command.position for joint, command in parsed.items() if command.position is not None}
        )
        speeds = {joint: command for joint, command in commands.items() if _is_speed(command)}
        others = {joint: command for joint, command in commands.items() if joint not in speeds}

        def apply(world: World) -> None:
            world.check_joint_commands(commands)  # all or none: the scene may have changed since
            world.command_joints(others)
            self._servo.drop(others)
            self._servo.command(world, speeds)
            self._arbiter.take(self, commands, world.time)

        # A hardware interface sends NaN, which commands nothing, until a controller is active.
        return apply if commands else lambda world: None


def _is_speed(command: JointCommand) -> bool:
    return command.position is None and command.velocity is not None


def parse_joint_commands(message: JointState) -> dict[str, JointCommand]:
    """Commands by joint, for joints that have one.

    Raises:
        InputError: A name occurs twice, or an array is neither empty nor of one value per name.
    """
    names = list(message.name)
    if len(set(names)) != len(names):
        raise InputError(_SOURCE, "name", "names a joint twice", "name each joint once")
    columns = [_column(getattr(message, field), field, names) for field in ("position", "velocity", "effort")]
    commands = {name: JointCommand(*row) for name, *row in zip(names, *columns, strict=True)}
    return {name: command for name, command in commands.items() if command != JointCommand()}


def _column(values: Sequence[float], field: str, names: list[str]) -> list[float | None]:
    if not len(values):
        return [None] * len(names)
    if len(values) != len(names):
        problem = f"has {len(values)} values for {len(names)} joints"
        raise InputError(
            _SOURCE, field, problem, "give one a joint, NaN where there is none, or leave it empty"
        )
    return [None if math.isnan(value) else value for value in values]
