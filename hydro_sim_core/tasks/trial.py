"""A trial of a task in this process: its controller gets and gives what it would over the node's topics."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.overrides import without_effect
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.bubbles import BubbleView
from hydro_sim_core.messages.state import pair_wrench, split_time, stamped_time
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.tasks.attempt import INTERRUPTED, Ending, Refused, attempt, carried_out, controller_of
from hydro_sim_core.tasks.own_code import have_drawn, place_of, text_of
from hydro_sim_core.tasks.robot import Measurement, TaskFailed
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.task_check import check_shows, check_task
from hydro_sim_core.tasks.variation import Draws

#: Pose of what has no frame of its own, as an item of the environment.
_AT_WORLD = np.eye(4)


@dataclass(frozen=True)
class Trial:
    """What came of a trial.

    Attributes:
        seed: Of the variation; None for the scene as it is.
        succeeded: Whether the task succeeded.
        reason: Why not; empty if it did.
        phase: What the controller was doing at its end.
        time: Simulated time that it took, s.
        steps: Steps of the simulation.
        mean_faces: Contact faces, on average over the periods.
        measures: Numbers behind the outcome.
        drawn: What the seed has drawn, by name and unit, and other values have left.
        digest: Of the last state: equal trials have equal ones.
        course: Of every period: time (s), and what the task follows, by name.
        processor_time: Of this process while it loaded the scene, stepped it and ran the controller, s. Trials that
            differ in it alone are equal.
    """

    seed: int | None
    succeeded: bool
    reason: str
    phase: str
    time: float
    steps: int
    mean_faces: float
    measures: Mapping[str, float]
    drawn: Mapping[str, float]
    digest: str
    course: Sequence[Mapping[str, float]] = ()
    processor_time: float = field(default=0.0, compare=False)

    @property
    def factor(self) -> float:
        """Real-time factor on one core: simulated time over processor time; 0 where nothing was simulated."""
        return self.time / self.processor_time if self.processor_time > 0.0 else 0.0

    def as_dict(self, with_course: bool = False) -> dict[str, Any]:
        """For JSON; the course is left out where there are many."""
        told = asdict(self)
        del told["course"]
        told["factor"] = self.factor
        told["measures"], told["drawn"] = for_json(self.measures), for_json(self.drawn)
        if with_course:
            told["course"] = [for_json(point) for point in self.course]
        return told


def for_json(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Numbers as JSON has them: None where there is none."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def scene_of(task: Task, seed: int | None, values: Mapping[str, Any] | None = None) -> LoadedScene:
    """The scene of a trial; arguments and errors as of ``varied``."""
    return varied(task, seed, find_scene(task.scene), values or {})


def varied(task: Task, seed: int | None, scene: LoadedScene, values: Mapping[str, Any]) -> LoadedScene:
    """The scene of a trial, made of that of its task.

    Args:
        task: The task.
        seed: Of the variation; None for none.
        scene: The scene of the task.
        values: Other values of the scene by path.

    Raises:
        InputError: A path or value of these is wrong, or of what is drawn, or the time step does not divide the period.
    """
    drawn = draw(task, seed, scene).values

    def changed(changes: Mapping[str, Any]) -> LoadedScene:
        other = scene.with_(changes) if changes else scene
        steps_of_a_period(task, other.spec.time_step)
        return other

    try:
        return changed({**drawn, **values})
    except InputError:
        if seed is not None:
            try:
                changed(drawn)
            except InputError as error:
                raise _refused_draw(
                    task, seed, _told_of(error, task, "what is drawn is refused: ")
                ) from error
        raise


def _told_of(error: InputError, task: Task, begin: str = "") -> str:
    return f"{begin}{error.element}: {error.problem}; {error.mend} ({place_of(task.variation)})"


def _refused_draw(task: Task, seed: int, problem: str) -> InputError:
    return InputError(task.scene, f"seed {seed}", problem, "mend the task's variation")


def drawn_in(
    task: Task, seed: int | None, scene: LoadedScene, values: Mapping[str, Any]
) -> Mapping[str, float]:
    """What a seed draws, by name and unit, without that of which other values by path leave nothing.

    What hangs on a draw is what differs where it alone is mirrored.
    """
    draws = draw(task, seed, scene)
    if not values or seed is None:
        return draws.drawn
    left = dict(draws.drawn)
    for number in range(draws.count):
        other = draw(task, seed, scene, mirrored=number)
        paths = [path for path, value in draws.values.items() if other.values.get(path) != value]
        if paths and all(without_effect(scene.spec, path, values) for path in paths):
            for name, value in draws.drawn.items():
                if other.drawn.get(name) != value:
                    left.pop(name, None)
    return left


def draw(task: Task, seed: int | None, scene: LoadedScene, mirrored: int | None = None) -> Draws:
    """What a seed draws of the scene of a task; nothing without one.

    Args:
        task: The task.
        seed: The seed.
        scene: The scene.
        mirrored: As of ``Draws``.

    Raises:
        InputError: The task's own code does not draw.
    """
    draws = Draws(np.random.default_rng(seed), scene, mirrored)
    if seed is None:
        return draws
    try:
        have_drawn(task, draws)
    except InputError as error:
        raise _refused_draw(task, seed, _told_of(error, task)) from error
    except TaskFailed as failure:
        raise _refused_draw(task, seed, text_of(failure)) from failure
    return draws


def steps_of_a_period(task: Task, time_step: float) -> int:
    """Steps between two commands.

    Raises:
        InputError: The time step (s) does not divide the period, or the period is no time.
    """
    if not 0.0 < task.period < math.inf:
        problem = f"of {task.period:g} s is none"
        raise InputError(task.scene, "the controller's period", problem, "give a number above 0")
    count = round(task.period / time_step)
    if abs(count * time_step - task.period) > 1e-9 or count < 1:
        problem = f"of {time_step:g} s does not divide the controller's period of {task.period:g} s"
        raise InputError(task.scene, "time_step", problem, "give one that does")
    return count


def run_trial(
    task: Task,
    seed: int | None = None,
    values: Mapping[str, Any] | None = None,
    watch: Callable[[World], None] = lambda world: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Trial:
    """Let the controller of a task try it.

    Args:
        task: The task.
        seed: Of the variation; None for the scene as it is.
        values: Other values of the scene by path.
        watch: Called after every period.
        stopped: Whether it shall end, asked after every period: a failure with the reason ``INTERRUPTED``.

    Raises:
        InputError: A path or value is wrong, the time step does not divide the period, bodies start deep in each
            other, or the task is none.
    """
    began = time.process_time()
    check_task(task)
    world = World(scene_of(task, seed, values))
    if deep := world.built.deep_start:
        mend = "move them apart, or give them law none in contact.pairs"
        raise InputError(task.scene, "models", f"start deep in each other: {deep}", mend)
    # The controller knows the scene as it is meant to be.
    model = World(find_scene(task.scene), like=world)
    check_shows(task, model)
    drawn = drawn_in(task, seed, model.scene, values or {})
    count = steps_of_a_period(task, world.time_step)
    controller = controller_of(task, model)
    faces = 0
    views = views_of(task, world, seed or 0)
    attempted = attempt(task, controller, measure(world, views))
    try:
        commands = next(attempted)
        while True:
            carried_out(attempted, world, commands, count)
            faces += int(world.diagnostics()["faces"])
            watch(world)
            if stopped():
                attempted.throw(Refused(INTERRUPTED))
            commands = attempted.send(measure(world, views))
    except StopIteration as end:
        ending: Ending = end.value
    return Trial(
        seed,
        ending.outcome.succeeded,
        ending.outcome.reason,
        ending.phase,
        ending.time,
        world.step_count,
        faces * count / max(world.step_count, 1),
        ending.outcome.measures,
        drawn,
        hashlib.sha256(world.q.tobytes() + world.v.tobytes()).hexdigest()[:16],
        ending.course,
        time.process_time() - began,
    )


def views_of(task: Task, world: World, seed: int = 0) -> dict[str, BubbleView]:
    """The cameras in Soft-bubble fingers that a task looks through, by finger.

    Args:
        task: The task.
        world: The world.
        seed: Of the noise of their images.

    Raises:
        InputError: The world has no such finger, or its camera does not see it.
    """
    return {bubble.link: BubbleView(replace(bubble, noise_seed=seed), world) for bubble in task.bubbles}


def measure(world: World, views: Mapping[str, BubbleView] | None = None) -> Measurement:
    """What the node would publish of a world now, images of these cameras included."""
    snapshot = take_snapshot(world, epoch=0)
    return Measurement(
        stamped_time(split_time(snapshot.time)),
        dict(zip(snapshot.joint_names, snapshot.joint_positions.tolist(), strict=True)),
        {
            pair: pair_wrench(snapshot.contacts, pair, snapshot.frames.get(pair[1], _AT_WORLD))
            for pair in world.contact_pairs
        },
        snapshot.frames,
        {link: view.depth_pixels(snapshot) for link, view in (views or {}).items()},
    )
