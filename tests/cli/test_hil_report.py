"""``hydro-sim hil-report``: figures and picture of a report file, and what is no report."""

import json
from dataclasses import asdict

import pytest
from PIL import Image
from typer.testing import CliRunner

from hydro_sim_core.cli.app import app
from hydro_sim_core.simulation.running.timing import Distribution, PaceRecorder

PERIOD = 1e-3


@pytest.fixture
def report():
    """What a node writes that took 1000 steps, the 500th of them late."""
    now = 0.0
    pace = PaceRecorder(PERIOD, lambda: now)
    for i in range(1000):
        pace.run_on()
        pace.step_taken(now, now + 1e-4, PERIOD)
        if i == 500:
            pace.overran(2e-3)
            now += 2e-3
        else:
            pace.on_time()
        now += PERIOD
    counts = dict.fromkeys(("lost", "stale", "out_of_order", "duplicate", "timeouts"), 0)
    none, some = asdict(Distribution()), asdict(pace.step_time.distribution())
    used = {"received": 12, "applied": 9, **counts, "lost": 3, "age": none, "latency": some}
    unused = {"received": 0, "applied": 0, **counts, "age": none, "latency": none}
    return {
        "scene": "made_up",
        "time_step": PERIOD,
        "mode": "free_running",
        "real_time_factor": 1.0,
        "pace": asdict(pace.report()),
        "histograms": {n: getattr(pace, n).histogram() for n in ("step_time", "period", "jitter")},
        "commands": {"effort": used, "position": unused},
        "latency_histograms": {"effort": pace.step_time.histogram()},
        "refused": {"NaN": 2},
    }


@pytest.fixture
def run(tmp_path):
    def run(contents, *options):
        file = tmp_path / "report.json"
        file.write_text(contents if isinstance(contents, str) else json.dumps(contents))
        return CliRunner().invoke(app, ["hil-report", str(file), *options])

    return run


def test_figures_and_picture(run, report, tmp_path):
    """Every figure of the report, only the interfaces that were used, and a PNG with both plots."""
    picture = tmp_path / "report.png"
    done = run(report, "--out", str(picture))
    assert done.exit_code == 0, done.output
    for text in ("1 of 1000 steps", "9 of 12 applied, 3 lost", "p99.9", "commands refused", "998.0 Hz"):
        assert text in done.output
    assert "position" not in done.output
    with Image.open(picture) as image:
        assert image.width > image.height > 400
        assert len(set(image.convert("RGB").resize((60, 30)).getdata())) > 20


@pytest.mark.parametrize("mode", ["lock_step", "free_running"])
def test_run_without_steps_is_shown_too(run, report, mode, tmp_path):
    empty = PaceRecorder(PERIOD)
    report |= {
        "mode": mode,
        "pace": asdict(empty.report()),
        "histograms": {},
        "latency_histograms": {},
    }
    done = run(report, "--out", str(tmp_path / "empty.png"))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ("no json", "is not JSON"),
        ("[1, 2]", "report.json: report: Input should be"),
        ({"scene": None}, "scene: is none: the node was stopped before it ran"),
        ({"scene": "x"}, "time_step: Field required"),
    ],
)
def test_what_is_no_report_is_one_line(run, contents, problem):
    done = run(contents)
    assert done.exit_code == 1
    assert problem in done.output
    assert "Traceback" not in done.output


def test_missing_file_is_one_line(tmp_path):
    done = CliRunner().invoke(app, ["hil-report", str(tmp_path / "nowhere.json")])
    assert done.exit_code == 1
    assert "no such file" in done.output
