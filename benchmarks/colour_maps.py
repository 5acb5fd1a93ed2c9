"""Colour maps for pressure beside each other, in CAM02-UCS, as people with and without all cones see them.

Needs ``pip install colorspacious cmcrameri``; the verdict is in docs/decisions/0011-viewer.md.
"""

from __future__ import annotations

import cmcrameri
import numpy as np
from colorspacious import cspace_convert
from matplotlib import colormaps
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

Array = NDArray[np.float64]

MAPS = ("viridis", "cividis", "plasma", "batlow", "turbo")
SIGHTS = {
    "all": None,
    "deuteranopia": "deuteranomaly",
    "protanopia": "protanomaly",
    "tritanopia": "tritanomaly",
}
#: Neutral colours that stand behind the patches.
BACKGROUNDS = {"white": 1.0, "light robot": 0.75, "grey robot": 0.5, "dark page": 0.1}
#: Steps along the map; 32 of 256, so that rounding to 8 bits does not count.
STEPS = 33


def colours_of(name: str) -> Array:
    """(STEPS, 3) sRGB along a map."""
    colormap = getattr(cmcrameri.cm, name, None) or colormaps[name]
    return np.asarray(colormap(np.linspace(0.0, 1.0, STEPS)))[:, :3]


def seen(rgb: Array, deficiency: str | None) -> Array:
    """CAM02-UCS coordinates (N, 3) of colours as someone sees them."""
    if deficiency is not None:
        space = {"name": "sRGB1+CVD", "cvd_type": deficiency, "severity": 100}
        rgb = np.clip(cspace_convert(rgb, space, "sRGB1"), 0.0, 1.0)
    return cspace_convert(rgb, "sRGB1", "CAM02-UCS")


def main() -> None:
    """Print the table."""
    table = Table(
        "map",
        "sight",
        "length",
        "smallest step / mean",
        "spread of steps",
        "lightness",
        "rises",
        *BACKGROUNDS,
    )
    for name in MAPS:
        for sight, deficiency in SIGHTS.items():
            path = seen(colours_of(name), deficiency)
            steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
            near = [
                np.linalg.norm(path - seen(np.full((1, 3), grey), deficiency), axis=1).min()
                for grey in BACKGROUNDS.values()
            ]
            table.add_row(
                name,
                sight,
                f"{steps.sum():.0f}",
                f"{steps.min() / steps.mean():.2f}",
                f"{100.0 * steps.std() / steps.mean():.0f} %",
                f"{path[0, 0]:.0f} to {path[-1, 0]:.0f}",
                "yes" if np.all(np.diff(path[:, 0]) > 0.0) else "no",
                *(f"{distance:.0f}" for distance in near),
            )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
