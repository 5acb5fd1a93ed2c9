"""Writes what spoons and bowls are touched by, which is not convex and as it is seen: ``python tableware.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry import Surface, revolve, write_surface

FOLDER = Path(__file__).parent
#: Half axes of the bowl of a spoon, whose rim is level, and how thick it is, m.
SPOON_BOWL, SPOON_THICKNESS = (0.030, 0.022, 0.014), 0.003
#: Radius of a bowl's rim, its depth, how flat its foot is, and how thick it is, m.
BOWL_RADIUS, BOWL_DEPTH, BOWL_FOOT, BOWL_THICKNESS = 0.060, 0.035, 0.030, 0.004


def spoon_bowl(rings: int = 5, segments: int = 20) -> Surface:
    """The lower half of an ellipsoid, hollowed out; its rim is at z = 0."""
    a, b, c = SPOON_BOWL
    share = 1.0 - SPOON_THICKNESS / b
    angles = 0.5 * np.pi * np.arange(rings + 1) / rings
    arc = np.column_stack([np.sin(angles), -np.cos(angles)])
    hollow = arc[::-1] * [share, 1.0 - SPOON_THICKNESS / c]
    bowl = revolve(np.vstack([arc, hollow]), segments)
    return Surface(bowl.vertices * [a, b, c], bowl.triangles)


def bowl(rings: int = 4, segments: int = 24) -> Surface:
    """A round bowl with a flat foot, which stands at z = 0."""
    outer = _wall(BOWL_FOOT, BOWL_RADIUS, BOWL_DEPTH, rings)
    inner = _wall(
        BOWL_FOOT - 0.5 * BOWL_THICKNESS, BOWL_RADIUS - BOWL_THICKNESS, BOWL_DEPTH - BOWL_THICKNESS, rings
    )
    inner[:, 1] += BOWL_THICKNESS
    return revolve(np.vstack([[(0.0, 0.0)], outer, inner[::-1], [(0.0, BOWL_THICKNESS)]]), segments)


def _wall(foot: float, rim: float, height: float, rings: int) -> NDArray[np.float64]:
    """A wall's profile from foot to rim: a quarter of an ellipse."""
    angles = 0.5 * np.pi * np.arange(rings + 1) / rings
    return np.column_stack([foot + (rim - foot) * np.sin(angles), height * (1.0 - np.cos(angles))])


def surfaces() -> dict[str, Surface]:
    """All of them by the name of their file."""
    return {"spoon_bowl": spoon_bowl(), "bowl": bowl()}


def write(made: dict[str, Surface], folder: Path = FOLDER) -> None:
    """Write surfaces by their names."""
    for name, surface in made.items():
        write_surface(surface, folder / f"{name}.obj")


if __name__ == "__main__":
    write(surfaces())
