"""One sample of a sweep: a run of a scene, or a trial of a task, with other values, and what is measured of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation import World
from hydro_sim_core.sweeps.measures import Gauge, Measure, parse_measure, with_own
from hydro_sim_core.tasks.many_trials import told_trial
from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.trial import scene_of, steps_of_a_period

#: Column of why a sample has no measures; None where it has.
ERROR = "error"
#: Columns of a sample that are measured, by name.
Row = dict[str, Any]
#: Path of the seed of a task's variation.
_SEED = "seed"


class Sampler(Protocol):
    """What makes the row of a sample from its values; it can be pickled, and its rows do not depend on their order."""

    @property
    def measures(self) -> Sequence[str]:
        """Names of the columns that are drawn."""

    def check(self, values: Mapping[str, Any]) -> None:
        """Try whether a sample can begin.

        Raises:
            InputError: A path, a value or a measure is wrong.
        """

    def check_values(self, values: Mapping[str, Any]) -> None:
        """Try whether the values of a sample fit, as far as no world is needed for that.

        Raises:
            InputError: One does not fit, and no row shall tell of it.
        """

    def failed(self, reason: str) -> Row:
        """The row of a sample that could not be measured."""

    def told(self) -> dict[str, Any]:
        """What makes the rows beside the values, in words that can be compared."""

    def __call__(self, values: Mapping[str, Any]) -> Row:
        """Columns of a sample, and ``error``."""


class SceneSampler:
    """Runs of a scene.

    Args:
        scene: The scene that all have in common.
        steps: Time steps of a run.
        measures: What is measured, as ``--measure`` takes it.
        own: Measures of the program, which ``measures`` may name like those of the table. For several processes their
            functions have to be importable.

    Raises:
        InputError: There is no such measure, or two have one name.
    """

    def __init__(
        self, scene: LoadedScene, steps: int, measures: Sequence[str], own: Sequence[Measure] = ()
    ) -> None:
        self._scene, self._steps, self._own = scene, steps, tuple(own)
        self._asked = tuple(measures)
        table = with_own(own)
        self._columns = tuple(parse_measure(text, table) for text in measures)
        self.measures = tuple(column.name for column in self._columns)
        self._like: World | None = None

    def __getstate__(self) -> tuple[LoadedScene, int, tuple[str, ...], tuple[Measure, ...]]:
        return self._scene, self._steps, self._asked, self._own

    def __setstate__(self, state: tuple[LoadedScene, int, tuple[str, ...], tuple[Measure, ...]]) -> None:
        self.__init__(*state)  # type: ignore[misc]  # rows of the table have functions that cannot be pickled

    def check(self, values: Mapping[str, Any]) -> None:
        """Make the world of a sample, and what measures it."""
        world = self._world(values)
        for column in self._columns:
            column.gauges(world)

    def check_values(self, values: Mapping[str, Any]) -> None:
        """Nothing: a value that the scene refuses is the error of its row."""

    def failed(self, reason: str) -> Row:
        """A row without measures."""
        return {**dict.fromkeys(self.measures), ERROR: reason}

    def told(self) -> dict[str, Any]:
        """Scene, steps and measures; the scene with a digest of all that makes its states."""
        return {
            "scene": self._common().save_state().scene,
            "steps": self._steps,
            "measures": list(self._asked),
        }

    def __call__(self, values: Mapping[str, Any]) -> Row:
        """Run the scene with other values."""
        try:
            world = self._world(values)
            gauges = [column.gauges(world) for column in self._columns]
            self._step(world, gauges)
            found = [one.result(of, world) for one, of in zip(self._columns, gauges, strict=True)]
        except (InputError, FloatingPointError) as error:
            return self.failed(str(error))
        return {**dict(zip(self.measures, found, strict=True)), ERROR: None}

    def _step(self, world: World, gauges: Sequence[Sequence[Gauge]]) -> None:
        """Take all steps, one by one only if something looks at each."""
        parts = [part for column in self._columns for part in column.parts]
        flat = [gauge for of_column in gauges for gauge in of_column]
        every = [(part, one) for part, one in zip(parts, flat, strict=True) if part.measure.every_step]
        for _ in range(self._steps if every else 0):
            world.step()
            for part, gauge in every:
                part.observe(gauge, world)
        if not every:
            world.step(self._steps)

    def _common(self) -> World:
        """The scene without other values, whose meshes are used again; made once a process."""
        if self._like is None:
            self._like = World(self._scene)
        return self._like

    def _world(self, values: Mapping[str, Any]) -> World:
        return World(self._scene.with_(values), like=self._common())


class TaskSampler:
    """Trials of a task, which measures itself; ``seed`` among the values is that of its variation.

    Args:
        name: Of the task.
        values: Values that all have in common.
    """

    measures = ("succeeded",)

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self._name, self._values = name, dict(values)

    def check(self, values: Mapping[str, Any]) -> None:
        """Make the world of a sample."""
        seed, others = self._seed_and_others(values)
        task, of_scene = find_told_task(self._name, others)
        World(scene_of(task, seed, of_scene))

    def check_values(self, values: Mapping[str, Any]) -> None:
        """Look at seed, settings and values of the scene: a trial that cannot begin would count as failed."""
        seed, others = self._seed_and_others(values)
        task, of_scene = find_told_task(self._name, others)
        steps_of_a_period(task, scene_of(task, seed, of_scene).spec.time_step)

    def failed(self, reason: str) -> Row:
        """A row of a trial that has not succeeded."""
        return {**dict.fromkeys(self.measures, False), ERROR: reason}

    def told(self) -> dict[str, Any]:
        """Task and values."""
        common = World(scene_of(*self._common()))
        return {"task": self._name, "scene": common.save_state().scene, "values": self._values}

    def __call__(self, values: Mapping[str, Any]) -> Row:
        """Let the controller try it with other values."""
        try:
            seed, others = self._seed_and_others(values)
            trial = told_trial(self._name, others, seed)
            _check_columns(self._name, values, trial.measures)
        except InputError as error:
            return self.failed(str(error))
        outcome: Row = {
            "succeeded": trial.succeeded,
            "phase": trial.phase,
            "reason": trial.reason,
            "time": trial.time,
        }
        numbers = {name: value if math.isfinite(value) else None for name, value in trial.measures.items()}
        return {**outcome, **numbers, ERROR: None}

    def _common(self) -> tuple[Task, None, dict[str, Any]]:
        task, of_scene = find_told_task(self._name, self._values)
        return task, None, of_scene

    def _seed_and_others(self, values: Mapping[str, Any]) -> tuple[int | None, dict[str, Any]]:
        others = {**self._values, **values}
        seed = others.pop(_SEED, None)
        if isinstance(seed, float) and seed.is_integer():
            seed = int(seed)  # of a range that has others between
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise InputError(
                "--vary", _SEED, f"{excerpt(seed)} is no seed", "give whole numbers, as in seed=0:19:20"
            )
        return seed, others


def _check_columns(name: str, varied: Iterable[str], measures: Iterable[str]) -> None:
    """Refuse a measure of a task with the name of a path that is varied, or of another one: they share a column."""
    taken = {path.casefold() for path in varied}
    for measure in measures:
        if measure.casefold() in taken:
            problem = "has the name of another column of the table"
            raise InputError(name, f"measure '{measure}'", problem, "mend the task's judge")
        taken.add(measure.casefold())
