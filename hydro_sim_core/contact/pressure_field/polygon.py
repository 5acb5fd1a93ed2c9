# mypy: allow-untyped-defs
"""Convex polygons: section of a tetrahedron, clipping by half spaces, area and centroid.

Scalar kernels on buffers that the caller owns, so that CPU loops and CUDA threads share them. A polygon's vertices are
rows of ``points`` (MAX_POINTS, 3); clipping adds rows and moves none. A *cycle* defines the polygon by two integers:
the i-th four bits of ``rows`` are the row of vertex i, those of ``edge_faces`` the element face that contains the edge
from vertex i to the next. Numbers 0 to 3 are the faces of A's element (opposite the vertex of that number), 4 to 7
those of B's. The surface continues across that face in the neighbouring element.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import kernel

#: Largest number of vertices: 4 of a section of a tetrahedron, and one more for each of the 4 faces that clip it and
#: for the line on which the pressure is zero.
MAX_VERTICES = 9
#: Largest number of rows that a section, four clips and both sides of that line can fill.
MAX_POINTS = 16
#: Number of the first face of B's element in ``edge_faces``; face ``k`` is ``FACES_OF_B + k``.
FACES_OF_B = 4

#: Results of ``evaluate_coordinates``.
OUTSIDE = 1
NEARLY_IN_FACE = 2
#: Barycentric coordinates below this may belong to a point in the plane of a face; only then is an exact test made.
NEAR = 1e-6

#: Cycle of the triangle whose vertices are the rows 0, 1, 2 and whose edges lie opposite to vertices 2, 0, 1.
TRIANGLE_ROWS = 0x210
TRIANGLE_EDGE_FACES = 0x102


class Polygon(NamedTuple):
    """A convex polygon in a buffer of points: ``n`` vertices, 0 if there is none, and the two parts of its cycle."""

    n: int
    rows: int
    edge_faces: int


class ClippedPolygon(NamedTuple):
    """A ``Polygon``, and the first free row of the buffers."""

    n: int
    rows: int
    edge_faces: int
    next_row: int


def _slices() -> np.ndarray:
    """Table of sections of a tetrahedron; row ``mask`` is for positive values at the vertices whose bits are set.

    Columns: number of vertices; positive and negative end of the edge of each of up to 4 vertices; packed edge faces.
    """
    table = np.zeros((16, 10), dtype=np.int64)
    for mask in range(1, 15):
        positive = [i for i in range(4) if mask >> i & 1]
        negative = [i for i in range(4) if not mask >> i & 1]
        if len(positive) == 2:
            # Consecutive edges share a vertex, hence a face of the tetrahedron: that opposite the unused one.
            (p0, p1), (n0, n1) = positive, negative
            edges = [(p0, n0), (p0, n1), (p1, n1), (p1, n0)]
            edge_faces = [p1, n0, p0, n1]
        else:
            edges = [(p, n) for p in positive for n in negative]
            others = negative if len(positive) == 1 else positive
            edge_faces = [others[2], others[0], others[1]]
        table[mask, 0] = len(edges)
        table[mask, 1 : 1 + 2 * len(edges)] = np.ravel(edges)
        table[mask, 9] = sum(face << 4 * i for i, face in enumerate(edge_faces))
    return table


_SLICES = _slices()
#: Index of the lowest set bit.
_LOWEST_BIT = np.array([0] + [(i & -i).bit_length() - 1 for i in range(1, 1 << MAX_VERTICES)], dtype=np.int64)
#: Vertices 0, 1, 2, ... in order.
_ROWS_IN_ORDER = 0x3210


@kernel(inline=True)
def slice_tetrahedron(x, f, points):
    """Intersect a tetrahedron with the zero plane of a linear function.

    A vertex with ``f == 0`` counts as negative: of two tetrahedra whose common face lies in the plane, only the one on
    the positive side gives the polygon, so that no face is found twice. Tetrahedra with a common edge compute
    bit-identical points on it.

    Args:
        x: (4, 3) vertices.
        f: (4,) values of the function at the vertices.
        points: Buffer whose first rows become the vertices.

    Returns:
        ``Polygon`` with 0, 3 or 4 vertices.
    """
    mask = 0
    for i in range(4):
        if f[i] > 0.0:
            mask |= 1 << i
    n = _SLICES[mask, 0]
    for row in range(n):
        p, q = _SLICES[mask, 1 + 2 * row], _SLICES[mask, 2 + 2 * row]
        t = f[p] / (f[p] - f[q])
        for axis in range(3):
            points[row, axis] = x[p, axis] + t * (x[q, axis] - x[p, axis])
    return Polygon(n, _ROWS_IN_ORDER & ((1 << 4 * n) - 1), _SLICES[mask, 9])


@kernel(inline=True)
def _add_crossing(points, values, k, inside, outside, row):
    """Write the zero of function ``k`` on the segment between two rows, with all its values, into ``row``."""
    t = values[inside, k] / (values[inside, k] - values[outside, k])
    for axis in range(3):
        points[row, axis] = points[inside, axis] + t * (points[outside, axis] - points[inside, axis])
    for j in range(4):
        values[row, j] = values[inside, j] + t * (values[outside, j] - values[inside, j])


@kernel(inline=True)
def _shifted(bits, n):
    """Four-bit entries of a cycle of ``n`` vertices, rotated by one place."""
    return ((bits << 1) | (bits >> (n - 1))) & ((1 << n) - 1)


@kernel
def _without_one_run(values, k, n, rows, inside):
    """Remove from the vertices one run that is outside.

    The vertices outside form one run in the cycle of a convex polygon. If there are several because of round-off, only
    the run with the lowest vertex can be far outside.
    """
    lowest = 0
    for i in range(1, n):
        if values[(rows >> 4 * i) & 15, k] < values[(rows >> 4 * lowest) & 15, k]:
            lowest = i
    outside = 1 << lowest
    for step in range(1, n):
        bit = 1 << (lowest + step) % n
        if inside & bit:
            break
        outside |= bit
    for step in range(1, n):
        bit = 1 << (lowest - step + n) % n
        if inside & bit:
            break
        outside |= bit
    return ((1 << n) - 1) & ~outside


@kernel(inline=True)
def clip_polygon(points, values, k, n, rows, edge_faces, next_row):
    """Clip a convex polygon to the part where function ``k`` is not negative.

    Args:
        points: (MAX_POINTS, 3) buffer with the vertices; up to two new ones are added.
        values: (MAX_POINTS, 4) values of the linear functions at the points; those of new vertices are added.
        k: Index of the function; ``FACES_OF_B + k`` is the element face of the new edge.
        n: Number of vertices.
        rows: Cycle of vertices.
        edge_faces: Cycle of edge faces.
        next_row: First free row of the buffers.

    Returns:
        ``ClippedPolygon``.
    """
    inside = 0
    for i in range(n):
        if values[(rows >> 4 * i) & 15, k] >= 0.0:
            inside |= 1 << i
    everything = (1 << n) - 1
    if inside == everything:
        return ClippedPolygon(n, rows, edge_faces, next_row)
    if inside == 0:
        return ClippedPolygon(0, rows, edge_faces, next_row)
    after_inside = _shifted(inside, n)
    starts = inside & ~after_inside
    if starts & (starts - 1):
        inside = _without_one_run(values, k, n, rows, inside)
        after_inside = _shifted(inside, n)
        starts = inside & ~after_inside
    start, stop = _LOWEST_BIT[starts], _LOWEST_BIT[after_inside & ~inside]
    length = stop - start if stop > start else stop - start + n
    used = (1 << 4 * n) - 1
    rows = ((rows >> 4 * start) | (rows << 4 * (n - start))) & used
    edge_faces = ((edge_faces >> 4 * start) | (edge_faces << 4 * (n - start))) & used
    _add_crossing(points, values, k, (rows >> 4 * (length - 1)) & 15, (rows >> 4 * length) & 15, next_row)
    _add_crossing(points, values, k, rows & 15, (rows >> 4 * (n - 1)) & 15, next_row + 1)
    kept = (1 << 4 * length) - 1
    last_face = (edge_faces >> 4 * (n - 1)) & 15
    rows = (rows & kept) | (next_row << 4 * length) | ((next_row + 1) << 4 * (length + 1))
    edge_faces = (edge_faces & kept) | ((FACES_OF_B + k) << 4 * length) | (last_face << 4 * (length + 1))
    return ClippedPolygon(length + 2, rows, edge_faces, next_row + 2)


@kernel(inline=True)
def evaluate_coordinates(points, n, coordinates, values):
    """Barycentric coordinates of the first ``n`` points in a tetrahedron; not negative inside.

    Args:
        points: (MAX_POINTS, 3) buffer.
        n: Number of points.
        coordinates: (4, 4) column k: barycentric coordinate k at x is ``col[:3] . x + col[3]``.
        values: (MAX_POINTS, 4) buffer for the result.

    Returns:
        ``OUTSIDE`` if all points are outside of one face, ``NEARLY_IN_FACE`` if all points may lie in the plane of a
        face, else 0.
    """
    state = 0
    for row in range(n):
        x, y, z = points[row, 0], points[row, 1], points[row, 2]
        for k in range(4):
            values[row, k] = (
                coordinates[0, k] * x + coordinates[1, k] * y + coordinates[2, k] * z + coordinates[3, k]
            )
    for k in range(4):
        highest, farthest = values[0, k], abs(values[0, k])
        for row in range(1, n):
            highest = values[row, k] if values[row, k] > highest else highest
            farthest = abs(values[row, k]) if abs(values[row, k]) > farthest else farthest
        if farthest < NEAR:
            return NEARLY_IN_FACE
        if highest < 0.0:
            state = OUTSIDE
    return state


@kernel(inline=True)
def clip_by_tetrahedron(points, values, n, rows, edge_faces, tied_face):
    """Clip the polygon in the first ``n`` rows of ``points`` by a tetrahedron.

    Args:
        points: (MAX_POINTS, 3) buffer with the vertices.
        values: (MAX_POINTS, 4) their barycentric coordinates in the tetrahedron.
        n: Number of vertices.
        rows: Cycle of vertices.
        edge_faces: Cycle of edge faces.
        tied_face: Number of the face in which the polygon lies, which therefore does not clip it; negative without such
            a face.

    Returns:
        ``Polygon``.
    """
    next_row = n
    for k in range(4):
        if k != tied_face and n != 0:
            n, rows, edge_faces, next_row = clip_polygon(points, values, k, n, rows, edge_faces, next_row)
    return Polygon(n, rows, edge_faces)


@kernel(inline=True)
def polygon_area_centroid(points, n, rows, centroid):
    """Area of a planar convex polygon; its centroid is written to ``centroid`` (3,)."""
    first = rows & 15
    x0, y0, z0 = points[first, 0], points[first, 1], points[first, 2]
    second = (rows >> 4) & 15
    ax, ay, az = points[second, 0] - x0, points[second, 1] - y0, points[second, 2] - z0
    sx, sy, sz = 0.0, 0.0, 0.0
    twice_area = 0.0
    for i in range(2, n):
        row = (rows >> 4 * i) & 15
        bx, by, bz = points[row, 0] - x0, points[row, 1] - y0, points[row, 2] - z0
        cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        part = math.sqrt(cx * cx + cy * cy + cz * cz)
        twice_area += part
        sx += part * (ax + bx)
        sy += part * (ay + by)
        sz += part * (az + bz)
        ax, ay, az = bx, by, bz
    scale = 1.0 / (3.0 * twice_area) if twice_area > 0.0 else 0.0
    centroid[0] = x0 + scale * sx
    centroid[1] = y0 + scale * sy
    centroid[2] = z0 + scale * sz
    return 0.5 * twice_area
