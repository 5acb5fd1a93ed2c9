"""Recordings at the command line: printed, shown and filmed; scenes in pictures; bad input in one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner
from websockets.sync.client import connect

from hydro_sim_core.cli import app
from hydro_sim_core.cli.replay import time_line_table
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.replay import Recording, TimeLine
from support.ctrl_c import heed_ctrl_c

PROGRAM = (sys.executable, "-c", "from hydro_sim_core.cli import main; main()")
SCENE = "spatula_slip_welded"
SMALL = ("--size", "160x120")


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def refused(result):
    """The one red line of a refusal."""
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A third of a second of the gripper that holds the spatula."""
    path = tmp_path_factory.mktemp("recording") / "run.mcap"
    result = call("run", SCENE, "--headless", "--duration", 0.3, "--out", path)
    assert result.exit_code == 0, result.output
    return path


def test_the_time_line_and_the_topics_are_printed(recording):
    result = call("replay", recording)
    assert result.exit_code == 0, result.output
    rows = re.findall(
        r"^ +(\d\.\d{3}) +(\d+) +(\d+\.?\d*) +(\d+\.\d{3}) +(\d+\.\d{3}) +█+", result.stdout, re.M
    )
    assert float(rows[-1][0]) == pytest.approx(0.3)
    assert int(rows[-1][1]) > 20  # faces
    assert float(rows[-1][3]) == pytest.approx(6.5, rel=0.1)  # N, of a finger
    assert "left_finger on spatula, N" in result.stdout
    assert re.search(
        r"/hydro_sim/contact_patches +hydro_sim_msgs/msg/ContactPatchArray +10 +contact", result.stdout
    )


def test_contact_without_force_has_a_time_line_too(recording, monkeypatch):
    with TimeLine([Recording(recording)]) as line:
        frame = line.frame(0.3)
        assert frame.patches
        patches = tuple(replace(patch, force_on_b=np.zeros(3)) for patch in frame.patches)
        monkeypatch.setattr(line, "frame", lambda place: replace(frame, patches=patches))
        table = time_line_table(line, 0.0)
    assert set(table.columns[-1].cells) == {""}


