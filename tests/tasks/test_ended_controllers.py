"""A controller that is ended before its end: its last lines run then, and what they raise is told."""

import gc
import inspect
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hydro_sim_core.tasks import attempt, patience, run_trial
from hydro_sim_core.tasks.robot import Measurement
from hydro_sim_core.tasks.task import Outcome, Task

PERIOD = 0.01


class Controller:
    """Watches."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="watch the box")


TASK = Task(
    "a box falls", "drop_box", PERIOD, 0.02, Controller, lambda draws: None, lambda story: Outcome(True)
)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.01)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


class YieldsOn(Controller):
    def script(self, measured):
        try:
            while True:
                yield {}
        finally:
            yield {}


class FailsAtItsEnd(Controller):
    def script(self, measured):
        try:
            while True:
                yield {}
        finally:
            raise ValueError("no end")


@pytest.mark.parametrize(
    ("controller", "told", "line"),
    [
        (YieldsOn, "RuntimeError: generator ignored GeneratorExit", "def script"),
        (FailsAtItsEnd, "ValueError: no end", "raise"),
    ],
)
def test_what_a_controller_raises_as_it_is_ended_is_told(controller, told, line):
    """Not as a traceback of the interpreter, whenever it forgets the script."""
    task = replace(TASK, controller=controller)
    place = f"{__file__}, line {line_of(controller.script, line)}"
    also = f"; on its end the controller raised {told} ({place})"
    unraised = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", unraised.append)
        assert run_trial(task).reason == f"not done within 0.02 s{also}"
        assert run_trial(task, stopped=lambda: True).reason == "interrupted"
        begun = attempt.attempt(task, controller(None, PERIOD), Measurement(0.0, {}, {}, {}))
        next(begun)
        del begun  # as of a page that begins anew
        gc.collect()
    assert unraised == []


def test_a_controller_cleans_up_as_it_is_ended():
    done = []

    class Cleans(Controller):
        def script(self, measured):
            try:
                while True:
                    yield {}
            finally:
                done.append(True)

    trial = run_trial(replace(TASK, controller=Cleans))
    assert (trial.reason, done) == ("not done within 0.02 s", [True])


class NeverYields(Controller):
    def script(self, measured):
        yield {}
        while True:
            pass


class CatchesAll(Controller):
    def script(self, measured):
        yield {}
        while True:
            with suppress(Exception):
                sum(range(1000))


@pytest.mark.parametrize(("controller", "lines"), [(NeverYields, 2), (CatchesAll, 3)])
def test_a_controller_that_never_comes_to_its_next_yield_is_ended(monkeypatch, controller, lines):
    """Others of many trials go on, and nobody has to press Ctrl-C."""
    monkeypatch.setattr(patience, "LONGEST", 0.2)
    trial = run_trial(replace(TASK, controller=controller))
    first = line_of(controller.script, "while True")
    told = f"the controller has no end: it took 0.2 s of the processor at one go ({__file__}, line "
    assert any(trial.reason.startswith(f"{told}{first + k}") for k in range(lines)), trial.reason


def test_what_comes_to_its_end_in_time_is_not_ended_later(monkeypatch):
    """The time is that of one call; another's timer goes on after it."""
    monkeypatch.setattr(patience, "LONGEST", 0.05)

    class Works(Controller):
        def script(self, measured):
            for _ in range(8):
                end = time.process_time() + 0.02
                while time.process_time() < end:
                    pass
                yield {}

    before = signal.getsignal(signal.SIGVTALRM)
    signal.setitimer(signal.ITIMER_VIRTUAL, 100.0)
    try:
        trial = run_trial(replace(TASK, duration=1.0, controller=Works))
        assert trial.succeeded, trial.reason
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 90.0
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before
