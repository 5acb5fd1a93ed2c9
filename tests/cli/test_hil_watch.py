"""``hydro-sim hil-report --watch``: timing of a running simulation, seen from outside, beside cyclictest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli.app import app
from hydro_sim_core.cli.cyclictest import CyclictestReport, distribution_of, read_cyclictest, start_cyclictest
from hydro_sim_core.cli.hil_report import read_report
from hydro_sim_core.cli.hil_watch import Pace
from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.shared_memory.layout import Control, segment_path
from hydro_sim_core.shared_memory.segment import Segment
from support.shared_memory.processes import environment
from support.shared_memory.stand_in import StandIn, tables

#: Ten wakings, of which one was later than the histogram reaches.
_WRITTEN = json.dumps(
    {
        "thread": {
            "0": {"histogram": {"2": 5, "7": 3, "40": 1}, "cycles": 10, "min": 2, "max": 250, "avg": 6.0}
        }
    }
)


@pytest.fixture
def simulation() -> Iterator[str]:
    name = f"test_watch_{os.getpid()}"
    command = [sys.executable, "-m", "support.shared_memory.stand_in", name, "--period", "0.002"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        yield name
        process.kill()
    Path(segment_path(name)).unlink(missing_ok=True)


def _watch(name: str, *options: str) -> object:
    return CliRunner().invoke(app, ["hil-report", "--watch", name, "--seconds", "0.6", *options])


def test_a_look_at_a_running_simulation(simulation, tmp_path, monkeypatch) -> None:
    """Without cyclictest it says how to get it; its report can be shown again."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with connect(simulation) as client, client.controller() as controller:
        controller.commands.give("shoulder", effort=0.1)
        before = client.status.steps
        controller.send()
        done = _watch(simulation, "--json", str(tmp_path / "look.json"), "--out", str(tmp_path / "look.png"))
        after = client.status.steps
    assert done.exit_code == 0, done.output
    for text in ("of 0.5", "begin after the deadline", "is not installed: apt install rt-tests", "at most"):
        assert text in done.output
    report = read_report(tmp_path / "look.json")
    assert 0 < report.pace.steps <= after - before
    seen = report.pace.step_time.count
    assert report.states_lost == 0
    assert report.lateness.count == seen == sum(count for _, count in report.histograms["lateness"])
    assert report.pace.period.count in (seen - 1, seen)
    assert (tmp_path / "look.png").stat().st_size > 10_000
    again = CliRunner().invoke(app, ["hil-report", str(tmp_path / "look.json")])
    assert again.output.splitlines()[:8] == done.output.splitlines()[:8]


def test_a_paused_simulation_is_told_so(simulation) -> None:
    with connect(simulation) as client:
        client.pause()
        client.step(1)
    done = _watch(simulation, "--no-cyclictest")
    assert done.exit_code == 1
    assert "took no step in 0.6 s" in done.output


@pytest.mark.parametrize("arguments", [[], ["report.json", "--watch", "x"]])
def test_a_file_or_a_simulation(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, ["hil-report", *arguments])
    assert done.exit_code == 2
    assert "--watch" in done.output


def test_a_simulation_that_does_not_run_is_one_line() -> None:
    done = _watch("nobody")
    assert done.exit_code == 1
    assert "no simulation of this name runs" in done.output


def test_misses_are_counted_from_what_states_tell() -> None:
    """Three steps in a row that end late, then one; lateness to the bin, maxima exactly."""
    segment = Segment.make(f"test_pace_{os.getpid()}", tables(), slots=32)
    loop = StandIn(segment, 1e-3)
    client = connect(segment.name)
    pace = Pace(client.period)
    pace.see(client.newest())
    ms = 10**6
    for i, (late, took) in enumerate([(0, 1), (5, 6), (5, 6), (0, 11), (0, 2), (3, 9)]):
        loop._publish(began=10 * ms + i * ms + late * ms // 10, late=late * ms // 10, took=took * ms // 10)
        pace.see(client.newest())
    assert (pace.steps, pace.lost, pace.longest_overrun) == (6, 0, 3)
    assert pace.late_max == pytest.approx(0.2e-3)
    assert pace.lateness.distribution().max == pytest.approx(0.5e-3)
    assert pace.period.distribution().max == pytest.approx(1.5e-3)
    assert pace.jitter.distribution().max == pytest.approx(0.5e-3)
    loop._publish(20 * ms, 0, 1), loop._publish(21 * ms, 0, 1)
    pace.see(client.newest())
    assert (pace.steps, pace.lost, pace.period.distribution().count) == (7, 1, 5)
    client.close()
    segment.retire()


def test_what_cyclictest_writes_is_read() -> None:
    report = read_cyclictest(_WRITTEN, cpu=3, priority=81)
    assert isinstance(report, CyclictestReport)
    assert [count for _, count in report.histogram] == [5, 3, 1, 1]
    assert [value for value, _ in report.histogram] == pytest.approx([2e-6, 7e-6, 40e-6, 250e-6])
    told = report.latency
    assert (told.count, told.p50, told.p99, told.max) == pytest.approx((10, 2e-6, 250e-6, 250e-6))
    assert told.mean == pytest.approx(32.1e-6)
    assert distribution_of([]).count == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"thread": {"0": {"histogram": 3}}}', '{"thread": {"0": 1}}']
)
def test_what_another_version_writes_is_told(text: str) -> None:
    assert read_cyclictest(text, 0, 0) == "cyclictest has written what this version cannot read"


def test_how_cyclictest_is_called(tmp_path, monkeypatch) -> None:
    """On the loop's processor, at the next higher priority, and never longer than asked for; failures in one line."""
    program = tmp_path / "cyclictest"
    program.write_text(f"#!{shutil.which('sh')}\necho no: $* >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = start_cyclictest(2.0, 1e-3, cpu=1, priority=80)()
    assert isinstance(said, str)
    for text in (
        "failed: no:",
        "--interval=1000",
        "--duration=2",
        "--priority=81",
        "--affinity=1",
        "--mlockall",
    ):
        assert text in said
    said = start_cyclictest(0.3, 2e-3, cpu=-1, priority=0)()
    assert "--policy=other" in said
    assert "--duration=1" in said
    assert "affinity" not in said
    assert "priority" not in said


@pytest.mark.skipif(shutil.which("cyclictest") is None, reason="cyclictest (rt-tests) is not installed")
def test_cyclictest_itself() -> None:
    measured = start_cyclictest(1.0, 1e-3, cpu=-1, priority=0)()
    assert isinstance(measured, CyclictestReport), measured
    assert measured.latency.count > 100


def test_the_period_is_that_of_the_control_word(simulation) -> None:
    with connect(simulation) as client:
        assert client.period == pytest.approx(2e-3)
        client.set_pace(1.0)
        assert client._memory.words[client._control + Control.PERIOD_NS] == 10**6
