"""Whether a task is what a task has to be: told before a trial, where what is wrong would end it with a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.messages.view import Bubble
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.own_code import told
from hydro_sim_core.tasks.task import Task


def _is_time(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_above_zero(value: Any) -> bool:
    return _is_time(value) and bool(value > 0.0)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_or_none(value: Any) -> bool:
    return value is None or callable(value)


def _is_tuple_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple | list) and all(isinstance(one, kind) for one in value)


def _is_for_json(value: Any) -> bool:
    """Whether it is by name, and can be written to a report."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return False
    try:
        json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _are_variants(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_is_for_json, value.values()))


#: Of every field what it has to be, and how to mend it. A period that is no time is told with the time step.
_FIELDS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("summary", _is_text, "give a line of text"),
    ("scene", _is_text, "give the name of a shipped scene, or the path of a file as text"),
    ("period", _is_time, "give a number, s"),
    ("duration", _is_above_zero, "give a number above 0, s"),
    ("controller", callable, "give a function of a world and the period that makes a controller"),
    ("variation", callable, "give a function of Draws"),
    ("judge", callable, "give a function of a Story that gives an Outcome"),
    ("follow", callable, "give a function of a Measurement that gives numbers by name"),
    ("bubbles", _is_tuple_of(Bubble), "give a tuple of Bubble"),
    ("shows", _is_tuple_of(str), "give a tuple of names of links"),
    ("settings", _is_for_json, "give numbers, words or lists of them by name, as a report can have them"),
    ("variants", _are_variants, "give settings by what they are called"),
    ("told", _is_or_none, "give a function of settings that makes the task"),
)


def check_task(task: Any, name: str = "") -> Task:
    """The task, if it is one in every part.

    Args:
        task: As its package gives it.
        name: Of the task, for the error; empty for its scene.

    Raises:
        InputError: A part is of another type, or a setting cannot be written to a report.
    """
    if not isinstance(task, Task):
        raise InputError(name, "task", f"{excerpt(task)} is no Task", "mend the package that adds it")
    for part, fits, mend in _FIELDS:
        value = getattr(task, part)
        if not fits(value):
            raise InputError(name or str(task.scene), f"the task's {part}", f"is {excerpt(value)}", mend)
    return task


def check_shows(task: Task, world: World) -> None:
    """Check that what fills pictures of a task is in its world.

    Raises:
        InputError: It has no such link.
    """
    for link in task.shows:
        if link not in world.frame_names:
            mend = did_you_mean(link, world.frame_names)
            raise InputError(task.scene, "the task's shows", f"the scene has no link '{link}'", mend)


def told_otherwise(task: Task, settings: Mapping[str, Any], name: str) -> Task:
    """A task with settings of its controller.

    Args:
        task: The task.
        settings: Other settings by name, that the task has.
        name: Of the task, for the error.

    Raises:
        InputError: A value does not fit, the task has nothing that takes it, or its own code fails.
    """
    if task.told is None:
        problem, mend = "cannot be changed: the task has no told", "leave it out, or mend the package"
        raise InputError(name, f"controller.{next(iter(settings))}", problem, mend)
    try:
        made = task.told(settings)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        problem = told(error, task.told, "what takes the settings")
        raise InputError(name, "settings of its controller", problem, "mend the task's told") from error
    return check_task(made, name)
