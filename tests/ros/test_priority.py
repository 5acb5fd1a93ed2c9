"""Real-time priority of the stepping thread: as permitted, as asked for, and given up where it starves others."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from hydro_sim.hil.priority import Priority
from hydro_sim.parameters import Parameters


class Bench:
    """A thread that asks for its priority, and a runner whose report is made up."""

    def __init__(self, **parameters):
        self.lines, self.warnings, self.timers = [], [], []
        logger = SimpleNamespace(info=self.lines.append, warning=self.warnings.append)
        node = SimpleNamespace(
            get_logger=lambda: logger,
            create_timer=lambda period, callback, clock: self.timers.append(callback),
        )
        self.report = SimpleNamespace(steps=0, overruns=0)
        self.priority = Priority(node, Parameters(**parameters))
        self.priority.follow(SimpleNamespace(report=lambda: self.report))
        self._done, made = threading.Event(), threading.Event()

        def live():
            self.priority.obtain()
            made.set()
            self._done.wait(60.0)

        self._thread = threading.Thread(target=live, daemon=True)
        self._thread.start()
        made.wait(60.0)

    def second(self, steps, late):
        """A second passes with so many steps, and so many of them late."""
        self.report = SimpleNamespace(steps=self.report.steps + steps, overruns=self.report.overruns + late)
        self.timers[0]()

    @property
    def has_priority(self):
        return self.priority.scheduling.startswith("SCHED_FIFO")

    def end(self):
        self._done.set()
        self._thread.join()


@pytest.fixture
def bench():
    benches = []

    def make(**parameters):
        benches.append(Bench(**parameters))
        return benches[-1]

    yield make
    for one in benches:
        one.end()


def test_what_is_permitted_is_taken_and_told_once_and_what_is_refused_with_the_remedy(bench):
    made = bench()
    (line,) = made.lines
    if made.has_priority:
        assert line.startswith("stepping thread: SCHED_FIFO 40")
    else:
        assert "ulimit -r" in line
        assert any("ulimit -r" in sentence for sentence in made.priority.refused)
    assert not made.warnings  # nobody has asked for it


@pytest.mark.parametrize("parameters", [{"real_time_factor": 0.0}, {"mode": "lock_step"}])
def test_steps_without_pause_get_none(bench, parameters):
    made = bench(**parameters)
    assert not made.has_priority
    assert not made.lines


def test_none_is_taken_where_none_is_wanted(bench):
    assert not bench(realtime_priority=0).has_priority


def test_it_is_given_up_where_it_starves_others(bench):
    made = bench()
    if not made.has_priority:
        made.second(1000, 1000)
        assert not made.warnings
        return
    made.second(1000, 100)
    assert made.has_priority
    made.second(1000, 950)
    assert not made.has_priority
    assert len(made.warnings) == 1
    assert "real-time priority is given up" in made.warnings[0]
    made.second(1000, 1000)
    assert len(made.warnings) == 1
