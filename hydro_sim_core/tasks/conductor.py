"""A task in a world that others step and show: its controller leads it as long as they like."""

from __future__ import annotations

from collections.abc import Callable

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.attempt import Attempt, Ending, attempt, carried_out, controller_of
from hydro_sim_core.tasks.own_code import phase_of
from hydro_sim_core.tasks.task import Task, TaskController
from hydro_sim_core.tasks.task_check import check_task
from hydro_sim_core.tasks.trial import measure, steps_of_a_period, views_of


class Conductor:
    """Lets the controller of a task try it in a world from its start, and anew whenever the world is back there.

    Args:
        task: The task.
        scene: Its scene, for the controller to plan in.
        world: The world to lead.
        tell: Told in a line what the controller does now, and how it ended.

    Raises:
        InputError: The world's time step does not divide the controller's period, or the task is none.
    """

    def __init__(self, task: Task, scene: LoadedScene, world: World, tell: Callable[[str], None]) -> None:
        check_task(task)
        self.world = world
        self._task = task
        self._model = World(scene, like=world)
        self._steps = steps_of_a_period(task, world.time_step)
        self._tell = tell
        self._views = views_of(task, world)
        self._attempt: Attempt | None = None
        self._controller: TaskController | None = None
        self._phase = ""

    def __call__(self, world: World) -> None:
        """Command what is due before the next step; of another world, nothing."""
        if world is not self.world or world.step_count % self._steps:
            return
        try:
            if world.step_count == 0:
                commands = next(self._begin(world))
            elif self._attempt is not None:
                commands = self._attempt.send(measure(world, self._views))
            else:
                return
            assert self._attempt is not None
            carried_out(self._attempt, world, commands, steps=0)
        except StopIteration as end:
            self._attempt = None
            self._tell(_told_of(end.value))
            return
        except InputError as error:
            self._attempt = None
            self._tell(str(error))
            return
        self._tell_phase()

    def _begin(self, world: World) -> Attempt:
        self._phase = ""
        self._controller = controller_of(self._task, self._model)
        self._attempt = attempt(self._task, self._controller, measure(world, self._views))
        return self._attempt

    def _tell_phase(self) -> None:
        assert self._controller is not None
        phase = phase_of(self._controller)
        if phase != self._phase:
            self._phase = phase
            self._tell(f"{self._phase} …")


def _told_of(ending: Ending) -> str:
    if ending.outcome.succeeded:
        return f"succeeded after {ending.time:.2f} s"
    return f"failed after {ending.time:.2f} s, to {ending.phase}: {ending.outcome.reason}"
