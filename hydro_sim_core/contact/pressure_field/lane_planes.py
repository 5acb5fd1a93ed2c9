# mypy: allow-untyped-defs
"""Planes and lines of the polygons of a block (see ``lanes``), with one entry point per kind of pair.

Each kind says in which plane the polygon lies, which field gives the pressure there, and which walls bound it. What
follows is the same for all.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, Float1D, entry, kernel
from hydro_sim_core.contact.pressure_field.element_pairs import MIN_COSINE
from hydro_sim_core.contact.pressure_field.faces import GRADIENT, NORMAL, SLOPE_A, SLOPE_B, axes_across
from hydro_sim_core.contact.pressure_field.lanes import (
    AT,
    AXIS_S,
    AXIS_T,
    CENTER,
    DOUBTFUL,
    FACE,
    FAR,
    FIELD,
    HIGH,
    IS_FACE,
    LANES,
    LEAST_RATE,
    LEVEL,
    LINE_ROWS,
    LINES,
    LINES_OF_TETRAHEDRON,
    LINES_OF_TRIANGLE,
    LOW,
    NUM_LINES,
    ORIGIN,
    RATE,
    RECORD_A,
    RECORD_B,
    SLOPE,
    TINY,
    WALLS,
    WORD,
    A,
    B,
    C,
    cut_polygons,
    lanes_at_once,
    set_vector,
    vector,
)
from hydro_sim_core.triples import dot

#: Squared sine of the angle between a wall and the plane, and value at ``ORIGIN``, below which the plane may lie in the
#: wall.
_ALONG, _IN_WALL = 1e-10, 1e-5
#: Relative difference of gradients below which the plane has no meaning.
_PARALLEL = 1e-12
#: Lines of a triangle and a tetrahedron, and of what is on a half space, where its field ends.
_WITH_TRIANGLE = LINES_OF_TRIANGLE + LINES_OF_TETRAHEDRON
_TETRAHEDRON_ON_HALF_SPACE, _TRIANGLE_ON_HALF_SPACE = LINES_OF_TETRAHEDRON + 1, LINES_OF_TRIANGLE + 1
#: Value of the walls of a tetrahedron and of the edges of a triangle at the centroid.
_QUARTER, _THIRD = 0.25, 1.0 / 3.0


@kernel(inline=True)
def _numbers(R_BA):
    """Entries of a rotation: out of the array, which the stores to a block might change for all the compiler knows."""
    return (
        (R_BA[0, 0], R_BA[0, 1], R_BA[0, 2]),
        (R_BA[1, 0], R_BA[1, 1], R_BA[1, 2]),
        (R_BA[2, 0], R_BA[2, 1], R_BA[2, 2]),
    )


@kernel(inline=True)
def _turned(w, lane, row, R):
    """A vector of A's record in B's frame."""
    x = vector(w, lane, RECORD_A + row)
    return dot(R[0], x), dot(R[1], x), dot(R[2], x)


@kernel(inline=True)
def _set_line(w, lane, line, wall, level):
    """The line of a wall with a gradient and a value at ``ORIGIN``; return its share for doubts."""
    row = LINES + line * LINE_ROWS
    a, b = dot(wall, vector(w, lane, AXIS_S)), dot(wall, vector(w, lane, AXIS_T))
    square = a * a + b * b
    rate = math.sqrt(square)
    scale = 1.0 / (rate + LEAST_RATE)
    w[(row + A) * LANES + lane] = scale * a
    w[(row + B) * LANES + lane] = scale * b
    w[(row + C) * LANES + lane] = scale * level
    w[(row + RATE) * LANES + lane] = rate
    w[(row + LOW) * LANES + lane] = -FAR
    w[(row + HIGH) * LANES + lane] = FAR if square > 0.0 else -FAR
    along = square < _ALONG * dot(wall, wall) and abs(level) < _IN_WALL
    return 1.0 if along else 0.0


@kernel(inline=True)
def _set_walls(w, lane, first, walls, x):
    """Lines of a tetrahedron's four walls; return its share for doubts.

    Args:
        w: Block.
        lane: Lane.
        first: First line.
        walls: (4, 3) their gradients, 1/m.
        x: (3) the way from the centroid to ``ORIGIN``, m.
    """
    doubts = _set_line(w, lane, first, walls[0], _QUARTER + dot(walls[0], x))
    doubts += _set_line(w, lane, first + 1, walls[1], _QUARTER + dot(walls[1], x))
    doubts += _set_line(w, lane, first + 2, walls[2], _QUARTER + dot(walls[2], x))
    doubts += _set_line(w, lane, first + 3, walls[3], _QUARTER + dot(walls[3], x))
    return doubts


@kernel(inline=True)
def _fourth(w1, w2, w3):
    """All four walls: barycentric coordinates add up to one."""
    return w1, w2, w3, (-(w1[0] + w2[0] + w3[0]), -(w1[1] + w2[1] + w3[1]), -(w1[2] + w2[2] + w3[2]))


@kernel(inline=True)
def _walls_of_a(w, lane, R):
    return _fourth(_turned(w, lane, WALLS, R), _turned(w, lane, WALLS + 3, R), _turned(w, lane, WALLS + 6, R))


@kernel(inline=True)
def _set_edges_of_a(w, lane, R):
    """Lines of a triangle's three edges, which are 1/3 at its centroid; return its share for doubts."""
    doubts = _set_line(w, lane, 0, _turned(w, lane, WALLS, R), _THIRD)
    doubts += _set_line(w, lane, 1, _turned(w, lane, WALLS + 3, R), _THIRD)
    return doubts + _set_line(w, lane, 2, _turned(w, lane, WALLS + 6, R), _THIRD)


