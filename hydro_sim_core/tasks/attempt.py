"""An attempt at a task, whoever carries it out: what to command each period, and how it ended."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks.own_code import (
    TIME,
    closed,
    made_controller,
    next_of,
    numbers_of,
    outcome_of,
    phase_of,
    script_of,
    text_of,
)
from hydro_sim_core.tasks.robot import Measurement, Script, TaskFailed
from hydro_sim_core.tasks.task import Outcome, Story, Task, TaskController

#: Reason of an attempt that somebody ended.
INTERRUPTED = "interrupted"
#: How long a world goes on after the controller has ended, s.
AFTERWARDS = 1.0


@dataclass(frozen=True)
class Ending:
    """How an attempt ended.

    Attributes:
        outcome: What the task's judge says, or why the controller gave up.
        phase: What the controller was doing at its end.
        time: Simulated time that it took, s.
        course: Of every period until it was judged: time (s), and what the task follows, by name.
    """

    outcome: Outcome
    phase: str
    time: float
    course: Sequence[Mapping[str, float]] = ()


#: As ``Script``, with its ending.
Attempt = Generator[dict[str, JointCommand], Measurement, Ending]


def attempt(task: Task, controller: TaskController, before: Measurement) -> Attempt:
    """Let a controller try a task, wait a little and judge.

    An exception of the task's own code is a failure with its type and place, so that one trial of many, or a program
    that goes on after it, can tell of it.

    Args:
        task: The task.
        controller: Its controller, new.
        before: What is measured at the start.

    Returns:
        A generator: each ``yield`` gives the commands of a period, none after the controller has ended, and receives
        what is measured at its end. ``carried_out`` throws into it what the world has refused, which ends it.
    """
    now = later = before
    course = []

    def follow(measured: Measurement) -> Measurement:
        course.append({TIME: measured.time, **numbers_of(task, measured)})
        return measured

    def ended(outcome: Outcome) -> Ending:
        return Ending(outcome, phase_of(controller), now.time - before.time, course)

    def failed(reason: str) -> Ending:
        told = (reason,) if reason == INTERRUPTED else (reason, at_its_end)
        return ended(Outcome(False, "; ".join(filter(None, told))))

    reason, is_refused, script = "", False, None
    try:
        follow(before)
        script = script_of(controller, before)
        commands = next_of(script, partial(next, script))
        while commands is not None and now.time < before.time + task.duration:
            now = later = follow((yield commands))
            commands = next_of(script, partial(script.send, now))
        if commands is not None:
            reason = f"not done within {task.duration:g} s"
    except (TaskFailed, Refused) as failure:
        reason, is_refused = text_of(failure), isinstance(failure, Refused)
    finally:
        at_its_end = closed(script)
    if is_refused:
        return failed(reason)
    try:
        while later.time < now.time + AFTERWARDS:
            later = follow((yield {}))
        judged = outcome_of(task, Story(before, now, later, course))
    except (TaskFailed, Refused) as failure:
        return failed(reason or text_of(failure))
    return failed(reason) if reason else ended(judged)


def carried_out(attempted: Attempt, world: World, commands: Mapping[str, JointCommand], steps: int) -> None:
    """Have a world carry out the commands of a period.

    Args:
        attempted: The attempt that they come from.
        world: The world.
        commands: The commands.
        steps: Steps of the period; 0 if somebody else takes them.

    Raises:
        StopIteration: It refuses them, or diverges, with which the attempt ends.
    """
    refuse_wrong(attempted, world, commands)
    try:
        world.command_joints(commands)
        world.step(steps)
    except FloatingPointError as error:
        attempted.throw(Refused(f"the simulation failed: {error}"))


def refuse_wrong(attempted: Attempt, world: World, commands: Mapping[str, JointCommand]) -> None:
    """End an attempt whose commands a world refuses, whoever is to carry them out.

    Args:
        attempted: The attempt that they come from.
        world: The world.
        commands: The commands.

    Raises:
        StopIteration: It refuses them, with which the attempt ends.
    """
    try:
        world.check_joint_commands(commands)
    except InputError as error:
        attempted.throw(Refused(f"a command of the controller is refused: {error}"))


class Refused(Exception):
    """Thrown into an attempt whose commands could not be carried out, with the reason."""


def controller_of(task: Task, model: World) -> TaskController:
    """A new controller of a task; one that fails at once where its own code does as it is made.

    Args:
        task: The task.
        model: World to plan in.

    Raises:
        InputError: The world does not fit the task.
    """
    try:
        return made_controller(task, model)
    except TaskFailed as failure:
        return _Broken(text_of(failure))


class _Broken:
    """In place of a controller that could not be made: gives up with the reason."""

    def __init__(self, reason: str) -> None:
        self.robot: Any = SimpleNamespace(phase="begin")
        self._reason = reason

    def script(self, measured: Measurement) -> Script:
        """Fails before the first period."""
        raise TaskFailed(self._reason)
        yield {}  # makes it a generator
