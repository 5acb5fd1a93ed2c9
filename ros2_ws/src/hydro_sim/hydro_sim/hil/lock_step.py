"""Lock-step: which commands permit which steps, and what to say when none comes.

A command either answers a state (``AnswerLockStep``) or comes once a period (``PeriodLockStep``), as from a controller
that sleeps by ``/clock`` and so can neither answer the first state nor say in a stamp which state it has seen.
"""

from __future__ import annotations

import time
from typing import Any, Literal, Protocol

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World

#: Wall time between two looks at a simulation that waits, s, and with it between two periods without a controller.
_LOOK_PERIOD = 0.05
#: Wall time after which a wait is told, s.
_LONG_WAIT = 10.0


class LockStep(Protocol):
    """Protocol of a kind of lock-step; everything is called in the stepping thread."""

    def admit(self, stamp: float | None, world: World) -> Literal["duplicate", "stale"] | None:
        """Permit what a command with this stamp (s) permits, or return why it is dropped."""

    def publishers_changed(self) -> None:
        """Take notice that a publisher of commands has come or gone."""

    def pass_time(self) -> None:
        """Step on if there is no controller that could permit it; called every few hundredths of a second."""


class AnswerLockStep:
    """Lock-step in which every command answers a state, and permits ``lock_step_steps`` steps.

    Args:
        runner: Runner of the World.
        parameters: ``lock_step_steps``, followed live.
    """

    def __init__(self, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._runner = runner
        self._parameters = parameters

    def admit(self, stamp: float | None, world: World) -> Literal["duplicate", "stale"] | None:
        """See ``LockStep``."""
        if not self._runner.waiting_for_permit:
            return "duplicate"
        if stamp is not None and stamp < world.time - 0.5 * world.time_step:
            return "stale"
        self._runner.permit(self._parameters.lock_step_steps)
        return None

    def publishers_changed(self) -> None:
        """See ``LockStep``: whoever has come answers the state that waits."""

    def pass_time(self) -> None:
        """See ``LockStep``: the first state needs an answer too."""


class PeriodLockStep:
    """Lock-step in which a step at a multiple of the period waits for one command since then, whatever its stamp.

    Until the first command, again after a reset and after publishers have come or gone, periods pass slowly without
    one: whoever sleeps by ``/clock`` cannot start, or start again, while time stands. They pass so slowly that such a
    controller wakes up and commands in between, and the first one with a command passes so too, lest a late command is
    taken for the next: both are in step from then on.

    Args:
        runner: Runner of the World.
        steps: Steps of a period.
    """

    def __init__(self, runner: FixedRateRunner, steps: int) -> None:
        self._runner = runner
        self._steps = steps
        self._waits = runner.snapshot().step % steps == 0
        self._led = False
        self._settling = False
        self._epoch = runner.snapshot().epoch
        if not self._waits:
            runner.permit()
        runner.add_listener(self._note)

    def _note(self, snapshot: Snapshot) -> None:
        if snapshot.epoch != self._epoch:
            self._epoch, self._led = snapshot.epoch, False
        self._waits = snapshot.step % self._steps == 0
        if not self._waits:
            self._runner.permit()

    def admit(self, stamp: float | None, world: World) -> Literal["duplicate", "stale"] | None:
        """See ``LockStep``."""
        if not self._led:
            self._led = self._settling = True
        elif not self._settling:
            self._step_on()
        return None

    def publishers_changed(self) -> None:
        """See ``LockStep``."""
        self._led = False

    def pass_time(self) -> None:
        """See ``LockStep``."""
        if (not self._led or self._settling) and not self._runner.paused:
            self._settling = False
            self._step_on()

    def _step_on(self) -> None:
        if self._waits:
            self._waits = False
            self._runner.permit()


def make_lock_step(runner: FixedRateRunner, parameters: Parameters) -> LockStep | None:
    """Make what the parameters ask for; None without lock-step.

    Raises:
        InputError: The period is not one of whole steps.
    """
    if parameters.mode != LOCK_STEP:
        return None
    if not parameters.lock_step_period:
        return AnswerLockStep(runner, parameters)
    return PeriodLockStep(runner, period_steps(parameters, runner.world.time_step))


def period_steps(parameters: Parameters, time_step: float) -> int:
    """Steps from one wait in lock-step to the next: those of ``lock_step_period``, 1 without one.

    Raises:
        InputError: The period is not one of whole steps.
    """
    period = parameters.lock_step_period
    if parameters.mode != LOCK_STEP or not period:
        return 1
    steps = round(period / time_step)
    if steps < 1 or abs(steps * time_step - period) > 1e-9:
        problem = f"{period:g} s is no multiple of the time step, {time_step:g} s"
        mend = "give a multiple, and the controller the same period"
        raise InputError("parameters", "lock_step_period", problem, mend)
    return steps


class LockStepWatch:
    """Lets time pass without a controller where that is allowed, and logs a wait that may last for ever.

    Args:
        node: Owner of the timer.
        runner: Runner of the World.
        parameters: ``lock_step_*``.
        lock_step: The kind of lock-step.
    """

    def __init__(
        self, node: Node, runner: FixedRateRunner, parameters: Parameters, lock_step: LockStep
    ) -> None:
        self._logger: Any = node.get_logger()
        self._runner = runner
        self._parameters = parameters
        self._lock_step = lock_step
        self._mark = (-1, -1)
        self._since = time.monotonic()
        self._is_told = False
        node.create_timer(_LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        self._runner.submit(lambda world: self._lock_step.pass_time())
        snapshot, now = self._runner.snapshot(), time.monotonic()
        mark = (snapshot.epoch, snapshot.step)
        if mark != self._mark or not (self._runner.running and self._runner.waiting_for_permit):
            self._mark, self._since, self._is_told = mark, now, False
        elif now - self._since > _LONG_WAIT and not self._is_told:
            self._is_told = True
            self._logger.warning(
                f"lock-step has waited for {_LONG_WAIT:g} s at {snapshot.time:.3f} s for a command on the interface "
                f"'{self._parameters.lock_step_interface}': {self._hint(snapshot.step > 0)}"
            )

    def _hint(self, was_answered: bool) -> str:
        period = self._parameters.lock_step_period
        if period:
            return f"its controller is gone, or has another period than lock_step_period, {period:g} s"
        if was_answered:
            return "whoever answered before has ended or stands still; the next answer lets time go on"
        return (
            "nobody has answered yet; a controller that sleeps by /clock, such as a controller_manager, never does: "
            "set lock_step_period to its period"
        )
