"""What colcon finds in a clone of this repository: the three packages that are ours to build, and no stand-ins."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"hydro_sim", "hydro_sim_bringup", "hydro_sim_msgs"}
STAND_INS = {"control_msgs", "simulation_interfaces", "tf2_msgs"}


def _packages(folder: Path, *base_paths: str) -> dict[str, Path]:
    """Folder of every package that colcon finds."""
    command = [sys.executable, "-c", "from colcon_core.command import main; raise SystemExit(main())"]
    command += ["--log-base", os.devnull, "list", "--base-paths", *base_paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    # A setup.py at the top would be read as a package, below which colcon looks for no others.
    assert "ERROR" not in done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: folder / path for name, path, _ in rows}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace with the files of this checkout in its ``src``, as after ``git clone``."""
    folder = tmp_path_factory.mktemp("workspace")
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in names.rstrip("\0").split("\0"):
        # Meshes and pictures mean nothing to colcon; a deleted file may still be in the index.
        if (ROOT / name).is_file() and (ROOT / name).stat().st_size < 200_000:
            target = folder / "src" / "hydro-sim" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    return folder


def test_a_clone_brings_nothing_that_hides_packages_of_ros(workspace):
    """The tests' subsets of control_msgs and tf2_msgs would shadow the real ones for all that is sourced later."""
    found = _packages(workspace, "src")
    assert set(found) == OURS
    packages = workspace / "src" / "hydro-sim" / "ros2_ws" / "src"
    assert {path.parent for path in found.values()} == {packages}


def test_the_workspace_of_the_wheels_still_finds_the_stand_ins(workspace):
    """The Makefile names their folder itself."""
    (line,) = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("PACKAGES :=")
    ]
    found = _packages(workspace / "src" / "hydro-sim", *line.partition(":=")[2].split())
    assert set(found) == OURS | STAND_INS
