"""What a task is: a scene, variations of it, a controller, and a measure of success."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Robot, Script

Array = NDArray[np.float64]


class TaskController(Protocol):
    """Protocol of a controller.

    Attributes:
        robot: What it commands.
    """

    robot: Robot

    def script(self, measured: Measurement) -> Script:
        """Commands of every period, from the first measurement on; ends when the task is done.

        Raises:
            TaskFailed: It cannot go on.
        """


@dataclass(frozen=True)
class Outcome:
    """How a task ended.

    Attributes:
        succeeded: Whether all that it asks for holds.
        reason: Empty if so, or what does not hold.
        measures: Numbers behind that, by name and unit.
    """

    succeeded: bool
    reason: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        summary: In one line.
        scene: Name of the shipped scene.
        period: Time between two commands, s.
        duration: Time after which it counts as failed, s.
        controller: Makes a controller of a world to plan in and the period.
        variation: Values of the scene by path for a draw of the start, friction and stiffness.
        judge: Tells the outcome from the measurement before the task, one at its end, and one a second later.
    """

    summary: str
    scene: str
    period: float
    duration: float
    controller: Callable[[World, float], TaskController]
    variation: Callable[[np.random.Generator], dict[str, Any]]
    judge: Callable[[Measurement, Measurement, Measurement], Outcome]
