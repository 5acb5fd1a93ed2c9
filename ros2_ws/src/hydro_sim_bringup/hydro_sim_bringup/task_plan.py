"""Plan of the launch file of a task: what the node and the controller are told.

Imports no launch packages, which are not installed everywhere.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import find_task
from hydro_sim_core.tasks.trial import steps_of_a_period

_SOURCE = "launch arguments"
#: Least rate that the node takes for joint states, Hz.
_LEAST_RATE = 100.0


@dataclass(frozen=True)
class TaskBringup:
    """Parameters of the two programs.

    Attributes:
        node: Of the node ``hydro_sim``.
        controller: Of ``task_controller``.
    """

    node: dict[str, Any]
    controller: dict[str, Any]


def plan_task(task: str, seed: str = "", json_file: str = "") -> TaskBringup:
    """Choose the parameters for the arguments of the launch file.

    Args:
        task: Name of the task.
        seed: Of its variation; empty for the scene as it is.
        json_file: File for the result; empty for none.

    Raises:
        InputError: There is no such task, the seed is no whole number from 0 on, or the scene's time step does not
            divide the task's period.
    """
    found = find_task(task)
    drawn = _seed(seed)
    values = {} if drawn is None else found.variation(np.random.default_rng(drawn))
    steps = steps_of_a_period(found, find_scene(found.scene).spec.time_step)
    # Every instant that is answered has to be told of, by all topics.
    rate = math.ceil(_LEAST_RATE * found.period - 1e-9) / found.period
    node = {
        "scene": found.scene,
        "mode": "lock_step",
        "lock_step_interface": "joint",
        "lock_step_steps": steps,
        "joint_state_rate": rate,
        "wrench_rate": rate,
    }
    if values:
        node["scene_values"] = [f"{path}={json.dumps(value)}" for path, value in values.items()]
    controller: dict[str, Any] = {"task": task}
    if drawn is not None:
        controller["seed"] = drawn
    if json_file:
        controller["json"] = json_file
    return TaskBringup(node, controller)


def _seed(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise InputError(_SOURCE, "seed", f"'{text}' is no whole number from 0 on", "give one, such as 3")
    return int(text)
