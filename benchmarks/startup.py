"""How long ``hydro-sim run`` takes to its report: the first time on a machine, which compiles, and the second."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import output_argument, write
from rich.console import Console
from rich.table import Table

SCENE = "spatula_slip"
COMMAND = ("run", SCENE, "--headless", "--duration", "0.01")


def start(cache: Path) -> float:
    """Wall-clock time (s) of one start with compiled kernels kept in ``cache``."""
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(cache)}
    program = [sys.executable, "-c", "from hydro_sim_core.cli import main; main()", *COMMAND]
    began = time.perf_counter()
    subprocess.run(program, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Start twice, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "startup")
    with tempfile.TemporaryDirectory() as cache:
        times = {"first start": start(Path(cache)), "second start": start(Path(cache))}
    table = Table("start", "wall-clock time, s", title=f"hydro-sim {' '.join(COMMAND)}")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds:.1f}")
    Console(width=110).print(table)
    write(output, {"command": " ".join(COMMAND), "seconds": times})


if __name__ == "__main__":
    main()
