"""Tasks at the command line: filmed and drawn like runs, and told when options do not fit."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageSequence

from hydro_sim_core.cli import task as task_module
from hydro_sim_core.tasks import TASKS, many_trials
from hydro_sim_core.tasks.many_trials import told_trial
from hydro_sim_core.tasks.task import Outcome, Task
from support.command_line import call

#: Periods of the task below, and its period, s.
PERIODS, PERIOD = 10, 0.01


class Idle:
    """A controller that commands nothing for a while."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="watch the box")

    def script(self, measured):
        for _ in range(PERIODS):
            yield {}


class Camera:
    """In place of a browser that draws."""

    def __init__(self, *view):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def png(self):
        return b"a picture"


@pytest.fixture(autouse=True)
def falling(monkeypatch):
    """A task of a tenth of a second, after which a box lies."""
    task = Task("a box falls", "drop_box", PERIOD, 2.0, Idle, lambda *_: {}, lambda *_: Outcome(True))
    monkeypatch.setitem(TASKS, "falling", task)


def test_a_trial_is_filmed_from_its_start_to_after_its_end_and_its_end_drawn(tmp_path):
    film, end, report = (tmp_path / f"x.{suffix}" for suffix in ("gif", "png", "json"))
    result = call(
        "task", "falling", "--out", film, "--out", end, "--out", report, "--fps", 10, "--size", "160x120"
    )
    assert result.exit_code == 0, result.stderr
    assert "watch it at" not in result.output  # a film is made as fast as possible, without a page
    seconds = json.loads(report.read_text())["time"] + 1.0  # it goes on for a second
    with Image.open(film) as pictures:
        frames = [np.asarray(frame.convert("RGB"), dtype=int) for frame in ImageSequence.Iterator(pictures)]
    assert len(frames) == round(10 * seconds) + 1
    last = np.asarray(Image.open(end).convert("RGB"), dtype=int)
    assert frames[0].shape == last.shape == (120, 160, 3)

    above = [frame[:80] for frame in frames]  # the clock and the legend
    fallen, rested = (np.abs(one - other).mean() for one, other in (above[:2], above[-2:]))
    assert fallen > 10.0 * rested, (fallen, rested)
    assert np.ptp(last[:80]) > 100


class Breaks(Idle):
    """One whose own code fails."""

    def script(self, measured):
        yield {}
        raise ValueError("no way")


def test_an_exception_of_the_controller_is_a_failure_with_a_report(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "falling", replace(TASKS["falling"], controller=Breaks))
    result = call("task", "falling", "--headless", "--json", tmp_path / "x.json")
    assert result.exit_code == 1
    told = "failed after 0.01 s, to watch the box: the controller raised ValueError: no way ("
    assert result.output.startswith(told)
    report = json.loads((tmp_path / "x.json").read_text())
    assert (report["succeeded"], report["phase"]) == (False, "watch the box")
    assert told.endswith(report["reason"].partition("(")[0] + "(")


def test_a_report_of_seeds_tells_what_was_set_and_the_table_in_which_phase_it_failed(tmp_path, monkeypatch):
    """With the settings of the controller, changed ones and others."""

    def told(settings):
        return replace(TASKS["falling"], settings={"pace": 1, "mood": "calm", **settings})

    def in_this_process(name, seeds, values, jobs, done):
        return [told_trial(name, values, seed) for seed in seeds]

    task = replace(TASKS["falling"], controller=Breaks, settings={"pace": 1, "mood": "calm"}, told=told)
    monkeypatch.setitem(TASKS, "falling", task)
    monkeypatch.setattr(task_module, "run_trials", in_this_process)
    words = "--set", "models.box.friction=0.3", "--set", "controller.pace=2"
    result = call("task", "falling", "--seeds", 1, "--json", tmp_path / "x.json", *words)
    assert result.exit_code == 1
    assert "in phase" in result.output.splitlines()[1]
    report = json.loads((tmp_path / "x.json").read_text())
    assert report["set"] == {"models.box.friction": 0.3, "controller.pace": 2}
    assert report["settings"] == {"pace": 2, "mood": "calm"}
    assert [trial["seed"] for trial in report["trials"]] == [0]


