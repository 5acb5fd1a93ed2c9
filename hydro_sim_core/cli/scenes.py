"""The scenes that ship with the simulator."""

from __future__ import annotations

from hydro_sim_core.assets import shipped_scenes


def scenes() -> None:
    """List the shipped scenes."""
    for name, path in shipped_scenes().items():
        print(f"{name:24s} {path}")
