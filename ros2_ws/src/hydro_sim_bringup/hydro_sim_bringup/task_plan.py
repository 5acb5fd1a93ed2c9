"""Plan of the launch file of a task: what the node and the controller are told.

Imports no launch packages, which are not installed everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hydro_sim.loading import parse_scene_values
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.view import Bubble
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import find_task
from hydro_sim_core.tasks.registry import parse_settings
from hydro_sim_core.tasks.trial import draw, steps_of_a_period

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


def plan_task(
    task: str,
    seed: str = "",
    json_file: str = "",
    settings: str = "",
    values: str = "",
    overwrite: bool = False,
) -> TaskBringup:
    """Choose the parameters for the arguments of the launch file.

    Args:
        task: Name of the task.
        seed: Of its variation; empty for the scene as it is.
        json_file: File for the result; empty for none.
        settings: Of its controller, as NAME=VALUE NAME=VALUE.
        values: Other values of the scene than those drawn, as PATH=VALUE PATH=VALUE.
        overwrite: Whether the file may be replaced.

    Raises:
        InputError: There is no such task, setting or path, the seed is no whole number from 0 on, the scene's time
            step does not divide the task's period, or its bubbles differ in more than link and frame.
    """
    found = find_task(task, parse_settings(settings))
    drawn = _seed(seed)
    scene = find_scene(found.scene)
    given = parse_scene_values(values.split())
    changes = {**draw(found, drawn, scene).values, **given}
    simulated = scene.with_(changes) if changes else scene
    steps = steps_of_a_period(found, simulated.spec.time_step)
    # Every instant that is answered has to be told of, by all topics.
    rate = math.ceil(_LEAST_RATE * found.period - 1e-9) / found.period
    node = {
        "scene": found.scene,
        "mode": "lock_step",
        "lock_step_interface": "joint",
        "lock_step_steps": steps,
        "joint_state_rate": rate,
        "wrench_rate": rate,
        **_images(found.bubbles, rate, drawn or 0),
    }
    if changes:
        node["scene_values"] = _written(changes)
    controller: dict[str, Any] = {"task": task}
    if drawn is not None:
        controller["seed"] = drawn
    if given:
        controller["scene_values"] = _written(given)
    if settings:
        controller["settings"] = settings
    if json_file:
        controller["json"] = json_file
    if overwrite:
        controller["overwrite"] = True
    return TaskBringup(node, controller)


def _images(bubbles: Sequence[Bubble], rate: float, seed: int) -> dict[str, Any]:
    """Parameters of the node for cameras in Soft-bubble fingers, all of one kind."""
    if not bubbles:
        return {}
    kind = bubbles[0]
    alike = asdict(kind)
    for bubble in bubbles[1:]:
        other = asdict(replace(bubble, link=kind.link, frame=kind.frame))
        if differs := [name for name in alike if other[name] != alike[name]]:
            problem = f"differ in {', '.join(differs)}, and the node has cameras of one kind"
            raise InputError(
                _SOURCE, f"bubbles '{kind.link}' and '{bubble.link}'", problem, "make them alike"
            )
    return {
        "bubbles": [bubble.link for bubble in bubbles],
        "bubble_cameras": [bubble.frame for bubble in bubbles],
        "bubble_rate": rate,
        "bubble_cap_height": kind.cap_height,
        "bubble_image_size": list(kind.image_size),
        "bubble_field_of_view": kind.field_of_view,
        "bubble_depth_encoding": kind.depth_encoding,
        "bubble_depth_noise": kind.depth_noise,
        "bubble_noise_seed": seed,
    }


def _written(values: Mapping[str, Any]) -> list[str]:
    return [f"{path}={json.dumps(value)}" for path, value in values.items()]


def _seed(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise InputError(_SOURCE, "seed", f"'{text}' is no whole number from 0 on", "give one, such as 3")
    return int(text)
