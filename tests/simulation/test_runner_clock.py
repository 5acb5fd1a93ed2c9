"""When the fixed-rate runner takes its steps, on a made-up clock."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running import runner as runner_module
from support.simulation.runners import DT, falling_ball, wait_until


@pytest.fixture
def world() -> hs.World:
    return falling_ball()


class Clock:
    """Time that passes only where it is slept or worked away."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, duration: float) -> None:
        self.now += duration


def run_on_made_up_clock(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, durations: list[float], **options: object
) -> tuple[list[float], FixedRateRunner]:
    """Run as many steps as there are durations (s); the start of every step, s, and the runner."""
    clock = Clock()
    fake = SimpleNamespace(monotonic=clock.monotonic, sleep=clock.sleep)
    monkeypatch.setattr(runner_module, "time", fake)
    runner = FixedRateRunner(world, **options)  # type: ignore[arg-type]
    starts: list[float] = []

    def work(_: hs.World) -> None:
        starts.append(clock.now - 100.0)
        clock.now += durations[len(starts) - 1]
        if len(starts) == len(durations):
            runner.pause()

    runner.add_command_source(work)
    runner.start()
    wait_until(lambda: len(starts) == len(durations) and runner.paused)
    runner.stop()
    return starts, runner


@pytest.mark.parametrize("overrun", ["skip", "catch_up"])
@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_steps_start_on_the_grid(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, overrun: str, factor: float
) -> None:
    """Whatever a step takes below its period, the next starts on time: no drift."""
    period = DT / factor
    durations = [period * share for share in (0.1, 0.9, 0.0, 0.5, 0.3, 0.99, 0.2)]
    starts, runner = run_on_made_up_clock(
        world, monkeypatch, durations, overrun=overrun, real_time_factor=factor
    )
    np.testing.assert_allclose(starts, period * np.arange(7), atol=1e-12)
    report = runner.report()
    assert (report.steps, report.overruns, report.skipped_steps, report.late_max) == (7, 0, 0, 0.0)
    assert report.simulated_time == pytest.approx(7 * DT)
    assert report.step_time.max == pytest.approx(0.99 * period)


