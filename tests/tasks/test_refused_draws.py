"""Draws that a scene cannot have: refused before any trial, with the seed; and trials of which some cannot be."""

import inspect
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, many_trials, registry, run_trial
from hydro_sim_core.tasks.task import Outcome, Task
from hydro_sim_core.tasks.trial import draw
from hydro_sim_core.workers import Lost


class Ends:
    """Ends after a period."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="watch the box")

    def script(self, measured):
        yield {}


TASK = Task("a box falls", "drop_box", 0.01, 2.0, Ends, lambda draws: None, lambda story: Outcome(True))


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.01)


def test_what_is_drawn_and_is_no_number_is_null_in_a_report():
    def endless(draws):
        draws.drawn |= {"far, m": math.inf, "near, m": np.float32(0.5)}

    trial = run_trial(replace(TASK, variation=endless), seed=1)
    told = json.loads(json.dumps(trial.as_dict(), allow_nan=False))
    assert told["drawn"] == {"far, m": None, "near, m": 0.5}


def test_what_draws_words_is_refused_before_any_trial():
    def wrong(draws):
        draws.drawn["far, m"] = "very"

    place = f"{__file__}, line {inspect.getsourcelines(wrong)[1]}"
    told = f"drop_box: seed 1: what draws gives 'very' in place of a number for far, m ({place}); mend"
    with pytest.raises(InputError, match=re.escape(told)):
        run_trial(replace(TASK, variation=wrong), seed=1)


def test_a_variation_that_raises_is_refused_before_any_trial(monkeypatch):
    def wrong(draws):
        return draws.between("height, m", 0.0, 1.0) / 0

    place = f"{__file__}, line {inspect.getsourcelines(wrong)[1] + 1}"
    told = f"drop_box: seed 1: what draws raised ZeroDivisionError: float division by zero ({place}); mend"
    task = replace(TASK, variation=wrong)
    with pytest.raises(InputError, match=re.escape(told)):
        run_trial(task, seed=1)
    monkeypatch.setattr(many_trials, "find_told_task", lambda name, values: (task, values))
    monkeypatch.setattr(many_trials, "completed", lambda *_: pytest.fail("tried"))
    with pytest.raises(InputError, match=re.escape(told)):
        many_trials.run_trials("falling", [1, 2])


def drawn(values):
    """A variation that draws these values."""

    def variation(draws):
        draws.values = values(draws) if callable(values) else values

    return variation


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (None, "what draws gives NoneType in place of values by path"),
        ({3: 1.0}, "what draws gives dict in place of values by path"),
        ({"models.box.nope": 1}, "what is drawn is refused: models.box.nope: unknown key 'nope'; did"),
        (
            {"models.box.pose.xyz": [0, 0, math.nan]},
            "what is drawn is refused: models.box.pose.xyz.2: nan is",
        ),
        ({"time_step": 0.003}, "what is drawn is refused: time_step: of 0.003 s does not divide"),
        (lambda draws: draws.moved("bix"), "models: the scene has no model 'bix'; did you mean 'box'?"),
        (
            lambda draws: draws.properties("friction", "mu_dynamic", [("box", "lid")], 0.2),
            "links: the scene has no link 'lid'; use one of 'box'",
        ),
        (
            lambda draws: draws.properties("friction", "mu_dinamic", [("box", "box")], 0.2),
            "models.box.links.box: the geometries of 'box' have no mu_dinamic that they share; draw one",
        ),
    ],
)
def test_what_the_scene_refuses_of_a_draw_names_seed_and_variation(values, told):
    task = replace(TASK, variation=drawn(values))
    with pytest.raises(InputError) as refused:
        run_trial(task, seed=1)
    line = str(refused.value)
    assert line.startswith(f"drop_box: seed 1: {told}")
    assert f"({__file__}, line " in line
    assert line.endswith("; mend the task's variation")
    assert run_trial(task).succeeded  # without a seed nothing is drawn


def test_a_value_of_the_users_own_is_no_fault_of_the_variation():
    task = replace(TASK, variation=drawn({"models.box.pose.xyz": [0, 0, 1.0]}))
    with pytest.raises(InputError, match=r"models\.box\.nope: unknown key"):
        run_trial(task, 1, {"models.box.nope": 1})


@pytest.fixture
def one_by_one(monkeypatch):
    """Has trials made in this process, of a task of one's choice; seeds to be lost are lost."""

    def of(task, lost=()):
        def work_on(work, items, count):
            return ((k, Lost(3) if seed in lost else work(seed)) for k, seed in enumerate(items))

        monkeypatch.setattr(registry, "load_named", lambda *_: {"falling": task})
        monkeypatch.setattr(many_trials, "completed", work_on)

    return of


def test_a_draw_that_the_scene_refuses_ends_no_trial_that_has_begun(one_by_one, monkeypatch):
    def variation(draws):
        draws.values["time_step"] = 0.001 if draws.between("share", 0.0, 1.0) < 0.6 else -1.0

    one_by_one(replace(TASK, variation=variation))
    monkeypatch.setattr(many_trials, "completed", lambda *_: pytest.fail("tried"))
    with pytest.raises(
        InputError, match=r"drop_box: seed 0: what is drawn is refused: time_step: .*variation"
    ):
        many_trials.run_trials("falling", range(3))


def test_trials_go_on_where_one_loses_its_process_or_has_no_world(one_by_one, monkeypatch):
    def variation(draws):
        draws.values["models.box.pose.xyz"] = [0.0, 0.0, draws.between("height, m", 0.5, 1.0)]

    made = World.__init__

    def make(world, scene, **others):
        if scene.spec.models[0].pose.xyz[2] == heights[2]:
            raise InputError("box", "mesh", "is none", "mend it")
        made(world, scene, **others)

    task = replace(TASK, variation=variation)
    heights = [draw(task, seed, find_scene("drop_box")).drawn["height, m"] for seed in range(4)]
    monkeypatch.setattr(World, "__init__", make)
    one_by_one(task, lost=[1])
    told = []
    trials = many_trials.run_trials("falling", range(4), done=told.append)
    assert told == trials
    assert [trial.seed for trial in trials] == [0, 1, 2, 3]
    assert [trial.succeeded for trial in trials] == [True, False, False, True]
    assert trials[1].reason.startswith("its process was lost 2 times with status 3; where memory is short")
    assert trials[2].reason == "box: mesh: is none; mend it"
    assert [trial.drawn["height, m"] for trial in trials] == heights
    json.dumps([trial.as_dict() for trial in trials], allow_nan=False)
    with pytest.raises(InputError, match="box: mesh: is none; mend it"):  # none of them could begin
        many_trials.run_trials("falling", [2])


def test_bodies_that_start_deep_in_each_other_are_no_trial():
    """Their steps take a second each, and what comes of them is nothing that a task could judge."""
    with pytest.raises(
        InputError, match=r"models: start deep in each other: 'bolt' and '\w+' by .* mm; move them"
    ):
        run_trial(TASKS["m16_nut"], values={"models.stud.pose.xyz": [0.0, 0.0, 0.25]})
