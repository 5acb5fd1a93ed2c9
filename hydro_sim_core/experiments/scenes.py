"""The scene files that ship with the project."""

from __future__ import annotations

from pathlib import Path

#: In a source checkout the scenes lie beside the package.
SCENES_DIR = Path(__file__).parents[2] / "config" / "scenes"


def shipped_scenes() -> dict[str, Path]:
    """Path of every shipped scene by its name; empty where the package is installed without its checkout."""
    return {path.stem: path for path in sorted(SCENES_DIR.glob("*.yaml"))}
