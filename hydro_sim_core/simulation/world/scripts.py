"""Scripted commands of a scene file, executed in simulated time."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

from hydro_sim_core.description.scene import TWIST_MODES, CommandSpec, SignalSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.world.drives import DriveBank

#: Number of steps to run at once when no scripted value will change.
_FOREVER = 2**31


def check_commands(commands: Sequence[CommandSpec], drives: DriveBank, source: object) -> None:
    """Check that all commands of a scene's script are possible.

    Raises:
        InputError: A value is outside the limits of its target, or its mode impossible.
    """
    for i, command in enumerate(commands):
        for value in _extremes(command.signal):
            try:
                _check(command, value, drives)
            except InputError as error:
                element = f"commands.{i}, {error.element}"
                raise InputError(source, element, error.problem, error.mend) from None


def _extremes(signal: SignalSpec) -> tuple[float, float]:
    """Smallest and largest value of a signal."""
    if signal.square is not None:
        return signal.square.low, signal.square.high
    if signal.sine is not None:
        offset, amplitude = signal.sine.offset, abs(signal.sine.amplitude)
        return offset - amplitude, offset + amplitude
    return signal.at(0.0), signal.at(0.0)


def _check(command: CommandSpec, value: float, drives: DriveBank) -> None:
    if command.gripper is not None:
        drives.check_gripper(command.gripper, **_gripper_command(command, value))
    elif command.joint is not None:
        drives.check_command({command.joint: value}, command.mode or drives.default_mode(command.joint))


def _gripper_command(command: CommandSpec, value: float) -> dict[str, float]:
    return {"position" if command.mode == "position" else "force": value}


class Script:
    """The scripted commands, except those that other commands have overridden."""

    def __init__(self, commands: Sequence[CommandSpec]) -> None:
        self._commands = {command.target: command for command in commands}
        self._applied: dict[str, float] = {}
        #: Targets that other commands have overridden.
        self.released: tuple[str, ...] = ()

    def copy(self) -> Script:
        """Independent copy with the same overridden targets."""
        other = copy.copy(self)
        other._commands, other._applied = self._commands.copy(), self._applied.copy()
        return other

    @property
    def targets(self) -> tuple[str, ...]:
        """All targets of the script, including overridden ones; see ``CommandSpec.target``."""
        return (*self._commands, *self.released)

    def commanded(self, targets: Sequence[str]) -> list[str]:
        """Which of some targets the script still commands."""
        return [target for target in targets if target in self._commands]

    def release(self, target: str) -> None:
        """Stop the scripted command of a target, which another command overrides."""
        if self._commands.pop(target, None) is not None:
            self.released = (*self.released, target)
        self._applied.pop(target, None)

    def resume(self, released: Sequence[str]) -> None:
        """Continue with drives that have the values of some step before the coming one, or of none."""
        for target in released:
            self.release(target)
        self._applied.clear()

    def apply(self, time: float, drives: DriveBank) -> None:
        """Set the drives to the values for ``time`` (s); unchanged values are not written."""
        for target, command in self._commands.items():
            value = command.signal.at(time)
            if self._applied.get(target) == value:
                continue
            self._applied[target] = value
            if command.gripper is not None:
                drives.set_gripper(target, **_gripper_command(command, value))
            elif command.model is not None:
                drives.lead(command.model, TWIST_MODES.index(command.mode or ""), value)
            else:
                drives.set_command({target: value}, command.mode or drives.default_mode(target))

    def steps_until_change(self, time: float, time_step: float) -> int:
        """Number of steps of ``time_step`` (s) from ``time`` until a value can change; at least 1."""
        until = min(
            (command.signal.constant_until(time) for command in self._commands.values()), default=math.inf
        )
        if until == math.inf:
            return _FOREVER
        # A change inside a step takes effect at the next one. Round-off of the times must not add a step.
        round_off = 1e-9 + 4.0 * math.ulp(until) / time_step
        return max(1, math.ceil((until - time) / time_step - round_off))