@kernel(inline=True)
def _walls_of_b(w, lane):
    row = RECORD_B + WALLS
    return _fourth(vector(w, lane, row), vector(w, lane, row + 3), vector(w, lane, row + 6))


@kernel(inline=True)
def _apart(x, y):
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@kernel(inline=True)
def _set_plane(w, lane, n, slopes, field, level, x, center):
    """Write what the plane decides of a face.

    Args:
        w: Block.
        lane: Lane.
        n: (3) unit normal out of A into B.
        slopes: (2) of the fields of A and B along it, Pa/m.
        field: (3) gradient of the field that gives the pressure, Pa/m.
        level: Pressure at the point ``x``, Pa.
        x: (3) a point of the plane, from ``center``, m.
        center: (3) point from which positions count, in B's frame, m.
    """
    set_vector(w, lane, FACE + NORMAL, n)
    set_vector(w, lane, FACE + GRADIENT, field)
    w[(FACE + SLOPE_A) * LANES + lane] = slopes[0]
    w[(FACE + SLOPE_B) * LANES + lane] = slopes[1]
    w[FIELD * LANES + lane] = level
    set_vector(w, lane, ORIGIN, x)
    set_vector(w, lane, CENTER, center)
    first, second = axes_across(n)
    set_vector(w, lane, AXIS_S, first)
    set_vector(w, lane, AXIS_T, second)


@kernel(inline=True)
def _set_word(w, lane, is_face, doubts):
    w[WORD * LANES + lane] = (float(IS_FACE) if is_face else 0.0) + (float(DOUBTFUL) if doubts > 0.0 else 0.0)