@pytest.fixture
def ctrl_c():
    """Presses it three times; afterwards it is what it was."""
    before = signal.getsignal(signal.SIGINT)

    def press():
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)

    yield press
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_trial_in_one_line_with_what_there_is_of_its_report(tmp_path, monkeypatch, ctrl_c):
    class Presses(Idle):
        def script(self, measured):
            yield {}
            ctrl_c()
            while True:
                yield {}

    monkeypatch.setitem(TASKS, "falling", replace(TASKS["falling"], controller=Presses))
    result = call("task", "falling", "--headless", "--json", tmp_path / "x.json")
    assert (result.exit_code, result.output) == (130, "interrupted after 0.01 s, to watch the box\n")
    report = json.loads((tmp_path / "x.json").read_text())
    assert (report["interrupted"], report["succeeded"], report["reason"]) == (True, False, "interrupted")
    assert [point["time, s"] for point in report["course"]] == pytest.approx([0.0, 0.01])


def test_ctrl_c_before_a_trial_is_one_line(monkeypatch, ctrl_c):
    monkeypatch.setattr(task_module, "scene_of", lambda *_: ctrl_c())
    result = call("task", "falling", "--headless")
    assert (result.exit_code, result.output) == (130, "interrupted\n")


@pytest.mark.parametrize("count", [0, 2])
def test_ctrl_c_keeps_the_trials_of_seeds_that_are_done(tmp_path, monkeypatch, ctrl_c, count):
    def tried(work, seeds, jobs):
        for index in reversed(range(count)):  # the last one was faster
            yield index, work(seeds[index])
        ctrl_c()

    monkeypatch.setattr(many_trials, "completed", tried)
    result = call("task", "falling", "--seeds", 5, "--json", tmp_path / "x.json")
    assert result.exit_code == 130
    told = [f"interrupted, {count} of 5 trials done", f"{count} of {count} succeeded"]
    lines = result.output.splitlines()
    assert [line.partition(", real-time factor on one core ")[0] for line in lines] == told[: 1 + (count > 0)]
    report = json.loads((tmp_path / "x.json").read_text())
    assert report["interrupted"] is True
    assert [trial["seed"] for trial in report["trials"]] == list(range(count))


@pytest.mark.parametrize("seated", [False, True])
def test_a_picture_alone_needs_no_page_either(tmp_path, monkeypatch, seated):
    """Drawn as fast as the machine can, also where somebody could open a page."""
    monkeypatch.setattr("hydro_sim_core.cli.task.somebody_sits_there", lambda console: seated)
    monkeypatch.setattr("hydro_sim_core.simulation.World.view", lambda *_, **__: pytest.fail("served a page"))
    monkeypatch.setattr(task_module, "WorldCamera", Camera)
    result = call("task", "falling", "--out", tmp_path / "x.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--fps", 5), "--fps needs a film (--out FILE.mp4)"),
        (("--size", "160x120", "--camera", "top"), "--size and --camera need a picture or film"),
        (("--solid",), "--solid needs a picture or film"),
        (("--headless", "--full-scale", 2), "--full-scale needs a picture or film, or a page"),
        (("--seeds", 2, "--out", "x.gif"), "takes no --seed, and makes no film"),
        (("--seeds", 2, "--camera", "top"), "--camera needs a picture or film of one trial"),
        (("--out", "x.gif", "--fps", 80), "a GIF shows 0.01 to 50 frames a second, not 80"),
        (("--out", "x.tiff"), "end it in .mp4, .webm or .gif for the film, .png for the picture"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_runs(options, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hydro_sim_core.simulation.World.step", lambda *_: pytest.fail("stepped"))
    result = call("task", "falling", *options)
    assert result.exit_code != 0
    assert says in " ".join(result.stderr.replace("│", " ").split())
    assert not any(tmp_path.iterdir())
