"""What a page loads in place of the run's scene: another scene, or a task with its controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import find_task, tasks
from hydro_sim_core.tasks.conductor import Conductor
from hydro_sim_core.tasks.task_check import check_task
from hydro_sim_core.viewer.choices import Choice, Chooser, scene_choices
from hydro_sim_core.viewer.viewer import Viewer


def task_choices() -> tuple[Choice, ...]:
    """The tasks, each in its scene and with every choice of settings; their names differ from those of scenes.

    Raises:
        InputError: As ``tasks``, or one is not what a task has to be.
    """
    for name, task in tasks().items():
        check_task(task, name)
    shipped = shipped_scenes()
    return tuple(
        Choice(f"{name}{other} (task)", "Tasks", shipped.get(task.scene, Path(task.scene)), name, settings)
        for name, task in tasks().items()
        for other, settings in [
            ("", {}),
            *((f", {told}", settings) for told, settings in task.variants.items()),
        ]
    )


def make_chooser(
    runner: FixedRateRunner,
    viewer: Viewer,
    prepare: Callable[[World], None],
    begin: Callable[[World], None],
) -> Chooser:
    """Loads scenes and tasks in place of what a runner steps.

    Args:
        runner: The runner.
        viewer: Tells pages.
        prepare: Has a new world compiled; may raise ``FloatingPointError`` or ``RuntimeError``.
        begin: Told of a new world, in the stepping thread.
    """
    conductor: Conductor | None = None

    def lead(world: World) -> None:
        if conductor is not None:
            conductor(world)

    def carry_out(choice: Choice) -> None:
        nonlocal conductor
        scene = find_scene(choice.path)
        world = World(scene)
        try:
            prepare(world)
            if choice.task:
                task = find_task(choice.task, choice.settings)
                conductor = Conductor(task, scene, world, viewer.tell)
            runner.exchange(world, lambda old, new: begin(new))
        except (FloatingPointError, RuntimeError) as error:
            mend = "look at the scene with hydro-sim check"
            raise InputError(choice.name, "scene", str(error), mend) from None

    runner.add_command_source(lead)
    choices = (*scene_choices(Path(runner.world.scene.source)), *task_choices())
    return Chooser(choices, carry_out, viewer.tell_loading)
