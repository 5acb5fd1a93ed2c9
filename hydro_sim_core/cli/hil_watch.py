"""A look at a running simulation from outside: how well it keeps its rate, beside cyclictest on the same processor."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.cli.cyclictest import CyclictestReport, start_cyclictest
from hydro_sim_core.cli.hil_report import HilReport
from hydro_sim_core.shared_memory.client import Client, TookTooLong, connect
from hydro_sim_core.shared_memory.layout import Histogram
from hydro_sim_core.shared_memory.state import State
from hydro_sim_core.shared_memory.status import LoopStatus
from hydro_sim_core.simulation.running.timing import Durations, RunnerReport

#: Time between two looks at the ring, which holds 2048 states, s. Nobody is woken for them.
_BETWEEN_LOOKS = 0.05
_SHARED_MEMORY = "shared memory"


class Pace:
    """Timing of the steps that are looked at.

    Args:
        period: Nominal time from one step to the next, s; 0 without one.

    Attributes:
        steps: Steps seen.
        lost: States that were overwritten before they were seen.
        longest_overrun: Most steps in a row that ended after the next one was due.
        late_max: Largest lateness of a step's end, s.
        step_time: Durations of steps.
        period: Times from the begin of a step to that of the next.
        jitter: Their distances from the nominal one.
        lateness: Times from a deadline to the begin of its step.
    """

    def __init__(self, period: float) -> None:
        self._nominal = period
        self.steps = self.lost = self.longest_overrun = 0
        self.late_max = 0.0
        self.step_time, self.period, self.jitter, self.lateness = (Durations() for _ in range(4))
        self._before: State | None = None
        self._in_a_row = 0

    def see(self, state: State) -> None:
        """Count a state."""
        follows = self._before is not None and state.serial == self._before.serial + 1
        if self._before is not None:
            self.lost += state.serial - self._before.serial - 1
        if state.stepped:
            self.steps += 1
            self.step_time.add(state.step_time)
            if self._nominal:
                self._see_deadline(state)
            if follows and self._before is not None and self._before.stepped:
                period = 1e-9 * (state.began_ns - self._before.began_ns)
                self.period.add(period)
                if self._nominal:
                    self.jitter.add(abs(period - self._nominal))
        self._before = state

    def _see_deadline(self, state: State) -> None:
        self.lateness.add(state.late)
        late = state.late + state.step_time - self._nominal
        self._in_a_row = self._in_a_row + 1 if late > 0.0 else 0
        if late > 0.0:
            self.longest_overrun = max(self.longest_overrun, self._in_a_row)
            self.late_max = max(self.late_max, late)


def watch(name: str, seconds: float, with_cyclictest: bool) -> HilReport:
    """Look at a running simulation for a while.

    Args:
        name: Its name.
        seconds: How long.
        with_cyclictest: Whether to run cyclictest meanwhile, on the processor of the loop.

    Raises:
        InputError: It does not run, cannot be opened, takes no steps or ends meanwhile.
    """
    with connect(name) as simulation:
        before, period = simulation.status, simulation.period
        latency = simulation.histogram(Histogram.LATENCY)
        pace = Pace(period)
        finish: Callable[[], CyclictestReport | str | None] = _nothing
        if with_cyclictest:
            finish = start_cyclictest(seconds, period or simulation.time_step, before.cpu, before.priority)
        began = time.monotonic()
        try:
            _look(simulation, pace, began + seconds)
            wall = time.monotonic() - began
        finally:
            measured = finish()
        if not pace.steps:
            raise TookTooLong(name, "", f"took no step in {seconds:g} s", "let it run")
        return HilReport(
            scene=simulation.scene,
            time_step=simulation.time_step,
            mode="free_running",
            real_time_factor=simulation.time_step / period if period else 0.0,
            pace=_report(pace, before, simulation.status, simulation.time_step, wall),
            histograms={
                "step_time": pace.step_time.histogram(),
                "period": pace.period.histogram(),
                "jitter": pace.jitter.histogram(),
                "lateness": pace.lateness.histogram(),
            },
            commands={},
            latency_histograms=_latencies(simulation, latency),
            refused={},
            lateness=pace.lateness.distribution(),
            cyclictest=measured,
            states_lost=pace.lost,
        )


def _nothing() -> None:
    """What is measured without cyclictest."""


def _report(pace: Pace, before: LoopStatus, after: LoopStatus, time_step: float, wall: float) -> RunnerReport:
    """Counts are those of the loop, which knows the states that were missed, too."""
    steps, skipped = after.steps - before.steps, after.skipped - before.skipped
    simulated = steps * time_step
    return RunnerReport(
        simulated_time=simulated,
        wall_time=wall,
        real_time_factor=simulated / wall,
        steps=steps,
        overruns=after.overruns - before.overruns,
        longest_overrun=pace.longest_overrun,
        skipped_steps=skipped,
        late_max=pace.late_max,
        step_time=pace.step_time.distribution(),
        period=pace.period.distribution(),
        jitter=pace.jitter.distribution(),
        times_given_up=after.times_skipped - before.times_skipped,
        given_up=skipped * time_step,
    )


def _look(simulation: Client, pace: Pace, until: float) -> None:
    """See every state until a time of the monotonic clock, s; the simulation notices nothing of it."""
    serial = simulation.newest().serial
    while time.monotonic() < until:
        time.sleep(_BETWEEN_LOOKS)
        newest = simulation.newest().serial
        simulation.check_open()
        while serial < newest:
            state = simulation.wait(serial + 1)
            pace.see(state)
            serial = state.serial


def _latencies(simulation: Client, before: NDArray[np.int64]) -> dict[str, list[tuple[float, int]]]:
    """Latencies of commands that came through the shared memory meanwhile."""
    told = Durations(simulation.histogram(Histogram.LATENCY)).since(Durations(before))
    histogram = told.histogram()
    return {_SHARED_MEMORY: histogram} if histogram else {}
