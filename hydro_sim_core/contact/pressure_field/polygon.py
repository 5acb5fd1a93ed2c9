# mypy: allow-untyped-defs
"""Convex polygons: slice a tetrahedron, clip by half spaces, integrate.

Scalar kernels on buffers that the caller owns, so that CPU loops and CUDA threads share them. A polygon's vertices are
rows of ``points`` (MAX_POINTS, 3); clipping adds rows and moves none. Which rows, in which order, says a *cycle*: two
integers whose i-th four bits name the row of vertex i and the *wall* behind the edge that leaves it. Walls 0 to 3 are
the faces of A's element (opposite the vertex of that number), walls 4 to 7 those of B's: across them the surface goes
on in the neighbouring element.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import kernel

#: Slicing a tetrahedron gives at most 4 vertices and clipping by the 4 faces of another at most one more each.
MAX_VERTICES = 8
#: Rows that a slice and four clips can fill.
MAX_POINTS = 12
#: Wall of B's element ``k`` is ``WALLS_OF_B + k``.
WALLS_OF_B = 4

#: What ``evaluate_coordinates`` says of a polygon.
OUTSIDE = 1
NEARLY_IN_WALL = 2
#: Coordinates below this say that a point may lie in the plane of a face; only then is it worth asking exactly.
_NEAR = 1e-6

#: Cycle of the triangle whose vertices are the rows 0, 1, 2 and whose edges lie opposite to vertices 2, 0, 1.
TRIANGLE_ROWS = 0x210
TRIANGLE_WALLS = 0x102


class Polygon(NamedTuple):
    """A convex polygon in a buffer of points: ``n`` vertices, 0 if there is none, and the two parts of its cycle."""

    n: int
    rows: int
    walls: int


class ClippedPolygon(NamedTuple):
    """A ``Polygon``, and the first row of the buffers that is still free."""

    n: int
    rows: int
    walls: int
    next_row: int


def _slices() -> np.ndarray:
    """Row ``mask`` tells the section of a tetrahedron whose vertices with set bits are positive.

    Columns: number of vertices; positive and negative end of the edge of each of up to 4 vertices; packed walls.
    """
    table = np.zeros((16, 10), dtype=np.int64)
    for mask in range(1, 15):
        positive = [i for i in range(4) if mask >> i & 1]
        negative = [i for i in range(4) if not mask >> i & 1]
        if len(positive) == 2:
            # Consecutive edges share a vertex, hence a face of the tetrahedron: that opposite the unused one.
            (p0, p1), (n0, n1) = positive, negative
            edges = [(p0, n0), (p0, n1), (p1, n1), (p1, n0)]
            walls = [p1, n0, p0, n1]
        else:
            edges = [(p, n) for p in positive for n in negative]
            others = negative if len(positive) == 1 else positive
            walls = [others[2], others[0], others[1]]
        table[mask, 0] = len(edges)
        table[mask, 1 : 1 + 2 * len(edges)] = np.ravel(edges)
        table[mask, 9] = sum(wall << 4 * i for i, wall in enumerate(walls))
    return table


_SLICES = _slices()
#: Position of the lowest set bit.
_LOWEST_BIT = np.array([0] + [(i & -i).bit_length() - 1 for i in range(1, 1 << MAX_VERTICES)], dtype=np.int64)
#: Vertices 0, 1, 2, ... in order.
_ROWS_IN_ORDER = 0x3210


@kernel(inline=True)
def slice_tetrahedron(x, f, points):
    """Intersect a tetrahedron with the plane on which a linear function vanishes.

    A vertex with ``f == 0`` counts as negative: of two tetrahedra that share a face lying in the plane, exactly the one
    on the positive side yields the polygon, so no face is found twice. Tetrahedra that share an edge find the same
    point on it to the last bit.

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
    """Bits of a cycle of ``n``, each moved to the next place."""
    return ((bits << 1) | (bits >> (n - 1))) & ((1 << n) - 1)


@kernel
def _without_one_run(values, k, n, rows, inside):
    """All vertices but one run that is outside.

    The vertices outside are one run of the cycle of a convex polygon. Where round-off makes it several, only that of
    the lowest vertex can be far outside.
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
def clip_polygon(points, values, k, n, rows, walls, next_row):
    """Keep the part of a convex polygon on which function ``k`` is not negative.

    Args:
        points: (MAX_POINTS, 3) buffer with the vertices; takes up to two new ones.
        values: (MAX_POINTS, 4) linear functions at the points; new vertices get theirs.
        k: Function; ``WALLS_OF_B + k`` is the wall of the new edge.
        n: Number of vertices.
        rows: Cycle of vertices.
        walls: Cycle of walls.
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
        return ClippedPolygon(n, rows, walls, next_row)
    if inside == 0:
        return ClippedPolygon(0, rows, walls, next_row)
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
    walls = ((walls >> 4 * start) | (walls << 4 * (n - start))) & used
    _add_crossing(points, values, k, (rows >> 4 * (length - 1)) & 15, (rows >> 4 * length) & 15, next_row)
    _add_crossing(points, values, k, rows & 15, (rows >> 4 * (n - 1)) & 15, next_row + 1)
    kept = (1 << 4 * length) - 1
    last_wall = (walls >> 4 * (n - 1)) & 15
    rows = (rows & kept) | (next_row << 4 * length) | ((next_row + 1) << 4 * (length + 1))
    walls = (walls & kept) | ((WALLS_OF_B + k) << 4 * length) | (last_wall << 4 * (length + 1))
    return ClippedPolygon(length + 2, rows, walls, next_row + 2)


@kernel(inline=True)
def evaluate_coordinates(points, n, coordinates, values):
    """Barycentric coordinates of the first ``n`` points in a tetrahedron, whose inside they are not negative in.

    Args:
        points: (MAX_POINTS, 3) buffer.
        n: Number of points.
        coordinates: (4, 4) column k: barycentric coordinate k at x is ``col[:3] . x + col[3]``.
        values: (MAX_POINTS, 4) buffer for the result.

    Returns:
        ``OUTSIDE`` if one face has all points outside, ``NEARLY_IN_WALL`` if all points may lie in the plane of a face,
        or else 0.
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
        if farthest < _NEAR:
            return NEARLY_IN_WALL
        if highest < 0.0:
            state = OUTSIDE
    return state


@kernel(inline=True)
def clip_by_tetrahedron(points, values, n, rows, walls, tied_face):
    """Clip the polygon in the first ``n`` rows of ``points`` by a tetrahedron.

    Args:
        points: (MAX_POINTS, 3) buffer with the vertices.
        values: (MAX_POINTS, 4) their barycentric coordinates in the tetrahedron.
        n: Number of vertices.
        rows: Cycle of vertices.
        walls: Cycle of walls.
        tied_face: Face (that opposite vertex ``tied_face``) in which the polygon lies and which therefore does not
            clip it; negative if there is none.

    Returns:
        ``Polygon``.
    """
    next_row = n
    for k in range(4):
        if k != tied_face and n != 0:
            n, rows, walls, next_row = clip_polygon(points, values, k, n, rows, walls, next_row)
    return Polygon(n, rows, walls)


@kernel(inline=True)
def polygon_area_centroid(points, n, rows, centroid):
    """Area of a planar convex polygon; its centroid goes into ``centroid`` (3,)."""
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