@kernel(inline=True)
def _set_equal_pressure(w, lane, g, level_a, at, h, level_b, center):
    """The plane of equal pressure of two fields.

    Args:
        w: Block.
        lane: Lane.
        g: (3) gradient of A's field, Pa/m.
        level_a: Pressure of A at ``at``, Pa.
        at: (3) point, from ``center``, m.
        h: (3) gradient of B's field, Pa/m.
        level_b: Pressure of B at ``center``, Pa.
        center: (3) in B's frame, m.

    Returns:
        The point of the plane that is nearest to ``center``, from there; whether both fields rise; doubts.
    """
    d = _apart(h, g)
    size_a, size_b, length = math.sqrt(dot(g, g)), math.sqrt(dot(h, h)), math.sqrt(dot(d, d))
    scale = 1.0 / (length + TINY)
    n = d[0] * scale, d[1] * scale, d[2] * scale
    height = (level_a - dot(g, at) - level_b) * scale
    x = n[0] * height, n[1] * height, n[2] * height
    slope_a, slope_b = -dot(g, n), dot(h, n)
    # The field with the smaller gradient has less round-off when evaluated.
    a_is_softer = size_a < size_b
    level = level_a + dot(g, _apart(x, at)) if a_is_softer else level_b + dot(h, x)
    field = g[0] if a_is_softer else h[0], g[1] if a_is_softer else h[1], g[2] if a_is_softer else h[2]
    _set_plane(w, lane, n, (slope_a, slope_b), field, level, x, center)
    rises = slope_a >= MIN_COSINE * size_a and slope_b >= MIN_COSINE * size_b
    return x, rises, 1.0 if length < _PARALLEL * (size_a + size_b) else 0.0


@kernel(inline=True)
def _centroid_of_a(w, lane, R, p_BA):
    """In B's frame."""
    x = _turned(w, lane, AT, R)
    return x[0] + p_BA[0], x[1] + p_BA[1], x[2] + p_BA[2]


@kernel(inline=True)
def _tetrahedra(w, lane, R, p_BA):
    """Two tetrahedra; positions count from B's centroid."""
    center = vector(w, lane, RECORD_B + AT)
    at = _apart(_centroid_of_a(w, lane, R, p_BA), center)
    g, h = _turned(w, lane, SLOPE, R), vector(w, lane, RECORD_B + SLOPE)
    level_a, level_b = w[(RECORD_A + LEVEL) * LANES + lane], w[(RECORD_B + LEVEL) * LANES + lane]
    x, rises, doubts = _set_equal_pressure(w, lane, g, level_a, at, h, level_b, center)
    doubts += _set_walls(w, lane, 0, _walls_of_a(w, lane, R), _apart(x, at))
    doubts += _set_walls(w, lane, 4, _walls_of_b(w, lane), x)
    _set_word(w, lane, rises, doubts)


@kernel(inline=True)
def _triangle(w, lane, R, p_BA):
    """A rigid triangle, in whose plane the polygon lies, and a tetrahedron; positions count from B's centroid."""
    center = vector(w, lane, RECORD_B + AT)
    x = _apart(_centroid_of_a(w, lane, R, p_BA), center)
    n, h = _turned(w, lane, SLOPE, R), vector(w, lane, RECORD_B + SLOPE)
    slope, level = dot(h, n), w[(RECORD_B + LEVEL) * LANES + lane] + dot(h, x)
    _set_plane(w, lane, n, (math.inf, slope), h, level, x, center)
    doubts = _set_edges_of_a(w, lane, R)
    doubts += _set_walls(w, lane, LINES_OF_TRIANGLE, _walls_of_b(w, lane), x)
    _set_word(w, lane, slope >= MIN_COSINE * math.sqrt(dot(h, h)), doubts)


@kernel(inline=True)
def _on_rigid_half_space(w, lane, R, p_BA):
    """A tetrahedron on the plane z = 0; positions count from its centroid."""
    center = _centroid_of_a(w, lane, R, p_BA)
    g, x = _turned(w, lane, SLOPE, R), (0.0, 0.0, -center[2])
    level = w[(RECORD_A + LEVEL) * LANES + lane] + dot(g, x)
    _set_plane(w, lane, (0.0, 0.0, -1.0), (g[2], math.inf), g, level, x, center)
    doubts = _set_walls(w, lane, 0, _walls_of_a(w, lane, R), x)
    doubts += _set_line(w, lane, 4, (0.0, 0.0, 0.0), 1.0)
    _set_word(w, lane, True, doubts)


