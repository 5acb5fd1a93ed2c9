# mypy: allow-untyped-defs
"""Contact polygons of many pairs of elements at once: one pair a lane, every lane the same arithmetic without a branch.

In the plane of equal pressure the polygon is what eight half planes have in common, one for each face of both elements
(fewer for a rigid triangle and for a half space). Each half plane has a *line*, ``a s + b t + c >= 0``, and what the
others leave of a line is an interval: its ends follow from minima and maxima alone. An interval that is left is an edge
of the polygon, and the surface goes on behind it. Area and centroid are sums over the edges (Green's theorem). No list
of vertices is made; ``faces.complete_polygons`` does that for who wants to see them.

A block is one flat array: the value of row ``r`` in a lane is ``w[r * LANES + lane]``. With constant strides and
without branches the compiler makes vector instructions of the loops over lanes (``tests/contact/test_lanes.py`` counts
them), and results are the same bits however many lanes a processor takes at once.

Where round-off decides, as between aligned bodies, a lane says that it is *doubtful*, and the walk begins anew with
``element_pairs``, whose rules keep surfaces whole there.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import one_thread_a_world
from hydro_sim_core.contact.pressure_field.faces import (
    AHEAD,
    AREA,
    ASIDE,
    CENTROID,
    GRADIENT,
    NUM_ROWS,
    PRESSURE,
    ROUND_OFF,
)
from hydro_sim_core.triples import dot

#: Pairs in a block. Several times what a vector register holds: what one group of lanes waits for, another computes.
LANES = 32

#: Rows of a block. Records of both elements, see ``GeometrySet.records``; those of A become those in B's frame.
RECORD_A = 0
RECORD_B = 16
#: Rows of an element's record: centroid, pressure there, gradient, gradients of three barycentric coordinates.
AT, LEVEL, SLOPE, WALLS = 0, 3, 4, 7
#: The plane: a point of it, its axes, and the point from which positions in the block count.
ORIGIN, AXIS_S, AXIS_T, CENTER = 32, 35, 38, 41
#: The pressure field on the polygon, at ``ORIGIN``.
FIELD = 44
#: Eight lines of six rows each: a, b, c, where a^2 + b^2 = 1, lower and upper end of the interval that the others
#: leave, and how fast the wall's function grows across the line, 1/m.
LINES, LINE_ROWS = 45, 6
A, B, C, LOW, HIGH, RATE = range(6)
NUM_LINES = 8
#: Lines of A's element, a tetrahedron or a triangle.
LINES_OF_TETRAHEDRON, LINES_OF_TRIANGLE = 4, 3
#: The face, rows as in ``FaceBuffer.data``.
FACE = LINES + NUM_LINES * LINE_ROWS
#: One bit for each line that is an edge; plus ``IS_FACE``, ``DOUBTFUL`` and ``CROSSES_ZERO``.
WORD = FACE + NUM_ROWS
BLOCK_ROWS = WORD + 1

#: Bits of a word that are those of edges.
EDGES = (1 << NUM_LINES) - 1
#: Bits of a word beyond those of the edges. The last one: the pressure on the polygon has both signs.
IS_FACE, DOUBTFUL, CROSSES_ZERO = 256, 512, 1024

#: Beyond all ends of intervals.
FAR = 1e300
#: Keeps divisions finite, far below all values.
TINY = 1e-120
#: The same for the slopes of lines: so much smaller that a wall along the plane, whose line is nowhere, leaves of the
#: others all or nothing.
LEAST_RATE = 1e-160
#: Barycentric coordinate below which the middle of a polygon lies in a wall: a sliver.
_SLIVER = 1e-7


@kernel(inline=True)
def lanes_at_once():
    """How many lanes, from the first, are computed at once.

    One where one thread steps a world, on a GPU: all that is computed of a pair then stays in registers.
    """
    return 1 if one_thread_a_world() else LANES


@kernel(inline=True)
def vector(w, lane, row):
    """Three rows of a lane."""
    return w[row * LANES + lane], w[(row + 1) * LANES + lane], w[(row + 2) * LANES + lane]


@kernel(inline=True)
def set_vector(w, lane, row, x):
    """Write three rows of a lane."""
    w[row * LANES + lane] = x[0]
    w[(row + 1) * LANES + lane] = x[1]
    w[(row + 2) * LANES + lane] = x[2]


@kernel(inline=True)
def _line(w, lane, i):
    """Coefficients and interval of a line."""
    row = LINES + i * LINE_ROWS
    return (
        w[(row + A) * LANES + lane],
        w[(row + B) * LANES + lane],
        w[(row + C) * LANES + lane],
        w[(row + LOW) * LANES + lane],
        w[(row + HIGH) * LANES + lane],
    )


@kernel(inline=True)
def _cross(w, lane, line, j):
    """Cut a line and line ``j`` at their crossing; return the first one and write the other.

    The point with parameter t of a line is ``-c (a, b) + t (b, -a)``. The parameter on line j follows from that on the
    other one: where walls of both bodies coincide, as on the rim of a patch, the crossing is round-off, but it is the
    same one on both.
    """
    a, b, c, low, high = line
    a_j, b_j, c_j, low_j, high_j = _line(w, lane, j)
    D = a * b_j - b * a_j + TINY
    G = a * a_j + b * b_j
    t = (c_j - c * G) / D
    t_j = G * t - c * D
    turns_left = D > 0.0
    end, begin = t if turns_left else FAR, -FAR if turns_left else t
    end_j, begin_j = FAR if turns_left else t_j, t_j if turns_left else -FAR
    row = LINES + j * LINE_ROWS
    w[(row + LOW) * LANES + lane] = begin_j if begin_j > low_j else low_j
    w[(row + HIGH) * LANES + lane] = end_j if end_j < high_j else high_j
    return a, b, c, begin if begin > low else low, end if end < high else high


@kernel(inline=True)
def _cross_with_following(w, i, num_lines):
    """Cut line ``i`` and all lines after it at their crossings."""
    row = LINES + i * LINE_ROWS
    for lane in range(lanes_at_once()):
        line = _line(w, lane, i)
        for j in range(i + 1, num_lines):
            line = _cross(w, lane, line, j)
        w[(row + LOW) * LANES + lane] = line[LOW]
        w[(row + HIGH) * LANES + lane] = line[HIGH]


@kernel(inline=True)
def _add_edge(w, lane, i, bit, total):
    """Add one if a line is an edge, its bit, and its middle."""
    a, b, c, low, high = _line(w, lane, i)
    t, is_edge = 0.5 * (low + high), high > low
    return (
        total[0] + (1.0 if is_edge else 0.0),
        total[1] + (float(1 << bit) if is_edge else 0.0),
        total[2] + (b * t - c * a if is_edge else 0.0),
        total[3] - (a * t + c * b if is_edge else 0.0),
    )


@kernel(inline=True)
def _add_triangle(w, lane, i, s, t, total):
    """Add twice the area of the triangle of a point inside and an edge, and that area times the edge's middle.

    All areas are positive, so that the centroid lies inside even of a sliver.
    """
    a, b, c, low, high = _line(w, lane, i)
    u, inside = 0.5 * (low + high), a * s + b * t + c
    share = inside * w[(LINES + i * LINE_ROWS + RATE) * LANES + lane]
    area = inside * (high - low)
    area = area if high > low and area > 0.0 else 0.0
    return (
        total[0] + area,
        total[1] + area * (b * u - c * a),
        total[2] - area * (a * u + c * b),
        share if high > low and share < total[3] else total[3],
    )


@kernel(inline=True)
def _add_spread(w, lane, i, s, t, total):
    """Add twice the second moments of the triangle of the centroid and an edge; keep the farthest corner so far."""
    a, b, c, low, high = _line(w, lane, i)
    is_edge = high > low
    begin, length = low if is_edge else 0.0, high - low if is_edge else 0.0
    p, q, half = b * begin - c * a - s, -(a * begin + c * b) - t, 0.5 * length
    x, y = p + half * b, q - half * a
    area, along = (a * s + b * t + c) * length, half * half * (1.0 / 3.0)
    distance = p * p + q * q
    is_farther = is_edge and distance > total[4]
    return (
        total[0] + area,
        total[1] + area * (x * x + along * b * b),
        total[2] + area * (x * y - along * a * b),
        total[3] + area * (y * y + along * a * a),
        distance if is_farther else total[4],
        p if is_farther else total[5],
        q if is_farther else total[6],
    )


@kernel(inline=True)
def _set_points(w, lane, num_lines):
    """Three points with the polygon's second moments, the first towards its farthest corner; see ``FaceBuffer``.

    In a triangle each lies halfway to a corner. Zeros for polygons without extent. The rows have held the centroid.
    """
    s, t = w[(FACE + AHEAD) * LANES + lane], w[(FACE + AHEAD + 1) * LANES + lane]
    # One by one, as the compiler does not unroll a loop over these.
    sums = _add_spread(w, lane, 0, s, t, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    sums = _add_spread(w, lane, 1, s, t, sums)
    sums = _add_spread(w, lane, 2, s, t, sums)
    sums = _add_spread(w, lane, 3, s, t, sums)
    if num_lines > 4:
        sums = _add_spread(w, lane, 4, s, t, sums)
    if num_lines > 5:
        sums = _add_spread(w, lane, 5, s, t, sums)
        sums = _add_spread(w, lane, 6, s, t, sums)
    if num_lines > 7:
        sums = _add_spread(w, lane, 7, s, t, sums)
    half, scale = 0.5 / (sums[0] + TINY), 1.0 / math.sqrt(sums[4] + TINY)
    xx, xy, yy = half * sums[1], half * sums[2], half * sums[3]
    e, h = scale * sums[5], scale * sums[6]
    along, aside = e * e * xx + 2.0 * e * h * xy + h * h * yy, h * h * xx - 2.0 * e * h * xy + e * e * yy
    mixed = e * h * (yy - xx) + (e * e - h * h) * xy
    rest = along * aside - mixed * mixed
    has_extent = aside > TINY and rest > 0.0
    per_aside = 1.0 / (aside + TINY)
    first = math.sqrt(2.0 * rest * per_aside if has_extent else 0.0)
    second = math.sqrt(1.5 * per_aside if has_extent else 0.0) * mixed
    third = math.sqrt(1.5 * aside if has_extent else 0.0)
    w[(FACE + AHEAD) * LANES + lane], w[(FACE + AHEAD + 1) * LANES + lane] = first * e, first * h
    w[(FACE + ASIDE) * LANES + lane] = second * e - third * h
    w[(FACE + ASIDE + 1) * LANES + lane] = second * h + third * e


@kernel(inline=True)
def _widen(w, lane, i, level, along_s, along_t, span):
    """Lowest and highest pressure so far, 0 among them, and at both ends of an edge."""
    a, b, c, low, high = _line(w, lane, i)
    rate, is_edge = along_s * b - along_t * a, high > low
    near = level - c * (along_s * a + along_t * b)
    p, q = near + rate * low, near + rate * high
    least, most = p if p < q else q, q if p < q else p
    return (
        least if is_edge and least < span[0] else span[0],
        most if is_edge and most > span[1] else span[1],
    )


@kernel(inline=True)
def _measure(w, lane, num_of_a, num_lines):
    """Area, centroid and pressure of the polygon, and its word."""
    total = 0.0, 0.0, 0.0, 0.0
    for i in range(num_of_a):
        total = _add_edge(w, lane, i, i, total)
    for i in range(num_of_a, num_lines):
        total = _add_edge(w, lane, i, i - num_of_a + LINES_OF_TETRAHEDRON, total)
    num_edges, edges = total[0], total[1]
    per_edge = 1.0 / (num_edges if num_edges > 0.0 else 1.0)
    s, t = per_edge * total[2], per_edge * total[3]
    sums = 0.0, 0.0, 0.0, 1.0
    for i in range(num_lines):
        sums = _add_triangle(w, lane, i, s, t, sums)
    two_thirds = (2.0 / 3.0) / (sums[0] + TINY)
    s, t = s * (1.0 / 3.0) + two_thirds * sums[1], t * (1.0 / 3.0) + two_thirds * sums[2]
    w[(FACE + AHEAD) * LANES + lane], w[(FACE + AHEAD + 1) * LANES + lane] = s, t
    x, u, v = vector(w, lane, ORIGIN), vector(w, lane, AXIS_S), vector(w, lane, AXIS_T)
    step = s * u[0] + t * v[0], s * u[1] + t * v[1], s * u[2] + t * v[2]
    center = vector(w, lane, CENTER)
    w[(FACE + AREA) * LANES + lane] = 0.5 * sums[0]
    w[(FACE + PRESSURE) * LANES + lane] = w[FIELD * LANES + lane] + dot(
        vector(w, lane, FACE + GRADIENT), step
    )
    of_b = x[0] + step[0] + center[0], x[1] + step[1] + center[1], x[2] + step[2] + center[2]
    set_vector(w, lane, FACE + CENTROID, of_b)
    gradient, span = vector(w, lane, FACE + GRADIENT), (0.0, 0.0)
    level, along_s, along_t = w[FIELD * LANES + lane], dot(gradient, u), dot(gradient, v)
    for i in range(num_lines):
        span = _widen(w, lane, i, level, along_s, along_t, span)
    below, above = -span[0], span[1]
    less, more = below if below < above else above, above if below < above else below
    is_sliver = num_edges > 0.0 and sums[3] < _SLIVER
    of_plane = w[WORD * LANES + lane]
    word = of_plane + (float(DOUBTFUL) if is_sliver and of_plane < DOUBTFUL else 0.0)
    w[WORD * LANES + lane] = word + edges + (float(CROSSES_ZERO) if less > ROUND_OFF * more else 0.0)


@kernel(inline=True)
def _has_edges(w, lane, num_lines):
    """Whether anything is left of a line."""
    found = False
    for i in range(num_lines):
        _, _, _, low, high = _line(w, lane, i)
        found = found or high > low
    return found


@kernel(inline=True)
def cut_polygons(w, num_of_a, num_lines):
    """Write the faces and words of all polygons of a block from their planes and lines, those of A's element first.

    A pair without a polygon has a word without edges. Its face has no meaning.
    """
    _cross_with_following(w, 0, num_lines)
    _cross_with_following(w, 1, num_lines)
    _cross_with_following(w, 2, num_lines)
    if num_lines > 4:
        _cross_with_following(w, 3, num_lines)
    if num_lines > 5:
        _cross_with_following(w, 4, num_lines)
        _cross_with_following(w, 5, num_lines)
    if num_lines > 7:
        _cross_with_following(w, 6, num_lines)
    # What is worth a branch for one pair is not for many.
    if one_thread_a_world() and not _has_edges(w, 0, num_lines):
        w[WORD * LANES] = 0.0
    else:
        for lane in range(lanes_at_once()):
            _measure(w, lane, num_of_a, num_lines)
        for lane in range(lanes_at_once()):
            _set_points(w, lane, num_lines)
