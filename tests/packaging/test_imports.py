"""What a start does not wait for."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

import hydro_sim_core

#: Packages that take longer to import than the engine, and that most programs have no use for.
HEAVY = ("numba", "scipy.spatial", "scipy.optimize", "scipy.sparse", "trimesh", "meshio", "matplotlib")


def heavy_imports(program: str) -> set[str]:
    """Heavy packages that are imported when a program has run."""
    code = f"import sys\n{program}\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["hydro_sim_core.simulation", "hydro_sim_core.cli.run", "hydro_sim.node"])
def test_an_import_does_not_wait_for_heavy_packages(module):
    if module == "hydro_sim.node":
        pytest.importorskip("rclpy")
    assert heavy_imports(f"import {module}") == set()


def test_help_version_and_the_list_of_scenes_do_not_wait_for_the_engine():
    """Not even for NumPy."""
    for option in ("--help", "--version", "scenes"):
        code = (
            "import sys\nfrom hydro_sim_core.cli import app\n"
            f"app([{option!r}], standalone_mode=False)\n"
            "print('numpy' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("False\n")


def test_a_scene_of_primitive_shapes_runs_without_them():
    program = "from hydro_sim_core.simulation.scenes import open_world; world = open_world('drop_box'); world.step(10)"
    assert heavy_imports(program) == set()


@pytest.mark.parametrize(
    "scene",
    [
        "from hydro_sim_core.simulation.scenes import open_world; world = open_world('drop_box')",
        "import hydro_sim_core as hs; scene = hs.SceneBuilder(); lift = scene.add_model('lift', base='kinematic');"
        "lift.add_link('plate'); scene.add_command({'sine': {'amplitude': 1, 'period': 1}}, model='lift', mode='vz');"
        "world = hs.World(scene.build())",
    ],
    ids=["a box", "a sine"],
)
def test_a_scene_loads_without_a_compiler(scene):
    """For a debugger; poses, quaternions and sines are computed by functions that are compiled elsewhere."""
    program = f"{scene}; world.step(1)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_package_tells_its_version():
    assert hydro_sim_core.__version__ == version("hydro-sim-core")
    with pytest.raises(AttributeError, match="has no attribute '__author__'"):
        _ = hydro_sim_core.__author__


def test_the_package_lists_what_is_meant_for_users():
    """Completion in a notebook reads it."""
    assert [name for name in dir(hydro_sim_core) if not name.startswith("__")] == sorted(
        hydro_sim_core.__all__
    )