def test_at_a_terminal_it_plays_in_one_line_first(recording):
    arguments = ("replay", str(recording), "--speed", "2")
    result = CliRunner().invoke(app, arguments, env={"FORCE_COLOR": "1", "COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    times = [float(time) for time in re.findall(r"t = +(\d\.\d{3}) s", result.stdout)]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(0.3)
    assert result.stdout.rindex("contact faces") < result.stdout.index("peak, kPa")


def test_files_follow_each_other(recording, tmp_path):
    other = tmp_path / "run_1.mcap"
    shutil.copy(recording, other)
    result = call("replay", recording, other)
    assert result.exit_code == 0, result.output
    assert {row[0] for row in re.findall(r"^ +([12]) +\d\.\d{3} ", result.stdout, re.M)} == {"1", "2"}


def test_pages_play_and_seek_until_it_is_interrupted(recording):
    """A page gets the scene with its time line, stops the recording where it is told, and hears what is wrong."""
    command = [*PROGRAM, "replay", str(recording), "--view", "--view-port", "0", "--loop", "--speed", "0.1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    )
    try:
        printed = r"http://(127\.0\.0\.1:\d+)/(\?token=\S+)"
        address, token = re.search(printed, process.stdout.readline()).groups()
        with connect(f"ws://{address}/ws{token}", origin=f"http://{address}") as page:
            scene = wait_for(page, lambda told: told["type"] == "scene")
            assert (scene["mode"], scene["takes_commands"]) == ("replay", False)
            assert scene["timeline"] == {"start": 0.0, "end": pytest.approx(0.3), "gaps": []}
            wait_for(page, lambda told: told["type"] == "frame" and told["timeline_time"] > 0.0)
            for asked in ({"type": "pause", "paused": True}, {"type": "seek", "time": 0.2}):
                page.send(json.dumps(asked))
            wait_for(
                page, lambda told: told["type"] == "frame" and told["paused"] and told["timeline_time"] == 0.2
            )
            page.send(json.dumps({"type": "seek", "time": 9.0}))
            told = wait_for(page, lambda told: told["type"] == "rejected")
            assert "time 9 s is outside of the recording; give 0 to 0.3" in told["reason"]
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.count("\n") == errors.count("outside of the recording") == 1


def wait_for(page, condition):
    """Take in messages, acknowledging frames, until one of them is it."""
    while True:
        message = page.recv(timeout=30)
        if isinstance(message, str):
            told = json.loads(message)
        else:
            told = {"type": "frame", **json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])}
            page.send(json.dumps({"type": "shown", "seq": told["seq"]}))
        if condition(told):
            return told


def test_a_snapshot_of_a_scene_shows_contact_in_the_colours_of_pressure(tmp_path):
    """Close to the contact there is yellow, where the scale ends far below the peak of about 14 kPa."""
    out = tmp_path / "x.png"
    arguments = ("--time", 0.3, "--out", out, *SMALL, "--camera", "contact", "--full-scale", 5)
    result = call("snapshot", SCENE, *arguments)
    assert result.exit_code == 0, result.output
    with Image.open(out) as picture:
        assert picture.size == (160, 120)
        pixels = np.asarray(picture.convert("RGB")).astype(int)[:80]  # above the legend
    yellow = PressureScale().table()[-1].astype(int)
    assert (np.abs(pixels - yellow).max(axis=2) < 10).sum() > 20


@pytest.mark.long
def test_a_snapshot_without_a_name_is_a_file_named_after_what_it_shows(recording, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for source, name in ((SCENE, f"{SCENE}.png"), (recording, "run.png")):
        result = call("snapshot", source, *SMALL)
        assert result.exit_code == 0, result.output
        assert f"{name}: t = 0 s" in result.stdout
        (tmp_path / name).write_bytes(b"older")
        assert f"{name}: exists already; give another name, or --overwrite" in refused(
            call("snapshot", source, *SMALL)
        )
        assert (tmp_path / name).read_bytes() == b"older"
    assert call("snapshot", recording, *SMALL, "--out", "run.png", "--overwrite").exit_code == 0
    with Image.open("run.png") as picture:
        assert picture.size == (160, 120)
    assert sorted(os.listdir()) == ["run.png", f"{SCENE}.png"]


@pytest.mark.long
def test_a_recording_is_filmed_from_where_it_is_told(recording, tmp_path):
    out = tmp_path / "run.gif"
    result = call("replay", recording, "--out", out, "--fps", 20, "--from", 0.1, "--speed", 0.5, *SMALL)
    assert result.exit_code == 0, result.output
    assert f"{out}: 9 frames" in result.stdout  # 0.2 s at half the speed, both ends
    with Image.open(out) as film:
        assert film.size == (160, 120)
        durations = [film.seek(i) or film.info["duration"] for i in range(film.n_frames)]
    assert sum(durations) == 450  # ms


def test_a_run_is_filmed_in_simulated_time(tmp_path):
    out = tmp_path / "run.gif"
    result = call("run", SCENE, "--duration", 0.2, "--out", out, "--fps", 10, *SMALL)
    assert result.exit_code == 0, result.output
    with Image.open(out) as film:
        durations = [film.seek(i) or film.info["duration"] for i in range(film.n_frames)]
    assert sum(durations) == 300  # ms: frames at 0, 0.1 and 0.2 s


@pytest.mark.long
def test_ctrl_c_ends_a_filmed_run_with_a_film_up_to_there(tmp_path):
    """As at a terminal, where it reaches every process of the group."""
    command = [*PROGRAM, "run", SCENE, "--duration", "600", "--out", str(tmp_path / "x.mp4"), *SMALL]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0, preexec_fn=heed_ctrl_c
    )
    until = time.monotonic() + 120.0
    while not list(tmp_path.glob(".x.*.mp4")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert os.listdir(tmp_path) == ["x.mp4"]
    count = [
        "ffprobe",
        "-v",
        "error",
        "-count_frames",
        "-show_entries",
        "stream=nb_read_frames",
        "-of",
        "csv=p=0",
    ]
    assert 1 <= int(subprocess.check_output([*count, tmp_path / "x.mp4"])) < 600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("replay", "gone.mcap"), "gone.mcap: no such file"),
        (("replay", "empty.mcap"), "empty.mcap: is no MCAP file"),
        (("replay", "text.mcap"), "text.mcap: is no MCAP file"),
        (("replay", "RUN", "--from", 7), "time 7 s is outside of the recording; give 0 to 0.3"),
        (("replay", "RUN", "--out", "x.avi"), "x.avi: .*end it in .mp4, .webm or .gif for the film"),
        (("snapshot", "RUN", "--time", 0.5, "--out", "x.png"), "time 0.5 s is outside of the recording; give 0 to 0.3"),
        (("snapshot", "RUN", "--out", "x.jpg"), "x.jpg: .*end it in .png"),
        (("snapshot", "RUN", "--out", "nowhere/x.png"), "there is no folder"),
        (("snapshot", "nosuch", "--out", "x.png"), "nosuch"),
        (("run", SCENE, "--duration", 1, "--out", "x.avi"), "end it in .mcap for the recording, .mp4, .webm or .gif"),
        (("run", SCENE, "--duration", 1e300), r"--duration: 1e\+300 s take more than 1e\+09 steps of 0.001"),
        (("run", SCENE, "--duration", 4e-4), "--duration: 0.0004 s are less than one step; give at least 0.001"),
        (("snapshot", SCENE, "--out", "x.png", "--time", 1e300), r"--time: 1e\+300 s .* give at most 1e\+06"),
        (("run", SCENE, "--duration", 1e4, "--out", "x.gif"), r"3e\+05 frames, .* shorter --duration"),
        (("replay", "RUN", "--out", "x.gif", "--speed", 1e-6), r"x.gif: would have 9e\+06 frames.*higher --speed"),
        (("replay", "RUN", "--out", "x.gif", "--speed", 1e-308), "x.gif: would have inf frames"),
        (("replay", "RUN", "--out", "x.mp4", "--fps", 1e9), "0.01 to 1000 frames a second"),
        (("replay", "RUN", "RUN"), "run.mcap: is given twice; name every recording once"),
        (("snapshot", "GONE.MCAP", "--out", "x.png"), "GONE.MCAP: no such file"),
        (("snapshot", SCENE, "--out", "x.png", "--full-scale", 1e10), "upper end is not 0.001 to 1e"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing(recording, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.mcap").touch()
    (tmp_path / "text.mcap").write_text("no recording at all")
    result = call(*(recording if argument == "RUN" else argument for argument in arguments))
    assert re.search(says, refused(result))
    assert sorted(os.listdir(tmp_path)) == ["empty.mcap", "text.mcap"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", SCENE, "--out", "x.gif"),
        ("run", SCENE, "--out", "x.gif", "--duration", 1, "--rate", 1),
        ("replay", "x.mcap", "--out", "x.gif", "--view"),
        ("replay", "x.mcap", "--loop"),
        ("replay", "x.mcap", "--fps", 10),
        ("replay", "x.mcap", "--view", "--size", "160x120"),
        ("replay", "x.mcap", "--camera", "iso"),
        ("replay", "x.mcap", "--full-scale", 5),
        ("run", SCENE, "--duration", 1, "--view", "--fps", 10),
        ("run", SCENE, "--duration", 1, "--size", "160x120"),
        ("run", SCENE, "--duration", 1, "--camera", "top"),
        ("run", SCENE, "--duration", 1, "--full-scale", 5),
        ("snapshot", "x.mcap", "--out", "x.png", "--xacro-arg", "a:=1"),
        ("replay", "x.mcap", "--speed", 0),
        ("snapshot", SCENE, "--out", "x.png", "--size", "12"),
        ("snapshot", SCENE, "--out", "x.png", "--size", "9999x9999"),
        ("snapshot", SCENE, "--out", "x.png", "--camera", "behind"),
        ("snapshot", SCENE, "--out", "x.png", "--full-scale", -1),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(*arguments).exit_code == 2
    assert os.listdir(tmp_path) == []
