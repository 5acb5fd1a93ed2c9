"""The scenes that ship with the simulator."""

from __future__ import annotations

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.scenes import shipped_scenes


def scenes() -> None:
    """List the shipped scenes."""
    found = shipped_scenes()
    if not found:
        raise InputError(
            "scenes", "config/scenes", "is not there", "run from a source checkout, or name a file"
        )
    for name, path in found.items():
        print(f"{name:24s} {path}")
