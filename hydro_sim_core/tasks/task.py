"""What a task is: a scene, variations of it, a controller, and a measure of success."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from hydro_sim_core.messages.view import Bubble
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Script, ToolArm
from hydro_sim_core.tasks.variation import Draws


class TaskController(Protocol):
    """Protocol of a controller."""

    @property
    def robot(self) -> ToolArm:
        """What it commands."""

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
        measures: Numbers behind that, by name and unit; one that is not finite is none in reports.
    """

    succeeded: bool
    reason: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: Mapping[str, bool], measures: Mapping[str, float]) -> Outcome:
        """That of an attempt, from whether each thing it asks for holds, by the reason to give where it does not.

        Raises:
            TypeError: Whether something holds is neither True nor False: any number but 0, also NaN, would hold.
        """
        for reason, holds in asked.items():
            if not isinstance(holds, bool | np.bool_):
                raise TypeError(f"whether {reason!r} holds is {type(holds).__name__}, not True or False")
        reasons = [reason for reason, holds in asked.items() if not holds]
        return cls(not reasons, "; ".join(reasons), measures)


@dataclass(frozen=True)
class Story:
    """What was measured in an attempt. It can be read, not written: what is judged is what is reported.

    Attributes:
        before: Before it began.
        end: When the controller had ended.
        later: A second after that.
        course: What the task follows, of every period from the first to the last: time (s) and others by name.
    """

    before: Measurement
    end: Measurement
    later: Measurement
    course: Sequence[Mapping[str, float]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "course", tuple(map(MappingProxyType, self.course)))

    def speed_of(self, link: str) -> float:
        """Mean speed of a link's origin after the end, m/s."""
        way = self.later.poses[link][:3, 3] - self.end.poses[link][:3, 3]
        return float(np.linalg.norm(way)) / (self.later.time - self.end.time)


def follow_nothing(measured: Measurement) -> Mapping[str, float]:
    """Of tasks that are judged by how they end."""
    return {}


def is_number(value: Any, least: float, most: float) -> bool:
    """Whether a setting is a number within bounds."""
    return not isinstance(value, bool) and isinstance(value, int | float) and least <= value <= most


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        summary: In one line.
        scene: Name of the shipped scene.
        period: Time between two commands, s.
        duration: Time after which it counts as failed, s.
        controller: Makes a controller of a world to plan in and the period.
        variation: Draws start, friction and stiffness.
        judge: Tells the outcome from what was measured.
        follow: Numbers of a measurement, by name and unit, that the judge wants to know of every period.
        bubbles: Soft-bubble fingers whose depth images the controller needs.
        shows: Links that fill films and pictures of it, where they are at the start; empty for all that is near.
        settings: What its controller may be told, by name.
        variants: Other settings that a list of tasks offers, by what they are called there.
        told: Makes the task with other settings, by name; raises InputError where a value does not fit.
    """

    summary: str
    scene: str
    period: float
    duration: float
    controller: Callable[[World, float], TaskController]
    variation: Callable[[Draws], None]
    judge: Callable[[Story], Outcome]
    follow: Callable[[Measurement], Mapping[str, float]] = follow_nothing
    bubbles: tuple[Bubble, ...] = ()
    shows: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    told: Callable[[Mapping[str, Any]], Task] | None = None
