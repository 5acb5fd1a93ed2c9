"""``hydro-sim doctor``: what is there, what is missing, and what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from hydro_sim_core.cli import checkup
from hydro_sim_core.cli.checkup import BROKEN, MISSING, OK, Finding
from support.command_line import call

NODE = Path(__file__).parents[2] / "ros2_ws" / "src" / "hydro_sim" / "hydro_sim"


def by_part(result):
    return {one["part"]: one for one in json.loads(result.stdout)["findings"]}


def test_this_installation_is_healthy():
    result = call("doctor", "--json", "-")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["healthy"] is True
    found = by_part(result)
    assert {
        "Python",
        "hydro-sim",
        "packages",
        "plug-ins",
        "cache folder",
        "kernels",
        "real-time priority",
    } <= set(found)
    assert {"frequency governor", "browser for pictures", "ffmpeg for films", "GPU", "ROS"} <= set(found)
    assert all(one["mend"] for one in found.values() if one["state"] != OK)
    printed = call("doctor").stdout
    assert all(part.split()[-1] in printed for part in found)
    assert not re.search(r"\[(green|red|yellow)", printed)


def test_lines_in_a_pipe_have_a_width_that_can_be_read(monkeypatch):
    """Lists go on in the next line; paths and commands, which people copy, stay whole."""
    packages = ", ".join(f"package{number} 1.{number}.0" for number in range(40))
    path = f"/home/somebody/{'environment_' * 6}/bin/python"
    for found, width in ((packages, 120), (path, 120 + len(path) - 38)):
        one = Finding(
            "for one experiment, on a layer under pressure",
            MISSING,
            found,
            "pip install 'package[extra]' now",
        )
        monkeypatch.setattr(checkup, "_CHECKS", (lambda one=one: iter([one]),))
        lines = call("doctor").stdout.splitlines()
        assert max(map(len, lines)) <= width
        printed = " ".join(lines)
        assert all(word in printed for word in (*found.split(), "'package[extra]'"))


def test_the_status_is_1_only_for_what_is_needed(monkeypatch):
    for needed, status in ((False, 0), (True, 1)):
        monkeypatch.setattr(checkup, "_CHECKS", (lambda n=needed: iter([Finding("x", MISSING, "", "y", n)]),))
        assert call("doctor").exit_code == status


def test_a_missing_package_is_named(monkeypatch):
    texts = [*(requires("hydro-sim-core") or ()), "no-such-package>=2", "nor-this; extra == 'plot'"]
    monkeypatch.setattr(checkup, "requires", lambda _: texts)
    result = call("doctor", "--json", "-")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    told = next(one for one in findings if one["mend"] == "pip install no-such-package")
    assert (told["state"], told["needed"]) == (MISSING, True)
    assert by_part(result)["for plots"]["mend"] == "pip install 'hydro-sim-core[plot]'"


def test_a_python_that_is_too_new_is_told(monkeypatch):
    monkeypatch.setattr(checkup, "metadata", lambda _: {"Requires-Python": ">=3.9,<3.11"})
    (told, _) = checkup._python()
    assert (told.state, told.mend) == (BROKEN, "use a Python that is >=3.9,<3.11")


@pytest.mark.heavy(2)
@pytest.mark.parametrize(
    ("group", "value", "problem"),
    [
        ("hydro_sim.shapes", "missing_module:CONE", "ModuleNotFoundError"),
        ("hydro_sim.friction_laws", "extra:WRONG", "is no FrictionLaw"),
        ("hydro_sim.controllers", "missing_module:SWING", "its module does not exist"),
        ("hydro_sim.sensors", "extra:[/nope]", "cannot be loaded"),
    ],
)
def test_a_broken_plug_in_is_named_and_hides_nothing_else(tmp_path, group, value, problem):
    """Some stop every scene from being read, so the command runs where all else fails."""
    info = tmp_path / "extra-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\npart = {value}\n")
    (tmp_path / "extra.py").write_text("WRONG = 3\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "hydro_sim_core", "doctor", "--json", "-"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    found = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    told = found[f"plug-in of {group}"]
    assert told["state"] == BROKEN
    assert problem in told["found"]
    assert "extra 1" in told["found"]
    assert "pip uninstall extra" in told["mend"]
    assert found["ffmpeg for films"]


def test_a_package_that_cannot_be_imported_hides_nothing_else(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('numba is broken')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "hydro_sim_core", "doctor", "--json", "-"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    found = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert "numba is broken" in found["gpu"]["found"]
    assert found["ffmpeg for films"]


def test_kernels_that_are_not_compiled_are_counted(tmp_path):
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "hydro_sim_core", "doctor", "--json", "-"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    found = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert str(tmp_path / "cache") in found["cache folder"]["found"]
    assert found["kernels"]["state"] == MISSING
    assert found["kernels"]["found"].startswith("0 of ")
    assert "hydro-sim compile" in found["kernels"]["mend"]
    assert found["cache folder"]["state"] == OK
    assert found["cache folder"]["found"].endswith("not made yet")
    assert not (tmp_path / "cache").exists()  # it only looks


def test_a_cache_that_cannot_be_kept_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(tmp_path / "file" / "cache")}
    command = [sys.executable, "-m", "hydro_sim_core", "doctor", "--json", "-"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert "set HYDRO_SIM_CACHE_DIR" in found["cache folder"]["mend"]


def test_browser_and_ffmpeg_that_are_not_there_are_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HYDRO_SIM_BROWSER", "no_such_browser")
    browser, ffmpeg = checkup._pictures()
    assert browser.state == ffmpeg.state == MISSING
    assert "no_such_browser" in browser.found
    assert "apt install ffmpeg" in ffmpeg.mend


def test_the_optional_interfaces_are_those_of_the_node():
    told = dict(re.findall(r'"(\w+) \(([^)]+)\)":', (NODE / "optional.py").read_text()))
    assert told.keys() == checkup.INTERFACES.keys()
    for package, purpose in told.items():
        assert purpose.partition(",")[0] in checkup.INTERFACES[package]


def test_every_group_of_plug_ins_is_looked_at():
    """Those of the engine by their tables, those of the node by their presence."""
    root = Path(__file__).parents[2]
    files = [*(root / "hydro_sim_core").rglob("*.py"), *NODE.rglob("*.py")]
    used = {group for file in files for group in re.findall(r'"(hydro_sim\.[a-z_]+)"', file.read_text())}
    assert used == {*checkup._TABLES, checkup._OF_THE_NODE}
