"""Compile all kernels, for images, clusters and wheels."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from pathlib import Path
from typing import Annotated

import typer

import hydro_sim_core
from hydro_sim_core.cli import output
from hydro_sim_core.compilation import Entry, prepare, store
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.scenes import open_world

#: Rooms whose entry points programs call; those of experiments serve measurements.
_ROOMS = ("contact", "dynamics", "sensors", "simulation", "solvers")
#: Needs a GPU's tools.
_LEFT_OUT = ("hydro_sim_core.contact.pressure_field.cuda_query",)


def compile_kernels(
    scene: Annotated[
        str | None,
        typer.Argument(metavar="[SCENE]", help="Only what this scene needs; its meshes are made too."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="Also copy the machine code there, for a wheel."),
    ] = None,
) -> None:
    """Compile what no machine code is found for, so that later starts need not.

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES choose another processor than this machine's.
    """
    console = output.make_console()
    if not store.kernels_are_kept():
        raise InputError(store.cache_root(), "kernels", "cannot be kept there", "see the warning above")
    with compile_progress(console):
        entries = engine_entries() if scene is None else _entries_of(scene)
        prepare(entries)
    paths = [path for path in map(store.find, entries) if path is not None]
    if into is not None:
        try:
            into.mkdir(parents=True, exist_ok=True)
            for path in paths:
                shutil.copy(path, into)
        except OSError as error:
            raise InputError(
                into, "--into", f"cannot be written: {error.strerror}", "give another folder"
            ) from None
    size = sum(path.stat().st_size for path in paths)
    where = paths[0].parent if into is None else into
    console.print(
        f"{len(paths)} entry points, {size / 1e3:.0f} kB, in {where}", highlight=False, soft_wrap=True
    )


def _entries_of(scene: str) -> list[Entry]:
    """Entry points that were loaded to step a scene once."""
    open_world(scene).step()
    return [entry for entry in Entry.registry.values() if entry.is_loaded]


def engine_entries() -> list[Entry]:
    """All entry points that programs call, with their modules imported."""
    for room in _ROOMS:
        package = importlib.import_module(f"hydro_sim_core.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name not in _LEFT_OUT:
                importlib.import_module(module.name)
    ours = tuple(f"{hydro_sim_core.__name__}.{room}." for room in _ROOMS)
    return [entry for symbol, entry in Entry.registry.items() if symbol.startswith(ours)]