@kernel(inline=True)
def _on_half_space(w, lane, R, p_BA, field, margin):
    """A tetrahedron in the field (4) of a compliant half space; positions count from its centroid."""
    center = _centroid_of_a(w, lane, R, p_BA)
    g, h = _turned(w, lane, SLOPE, R), (field[0], field[1], field[2])
    level_a, level_b = w[(RECORD_A + LEVEL) * LANES + lane], dot(h, center) + field[3]
    x, rises, doubts = _set_equal_pressure(w, lane, g, level_a, (0.0, 0.0, 0.0), h, level_b, center)
    doubts += _set_walls(w, lane, 0, _walls_of_a(w, lane, R), x)
    doubts += _set_line(w, lane, 4, (0.0, 0.0, -1.0), margin - center[2] - x[2])
    _set_word(w, lane, rises, doubts)


@kernel(inline=True)
def _triangle_in_half_space(w, lane, R, p_BA, field, margin):
    """A rigid triangle in the field (4) of a compliant half space; positions count from its centroid."""
    center, origin = _centroid_of_a(w, lane, R, p_BA), (0.0, 0.0, 0.0)
    n, h = _turned(w, lane, SLOPE, R), (field[0], field[1], field[2])
    slope = dot(h, n)
    _set_plane(w, lane, n, (math.inf, slope), h, dot(h, center) + field[3], origin, center)
    doubts = _set_edges_of_a(w, lane, R)
    doubts += _set_line(w, lane, LINES_OF_TRIANGLE, (0.0, 0.0, -1.0), margin - center[2])
    _set_word(w, lane, slope >= MIN_COSINE * math.sqrt(dot(h, h)), doubts)


@entry
def cut_tetrahedra(w: Float1D, R_BA: ConstFloat2D, p_BA: ConstFloat1D) -> None:
    """Polygons of the pairs of tetrahedra whose records are in a block; (3, 3) rotation and (3,) origin of A in B."""
    R, p = _numbers(R_BA), (p_BA[0], p_BA[1], p_BA[2])
    for lane in range(lanes_at_once()):
        _tetrahedra(w, lane, R, p)
    cut_polygons(w, LINES_OF_TETRAHEDRON, NUM_LINES)


@entry
def cut_triangles(w: Float1D, R_BA: ConstFloat2D, p_BA: ConstFloat1D) -> None:
    """The same for rigid triangles and tetrahedra."""
    R, p = _numbers(R_BA), (p_BA[0], p_BA[1], p_BA[2])
    for lane in range(lanes_at_once()):
        _triangle(w, lane, R, p)
    cut_polygons(w, LINES_OF_TRIANGLE, _WITH_TRIANGLE)


@entry
def cut_on_rigid_half_space(w: Float1D, R_BA: ConstFloat2D, p_BA: ConstFloat1D) -> None:
    """The same for tetrahedra on a rigid half space; there are no records of B."""
    R, p = _numbers(R_BA), (p_BA[0], p_BA[1], p_BA[2])
    for lane in range(lanes_at_once()):
        _on_rigid_half_space(w, lane, R, p)
    cut_polygons(w, LINES_OF_TETRAHEDRON, _TETRAHEDRON_ON_HALF_SPACE)


@entry
def cut_on_half_space(
    w: Float1D, R_BA: ConstFloat2D, p_BA: ConstFloat1D, field_b: ConstFloat1D, margin: float, a_is_rigid: bool
) -> None:
    """The same on a compliant half space with a field (4,) and a margin (m), for tetrahedra or rigid triangles."""
    R, p = _numbers(R_BA), (p_BA[0], p_BA[1], p_BA[2])
    field = field_b[0], field_b[1], field_b[2], field_b[3]
    if a_is_rigid:
        for lane in range(lanes_at_once()):
            _triangle_in_half_space(w, lane, R, p, field, margin)
        cut_polygons(w, LINES_OF_TRIANGLE, _TRIANGLE_ON_HALF_SPACE)
    else:
        for lane in range(lanes_at_once()):
            _on_half_space(w, lane, R, p, field, margin)
        cut_polygons(w, LINES_OF_TETRAHEDRON, _TETRAHEDRON_ON_HALF_SPACE)
