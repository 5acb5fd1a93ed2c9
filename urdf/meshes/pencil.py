"""Writes the meshes of a thick pencil beside this file: paint, wood, lead, ferrule and rubber.

They are seen, not touched.
"""

from __future__ import annotations

import numpy as np
from lofting import Array, Surface, lofted, rounded, turned, write

#: Radius, and where along the axis, m: the rubber's end, the ferrule, the paint, the sharpened wood, the lead's point.
RADIUS = 0.005
REAR, FERRULE, PAINT, WOOD, LEAD, POINT = -0.0875, -0.0785, -0.0665, 0.0675, 0.0825, 0.0875


def _hexagon(radius: float) -> Array:
    """Outline (72, 2) of a hexagon with round edges within a circle."""
    corners = [(radius * np.cos(a), radius * np.sin(a), 0.3 * radius) for a in np.pi / 3.0 * np.arange(6)]
    outline = rounded(corners, steps=6, closed=True)
    angle = 2.0 * np.pi * np.arange(72) / 72
    around = np.arctan2(outline[:, 1], outline[:, 0])
    size = np.interp(angle, around, np.hypot(*outline.T), period=2.0 * np.pi)
    return size[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def pencil() -> dict[str, Surface]:
    """Its parts along z, the point at the upper end; the paint ends in scallops, as a sharpener leaves it."""
    outline = _hexagon(RADIUS)
    sizes = np.hypot(*outline.T)
    # Edges are cut back further than sides.
    cut = WOOD - 0.0025 * (sizes - sizes.min()) / np.ptp(sizes)
    rings = [
        np.column_stack([share * outline, np.broadcast_to(height, len(outline))])
        for share, height in ((1.0, PAINT), (1.0, WOOD - 0.006), (0.995, cut), (0.5, WOOD - 0.0005))
    ]
    slope = 0.84 * RADIUS / (POINT - WOOD)
    at_lead = slope * (POINT - LEAD)
    ribs = [(0.92 * RADIUS if k % 2 else 0.97 * RADIUS, FERRULE + 0.001 + 0.0012 * k) for k in range(9)]
    ferrule = [
        (0.0, FERRULE),
        (0.9 * RADIUS, FERRULE),
        *ribs,
        (0.9 * RADIUS, PAINT + 0.0005),
        (0.0, PAINT + 0.0005),
    ]
    rubber = [
        (0.0, REAR),
        (0.86 * RADIUS, REAR, 0.0022),
        (0.86 * RADIUS, FERRULE + 0.002),
        (0.0, FERRULE + 0.002),
    ]
    wood = [(0.0, WOOD - 0.004), (slope * (POINT - WOOD), WOOD - 0.001), (at_lead, LEAD), (0.0, LEAD)]
    lead = [(0.0, LEAD - 0.001), (at_lead, LEAD - 0.001), (at_lead, LEAD), (0.0004, POINT), (0.0, POINT)]
    return {
        "pencil_paint": lofted(rings),
        "pencil_wood": turned(np.array(wood), 36),
        "pencil_lead": turned(np.array(lead), 24),
        "pencil_ferrule": turned(np.array(ferrule), 36),
        "pencil_rubber": turned(rounded(rubber, steps=5), 36),
    }


def surfaces() -> dict[str, Surface]:
    """All of them by the names of their files."""
    return pencil()


if __name__ == "__main__":
    write(surfaces())
