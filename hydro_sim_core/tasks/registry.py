"""Table of the tasks."""

from __future__ import annotations

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.tasks import pancake_flip
from hydro_sim_core.tasks.task import Task

TASKS: dict[str, Task] = {"pancake_flip": pancake_flip.TASK}


def find_task(name: str) -> Task:
    """The task of a name.

    Raises:
        InputError: There is none.
    """
    if name not in TASKS:
        raise InputError(name, "task", "is unknown", did_you_mean(name, TASKS))
    return TASKS[name]