def test_skip_drops_the_missed_periods(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a step of 3.4 periods the next starts at the fourth."""
    durations = [0.0, 3.4 * DT, 0.0, 0.0]
    starts, runner = run_on_made_up_clock(world, monkeypatch, durations, overrun="skip")
    np.testing.assert_allclose(starts, np.array([0, 1, 5, 6]) * DT, atol=1e-12)
    report = runner.report()
    assert (report.steps, report.overruns, report.skipped_steps) == (4, 1, 3)
    assert report.late_max == pytest.approx(2.4 * DT)


def test_catch_up_takes_the_missed_steps_at_once(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a step of 3.4 periods the next follow without sleep until the grid is met again."""
    durations = [0.0, 3.4 * DT, 0.1 * DT, 0.1 * DT, 0.1 * DT, 0.0]
    starts, runner = run_on_made_up_clock(world, monkeypatch, durations, overrun="catch_up")
    np.testing.assert_allclose(starts, np.array([0, 1, 4.4, 4.5, 4.6, 5.0]) * DT, atol=1e-12)
    report = runner.report()
    assert (report.steps, report.overruns, report.skipped_steps) == (6, 3, 0)


def test_catch_up_gives_up_an_endless_backlog(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that was suspended does not replay the night."""
    starts, runner = run_on_made_up_clock(world, monkeypatch, [0.0, 3600.0, 0.0, 0.0], overrun="catch_up")
    assert starts[3] - starts[2] == pytest.approx(DT)
    assert runner.report().skipped_steps == pytest.approx(3600.0 / DT, abs=2)


def test_catch_up_works_off_what_the_largest_backlog_allows(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A little less is caught up with in silence; a little more is dropped, logged and counted."""
    for late, dropped in ((0.019, 0), (0.021, 21)):
        caplog.clear()
        durations = [0.0, late + DT, *[0.0] * 30]
        _, runner = run_on_made_up_clock(world, monkeypatch, durations, overrun="catch_up", max_backlog=0.02)
        report = runner.report()
        assert report.skipped_steps == pytest.approx(dropped, abs=1)
        assert report.given_up == pytest.approx(report.skipped_steps * DT)
        assert report.times_given_up == len(caplog.records) == (1 if dropped else 0)
    assert "0.021 s late, more than the largest backlog of 0.02 s: 0.02" in caplog.text
    assert "s of simulated time given up; leave it more" in caplog.text


def test_time_given_up_again_and_again_is_told_in_one_line(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first time at once, then every ten seconds with the sum since, and the rest at the end."""
    durations = [0.0] + [0.5 + DT] * 45 + [0.0]
    _, runner = run_on_made_up_clock(world, monkeypatch, durations, overrun="catch_up", max_backlog=0.1)
    assert runner.report().times_given_up == 45
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 4
    assert "0.5 s of simulated time given up; leave" in lines[0]
    for line in lines[1:3]:
        assert " s of simulated time given up, 20 times; leave" in line or ", 21 times; leave" in line
    assert ", 4 times; leave" in lines[3]


def test_a_long_stop_is_told_at_once(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when a shorter one was told a moment before."""
    run_on_made_up_clock(world, monkeypatch, [0.0, 0.5, 3.0, 0.0], overrun="catch_up", max_backlog=0.1)
    assert [record.getMessage().partition(" late")[0] for record in caplog.records] == [
        "runner: 0.499 s",
        "runner: 3 s",
    ]


def test_skipping_is_as_asked_for_and_not_logged(
    world: hs.World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, runner = run_on_made_up_clock(world, monkeypatch, [0.0, 3.4 * DT, 0.0, 0.0], overrun="skip")
    assert runner.report().times_given_up == 1
    assert not caplog.records


@pytest.mark.parametrize("backlog", [0.0, -1.0, math.nan])
def test_a_backlog_that_is_none_is_refused(world: hs.World, backlog: float) -> None:
    with pytest.raises(hs.InputError, match=r"max_backlog: .* is not above 0; use skip for none"):
        FixedRateRunner(world, max_backlog=backlog)


def test_endless_speed_never_sleeps(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps follow each other; nothing is late."""
    starts, runner = run_on_made_up_clock(world, monkeypatch, [DT] * 5, real_time_factor=math.inf)
    np.testing.assert_allclose(starts, np.arange(5) * DT, atol=1e-12)
    assert runner.report().overruns == 0


def test_pause_does_not_count_as_lateness(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wall time of the report is that of running."""
    _, runner = run_on_made_up_clock(world, monkeypatch, [0.0] * 3)
    wall = runner.report().wall_time
    runner_module.time.sleep(1000.0)
    runner.start()
    runner.step(2)
    runner.stop()
    report = runner.report()
    assert report.overruns == 0
    assert report.wall_time == pytest.approx(wall)


def test_long_periods_are_kept(world: hs.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting in a way that can be interrupted does not add up."""
    wait = FixedRateRunner._wait_for_word

    def wait_on_made_up_clock(self: FixedRateRunner, paused: bool, timeout: float | None = None) -> None:
        if timeout is None:
            wait(self, paused)
        else:
            runner_module.time.sleep(timeout)

    monkeypatch.setattr(FixedRateRunner, "_wait_for_word", wait_on_made_up_clock)
    period = 2.5 * runner_module.LONGEST_SLEEP
    durations = [share * period for share in (0.0, 0.9, 0.1, 0.5, 0.7, 0.0)]
    starts, runner = run_on_made_up_clock(world, monkeypatch, durations, real_time_factor=DT / period)
    np.testing.assert_allclose(starts, period * np.arange(6), atol=1e-12)
    assert runner.report().overruns == 0
