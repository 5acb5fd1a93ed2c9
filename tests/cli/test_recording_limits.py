"""Limits of recordings at the command line, and all that reads the files: time line, picture of curves."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from hydro_sim_core import World
from hydro_sim_core.cli import app
from hydro_sim_core.cli.output import make_console
from hydro_sim_core.cli.plot_series import RecordedMotion
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.recording import recording_files
from hydro_sim_core.replay import Recording

SCENE = "spatula_slip_welded"


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "run.mcap"
    done = call("run", SCENE, "--duration", 0.3, "--headless", "--out", path, "--record-max-duration", 0.1)
    assert done.exit_code == 0, done.output
    assert f"{path} to run_3.mcap" in done.output.replace("\n", "")
    return recording_files(path)


def test_limits_part_the_run(files):
    assert [path.name for path in files] == ["run.mcap", "run_1.mcap", "run_2.mcap", "run_3.mcap"]


def test_every_file_tells_the_scale_of_the_scene(files):
    wanted = scale_of_world(World(published_scene(SCENE))).maximum
    for path in files:
        with Recording(path) as recording:
            assert recording.known_scale is not None
            assert recording.known_scale.maximum == wanted


@pytest.mark.parametrize("named", ["the first file", "the folder"])
def test_replay_shows_all_files_as_one(files, named):
    done = call("replay", files[0] if named == "the first file" else files[0].parent)
    assert done.exit_code == 0, done.output
    assert "0.000" in done.output
    assert "0.300" in done.output
    rows = [line.split() for line in done.output.splitlines() if "/joint_states" in line]
    # One message is told again at the beginning of no file: every step is in one of them.
    assert rows[0][2] == "301"


def test_plots_go_on_over_the_files(files):
    with RecordedMotion(files[0], make_console()) as motion:
        bodies = motion.fingers()
        time, forces = motion.grip_forces(bodies)
        commanded = motion.commanded_forces(bodies, time)
    assert (time[0], time[-1]) == (0.0, pytest.approx(0.3))
    assert np.all(np.diff(time) > 0.0)
    assert len(commanded) == len(forces) == 2
    with RecordedMotion(files[0], make_console()) as motion:
        assert motion.instant(0.25).time == pytest.approx(0.25, abs=0.02)


def test_options_that_have_no_effect_or_make_no_file_are_refused(tmp_path):
    run = ("run", SCENE, "--duration", 0.1)
    assert "need a recording" in call(
        *run, "--record-max-size", 5, "--record-max-duration", 5
    ).output.replace("\n", " ")
    refused = call(*run, "--out", tmp_path / "run.mcap", "--record-max-size", 0.01)
    assert refused.exit_code == 1
    assert "size: 10000 bytes are too few for a file; give 0.1 MB or more" in refused.output
    (tmp_path / "run_4.mcap").touch()
    refused = call(*run, "--out", tmp_path / "run.mcap", "--record-max-size", 5)
    why = "run_4.mcap: exists already, and may be needed for the next part"
    assert f"{why}; give another name, or --overwrite to replace it" in refused.output
