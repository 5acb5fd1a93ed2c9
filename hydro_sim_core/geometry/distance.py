"""Distances and winding numbers of points relative to a triangulated surface."""

from __future__ import annotations

import numpy as np
import scipy

from hydro_sim_core.geometry.simplices import FloatArray, IntArray, longest_edges
from hydro_sim_core.held_interrupts import held_interrupts

#: Number of point-triangle pairs processed at once, which bounds the memory (about 200 bytes per pair).
_PAIRS_AT_ONCE = 500_000


def distance_to_surface(points: FloatArray, vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """Distance (P,) from each point (P, 3) to the nearest triangle, m."""
    nearest = closest_points(points, vertices, triangles)
    return np.linalg.norm(nearest - points, axis=1)


def closest_points(points: FloatArray, vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """The nearest point (P, 3) on the triangles for each point (P, 3); of several, that of the first triangle."""
    corners, sizes = vertices[triangles], longest_edges(vertices, triangles)
    near = _Neighbours(points, vertices, triangles)
    nearest = np.empty_like(points, dtype=np.float64)
    chunk = np.cumsum(near.counts) // _PAIRS_AT_ONCE
    for number in np.unique(chunk):
        rows = np.flatnonzero(chunk == number)
        owner, triangle = near.pairs(rows)
        asked = points[rows][owner]
        candidates = _closest_in_triangle(asked, corners[triangle], sizes[triangle])
        squared = ((candidates - asked) ** 2).sum(axis=1)
        by_distance = np.lexsort((triangle, squared, owner))
        first = np.cumsum(near.counts[rows]) - near.counts[rows]
        nearest[rows] = candidates[by_distance[first]]
    return nearest


class _Neighbours:
    """Triangles that may be the nearest ones to points, found by their middles.

    A triangle is no nearer than its middle less its radius, and the nearest is no farther than the nearest vertex. Each
    factor of two in radius is a tree of its own: beside the few large triangles of a screw's head, all of its thread
    would else be near to everything.

    Args:
        points: (P, 3) m.
        vertices: (N, 3) m.
        triangles: (M, 3) vertex indices.

    Attributes:
        counts: (P,) number of triangles near each point; at least one.
    """

    def __init__(self, points: FloatArray, vertices: FloatArray, triangles: IntArray) -> None:
        corners = vertices[triangles]
        centres = corners.mean(axis=1)
        radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
        self._points = points
        self._bounds, _ = scipy.spatial.cKDTree(vertices[np.unique(triangles)]).query(points)
        # Triangles of no size are of the smallest class that there is.
        exponents = np.frexp(np.maximum(radii, np.finfo(float).tiny))[1]
        self._classes = [
            (rows, float(radii[rows].max()), scipy.spatial.cKDTree(centres[rows]))
            for rows in (np.flatnonzero(exponents == one) for one in np.unique(exponents))
        ]
        self.counts: IntArray = sum(
            tree.query_ball_point(points, self._bounds + reach, return_length=True)
            for _, reach, tree in self._classes
        )

    def pairs(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Numbers of some points in ``rows``, and of triangles near to them: (K,) each."""
        owners, near = [], []
        for members, reach, tree in self._classes:
            found = tree.query_ball_point(self._points[rows], self._bounds[rows] + reach)
            owners.append(np.repeat(np.arange(len(rows)), [len(one) for one in found]))
            near.append(members[np.concatenate(found).astype(np.int64)])
        return np.concatenate(owners), np.concatenate(near)


def _closest_in_triangle(points: FloatArray, corners: FloatArray, sizes: FloatArray) -> FloatArray:
    """Nearest point (P, 3) of one triangle (P, 3, 3) for each point, with the triangles' longest edges (P,)."""
    # trimesh compares fourth powers of lengths with an absolute 1e-13, which is too large for triangles below a
    # millimetre.
    origins = corners[:, 0]
    scale = sizes[:, None]
    with held_interrupts():
        import trimesh  # takes a third of a second

    unit = trimesh.triangles.closest_point(
        (corners - origins[:, None]) / scale[:, None], (points - origins) / scale
    )
    return origins + scale * unit


def winding_numbers(points: FloatArray, vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """Winding number of a surface around each point (P, 3): 1 inside a solid, 0 outside, between the two near holes.

    The sum of the solid angles of the triangles (van Oosterom and Strackee 1983) over 4 pi.
    """
    winding = np.empty(len(points))
    chunk = max(1, _PAIRS_AT_ONCE // len(triangles))
    for start in range(0, len(points), chunk):
        rows = slice(start, start + chunk)
        a, b, c = (vertices[triangles[:, i]][None] - points[rows, None] for i in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
        numerator = np.einsum("pti,pti->pt", a, np.cross(b, c))
        dot_ab, dot_bc, dot_ca = (np.einsum("pti,pti->pt", x, y) for x, y in ((a, b), (b, c), (c, a)))
        denominator = la * lb * lc + dot_ab * lc + dot_bc * la + dot_ca * lb
        winding[rows] = 2.0 * np.arctan2(numerator, denominator).sum(axis=1)
    return winding / (4.0 * np.pi)
