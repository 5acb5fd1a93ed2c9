"""Bolts, nuts, pegs and gears of Factory and IndustReal: whether each loads and is filled, how long, and with what.

The files are NVIDIA's (BSD-3) and not part of this repository: FOLDER is ``assets`` of a checkout of
isaac-sim/IsaacGymEnvs. Every part is tried twice, in a process each that starts with the engine in its memory: first
with no mesh of it in the cache, then with it there. A try is the world of the part as a compliant body of its surface,
which stands in a rigid ground by a share of its height; the faces are those of that touch. Times are those of the
processor, with the processes that read and fill, and by the clock. Then every nut that has been filled is let go on its
bolt, which is rigid, two pitches above where its file has it: how far it falls and on how many faces it then rests.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from measure import make_parser, write
from rich.console import Console
from rich.table import Table

#: Parts that things are put together of; fingers and trays of the robot are none.
WANTED = ("nut_bolt", "insertion", "gears", "pegs")
#: Modulus of every part, Pa, density, kg/m^3, and the share of its height that is in the ground.
MODULUS, DENSITY, SUNK = 1e9, 7800.0, 0.01
#: What the second load may take, s.
SOON = 5.0
#: Friction of a nut on its bolt, and its time step, s, and the steps in which it comes to rest.
FRICTION, TIME_STEP, STEPS = 0.1, 2e-3, 100

Row = dict[str, Any]


def main() -> None:
    """Try the parts and report."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as fresh:
        # Before the engine is imported; its children have it from here.
        os.environ["HYDRO_SIM_CACHE_DIR"] = str(arguments.cache or fresh)
        files = sorted(_parts(arguments.folder, arguments.match))
        if not files:
            sys.exit(
                f"error: {arguments.folder}: has no such parts; give the folder 'assets' of IsaacGymEnvs"
            )
        import hydro_sim_core as hs

        hs.load_scene("drop_box").step()
        rows: list[Row] = []
        for row in _tried(files, arguments):
            rows.append(row)
            write(arguments.out, {"parts": rows}, quiet=True)
        nuts = list(_nuts_on_bolts(files, arguments.folder))
        write(arguments.out, {"parts": rows, "nuts on bolts": nuts}, quiet=True)
    console = Console(width=200)
    console.print(_table(rows))
    for nut in nuts:
        console.print_json(data=nut, indent=None)
    soon = sum(not row["error"] and row["second_processor_s"] <= SOON for row in rows)
    print(f"{soon} of {len(rows)} load within {SOON:g} s of the processor the second time")
    print(f"written to {arguments.out}")


def _arguments() -> argparse.Namespace:
    parser = make_parser(__doc__ or "", "factory_parts")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", nargs="*", default=[""], help="only parts whose path holds one of these")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time")
    parser.add_argument("--cache", type=Path, help="folder of meshes, kept; by default one that is deleted")
    parser.add_argument("--keep", type=Path, help="result of an earlier run, whose parts are not tried again")
    return parser.parse_args()


def _parts(folder: Path, match: Sequence[str]) -> Iterator[Path]:
    for path in folder.glob("*/mesh/*/*.obj"):
        if path.parent.name.endswith(WANTED) and any(one in str(path) for one in match):
            yield path


def _tried(files: Sequence[Path], arguments: argparse.Namespace) -> Iterator[Row]:
    earlier = json.loads(arguments.keep.read_text())["parts"] if arguments.keep else []
    kept = {row["part"]: row for row in earlier}

    def tried(path: Path) -> Row:
        return kept.get(path.stem) or _try(path)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(tried, files):
            print(
                row["part"], row["error"] or f"{row['second_processor_s']:.2f} s the second time", flush=True
            )
            yield row


# --- one part, in a process of its own


def _try(path: Path) -> Row:
    row: Row = {"part": path.stem, "megabytes": round(path.stat().st_size / 1e6, 2), "error": ""}
    for turn in ("first", "second"):
        found = _in_child(partial(_load, path), path.stem)
        times = {f"{turn}_{key}": found.pop(key) for key in ("s", "processor_s") if key in found}
        row |= found | times
        if row["error"]:
            break
    return row


def _nuts_on_bolts(files: Sequence[Path], folder: Path) -> Iterator[Row]:
    """Nuts among the files that have a bolt."""
    told = folder / "factory/yaml/factory_asset_info_nut_bolt.yaml"
    if not told.exists():
        print(f"{told}: is missing: no nut is let go on its bolt, as their pitches are not known")
        return
    sizes = yaml.safe_load(told.read_text())
    for nut in files:
        kind = nut.stem.removeprefix("factory_nut_").removesuffix("_subdiv_3x")
        bolt = nut.with_name(f"factory_bolt_{kind}.obj")
        if kind != nut.stem.removesuffix("_subdiv_3x") and bolt.exists():
            pitch = sizes[f"nut_bolt_{kind}"]["thread_pitch"]
            yield {"nut": nut.stem, **_in_child(partial(_rest_on_bolt, nut, bolt, pitch), nut.stem)}


