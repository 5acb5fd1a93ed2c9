"""Compiled kernels on disk: found again while they are right, never used when something they call has changed."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import hydro_sim_core
from hydro_sim_core import jit
from hydro_sim_core.cli import status

ENGINE = Path(hydro_sim_core.__file__).parent
ROOMS = ("geometry", "contact", "dynamics", "solvers", "simulation")
CALLEE = "from hydro_sim_core.jit import kernel\n\n@kernel\ndef factor():\n    return {factor}\n"
CALLER = """
from hydro_sim_core.geometry.callee import factor
from hydro_sim_core.jit import kernel

@kernel
def scaled(x):
    return factor() * x
"""
IMPORT = "from hydro_sim_core.simulation.constants import LENGTH\n"
DAY = 24 * 3600


@pytest.fixture
def engine(tmp_path):
    """The engine's name and rooms, its ``jit.py`` and ``handles.py``, two kernels: ``contact`` calls ``geometry``."""
    package = tmp_path / "source" / "hydro_sim_core"
    for room in ROOMS:
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    (package / "__init__.py").touch()
    for module in ("jit.py", "handles.py"):
        (package / module).write_text((ENGINE / module).read_text())
    (package / "geometry" / "callee.py").write_text(CALLEE.format(factor=2.0))
    (package / "contact" / "caller.py").write_text(CALLER)
    (package / "solvers" / "structs.py").write_text("class Struct(NamedTuple):\n    x: float\n")
    (package / "simulation" / "caller.py").write_text(CALLER + IMPORT)
    (package / "simulation" / "constants.py").write_text("LENGTH = 2\n")
    (package / "simulation" / "uncompiled.py").write_text(IMPORT)
    return package


def run(engine, cache):
    """What a fresh process computes from 1 by ``scaled``, whether it took it from the cache, and its log."""
    program = (
        "from hydro_sim_core.contact.caller import scaled\n"
        "from hydro_sim_core.jit import kernels_are_kept\n"
        "print(scaled(1.0), sum(scaled.stats.cache_hits.values()), kernels_are_kept())"
    )
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=engine.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    value, hits, kept = done.stdout.split()
    return float(value), int(hits), kept == "True", done.stderr


def folders(engine):
    """Names of the cache folders of all rooms, from a freshly loaded ``jit.py``."""
    spec = importlib.util.spec_from_file_location("jit_of_a_copy", engine / "jit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {room: module._kernel_cache_dir(room).name for room in ROOMS}


@pytest.mark.parametrize(
    ("changed", "rooms"),
    [
        ("jit.py", set(ROOMS)),
        ("geometry/callee.py", {"geometry", "contact", "solvers", "simulation"}),
        ("contact/caller.py", {"contact", "solvers", "simulation"}),
        ("dynamics/new.py", {"dynamics", "solvers", "simulation"}),
        ("solvers/structs.py", {"solvers", "simulation"}),
        ("simulation/constants.py", {"simulation"}),
        ("simulation/__init__.py", set()),
        ("simulation/uncompiled.py", set()),
    ],
)
def test_a_change_renames_the_folders_of_the_rooms_that_can_call_it(
    engine, tmp_path, monkeypatch, changed, rooms
):
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    before = folders(engine)
    assert folders(engine) == before
    with (engine / changed).open("a") as file:
        file.write("# changed: what follows makes a new module one with kernels\n")
        file.write("from hydro_sim_core.jit import kernel\n" if changed.endswith("new.py") else "")
    after = folders(engine)
    assert {room for room in ROOMS if before[room] != after[room]} == rooms


def test_rooms_with_kernels_import_only_from_rooms_that_name_their_folder():
    """Else a callee could change behind a cached kernel. What is drawn, described or refused holds no kernels."""
    for room in ("drawing", "description"):
        assert not any("import kernel\n" in path.read_text() for path in (ENGINE / room).rglob("*.py"))
    for path in ENGINE.rglob("*.py"):
        source = path.read_text()
        if "import kernel\n" not in source:
            continue
        room = path.relative_to(ENGINE).parts[0]
        below = jit._ROOMS_BELOW.get(room, (*jit._ROOMS_BELOW["solvers"], room))
        modules = {
            node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)
        }
        imported = {module.split(".")[1] for module in modules if module.startswith("hydro_sim_core.")}
        # What is in jit and handles is part of every folder's name.
        assert imported <= {*below, "jit", "handles", "errors", "description", "drawing"}, path


def test_the_second_process_finds_the_kernels_of_the_first_until_a_callee_changes(engine, tmp_path):
    cache = tmp_path / "cache"
    assert run(engine, cache) == (2.0, 0, True, "")
    assert run(engine, cache) == (2.0, 1, True, "")
    (engine / "geometry" / "callee.py").write_text(CALLEE.format(factor=3.0))
    assert run(engine, cache) == (3.0, 0, True, "")


def test_without_a_writable_folder_nothing_is_cached_and_one_warning_says_so(engine, tmp_path):
    """Not in the source tree either, where a kernel would outlive a change of its callee."""
    cache = tmp_path / "file"
    cache.touch()
    for factor in (2.0, 3.0):
        (engine / "geometry" / "callee.py").write_text(CALLEE.format(factor=factor))
        value, hits, kept, log = run(engine, cache)
        assert (value, hits, kept) == (factor, 0, False)
        (line,) = log.splitlines()
        assert str(cache) in line
        assert "HYDRO_SIM_CACHE_DIR" in line
    assert not list(engine.rglob("*.nb[ic]"))


def test_disused_folders_of_a_room_go_when_it_gets_a_new_one(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    kernels = tmp_path / "kernels"
    for name, age in (("dynamics-old", 31), ("dynamics-recent", 29), ("solversother-old", 31)):
        (kernels / name).mkdir(parents=True)
        os.utime(kernels / name, 2 * (time.time() - age * DAY,))
    used = kernels / folders(engine)["dynamics"]
    assert {folder.name for folder in kernels.glob("*-[or]*")} == {"dynamics-recent", "solversother-old"}

    os.utime(used, 2 * (time.time() - 31 * DAY,))
    folders(engine)
    assert time.time() - used.stat().st_mtime < DAY


@pytest.mark.parametrize("kept", [True, False])
def test_compiling_is_once_on_this_machine_only_where_kernels_are_kept(monkeypatch, kept):
    monkeypatch.setattr(jit, "_unwritable", set() if kept else {Path("/nowhere")})
    monkeypatch.setattr(status, "_SILENT_FOR", 0.0)
    monkeypatch.setattr(status, "_LINE_PERIOD", 0.01)
    console = Console(record=True, width=80)
    with status.compile_progress(console):
        time.sleep(0.1)
    text = console.export_text()
    assert "compiling kernels" in text
    assert ("once on this machine" in text) == kept
