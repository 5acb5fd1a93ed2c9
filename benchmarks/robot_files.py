"""Which URDF files of a folder load, and how long that takes: as the world of a robot alone, and twenty steps of it.

Every file is tried in a process of its own, with a limit of time, that starts with the engine in its memory. A load
that takes longer than is wanted is done again in another process, and the second time counts: by then meshes are in the
cache on disk. Times are those of the processor, which other programs change little, and by the clock. With ``--peers``
the loaders of Drake and MuJoCo try the same files.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.table import Table

import hydro_sim_core as hs
from hydro_sim_core.mesh_files.parser import parsers

STEPS = 20
#: What is wanted of a warm load, s of the processor.
WANTED = 5.0

Row = dict[str, Any]


def main() -> None:
    """Try the files and report."""
    arguments = _arguments()
    files = sorted(path for path in arguments.folder.rglob("*.urdf") if arguments.match in str(path))
    hs.load_scene("drop_box").step()  # the children begin with the kernels
    for module in ("scipy.spatial", *(PEER_MODULES if arguments.peers else ())):
        import_module(module)
    rows: list[Row] = []
    for row in _tried(files, arguments, _kept(arguments)):
        rows.append(row)
        _write(arguments, rows)
    console = Console(width=200)
    console.print(_table(rows))
    for line in _summary(rows):
        console.print(line, highlight=False)
    print(f"written to {arguments.out}")


def _write(arguments: argparse.Namespace, rows: Sequence[Row]) -> None:
    data = {"folder": arguments.folder.name, "summary": _counts(rows), "files": rows}
    write(arguments.out, data, quiet=True)


def _arguments() -> argparse.Namespace:
    parser = make_parser(__doc__ or "", "robot_files")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package-dirs", type=Path, nargs="*", default=())
    parser.add_argument("--match", default="", help="only files whose path holds this")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--limit", type=float, default=60.0, help="longest load and steps, s")
    parser.add_argument(
        "--keep", type=Path, help="result of an earlier run, whose files that loaded in time count"
    )
    parser.add_argument("--peers", action="store_true", help="try Drake and MuJoCo too")
    return parser.parse_args()


def _kept(arguments: argparse.Namespace) -> dict[str, Row]:
    """Rows of an earlier run that need no other try."""
    if arguments.keep is None:
        return {}
    rows = json.loads(arguments.keep.read_text())["files"]
    return {row["file"]: row for row in rows if not row["error"] and _warm(row) <= WANTED}


def _tried(files: Sequence[Path], arguments: argparse.Namespace, kept: dict[str, Row]) -> Iterator[Row]:
    def tried(path: Path) -> Row:
        row = kept.get(str(path.relative_to(arguments.folder))) or _try(path, arguments)
        return _with_peers(row, path, arguments)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(tried, files):
            fate = row["error"] or f"{_warm(row):.2f} s of {row['load_s']:.2f} s"
            print(f"{row['file']}: {fate}", flush=True)
            yield row


def _try(path: Path, arguments: argparse.Namespace) -> Row:
    def run(loader: Loader) -> Row:
        return _in_child(loader, path, arguments.package_dirs, arguments.limit)

    first = run(_load_here)
    folder = f"{arguments.folder.absolute()}/"
    row = {
        "file": str(path.relative_to(arguments.folder)),
        **first,
        "error": first["error"].replace(folder, ""),
    }
    if not first["error"] and first["load_processor_s"] > WANTED:
        row |= {key: value for key, value in run(_load_here).items() if key.startswith("load") and value}
    return row


def _with_peers(row: Row, path: Path, arguments: argparse.Namespace) -> Row:
    """The row with whether the other programs load it, if they are asked and have not said it yet."""
    asked = {name: loader for name, loader in PEERS.items() if arguments.peers and name not in row}
    answers = {
        name: not _in_child(loader, path, arguments.package_dirs, arguments.limit)["error"]
        for name, loader in asked.items()
    }
    return row | answers


# --- one file, in a process of its own

Loader = Callable[[Path, Sequence[Path]], Row]


def _in_child(loader: Loader, path: Path, package_dirs: Sequence[Path], limit: float) -> Row:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, loader, path, package_dirs))
    child.start()
    theirs.close()
    row: Row = {"error": f"takes more than {limit:g} s", "load_s": None}
    if ours.poll(limit):
        try:
            row = ours.recv()
        except EOFError:
            child.join()
            row = {"error": f"ends its process with status {child.exitcode}", "load_s": None}
    child.kill()
    child.join()
    return row


def _child(answer: Connection, loader: Loader, path: Path, package_dirs: Sequence[Path]) -> None:
    told = _Told()
    logging.basicConfig(handlers=[told], level=logging.WARNING, force=True)
    try:
        row = loader(path, package_dirs)
    except Exception as error:  # whatever a loader has for files that it does not take
        kind = "" if isinstance(error, hs.InputError) else f"{type(error).__name__}: "
        row = {"error": f"{kind}{error}" or kind, "load_s": None}
    answer.send({**row, "warnings": len(told.lines)})


class _Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _load_here(path: Path, package_dirs: Sequence[Path]) -> Row:
    processor = _processor_time()
    begin = time.perf_counter()
    world, ignored = _loaded(path, package_dirs)
    loaded = time.perf_counter() - begin
    used = _processor_time() - processor
    begin = time.perf_counter()
    world.step(STEPS)
    if not np.isfinite(world.q).all() or not np.isfinite(world.v).all():
        raise ValueError(f"not finite after {STEPS} steps")
    repairs = Counter(kind_of(repair.was) for robot in world.scene.robots for repair in robot.repairs)
    steps = time.perf_counter() - begin
    return {
        "error": "",
        "load_s": round(loaded, 3),
        "load_processor_s": round(used, 3),
        "steps_s": round(steps, 3),
        "repairs": dict(repairs),
        "ignored": ignored,
    }


def _loaded(path: Path, package_dirs: Sequence[Path]) -> tuple[hs.World, list[str]]:
    """The world of a robot, and the words of what is ignored, which are those of the error that refuses it without."""
    try:
        return hs.load_urdf(path, package_dirs, drives="all"), []
    except hs.InputError as error:
        told = re.search(r"--ignore (\S+)", error.mend)
        if told is None:
            raise
        words = told[1].split(",")
        return hs.load_urdf(path, package_dirs, drives="all", ignore=words), words


def kind_of(problem: str) -> str:
    """What was wrong, without names and numbers."""
    words = re.sub(r"^\S*/\S*: ", "", problem)
    words = re.sub(r"'[^']*'|\([^)]*\)", "…", words)
    return re.sub(r"-?\b\d[\d.e+-]*", "…", words)


def _processor_time() -> float:
    """Time that this process and the readers of mesh files had a processor, s; ends the latter."""
    for parser in parsers.values():
        parser.end()
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def _load_in_drake(path: Path, package_dirs: Sequence[Path]) -> Row:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 1e-3)
    parser = Parser(plant)
    packages = parser.package_map()
    for folder in package_dirs:
        packages.PopulateFromFolder(folder)
    for folder in path.parents[:4]:  # as ours finds them, where no package.xml names them
        if not packages.Contains(folder.name):
            packages.Add(folder.name, folder)
    parser.AddModels(path)
    plant.Finalize()
    builder.Build()
    return {"error": "", "load_s": None}


def _load_in_mujoco(path: Path, package_dirs: Sequence[Path]) -> Row:
    import mujoco

    mujoco.MjModel.from_xml_path(str(path))
    return {"error": "", "load_s": None}


PEERS: dict[str, Loader] = {"drake": _load_in_drake, "mujoco": _load_in_mujoco}
PEER_MODULES = ("pydrake.multibody.parsing", "pydrake.multibody.plant", "pydrake.systems.framework", "mujoco")

# --- what came of it


def _table(rows: Iterable[Row]) -> Table:
    table = Table("file", "loads, or why not", "warm load, s of the processor", "by the clock, s", "repaired")
    for row in rows:
        repairs = (f"{count} x {kind}" for kind, count in (row.get("repairs") or {}).items())
        times = ["" if row.get(key) is None else f"{row[key]:.2f}" for key in ("load_processor_s", "load_s")]
        table.add_row(row["file"], row["error"] or "yes", *times, "\n".join(repairs))
    return table


def _warm(row: Row) -> float:
    """Processor time of a load that worked, s; that by the clock in results of times when it was not measured."""
    return float(row["load_processor_s"] if "load_processor_s" in row else row["load_s"])


def _counts(rows: Sequence[Row]) -> dict[str, Any]:
    loaded = [row for row in rows if not row["error"]]
    counts = {
        "files": len(rows),
        "load": len(loaded),
        "load_within_wanted": sum(_warm(row) <= WANTED for row in loaded),
        "repaired": sum(bool(row["repairs"]) for row in loaded),
        "load_with_words_to_ignore": sum(bool(row["ignored"]) for row in loaded),
        "slowest_warm_load_s": max((row["load_s"] for row in loaded), default=None),
        "slowest_warm_load_processor_s": max(map(_warm, loaded), default=None),
    }
    peers = [name for name in PEERS if rows and name in rows[0]]
    return counts | {name: sum(row[name] for row in rows) for name in peers}


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    counts = _counts(rows)
    yield (
        f"{counts['load']} of {counts['files']} load, {counts['load_within_wanted']} of them within {WANTED:g} s, "
        f"{counts['repaired']} of them repaired, {counts['load_with_words_to_ignore']} with what is to be ignored"
    )
    for name in PEERS:
        if name in counts:
            yield f"{name} loads {counts[name]}"


if __name__ == "__main__":
    main()
