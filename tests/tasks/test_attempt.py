"""Attempts whose task fails in its own code, or whose world does not go on: failures with a reason, no end of all."""

import asyncio
import inspect
import json
import math
import pickle
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks import attempt as attempt_module
from hydro_sim_core.tasks import run_trial
from hydro_sim_core.tasks.robot import Measurement, TaskFailed
from hydro_sim_core.tasks.task import Outcome, Task
from hydro_sim_core.tasks.task_check import told_otherwise

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


def test_time_is_what_an_attempt_took_whatever_the_clock_said_at_its_start():
    """As of a node that has run before."""
    controller = Ends(None, PERIOD)
    at = [Measurement(300.0 + PERIOD * k, {}, {}, {}) for k in range(6)]
    attempted = attempt_module.attempt(TASK, controller, at[0])
    next(attempted)
    for measured in at[1:3]:
        attempted.send(measured)
    with pytest.raises(StopIteration) as end:
        attempted.send(at[3])
    assert end.value.value.time == pytest.approx(2 * PERIOD)
    assert end.value.value.course[0] == {"time, s": 300.0}


def test_what_a_controller_gives_up_with_stays_as_it_is():
    class GivesUp(Fails):
        def wrong(self):
            raise TaskFailed("it would not")

    assert run_trial(replace(TASK, controller=GivesUp)).reason == "it would not"


class Wordless(TaskFailed):
    def __str__(self):
        return " "


@pytest.mark.parametrize("failure", [TaskFailed, TaskFailed(""), Wordless])
def test_what_gives_up_without_a_reason_fails(failure):
    """With the place in place of one, whoever gives up."""

    def gives_up(*told):
        raise failure

    place = f"({__file__}, line {line_of(gives_up, 'raise')})"
    for part, who in [
        ("controller", "the controller"),
        ("judge", "the judge"),
        ("follow", "what the task follows"),
    ]:
        trial = run_trial(replace(TASK, **{"controller": Ends, part: gives_up}))
        assert (trial.succeeded, trial.reason) == (False, f"{who} gave up without a reason {place}")

    class GivesUp(Fails):
        def wrong(self):
            gives_up()

    trial = run_trial(replace(TASK, controller=GivesUp))
    assert (trial.succeeded, trial.time) == (False, pytest.approx(2 * PERIOD))
    assert trial.reason.startswith("the controller gave up without a reason (")


def test_a_yield_without_commands_is_no_end_but_a_failure():
    trial = run_trial(replace(TASK, controller=Forgets))
    place = f"{__file__}, line {line_of(Forgets.script, 'yield {}') + 1}"
    assert trial.reason == f"the controller gives NoneType in place of commands ({place})"
    assert trial.time == pytest.approx(PERIOD)


@pytest.mark.parametrize(
    ("commands", "what"),
    [
        ({3: JointCommand(1.0)}, "3 in place of a joint's name"),
        ({"joint_6": 3.0}, "3.0 in place of a JointCommand to joint_6"),
        ({"joint_6": None}, "NoneType in place of a JointCommand to joint_6"),
    ],
)
def test_commands_that_are_none_are_told_with_the_line_that_gives_them(commands, what):
    """That of the part of a script, where it has parts."""

    def part():
        yield commands

    class Wrong(Fails):
        def script(self, measured):
            yield from part()

    reason = run_trial(replace(TASK, controller=Wrong)).reason
    assert reason == f"the controller gives {what} ({__file__}, line {line_of(part, 'yield')})"


