"""Files that commands write: one option for all kinds, nothing replaced unasked, reports on standard output."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest

from hydro_sim_core import World
from hydro_sim_core.geometry import tetrahedralisation
from support.command_line import call, commands, refused

#: A run that takes no time.
SHORT = ("--headless", "--duration", 0.002)


def test_every_command_that_writes_can_be_told_to_overwrite():
    for name, command in commands().items():
        options = {option for param in command.params for option in param.opts}
        # Files of machine code are named by their contents, so that none is ever replaced by another.
        assert ("--out" in options) == ("--overwrite" in options) or name == "compile", name


def test_the_kind_of_a_file_follows_from_its_suffix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("run", "drop_box", *SHORT, "--out", "run.mcap", "--out", "run.JSON")
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "run.JSON").read_text())["recording"]["paths"] == ["run.mcap"]
    assert (tmp_path / "run.mcap").read_bytes().startswith(b"\x89MCAP")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "drop_box", "--json", "FILE"),
        ("run", "drop_box", "--out", "FILE"),
        ("run", "drop_box", "--save-failed", "FILE"),
        ("run", "drop_box", "--duration", 1, "--out", "kept.gif"),
        ("check", "drop_box", "--json", "FILE"),
        ("converge", "drop_box", "--out", "kept.png"),
        ("validate", "incline", "--out", "kept.png"),
        ("validate", "--all", "--quick", "--out", "kept"),
        ("validate", "--all", "--quick", "--out", "folder"),
        ("mesh", "part.stl", "--out", "kept.vtk"),
        ("hil-report", "report.json", "--out", "kept.png"),
        ("snapshot", "drop_box", "--out", "kept.png"),
        ("replay", "run.mcap", "--out", "kept.gif"),
        ("task", "pancake_flip", "--out", "kept.gif"),
        ("plot", "pitch", "run.mcap", "--out", "kept.png"),
        ("bench", "--out", "FILE"),
        ("init", "box.urdf", "--out", "kept.yaml"),
        ("doctor", "--out", "FILE"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_no_file_is_replaced_unasked(arguments, tmp_path, monkeypatch):
    """The refusal names the option, and comes before anything runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(World, "step", lambda *_: pytest.fail("stepped"))
    monkeypatch.setattr(tetrahedralisation, "tetrahedralise", lambda *_: pytest.fail("meshed"))
    (tmp_path / "folder").mkdir()
    names = [f"kept.{suffix}" for suffix in ("json", "png", "gif", "vtk", "yaml", "md")]
    for name in (*names, "folder/incline.json", "box.urdf"):
        (tmp_path / name).write_text("precious")
    line = refused(call(*("kept.json" if argument == "FILE" else argument for argument in arguments)))
    assert "exists already; give another name, or --overwrite to replace it" in line
    assert all((tmp_path / name).read_text() == "precious" for name in names)


@pytest.mark.parametrize(
    "names",
    [
        ("--json", "a.json", "--save-failed", "a.json"),
        ("--out", "a.json", "--save-failed", "folder/../a.json"),
        ("--json", "a.mcap", "--out", "a.mcap"),
        ("--out", "a.mcap", "--save-failed", "link.mcap"),
    ],
    ids=" ".join,
)
def test_one_file_for_two_things_is_refused(names, tmp_path, monkeypatch):
    """The later of them would take the place of the first, and with --overwrite nobody would notice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(World, "step", lambda *_: pytest.fail("stepped"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.mcap").symlink_to("a.mcap")
    line = refused(call("run", "drop_box", *SHORT, *names, "--overwrite"))
    assert line.endswith(f"{names[3]}: would be written twice; give each result a file of its own")
    assert not (tmp_path / "a.json").exists()


def test_two_results_may_go_to_a_device():
    both = ("--json", "/dev/null", "--save-failed", "/dev/null")
    assert call("run", "drop_box", *SHORT, *both).exit_code == 0


def test_files_are_replaced_on_purpose(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("older")
    assert call("run", "drop_box", *SHORT, "--out", path, "--overwrite").exit_code == 0
    assert json.loads(path.read_text())["steps"] == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--out", "a.json", "--out", "b.json"), "one file for the report is enough"),
        (("--out", "a.json", "--json", "b"), "one file for the report is enough"),
    ],
)
def test_two_files_of_one_kind_are_wrong_usage(given, says):
    result = call("check", "drop_box", *given)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.replace("│", " ").split())


def test_a_suffix_of_no_kind_is_told_what_there_is(tmp_path):
    line = refused(call("run", "drop_box", "--out", tmp_path / "run.bag"))
    assert (
        "end it in .mcap for the recording, .mp4, .webm or .gif for the film, or .json for the report" in line
    )


@pytest.mark.parametrize("command", [("check", "drop_box"), ("run", "drop_box", *SHORT)])
def test_a_report_on_standard_output_is_nothing_but_json(command):
    """What people read goes to standard error, so that a pipe gets the report alone."""
    result = call(*command, "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["scene"] == "drop_box"
    assert "drop_box" in result.stderr


def test_a_device_is_written_to_and_not_replaced():
    assert call("check", "drop_box", "--json", os.devnull).exit_code == 0


def test_what_check_prints_is_in_its_report():
    found = json.loads(call("check", "spatula_slip_welded", "--json", "-").stdout)
    printed = call("check", "spatula_slip_welded").stdout
    for kind, key in {"bodies": "moved_by", "joints": "name", "geometries": "name", "pairs": "a"}.items():
        assert found[kind]
        assert all(row[key] in printed for row in found[kind])
    assert f"{found['degrees_of_freedom']} degrees of freedom" in printed


def test_a_quiet_run_prints_nothing(tmp_path):
    result = call("run", "drop_box", *SHORT, "--quiet", "--out", tmp_path / "run.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert json.loads((tmp_path / "run.json").read_text())["steps"] == 2


def test_a_quiet_run_prints_nothing_on_a_terminal_either():
    """Where bars and the live line would be; slowly, since a run that falls behind its pace warns of that."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hydro_sim_core", "run", "drop_box", "--quiet"]
    command += ["--duration", "0.05", "--rate", "0.1"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        assert process.wait(60) == 0
    with contextlib.suppress(OSError):  # the other side is closed
        assert os.read(ours, 1000) == b""
    os.close(ours)


def test_a_quiet_run_does_not_hide_the_address_of_its_page():
    assert call("run", "drop_box", "--quiet", "--view").exit_code == 2