def _in_child(work: Callable[[], Row], name: str) -> Row:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, work, name))
    child.start()
    theirs.close()
    try:
        row: Row = ours.recv()
    except EOFError:
        child.join()
        row = {"error": f"ends its process with status {child.exitcode}"}
    child.join()
    return row


def _child(answer: Connection, work: Callable[[], Row], name: str) -> None:
    from hydro_sim_core.errors import InputError
    from hydro_sim_core.progress import Work, watched_by

    told = time.monotonic()

    def observe(stage: Work | None) -> None:
        nonlocal told
        if stage is not None and stage.detail and time.monotonic() - told > 10.0:
            told = time.monotonic()
            print(f"{name}: {stage.detail}", flush=True)

    try:
        with watched_by(observe):
            answer.send(work())
    except InputError as error:
        answer.send({"error": str(error)})


def _load(path: Path) -> Row:
    import hydro_sim_core as hs
    from hydro_sim_core.geometry import load_surface

    vertices, triangles = load_surface(path)
    sides, lowest = np.ptp(vertices, axis=0), vertices[:, 2].min()
    # Of its box: a surface with small holes has no volume of its own.
    mass = DENSITY * float(sides.prod())
    inertia = mass / 12.0 * (sides @ sides - sides**2)
    scene = hs.SceneBuilder(path.stem)
    scene.add_ground()
    place = (0.0, 0.0, -lowest - SUNK * sides[2])
    part = scene.add_body(path.stem, mass, inertia=inertia, xyz=place)
    # Without a word about compliance it would be its convex hull.
    part.add_shape("mesh", path=str(path.absolute()), compliance="compliant", modulus=MODULUS, margin=0.0)
    began, processor = time.perf_counter(), _processor_time()
    world = hs.World(scene.build())
    row = {
        "s": round(time.perf_counter() - began, 2),
        "processor_s": round(_processor_time() - processor, 2),
    }
    world.step()
    (solid,) = (one.geometry for one in world.built.colliders if one.link == path.stem)
    return row | {
        "error": "",
        "triangles": len(triangles),
        "tetrahedra": len(solid.elements),
        "faces": world.diagnostics()["faces"],
    }


def _rest_on_bolt(nut: Path, bolt: Path, pitch: float) -> Row:
    import hydro_sim_core as hs
    from hydro_sim_core.geometry import load_surface

    sides = np.ptp(load_surface(nut)[0], axis=0)
    mass = DENSITY * float(sides.prod())
    start = 2.0 * pitch
    scene = hs.SceneBuilder(nut.stem, time_step=TIME_STEP)
    scene.add_static("bolt", "mesh", path=str(bolt.absolute()), compliance="rigid", friction=FRICTION)
    body = scene.add_body(
        nut.stem, mass, inertia=mass / 12.0 * (sides @ sides - sides**2), xyz=(0.0, 0.0, start)
    )
    body.add_shape(
        "mesh",
        path=str(nut.absolute()),
        compliance="compliant",
        modulus=MODULUS,
        margin=0.0,
        friction=FRICTION,
    )
    world = hs.World(scene.build())
    before = world.diagnostics()["faces"]
    world.step(STEPS)
    began = time.process_time()
    world.step(STEPS)
    return {
        "error": "",
        "faces at first": before,
        "fell_um": round(1e6 * (start - float(world.frame_pose(nut.stem)[2, 3])), 1),
        "faces": world.diagnostics()["faces"],
        "step_ms": round(1e3 * (time.process_time() - began) / STEPS, 2),
    }


def _processor_time() -> float:
    """Time that this process, and those that read and fill for it, had a processor, s; ends the readers."""
    from hydro_sim_core.mesh_files.parser import parsers

    for parser in parsers.values():
        parser.end()
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


# --- what came of it


def _table(rows: Sequence[Row]) -> Table:
    headings = (
        "part",
        "triangles",
        "tetrahedra",
        "faces",
        "first, s",
        "of the processor",
        "second, s",
        "of it",
    )
    keys = (
        "triangles",
        "tetrahedra",
        "faces",
        "first_s",
        "first_processor_s",
        "second_s",
        "second_processor_s",
    )
    table = Table(*headings)
    for row in rows:
        table.add_row(row["part"], *(str(row.get(key, row["error"])) for key in keys))
    return table


if __name__ == "__main__":
    main()
