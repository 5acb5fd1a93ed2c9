"""Plots of recordings: their numbers are those of the run, their pictures are written, bad input is one line."""

import logging

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hydro_sim_core import InputError, World
from hydro_sim_core.cli import app
from hydro_sim_core.cli.plot_series import RecordedMotion
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.recording import Recorder, read_messages
from hydro_sim_core.recording.mcap_file import RecordingFile
from hydro_sim_core.simulation.world.snapshot import take_snapshot

PNG = b"\x89PNG\r\n\x1a\n"
STEPS = 200


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recorded fifth of a second of the gripper with the spatula, and its states."""
    path = tmp_path_factory.mktemp("plots") / "run.mcap"
    world = World(published_scene("spatula_slip_welded"))
    recorder = Recorder(path, complete=True, drives=True)
    states = [take_snapshot(world, epoch=0)]
    recorder.start(states[0], world)
    for _ in range(STEPS):
        world.step()
        states.append(take_snapshot(world, epoch=0))
        recorder.record(states[-1], world)
    recorder.stop()
    return path, states


@pytest.fixture(scope="module")
def motion(run):
    with RecordedMotion(run[0], Console(quiet=True)) as opened:
        yield opened


def plot(*arguments):
    return CliRunner().invoke(app, ["plot", *map(str, arguments)], env={"COLUMNS": "200"})


def test_grip_force_is_the_grippers(run, motion):
    """Along their joints the fingers bear what ``Snapshot.grip_forces`` says, of the last state with recorded contact.

    Contact is recorded 30 times a second, poses 60 times.
    """
    fingers = motion.fingers()
    assert sorted(fingers) == ["left_finger", "right_finger"]
    time, forces = motion.grip_forces(fingers)
    mean = np.mean([forces[finger] for finger in fingers], axis=0)
    told = np.array([state.grip_forces["gripper"] for state in run[1]])
    changes = np.flatnonzero(np.diff(mean)) + 1
    assert len(changes) >= 5
    for i in changes:
        at = round(time[i] / 1e-3)
        assert mean[i] == pytest.approx(told[at], rel=1e-3), f"at {time[i]} s"


def test_command_is_what_the_fingers_are_told(motion):
    commanded = motion.commanded_forces(["left_finger", "right_finger"], np.array([0.0, 0.1]))
    assert {finger: force.tolist() for finger, force in commanded.items()} == {
        "left_finger": [6.5, 6.5],
        "right_finger": [6.5, 6.5],
    }


def test_poses_are_those_of_the_run(run, motion):
    """The free body is found, and where it was."""
    assert motion.free_body() == "spatula"
    time, X_WB = motion.poses("spatula")
    by_time = {round(state.time, 6): state.frames["spatula"] for state in run[1]}
    last = max(t for t in np.round(time, 6) if t in by_time)
    assert X_WB[np.round(time, 6) == last][0] == pytest.approx(by_time[last], abs=1e-3)


def test_pressed_hardest_is_the_instant_with_the_largest_force(motion):
    time, forces = motion.grip_forces(["left_finger"])
    assert motion.pressed_hardest("left_finger").time == time[np.argmax(forces["left_finger"])]


def test_a_recording_that_was_cut_is_told_once(run, tmp_path, caplog):
    cut = tmp_path / "cut.mcap"
    data = run[0].read_bytes()
    cut.write_bytes(data[: len(data) * 9 // 10])
    with caplog.at_level(logging.WARNING), RecordedMotion(cut, Console(quiet=True)) as motion:
        assert motion.fingers()
    assert caplog.text.count("ends early") == 1


def test_commands_keep_the_time_of_contacts_where_a_wall_clock_was_recorded(run, tmp_path):
    """Both begin at 0 then, as the plot's axis does."""
    path = tmp_path / "wall.mcap"
    file = RecordingFile(path, overwrite=False)
    for message in read_messages(run[0]):
        file.write(message.topic, message.type_name, 1.7e9 + 1e-9 * message.time, message.data)
    file.close()
    with RecordedMotion(path, Console(quiet=True)) as motion:
        told = motion.commanded_forces(["left_finger"], np.array([0.0, 0.1]))
    assert told["left_finger"].tolist() == [6.5, 6.5]


@pytest.mark.parametrize(
    "arguments",
    [
        ["grip-force"],
        ["grip-force", "--body", "spatula", "--body", "left_finger"],
        ["pitch"],
        ["pitch", "--body", "left_finger", "--axis", "y"],
        ["pressure-map"],
        ["pressure-map", "--body", "right_finger", "--time", "0.1", "--full-scale", "5"],
    ],
)
def test_picture_is_written(run, tmp_path, arguments):
    picture = tmp_path / "plot.png"
    result = plot(*arguments, run[0], "--out", picture)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == f"{picture} written"
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["grip-force", "--body", "left_fingr"],
            "body 'left_fingr': is not in the recording; did you mean 'left_finger'?",
        ),
        (["pitch", "--body", "spatul"], "body 'spatul': is not in the recording; did you mean 'spatula'?"),
        (["pitch", "--axis", "0,0,0"], "is no direction; give three numbers such as 0, 1, 0"),
        (["pressure-map", "--time", "9"], "time 9 s is outside of the recording; give 0 to 0.2"),
        (
            ["pressure-map", "--body", "gripper"],
            "body 'gripper': is never pressed; name another body with --body",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(run, tmp_path, arguments, line):
    result = plot(*arguments, run[0], "--out", tmp_path / "plot.png")
    assert result.exit_code == 1
    (told,) = result.stderr.splitlines()
    assert line in told
    assert not (tmp_path / "plot.png").exists()


@pytest.mark.parametrize(
    ("name", "line"), [("plot.pdf", "end it in .png"), ("no/plot.png", "there is no folder")]
)
def test_picture_that_cannot_be_written_is_refused_before_reading(tmp_path, name, line):
    result = plot("pitch", tmp_path / "missing.mcap", "--out", tmp_path / name)
    assert result.exit_code == 1
    assert line in result.stderr


def test_axis_that_is_none_is_wrong_usage(run, tmp_path):
    result = plot("pitch", run[0], "--axis", "up", "--out", tmp_path / "plot.png")
    assert result.exit_code == 2
    assert "three numbers such as 0,1,0" in result.stderr


def test_recording_without_a_body_to_choose_asks_for_one(motion, monkeypatch):
    monkeypatch.setattr(motion, "_joints", ())
    for choose in (motion.fingers, motion.free_body):
        with pytest.raises(InputError, match="name a body with --body"):
            choose()


def test_missing_matplotlib_is_told_before_reading(monkeypatch, tmp_path):
    monkeypatch.setattr("hydro_sim_core.drawing.figures.find_spec", lambda name: None)
    result = plot("pitch", tmp_path / "missing.mcap", "--out", tmp_path / "plot.png")
    assert result.exit_code == 1
    assert "pip install 'hydro-sim-core[plot]'" in result.stderr
