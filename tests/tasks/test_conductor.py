"""A task in a world that somebody else steps: led once a period, told of, and tried anew after a reset."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hydro_sim_core.cli.choosing import task_choices
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, find_task
from hydro_sim_core.tasks.conductor import Conductor
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Outcome, Task

SCENE = "gen3_7dof"
PERIODS = 3


class Nods:
    """Moves a joint for some periods; then it has done it, or gives up."""

    gives_up = False

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="begin")
        self.times = []

    def script(self, measured):
        self.robot.phase = "nod"
        for i in range(PERIODS):
            self.times.append(measured.time)
            measured = yield {"joint_2": JointCommand(measured.positions["joint_2"] + 0.01 * (i + 1))}
        if self.gives_up:
            raise TaskFailed("it would not")


TASK = Task(
    summary="nod",
    scene=SCENE,
    period=0.01,
    duration=1.0,
    controller=Nods,
    variation=lambda draws: None,
    judge=lambda story: Outcome(story.later.positions["joint_2"] != story.before.positions["joint_2"]),
)


@pytest.fixture
def world():
    return World(find_scene(SCENE))


def conducted(world, task=TASK):
    told = []
    return Conductor(task, find_scene(SCENE), world, told.append), told


def take(world, conductor, steps):
    for _ in range(steps):
        conductor(world)
        world.step()


def test_a_task_is_tried_until_it_has_ended_and_anew_after_a_reset(world):
    conductor, told = conducted(world)
    after_the_end = round((PERIODS * 0.01 + 1.0) / world.time_step) + 2
    take(world, conductor, after_the_end)
    assert told == ["nod …", "succeeded after 0.03 s"]
    moved = world.q.copy()
    world.reset()
    take(world, conductor, after_the_end)
    assert told == 2 * ["nod …", "succeeded after 0.03 s"]
    assert (world.q == moved).all()


def test_it_is_led_once_a_period(world):
    conductor, _ = conducted(world)
    take(world, conductor, 2 * round(0.01 / world.time_step) + 1)
    assert conductor._controller.times == pytest.approx([0.0, 0.01, 0.02])


def test_the_reason_of_a_failure_is_told(world):
    stubborn = type("Stubborn", (Nods,), {"gives_up": True})
    conductor, told = conducted(world, replace(TASK, controller=stubborn))
    take(world, conductor, round(1.1 / world.time_step))
    assert told[-1] == "failed after 0.03 s, to nod: it would not"


def test_another_world_is_left_alone(world):
    conductor, told = conducted(World(find_scene(SCENE)))
    take(world, conductor, 1)
    assert told == []


def test_a_period_that_is_no_number_of_steps_is_refused(world):
    with pytest.raises(InputError, match="does not divide the controller's period"):
        conducted(world, replace(TASK, period=0.0015))


def test_a_page_offers_every_task_with_every_choice_of_settings():
    """Each by a name of its own, and each one that can be made."""
    choices = task_choices()
    assert len({choice.name for choice in choices}) == len(choices)
    offered = [(choice.task, find_task(choice.task, choice.settings)) for choice in choices]
    assert {name for name, _ in offered} == set(TASKS)
    feedbacks = {task.settings["feedback"] for name, task in offered if name == "slip_control"}
    assert feedbacks == {"wrench", "membrane"}
