"""Ahead-of-time compilation of all kernels, for images, clusters and wheels."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Annotated

import typer

import hydro_sim_core
from hydro_sim_core.cli import output
from hydro_sim_core.compilation import Entry, store
from hydro_sim_core.compilation.builds import machine_code
from hydro_sim_core.compilation.kernels import INTERPRETED
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.compilation.targets import Target, levels
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.scenes import open_world
from hydro_sim_core.solvers import solver_entries

#: Packages whose entry points programs call; those of ``experiments`` serve measurements only.
_ROOMS = ("contact", "dynamics", "sensors", "simulation", "solvers")


def compile_kernels(
    scene: Annotated[
        str | None,
        typer.Argument(metavar="[SCENE]", help="Only what this scene needs; its meshes are made too."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Copy the machine code there, for a wheel.", file_okay=False
        ),
    ] = None,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="For all processors of this machine's kind instead of its own: for clusters, images and wheels.",
        ),
    ] = False,
) -> None:
    """Compile all kernels that are not in the cache yet, so that later starts need no compiler.

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES select a processor other than this machine's.
    """
    console = output.make_console()
    if INTERPRETED:
        raise InputError("NUMBA_DISABLE_JIT", "kernels", "are not compiled where it is set", "unset it")
    targets: list[Target | None] = list(levels()) if portable else [None]
    if not targets:
        raise InputError("--portable", "processor", "no level of its kind is known", "compile without it")
    with compile_progress(console):
        entries = engine_entries() if scene is None else _entries_of(scene)
        codes = machine_code(entries, targets)
    if out is not None:
        _write(codes, out)
    elif not all(store.load(entry, target) for target in targets for entry in codes[target]):
        raise InputError(store.cache_root(), "kernels", "cannot be kept there", "see the warning above")
    size = sum(len(code) for made in codes.values() for code in made.values())
    where = store.cache_root() / "kernels" if out is None else out
    kinds = f" for each of {', '.join(level.cpu for level in levels())}" if portable else ""
    console.print(
        f"{len(codes[targets[0]])} entry points{kinds}, {size / 1e3:.0f} kB, in {output.shown(where)}",
        highlight=False,
        soft_wrap=True,
    )


def _write(codes: dict[Target | None, dict[Entry, bytes]], into: Path) -> None:
    """Write machine code in the layout of a wheel: one folder per processor level."""
    try:
        for target, made in codes.items():
            folder = into if target is None else into / target.cpu
            folder.mkdir(parents=True, exist_ok=True)
            for entry, code in made.items():
                store.write(folder / store.file_name(entry), code)
    except OSError as error:
        raise InputError(
            into, "--out", f"cannot be written: {error.strerror}", "give another folder"
        ) from None


def _entries_of(scene: str) -> list[Entry]:
    """Entry points that were loaded to step a scene once."""
    open_world(scene).step()
    return [entry for entry in Entry.registry.values() if entry.is_loaded]


def engine_entries() -> list[Entry]:
    """All entry points that programs call, with their modules imported."""
    for room in _ROOMS:
        package = importlib.import_module(f"hydro_sim_core.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    solver_entries()  # entry points made from tables on demand
    ours = tuple(f"{hydro_sim_core.__name__}.{room}." for room in _ROOMS)
    return [entry for symbol, entry in Entry.registry.items() if symbol.startswith(ours)]