class Mute:
    """Has no script."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="begin")


class Listing(Fails):
    def script(self, measured):
        return [{}]


class Cheats(Fails):
    def script(self, measured):
        yield {}
        measured.positions.clear()


class Leaves(Fails):
    def script(self, measured):
        yield {}
        raise SystemExit(3)


class NoRobot(Fails):
    def __init__(self, model, period):
        """It has no robot."""


@pytest.mark.parametrize(
    ("controller", "told", "code"),
    [
        (Mute, "the controller has no script(measured)", Mute),
        (NoRobot, "the controller has no robot with a phase in words", NoRobot),
        (Listing, "the controller's script gives list in place of a generator", Listing.script),
    ],
)
def test_a_controller_that_is_none_is_told_with_its_line(controller, told, code):
    reason = run_trial(replace(TASK, controller=controller)).reason
    assert reason == f"{told} ({__file__}, line {inspect.getsourcelines(code)[1]})"


class Own(BaseException):
    """Of a task that knows better."""


@pytest.mark.parametrize("end", [asyncio.CancelledError, GeneratorExit, Own])
def test_what_is_no_exception_of_python_fails_its_trial(end):
    def wrong(*told):
        raise end("gone")

    class Goes(Fails):
        def wrong(self):
            wrong()

    for part, who in [
        ("judge", "the judge"),
        ("follow", "what the task follows"),
        ("controller", "the controller"),
    ]:
        reason = run_trial(replace(TASK, **{"controller": Ends, part: wrong})).reason
        assert reason == f"{who} raised {end.__name__}: gone ({__file__}, line {line_of(wrong, 'raise')})"
    reason = run_trial(replace(TASK, controller=Goes)).reason
    assert reason.startswith(f"the controller raised {end.__name__}: gone (")
    with pytest.raises(InputError, match=f"what draws raised {end.__name__}: gone"):
        run_trial(replace(TASK, variation=wrong), seed=1)
    with pytest.raises(InputError, match=f"what takes the settings raised {end.__name__}: gone"):
        told_otherwise(replace(TASK, told=wrong), {"a": 1}, "nothing")


def test_ctrl_c_is_no_failure_of_a_controller():
    class Waits(Fails):
        def wrong(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(replace(TASK, controller=Waits))


def test_a_controller_that_ends_the_program_fails_its_trial():
    place = f"{__file__}, line {line_of(Leaves.script, 'raise')}"
    reason = run_trial(replace(TASK, controller=Leaves)).reason
    assert reason == f"the controller raised SystemExit: 3 ({place})"


class Unspoken(Exception):
    def __str__(self):
        return 1 / 0


class Speechless(Fails):
    def wrong(self):
        raise Unspoken


class GoneRobot(Fails):
    def wrong(self):
        del self.robot
        raise TaskFailed("no more")


def test_an_exception_without_a_text_and_a_robot_that_is_gone_fail_their_trials():
    reason = run_trial(replace(TASK, controller=Speechless)).reason
    assert reason.startswith("the controller raised Unspoken (")
    trial = run_trial(replace(TASK, controller=GoneRobot))
    assert (trial.phase, trial.reason) == ("?", "no more")


@pytest.mark.parametrize("part", ["judge", "follow"])
def test_an_end_of_something_else_is_no_end_of_a_trial(part):
    def wrong(told):
        return next(iter(()))

    reason = run_trial(replace(TASK, controller=Ends, **{part: wrong})).reason
    assert "raised StopIteration (" in reason


def test_a_controller_that_alters_what_is_measured_fails_its_trial():
    reason = run_trial(replace(TASK, controller=Cheats)).reason
    assert reason.startswith("the controller raised AttributeError: 'mappingproxy'")


class Ends(Fails):
    def wrong(self):
        """Done."""


@pytest.mark.parametrize(
    ("part", "given", "told"),
    [
        ("judge", None, "the judge gives NoneType in place of an Outcome"),
        ("judge", True, "the judge gives True in place of an Outcome"),
        ("judge", Outcome(True, "", {"far, m": "x"}), "the judge gives 'x' in place of a number for far, m"),
        (
            "judge",
            Outcome("no", "it did not"),
            "the judge gives 'no' in place of True or False for whether it has succeeded",
        ),
        (
            "judge",
            Outcome(np.array([True])),
            "the judge gives ndarray in place of True or False for whether it has succeeded",
        ),
        ("judge", Outcome(False, ["a"]), "the judge gives list in place of a reason in words"),
        ("judge", Outcome(True, "but it leaks"), "the judge gives the reason 'but it leaks' with a success"),
        ("judge", Outcome(False, " "), "the judge gives a failure without a reason"),
        ("judge", Outcome(np.bool_(False)), "the judge gives a failure without a reason"),
        ("judge", Outcome(True, "", {"": 1.0}), "the judge gives 1.0 without a name"),
        ("follow", {" ": 1.0}, "what the task follows gives 1.0 without a name"),
        (
            "follow",
            {"time, s": 1.0},
            "what the task follows gives a number the name 'time, s', which reports have for something else",
        ),
        ("follow", None, "what the task follows gives NoneType in place of numbers by name"),
        ("follow", {"a": None}, "what the task follows gives NoneType in place of a number for a"),
        ("follow", {3: 1.0}, "what the task follows gives 1.0 in place of a number for 3"),
    ],
)
def test_what_is_no_outcome_and_no_number_is_told_with_the_line(part, given, told):
    def wrong(one):
        return given

    trial = run_trial(replace(TASK, controller=Ends, **{part: partial(wrong)}))
    assert trial.reason == f"{told} ({__file__}, line {inspect.getsourcelines(wrong)[1]})"
    assert not trial.succeeded


def test_what_holds_is_true_or_false():
    """NaN, as of a measure that there is not, would count as true."""
    for holds in (math.nan, 1, None, np.ones(1)):
        task = replace(
            TASK, controller=Ends, judge=lambda story, holds=holds: Outcome.of({"it lies": holds}, {})
        )
        trial = run_trial(task)
        assert not trial.succeeded
        assert trial.reason.startswith("the judge raised TypeError: whether 'it lies' holds is ")
    assert Outcome.of({"it lies": np.bool_(True)}, {}).succeeded


def test_what_is_reported_a_judge_cannot_alter():
    def adds(story):
        story.course[0]["worse"] = object()

    def ends(story):
        story.course.append({"worse": object()})

    for judge, told in [(adds, "TypeError: 'mappingproxy'"), (ends, "AttributeError: 'tuple'")]:
        trial = run_trial(replace(TASK, controller=Ends, judge=judge))
        assert trial.reason.startswith(f"the judge raised {told}")
        assert {*trial.course[0]} == {"time, s"}
        assert pickle.loads(pickle.dumps(trial)) == trial  # as between processes


def test_a_trial_tells_how_fast_it_was():
    trial = run_trial(replace(TASK, controller=Ends))
    told = trial.as_dict()
    assert told["processor_time"] > 0.0
    assert told["factor"] == trial.time / told["processor_time"]
    assert trial == replace(
        trial, processor_time=9.0
    )  # equal trials have equal states, however long they took


def test_numbers_of_numpy_are_numbers():
    """As reports have them."""
    one = np.float32(1.0)
    task = replace(TASK, controller=Ends, follow=lambda at: {"n": np.int64(2)})
    trial = run_trial(replace(task, judge=lambda story: Outcome(np.bool_(True), "", {"s": one})))
    assert json.loads(json.dumps(trial.as_dict(with_course=True)))["measures"] == {"s": 1.0}
    assert trial.succeeded


def test_what_takes_other_arguments_is_told_with_its_line():
    class Takes(Fails):
        def __init__(self):
            """Neither a world nor a period."""

    reason = run_trial(replace(TASK, controller=Takes)).reason
    assert reason.startswith("the controller raised TypeError: ")
    assert reason.endswith(f" ({__file__}, line {inspect.getsourcelines(Takes)[1]})")


def test_what_is_no_number_is_null_in_a_report():
    """JSON knows no NaN; plots have a gap there."""
    task = replace(TASK, controller=Ends, follow=lambda at: {"depth, mm": math.nan})
    task = replace(task, judge=lambda story: Outcome(True, "", {"least, mm": math.inf}))
    told = json.loads(json.dumps(run_trial(task).as_dict(with_course=True), allow_nan=False))
    assert told["measures"] == {"least, mm": None}
    assert [point["depth, mm"] for point in told["course"]] == [None] * len(told["course"])


@pytest.mark.parametrize("period", [math.nan, 0.0, -0.01, math.inf])
def test_a_period_that_is_no_time_is_refused(period):
    with pytest.raises(InputError, match=f"drop_box: the controller's period: of {period:g} s is none"):
        run_trial(replace(TASK, period=period))


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


@pytest.mark.parametrize("kind", ["positions", "poses", "wrenches", "images"])
def test_a_controller_cannot_alter_what_is_judged(kind):
    """Neither what is by name, nor the arrays."""
    array = np.eye(4)
    parts = {"positions": {"a": 0.1}, "wrenches": {("a", "b"): array}, "poses": {"a": array}}
    measured = Measurement(0.0, **parts, images={"a": array})
    told = getattr(measured, kind)
    ((name, value),) = told.items()
    with pytest.raises(TypeError):
        told[name] = value
    if kind != "positions":
        with pytest.raises(ValueError, match="read-only"):
            value[0] += 1.0
        array[0, 0] = 3.0  # theirs stays as it was made
