"""An attempt at a task, whoever carries it out: what to command each period, and how it ended."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from hydro_sim_core.simulation import JointCommand
from hydro_sim_core.tasks.robot import Measurement, TaskFailed
from hydro_sim_core.tasks.task import Outcome, Story, Task, TaskController

#: How long a world goes on after the controller has ended, s.
AFTERWARDS = 1.0


@dataclass(frozen=True)
class Ending:
    """How an attempt ended.

    Attributes:
        outcome: What the task's judge says, or why the controller gave up.
        phase: What the controller was doing at its end.
        time: Simulated time at which it ended, s.
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

    Args:
        task: The task.
        controller: Its controller, new.
        before: What is measured at the start.

    Returns:
        A generator: each ``yield`` gives the commands of a period, none after the controller has ended, and receives
        what is measured at its end.
    """
    now = before
    reason = ""
    course = []

    def follow(measured: Measurement) -> Measurement:
        course.append({"time, s": measured.time, **task.follow(measured)})
        return measured

    follow(before)
    script = controller.script(before)
    try:
        commands = next(script)
        while now.time < before.time + task.duration:
            now = follow((yield commands))
            commands = script.send(now)
        reason = f"not done within {task.duration:g} s"
    except StopIteration:
        pass
    except TaskFailed as failure:
        reason = str(failure)
    later = now
    while later.time < now.time + AFTERWARDS:
        later = follow((yield {}))
    story = Story(before, now, later, course)
    outcome = Outcome(False, reason) if reason else task.judge(story)
    return Ending(outcome, controller.robot.phase, now.time, course)
