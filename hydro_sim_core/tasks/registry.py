"""Table of the tasks.

To add one, add a row here, or a plug-in's entry point in the group ``hydro_sim.tasks``, whose name is the task's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.yaml_source import parse_value
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.plugins import load_named
from hydro_sim_core.tasks import (
    bolt_in_nut,
    chopsticks,
    m16_nut,
    mug_pick,
    pancake_flip,
    peg_in_hole,
    pencil_turn,
    slip_control,
    two_box_spoon,
)
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.task_check import check_task, told_otherwise

TASKS: dict[str, Task] = {
    "pancake_flip": pancake_flip.TASK,
    "slip_control": slip_control.TASK,
    "peg_in_hole": peg_in_hole.TASK,
    "mug_pick": mug_pick.TASK,
    "pencil_turn": pencil_turn.TASK,
    "two_box_spoon": two_box_spoon.TASK,
    "chopsticks": chopsticks.TASK,
    "m16_nut": m16_nut.TASK,
    "bolt_in_nut": bolt_in_nut.TASK,
}

#: Begin of the paths of a controller's settings among values of the scene.
_CONTROLLER = "controller."


def tasks() -> dict[str, Task]:
    """All tasks by name, those of installed packages too.

    Raises:
        InputError: A plug-in cannot be loaded, is no task, or has the name of another one.
    """
    return {**TASKS, **load_named("hydro_sim.tasks", Task, TASKS)}


def find_task(name: str, settings: Mapping[str, Any] | None = None) -> Task:
    """The task of a name, with its controller told otherwise.

    Args:
        name: Of the task.
        settings: Settings of its controller by name; those that are missing stay.

    Raises:
        InputError: There is no such task or setting, a value does not fit, or the task is not what a task has to be.
    """
    known = tasks()
    if name not in known:
        raise InputError(name, "task", "is unknown", did_you_mean(name, known))
    task = check_task(known[name], name)
    for setting in settings or ():
        if setting not in task.settings:
            others = [f"{_CONTROLLER}{one}" for one in task.settings]
            mend = (
                did_you_mean(f"{_CONTROLLER}{setting}", others) if others else "leave it out: there are none"
            )
            raise InputError(name, f"{_CONTROLLER}{setting}", "is no setting of its controller", mend)
    return told_otherwise(task, settings, name) if settings else task


def parse_settings(text: str) -> dict[str, Any]:
    """Settings of a controller that are written as ``NAME=VALUE NAME=VALUE``.

    Raises:
        InputError: It is written otherwise.
    """
    settings = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        try:
            if not (name and equals):
                raise ValueError("it has no name, or no value")
            settings[name] = parse_value(value)
        except ValueError as error:
            mend = "write NAME=VALUE, as in feedback=membrane"
            raise InputError("settings", excerpt(word), str(error), mend) from None
    return settings


def find_told_task(name: str, values: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task of a name, and what remains of values by path without those of its controller.

    Args:
        name: Of the task.
        values: Values of the scene by path, and settings of the controller as ``controller.NAME``.

    Raises:
        InputError: As ``find_task``.
    """
    settings = {
        path.removeprefix(_CONTROLLER): value
        for path, value in values.items()
        if path.startswith(_CONTROLLER)
    }
    of_scene = {path: value for path, value in values.items() if not path.startswith(_CONTROLLER)}
    return find_task(name, settings), of_scene
