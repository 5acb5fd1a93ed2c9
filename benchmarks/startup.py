"""How long ``hydro-sim run`` takes to its report: where it has to compile, where it has not, and after an edit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import output_argument, write
from rich.console import Console
from rich.table import Table

import hydro_sim_core

SCENE = "spatula_slip"
COMMAND = ("run", SCENE, "--headless", "--duration", "0.01")
ROOT = Path(hydro_sim_core.__file__).parents[1]
#: A line of a contact kernel, and the same with another meaning to a compiler.
EDITED = Path("hydro_sim_core/contact/pressure_field/walk.py")
LINE, OTHER_LINE = "    if next_a >= 0 and next_b >= 0:\n", "    if next_a > -1 and next_b >= 0:\n"


def start(checkout: Path, cache: Path) -> float:
    """Wall-clock time (s) of one start of the sources in ``checkout`` with machine code kept in ``cache``."""
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(cache), "PYTHONPATH": str(checkout)}
    program = [sys.executable, "-c", "from hydro_sim_core.cli import main; main()", *COMMAND]
    began = time.perf_counter()
    subprocess.run(program, env=environment, check=True, stdout=subprocess.DEVNULL, cwd=checkout)
    return time.perf_counter() - began


def copy_checkout(target: Path) -> Path:
    """A copy of what the engine needs of this checkout."""
    for name in ("hydro_sim_core", "config", "urdf", "ros2_ws/src/hydro_sim_msgs"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def main() -> None:
    """Start, start again, start elsewhere, edit and start; print the table and write the results."""
    output = output_argument(__doc__.splitlines()[0], "startup")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        times = {"first start": start(ROOT, cache), "second start": start(ROOT, cache)}
        copy = copy_checkout(Path(folder) / "copy")
        start(copy, cache)  # Python compiles its modules
        times["first start of another checkout"] = start(copy, cache)
        text = (copy / EDITED).read_text()
        if LINE not in text:
            raise SystemExit(
                f"error: {EDITED}: has no line {LINE.strip()!r} any more; edit benchmarks/startup.py"
            )
        (copy / EDITED).write_text(text.replace(LINE, OTHER_LINE))
        times["after an edit of a contact kernel"] = start(copy, cache)
    table = Table("start", "wall-clock time, s", title=f"hydro-sim {' '.join(COMMAND)}")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds:.1f}")
    Console(width=110).print(table)
    write(output, {"command": " ".join(COMMAND), "seconds": times})


if __name__ == "__main__":
    main()
