"""A task with a part that is none is refused before a trial, in one line that names the task and the part."""

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hydro_sim_core.cli.choosing import task_choices
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, find_task, registry, run_trial
from hydro_sim_core.tasks.conductor import Conductor
from hydro_sim_core.tasks.task import Outcome, Task
from hydro_sim_core.tasks.task_check import check_task

TASK = Task(
    "nothing happens",
    "drop_box",
    0.01,
    1.0,
    lambda model, period: SimpleNamespace(),
    lambda draws: None,
    lambda story: Outcome(True),
)
WRONG = [
    ("summary", None),
    ("scene", Path("drop_box")),
    ("period", "0.01"),
    ("duration", "5"),
    ("duration", math.nan),
    ("variation", None),
    ("judge", 3),
    ("bubbles", ("left_finger",)),
    ("shows", "box"),
    ("settings", None),
    ("settings", {"where": Path("here")}),
    ("settings", {"far": math.inf}),
    ("variants", {"other": None}),
    ("told", {}),
]


@pytest.fixture
def named(monkeypatch):
    """Has a task be one of an installed package."""

    def name(task):
        monkeypatch.setattr(registry, "load_named", lambda *_: {"nothing": task})

    return name


@pytest.mark.parametrize(("part", "value"), WRONG)
def test_a_part_that_is_none_is_refused_wherever_a_task_is_begun(named, part, value):
    task = replace(TASK, **{part: value})
    named(task)
    for begin in (lambda: find_task("nothing"), task_choices):
        with pytest.raises(InputError, match=rf"^nothing: the task's {part}: is .*; give "):
            begin()
    with pytest.raises(InputError, match=rf"drop_box: the task's {part}: is "):
        run_trial(task)
    with pytest.raises(InputError, match=rf"drop_box: the task's {part}: is "):
        Conductor(task, None, None, print)


@pytest.mark.parametrize("name", TASKS)
def test_shipped_tasks_are_tasks_with_every_choice_of_settings(name):
    for settings in ({}, *TASKS[name].variants.values()):
        task = find_task(name, settings)
        assert check_task(task, name) is task


def test_what_takes_settings_and_fails_is_refused_with_its_line(named):
    def wrong(settings):
        raise KeyError("mode")

    named(replace(TASK, settings={"mode": 1}, told=wrong))
    place = re.escape(f"({__file__}, line ")
    with pytest.raises(
        InputError, match=f"nothing: .*: what takes the settings raised KeyError: 'mode' {place}"
    ):
        find_task("nothing", {"mode": 2})
    named(replace(TASK, settings={"mode": 1}, told=lambda settings: None))
    with pytest.raises(InputError, match="nothing: task: None is no Task"):
        find_task("nothing", {"mode": 2})


def test_a_link_to_show_that_is_not_there_is_refused():
    with pytest.raises(
        InputError, match="drop_box: the task's shows: the scene has no link 'bix'; did you mean 'box'"
    ):
        run_trial(replace(TASK, shows=("box", "bix")))


def test_a_setting_that_nothing_takes_is_refused(named):
    task = replace(TASK, settings={"by": 0.05})
    named(task)
    with pytest.raises(InputError, match=r"nothing: controller\.by: cannot be changed: the task has no told"):
        find_task("nothing", {"by": 0.06})
    assert find_task("nothing") is task


def test_a_page_goes_on_where_a_controller_has_no_robot_any_more():
    class Gone:
        def __init__(self, model, period):
            self.robot = SimpleNamespace(phase="begin")

        def script(self, measured):
            del self.robot
            yield {}

    told = []
    world = World(find_scene("drop_box"))
    conductor = Conductor(replace(TASK, controller=Gone), world.scene, world, told.append)
    while not told or "after" not in told[-1]:
        conductor(world)
        world.step()
    assert told == ["? …", "succeeded after 0.01 s"]
