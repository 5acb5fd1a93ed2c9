"""``hydro-sim task``: what it prints, writes and exits with."""

import json
import os
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli.app import app
from hydro_sim_core.tasks import attempt, many_trials, registry, run_trial
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Outcome, Task

FAR = ("--set", "models.spatula.pose.xyz=[0.48, 1.55, 0.15]")


def call(*words):
    return CliRunner().invoke(app, ["task", *map(str, words)])


def test_tasks_are_listed():
    result = call()
    assert result.exit_code == 0
    assert "pancake_flip" in result.output


def test_a_failure_is_told_with_its_reason_and_status(tmp_path):
    path, picture = tmp_path / "trial.json", tmp_path / "end.png"
    result = call("pancake_flip", "--headless", "--seed", 3, "--json", path, "--out", picture, *FAR)
    assert result.exit_code == 1, result.output
    assert "failed after 0.00 s, to take the spatula: a pose is out of reach" in " ".join(
        result.output.split()
    )
    report = json.loads(path.read_text())
    assert report["task"] == "pancake_flip"
    assert report["seed"] == 3
    assert report["set"] == {"models.spatula.pose.xyz": [0.48, 1.55, 0.15]}
    assert report["succeeded"] is False
    assert picture.stat().st_size > 10_000


@pytest.mark.long
def test_many_trials_are_counted(tmp_path):
    path, picture = tmp_path / "trials.json", tmp_path / "where.png"
    result = call("pancake_flip", "--seeds", 2, "--jobs", 2, "--json", path, "--out", picture, *FAR)
    assert result.exit_code == 1, result.output
    assert "0 of 2 succeeded" in result.output
    trials = json.loads(path.read_text())["trials"]
    assert [trial["seed"] for trial in trials] == [0, 1]
    assert trials[0]["drawn"]["friction of stove, %"] != trials[1]["drawn"]["friction of stove, %"]
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pancake_flip", "--set", "controller.pitch=1"), "leave it out: there are none"),
        (
            ("slip_control", "--seeds", 2, "--set", "controller.feedback=x"),
            "controller.feedback: 'x' is none",
        ),
        (("pancake_flop",), "pancake_flop: task: is unknown; did you mean 'pancake_flip'?"),
        (("--seed", 1), "name the task"),
        (("pancake_flip", "--seeds", 2, "--seed", 1), "takes no --seed"),
        (("pancake_flip", "--jobs", 2), "is for --seeds"),
        (("pancake_flip", "--seeds", 2, "--out", "x.mp4"), "makes no film"),
        (("pancake_flip", "--headless", "--set", "models.nobody.pose.xyz=[0, 0, 0]"), "nobody"),
        (("pancake_flip", "--headless", "--set", "time_step=3e-3"), "time_step: of 0.003 s does not divide"),
        (("pancake_flip", "--out", "x.txt"), ".txt"),
    ],
)
def test_what_makes_no_sense_is_one_line(words, told):
    result = call(*words)
    assert result.exit_code in (1, 2)
    assert told in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_words_of_a_task_are_no_markup(monkeypatch):
    """Summary, phase and reason are printed as they are."""
    words = "lift [/red] [50 mm]"

    class GivesUp:
        def __init__(self, model, period):
            self.robot = SimpleNamespace(phase=words)

        def script(self, measured):
            yield {}
            raise TaskFailed(words)

    task = Task(words, "drop_box", 0.01, 1.0, GivesUp, lambda draws: None, lambda story: Outcome(True))
    monkeypatch.setattr(registry, "load_named", lambda *_: {"lifts": task})
    assert words in call().output
    told = call("lifts", "--headless").output
    assert told.splitlines()[-1] == f"failed after 0.01 s, to {words}: {words}"
    trial = run_trial(task, 0)
    monkeypatch.setattr("hydro_sim_core.cli.task.run_trials", lambda *_: [trial])
    assert call("lifts", "--seeds", 1).output.count(words) == 2


def test_a_picture_of_what_no_seed_draws_is_refused_before_any_trial(monkeypatch, tmp_path):
    task = Task("", "drop_box", 0.01, 1.0, lambda *_: None, lambda draws: None, lambda story: Outcome(True))
    monkeypatch.setattr(registry, "load_named", lambda *_: {"stays": task})
    monkeypatch.setattr("hydro_sim_core.cli.task.run_trials", lambda *_: pytest.fail("tried"))
    result = call("stays", "--seeds", 2, "--out", tmp_path / "where.png")
    assert result.exit_code == 1
    assert "shows trials over what is drawn, and nothing is; leave --out away" in " ".join(
        result.output.split()
    )


class Talks:
    """Prints, deep down too, and goes somewhere else."""

    def __init__(self, model, period):
        self.robot = SimpleNamespace(phase="talk")

    def script(self, measured):
        print("from the controller")
        os.write(1, b"from below")
        os.chdir("/")
        yield {}


@pytest.fixture
def talks(monkeypatch):
    """The task of that controller, in this process."""
    task = Task("", "drop_box", 0.01, 1.0, Talks, lambda draws: None, lambda story: Outcome(True))

    def one_by_one(work, items, count):
        return ((index, work(item)) for index, item in enumerate(items))

    monkeypatch.setattr(registry, "load_named", lambda *_: {"talks": task})
    monkeypatch.setattr(many_trials, "completed", one_by_one)
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.01)


@pytest.mark.parametrize("words", [("--headless",), ("--seeds", 2)])
def test_a_report_on_standard_output_is_alone_there(talks, monkeypatch, tmp_path, capfd, words):
    monkeypatch.chdir(tmp_path)  # and back, whatever the controller does
    result = call("talks", *words, "--json", "-")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["task"] == "talks"
    assert "from the controller\n" in result.stderr
    below = capfd.readouterr()
    assert ("from below" in below.out, "from below" in below.err) == (False, True)
    print("afterwards")
    assert capfd.readouterr().out == "afterwards\n"


def test_files_are_where_the_command_was_told_to_write_them(talks, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = call("talks", "--headless", "--json", "trial.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "trial.json").read_text())["succeeded"] is True
    assert "from the controller" in result.stdout  # nothing else is printed there but words
