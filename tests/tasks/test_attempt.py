"""Attempts whose task fails in its own code, or whose world does not go on: failures with a reason, no end of all."""

import inspect
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks import attempt as attempt_module
from hydro_sim_core.tasks import run_trial
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Outcome, Task

PERIOD = 0.01


class Fails:
    """Watches for two periods; then its own code fails, as ``wrong`` says."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="watch the box")

    def script(self, measured):
        yield {}
        yield {}
        self.wrong()

    def wrong(self):
        raise ValueError("no\nway")


class Singular(Fails):
    def wrong(self):
        np.linalg.inv(np.zeros((3, 3)))


class Unmade(Fails):
    def __init__(self, model, period):
        raise KeyError("joint_9")


class Commands(Fails):
    def script(self, measured):
        yield {}
        yield {"no_joint": JointCommand(1.0)}


class Forgets(Fails):
    def script(self, measured):
        yield {}
        yield


TASK = Task("a box falls", "drop_box", PERIOD, 2.0, Fails, lambda draws: None, lambda story: Outcome(True))


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(attempt_module, "AFTERWARDS", 0.01)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def test_an_exception_of_a_controller_is_a_failed_trial_with_type_and_place():
    trial = run_trial(TASK)
    place = f"{__file__}, line {line_of(Fails.wrong, 'raise')}"
    assert (trial.succeeded, trial.phase, trial.time) == (False, "watch the box", pytest.approx(2 * PERIOD))
    assert trial.reason == f"the controller raised ValueError: no way ({place})"
    assert trial.course[-1]["time, s"] > trial.time  # judged no more, but followed to the end


def test_what_another_package_raises_is_told_with_the_line_of_the_controller():
    reason = run_trial(replace(TASK, controller=Singular)).reason
    assert reason.startswith("the controller raised LinAlgError: Singular matrix (")
    assert f"({__file__}, line {line_of(Singular.wrong, 'inv')}, from " in reason
    assert "numpy" in reason.partition(", from ")[2]


def test_a_controller_that_cannot_be_made_is_a_failed_trial():
    trial = run_trial(replace(TASK, controller=Unmade))
    place = f"{__file__}, line {line_of(Unmade.__init__, 'raise')}"
    assert trial.reason == f"the controller raised KeyError: 'joint_9' ({place})"
    assert (trial.phase, trial.time) == ("begin", 0.0)


@pytest.mark.parametrize(("part", "who"), [("judge", "the judge"), ("follow", "what the task follows")])
def test_an_exception_of_another_part_of_the_task_names_that_part(part, who):
    def wrong(told):
        return {}["pancake"]

    class Watches(Fails):
        def wrong(self):
            pass

    reason = run_trial(replace(TASK, controller=Watches, **{part: wrong})).reason
    assert reason == f"{who} raised KeyError: 'pancake' ({__file__}, line {line_of(wrong, 'return')})"


def test_what_a_controller_gives_up_with_stays_as_it_is():
    class GivesUp(Fails):
        def wrong(self):
            raise TaskFailed("it would not")

    assert run_trial(replace(TASK, controller=GivesUp)).reason == "it would not"


def test_a_yield_without_commands_is_no_end_but_a_failure():
    trial = run_trial(replace(TASK, controller=Forgets))
    assert trial.reason == "the controller gives NoneType in place of commands"
    assert trial.time == pytest.approx(PERIOD)


def test_commands_that_the_world_refuses_are_a_failed_trial():
    trial = run_trial(replace(TASK, controller=Commands))
    assert trial.reason.startswith("a command of the controller is refused: ")
    assert "no_joint" in trial.reason
    assert (trial.phase, trial.time) == ("watch the box", pytest.approx(PERIOD))


def test_a_world_that_diverges_is_a_failed_trial(monkeypatch):
    def diverge(world, n=1):
        raise FloatingPointError("a velocity is not finite")

    monkeypatch.setattr(World, "step", diverge)
    trial = run_trial(TASK)
    assert trial.reason == "the simulation failed: a velocity is not finite"
    assert (trial.steps, trial.phase, trial.time) == (0, "watch the box", 0.0)


def test_a_world_that_does_not_fit_is_told_as_bad_input():
    def misfit(model, period):
        raise InputError("task", "joints", "has none", "give a robot")

    with pytest.raises(InputError, match="has none"):
        run_trial(replace(TASK, controller=misfit))
