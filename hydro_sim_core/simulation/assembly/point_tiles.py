"""What bodies have of the faces of their convex hull, which friction at a point takes its lever from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry.polyhedra import Polyhedron

Floats = NDArray[np.float64]

#: Share of a hull or of one of its faces that a body may lack and still fill it; it allows for vertices in single
#: precision.
HOLLOW = 1e-4
#: Distance from a face of the hull, as a share of the size, within which a triangle is part of it.
IN_PLANE = 1e-6


def face_tiles(solid: Polyhedron, parts: Sequence[Floats]) -> tuple[Floats, ...]:
    """Triangles that each face of a hull has of a body, beside each other.

    Args:
        solid: The hull.
        parts: (T, 3, 3) corners of the surface of each part of the body, m. Parts may overlap.

    Returns:
        For each face the triangles (T, 3, 3) in its plane that face outwards; none where they fill it.
    """
    size = float(np.ptp(solid.vertices, axis=0).max())
    found = []
    for plane, loop in zip(solid.planes, solid.loops, strict=True):
        n = plane[:3]
        tiles = np.zeros((0, 3, 3))
        for part in parts:
            is_flat = np.abs(part @ n - plane[3]).max(axis=1) <= IN_PLANE * size
            flat = part[is_flat]
            flat = flat[_areas(flat, n) > 0.0]
            for tile in tiles:
                flat = _without(flat, tile, n, IN_PLANE * size)
            tiles = np.concatenate([tiles, flat])
        corners = solid.vertices[loop]
        fan = np.stack([np.broadcast_to(corners[0], corners[2:].shape), corners[1:-1], corners[2:]], axis=1)
        is_full = _areas(tiles, n).sum() >= (1.0 - HOLLOW) * _areas(fan, n).sum()
        found.append(np.zeros((0, 3, 3)) if is_full else tiles)
    return tuple(found)


def _areas(triangles: Floats, n: Floats) -> Floats:
    """Doubled areas (T,) of triangles (T, 3, 3), as seen along n, m^2; negative for those that face the other way."""
    crossed = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return np.asarray(crossed @ n)


def _without(triangles: Floats, tile: Floats, n: Floats, near: float) -> Floats:
    """Cut a triangle out of others in its plane with normal n; what is left, in triangles.

    Overlaps of less than ``near`` (m) stay.
    """
    outward = np.cross(np.roll(tile, -1, axis=0) - tile, n)
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    beyond = triangles @ outward.T - np.einsum("ij,ij->i", outward, tile)
    is_apart = (beyond.min(axis=1) >= -near).any(axis=1)
    left = [triangles[is_apart]]
    for rest in triangles[~is_apart]:
        for a, side in zip(tile, outward, strict=True):
            heights = (rest - a) @ side
            left.append(_fan(_half(rest, heights)))
            rest = _half(rest, -heights)
            if len(rest) < 3:
                break
    return np.concatenate(left)


def _half(polygon: Floats, heights: Floats) -> Floats:
    """Corners of what a convex polygon (N, 3) has where the heights (N,) of its corners are positive."""
    corners = []
    for x, y, at_x, at_y in zip(
        polygon, np.roll(polygon, -1, axis=0), heights, np.roll(heights, -1), strict=True
    ):
        if at_x >= 0.0:
            corners.append(x)
        if (at_x > 0.0 and at_y < 0.0) or (at_x < 0.0 and at_y > 0.0):
            corners.append(x + at_x / (at_x - at_y) * (y - x))
    return np.array(corners).reshape(-1, 3)


def _fan(polygon: Floats) -> Floats:
    """Triangles (T, 3, 3) of a convex polygon (N, 3)."""
    return np.array([[polygon[0], polygon[i], polygon[i + 1]] for i in range(1, len(polygon) - 1)]).reshape(
        -1, 3, 3
    )
