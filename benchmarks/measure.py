"""What every benchmark shares: the machine it ran on and the file it leaves."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hydro_sim_core.cli.output import processor

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("hydro-sim-core", "numba", "numpy", "drake", "mujoco")


def environment() -> dict[str, Any]:
    """Processor, load and versions that a measurement depends on."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_average_1_min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def _version(name: str) -> str | None:
    """Version of a package; None where it is not installed, as on a machine for GPUs without those to compare with."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def output_argument(description: str, name: str) -> Path:
    """Read the command line: where to write the results."""
    return make_parser(description, name).parse_args().out


def make_parser(description: str, name: str) -> argparse.ArgumentParser:
    """Command line with the option that all benchmarks share: where to write the results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json", help="JSON file to write")
    return parser


def write(path: Path, data: dict[str, Any], *, quiet: bool = False) -> None:
    """Write the results with the environment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")  # whoever stops a long one finds what was whole
    part.write_text(json.dumps({"environment": environment(), **data}, indent=2) + "\n")
    part.replace(path)
    if not quiet:
        print(f"written to {path}")
