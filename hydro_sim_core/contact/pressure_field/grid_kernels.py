# mypy: allow-untyped-defs
"""Kernels that find the faces of one large patch with one thread an element, a pair of elements or a face.

They are launched one after another (``grid_search``): which elements of B may meet each element of A, counted and then
listed; the faces of each such pair, counted and then written where the scan of the counts says; sums over faces. So the
order of faces is fixed: by the leaves of A's tree, then by those of B's. The polygons are those of ``tree_query``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hydro_sim_core.compilation import (
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    Float2D,
    Float3D,
    Int1D,
    Int2D,
    kernel,
)
from hydro_sim_core.compilation.grids import Grid
from hydro_sim_core.compilation.local_arrays import local_floats, local_ints
from hydro_sim_core.contact.pressure_field.boxes import box_misses_slab, boxes_apart, turn_box
from hydro_sim_core.contact.pressure_field.element_pairs import Workspace
from hydro_sim_core.contact.pressure_field.elements import (
    face_of_elements,
    face_on_half_space,
    load_field,
    move_vertex,
)
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    SLOPE_B,
    append_polygon,
)
from hydro_sim_core.contact.pressure_field.polygon import NEAR
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE

#: Rows of sums over faces: area of those without negative pressure, force on B and its moment about B's origin, and the
#: part of the pressing force on faces across which a pressure falls.
SUM_AREA, SUM_FORCE, SUM_MOMENT, SUM_FALLING = 0, 1, 4, 7
NUM_SUMS = 8
#: Faces, and sums of such, that a thread adds up.
ADDED = 32


class GridQuery(NamedTuple):
    """One query, as all threads see it. Fields of a ``GeometrySet`` and a ``FaceBuffer`` have their names and meaning.

    Attributes:
        node_pressures: (K, 2) least and largest pressure in the elements below each tree node, Pa; infinite without.
        after: (K,) the node that follows those below a node, in the order of their numbers.
        leaves: (L,) leaves of A's tree.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        b: Geometry B.
        root: Root of B's tree.
        end: One past B's last node.
        tie: Tie distance, m.
        height: Top of a half space B with margin and tie, m.
        slack: Round-off of pressures, Pa.
        every: Whether polygons that are no contact faces count too.
        has_margin: Whether one of the two has a margin.
        skin: Whether one of the two is the skin of a rigid body.
        counts: (n,) what each thread found.
        ends: (n,) sums of the counts up to each thread.
        pairs: (2, n) elements of A and of B that may meet.
        touching: (2, m) those of them that may have polygons; they become the pairs.
        source: (F,) pair of each face.
        face_elements: (2, F) elements of A and of B of each face.
        dropped: (1, n) force on polygons of each pair that are no faces, N.
        terms: (rows, n) numbers to be added up.
        sums: (rows, m) their sums.
    """

    kind: ConstInt1D
    field_start: ConstInt1D
    margin: ConstFloat1D
    is_skin: ConstBool1D
    vertices: ConstFloat2D
    pressure: ConstFloat1D
    elements: ConstInt2D
    fields: ConstFloat2D
    steepness: ConstFloat1D
    coordinates: ConstFloat3D
    boxes: ConstFloat2D
    links: ConstInt2D
    node_pressures: ConstFloat2D
    after: ConstInt1D
    leaves: ConstInt1D
    R_BA: ConstFloat2D
    p_BA: ConstFloat1D
    b: int
    root: int
    end: int
    tie: float
    height: float
    slack: float
    every: bool
    has_margin: bool
    skin: bool
    counts: Int1D
    ends: ConstInt1D
    pairs: Int2D
    touching: Int2D
    source: Int1D
    face_elements: Int2D
    dropped: Float2D
    data: Float2D
    polygons: Float3D
    num_vertices: Int1D
    terms: Float2D
    sums: Float2D


class _ThreadScratch(NamedTuple):
    """What ``append_polygon`` needs of a ``QueryScratch``, for one thread."""

    work: Any
    report: Any
    ahead: Any


class _Faces(NamedTuple):
    """A ``FaceBuffer``, of which nothing is written if it has no room."""

    data: Any
    polygons: Any
    num_vertices: Any


# --- Pairs of elements that may meet --------------------------------------------------------------------------------


@kernel(inline=True)
def _follow_tree(query, i, lists):
    """Count the elements of B whose boxes and pressures reach those of the element of A's leaf ``i``; maybe list them.

    Nodes follow each other in the order of their numbers, those below a node that is out of reach are left out: no
    stack is needed, and the order is that of B's leaves.

    Reads query: R_BA, after, boxes, counts, end, ends, leaves, links, node_pressures, p_BA, root, slack, tie.
    Writes query: pairs.
    """
    leaf = query.leaves[i]
    box = local_floats(6)
    turn_box(query.boxes[leaf], query.R_BA, query.p_BA, query.tie, box)
    low, high = query.node_pressures[leaf, 0] - query.slack, query.node_pressures[leaf, 1] + query.slack
    first = query.ends[i] - query.counts[i] if lists else 0
    node, found = query.root, 0
    while node < query.end:
        pressures = query.node_pressures[node]
        if pressures[0] > high or pressures[1] < low or boxes_apart(box, query.boxes[node]):
            node = query.after[node]
            continue
        if query.links[node, 0] < 0:
            if lists:
                query.pairs[0, first + found] = query.links[leaf, 1]
                query.pairs[1, first + found] = query.links[node, 1]
            found += 1
        node += 1
    return found


@kernel
def count_pairs(query, i):
    """Count the elements of B that the element of A's leaf ``i`` may meet.

    Writes query: counts.
    """
    query.counts[i] = _follow_tree(query, i, False)


@kernel
def list_pairs(query, i):
    """List the elements of B that the element of A's leaf ``i`` may meet, after ``count_pairs``."""
    if query.counts[i] != 0:
        _follow_tree(query, i, True)


@kernel
def count_near_half_space(query, i):
    """Tell whether the element of A's leaf ``i`` may meet the half space B.

    Reads query: R_BA, boxes, height, leaves, p_BA.
    Writes query: counts.
    """
    box = query.boxes[query.leaves[i]]
    misses = box_misses_slab(box, query.R_BA, query.p_BA, -math.inf, query.height)
    query.counts[i] = 0 if misses else 1


@kernel
def list_near_half_space(query, i):
    """List the element of A's leaf ``i`` if it may meet the half space B.

    Reads query: counts, ends, leaves, links.
    Writes query: pairs.
    """
    if query.counts[i] != 0:
        place = query.ends[i] - 1
        query.pairs[0, place] = query.links[query.leaves[i], 1]
        query.pairs[1, place] = 0


# --- Pairs that touch -----------------------------------------------------------------------------------------------
# Boxes of elements meet far more often than elements. Threads whose pair has a polygon would keep their neighbours
# waiting, so what surely has none is left out first; what is left may still have none.


@kernel(inline=True)
def _outside_a_face(coordinates, corners, n):
    """Whether ``n`` corners lie outside one face of a tetrahedron, by more than ``polygon.NEAR``."""
    for k in range(4):
        highest = -math.inf
        for i in range(n):
            x = corners[i]
            value = (
                coordinates[0, k] * x[0]
                + coordinates[1, k] * x[1]
                + coordinates[2, k] * x[2]
                + coordinates[3, k]
            )
            highest = max(highest, value)
        if highest < -NEAR:
            return True
    return False


@kernel(inline=True)
def _on_one_side(query, element, field, of_pressure, allowed):
    """Whether a function (4,) minus B's pressure, or alone, has one sign at all corners of B's element.

    Reads query: elements, pressure, vertices.
    """
    low, high = math.inf, -math.inf
    for k in range(4):
        v = query.elements[element, k]
        x = query.vertices[v]
        value = field[0] * x[0] + field[1] * x[1] + field[2] * x[2] + field[3]
        if of_pressure:
            value -= query.pressure[v]
        low, high = min(low, value), max(high, value)
    return low > allowed or high < -allowed


@kernel
def count_touching_tetrahedra(query, pair):
    """Tell whether a pair of tetrahedra may have a polygon: p_A = p_B somewhere in both, and neither beyond a face.

    Reads query: R_BA, coordinates, elements, fields, p_BA, pairs, pressure, steepness, tie.
    Writes query: counts.
    """
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    x = local_floats(4, 3)
    field_a = local_floats(4)
    field_b = query.fields[element_b]
    allowed = 4.0 * query.tie * (query.steepness[element_a] + query.steepness[element_b])
    low, high = math.inf, -math.inf
    for k in range(4):
        v = query.elements[element_a, k]
        move_vertex(query, v, query.R_BA, query.p_BA, x[k])
        f = query.pressure[v] - (
            field_b[0] * x[k, 0] + field_b[1] * x[k, 1] + field_b[2] * x[k, 2] + field_b[3]
        )
        low, high = min(low, f), max(high, f)
    touches = low <= allowed and high >= -allowed
    if touches:
        load_field(query, element_a, query.R_BA, query.p_BA, field_a)
        touches = not _on_one_side(query, element_b, field_a, True, allowed)
    if touches:
        touches = not _outside_a_face(query.coordinates[element_b], x, 4)
    query.counts[pair] = 1 if touches else 0


@kernel
def count_touching_triangles(query, pair):
    """Tell whether a rigid triangle and a tetrahedron may have a polygon: neither is beyond a face of the other.

    Reads query: R_BA, coordinates, elements, p_BA, pairs, tie.
    Writes query: counts.
    """
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    x = local_floats(3, 3)
    plane = local_floats(4)
    for k in range(3):
        move_vertex(query, query.elements[element_a, k], query.R_BA, query.p_BA, x[k])
    touches = not _outside_a_face(query.coordinates[element_b], x, 3)
    if touches:
        load_field(query, element_a, query.R_BA, query.p_BA, plane)
        plane[3] = -(plane[0] * x[0, 0] + plane[1] * x[0, 1] + plane[2] * x[0, 2])
        touches = not _on_one_side(query, element_b, plane, False, 4.0 * query.tie)
    query.counts[pair] = 1 if touches else 0


@kernel
def list_touching(query, pair):
    """List the pairs that may have polygons.

    Reads query: counts, ends, pairs.
    Writes query: touching.
    """
    if query.counts[pair] != 0:
        place = query.ends[pair] - 1
        query.touching[0, place] = query.pairs[0, pair]
        query.touching[1, place] = query.pairs[1, pair]


# --- Faces of pairs -------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _append_faces(query, pair, faces, first, a_is_rigid, on_half_space):
    """Append the faces of a pair to ``faces`` from ``first`` on; their end, and the force on what is no face.

    Reads query: R_BA, b, elements, every, has_margin, p_BA, pairs, skin, tie.
    """
    work = Workspace(
        local_floats(4, 3),
        local_floats(4),
        local_floats(4),
        local_floats(4),
        local_floats(16, 3),
        local_floats(16, 4),
        local_ints(3),
        local_floats(3),
        local_floats(2),
        local_floats(4),
        local_floats(3),
    )
    scratch = _ThreadScratch(work, local_floats(2), local_floats(3))
    for axis in range(3):
        scratch.ahead[axis] = 0.0
    scratch.report[DROPPED_FORCE] = 0.0
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    R_BA, p_BA, tie = query.R_BA, query.p_BA, query.tie
    for k in range(3 if a_is_rigid else 4):
        move_vertex(query, query.elements[element_a, k], R_BA, p_BA, work.x[k])
    if on_half_space:
        n = face_on_half_space(query, element_a, query.b, a_is_rigid, R_BA, p_BA, tie, work)
    else:
        n = face_of_elements(query, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work)
    last = first
    if n != 0:
        last = append_polygon(faces, first, n, query.every, query.has_margin, query.skin, scratch)
    return last, scratch.report[DROPPED_FORCE]


@kernel(inline=True)
def _count_faces(query, pair, a_is_rigid, on_half_space):
    """Count the faces of a pair.

    Writes query: counts, dropped.
    """
    faces = _Faces(local_floats(1, 1), local_floats(1, 1, 1), local_ints(0))
    count, dropped = _append_faces(query, pair, faces, 0, a_is_rigid, on_half_space)
    query.counts[pair] = count
    if not query.every:
        query.dropped[0, pair] = dropped


@kernel(inline=True)
def _write_faces(query, face, a_is_rigid, on_half_space):
    """Write a face; that which a pair has besides is written by the thread of its first one.

    Reads query: data, num_vertices, polygons, source.
    """
    pair = query.source[face]
    query.face_elements[0, face] = query.pairs[0, pair]
    query.face_elements[1, face] = query.pairs[1, pair]
    if face == 0 or query.source[face - 1] != pair:
        faces = _Faces(query.data, query.polygons, query.num_vertices)
        _append_faces(query, pair, faces, face, a_is_rigid, on_half_space)


@kernel
def count_faces_of_tetrahedra(query, pair):
    """Count the faces of a pair of tetrahedra."""
    _count_faces(query, pair, False, False)


@kernel
def write_faces_of_tetrahedra(query, face):
    """Write a face of two tetrahedra."""
    _write_faces(query, face, False, False)


@kernel
def count_faces_of_triangles(query, pair):
    """Count the faces of a rigid triangle and a tetrahedron."""
    _count_faces(query, pair, True, False)


@kernel
def write_faces_of_triangles(query, face):
    """Write a face of a rigid triangle and a tetrahedron."""
    _write_faces(query, face, True, False)


@kernel
def count_tetrahedra_on_half_space(query, pair):
    """Count the faces of a tetrahedron and a half space."""
    _count_faces(query, pair, False, True)


@kernel
def write_tetrahedra_on_half_space(query, face):
    """Write a face of a tetrahedron and a half space."""
    _write_faces(query, face, False, True)


@kernel
def count_triangles_on_half_space(query, pair):
    """Count the faces of a rigid triangle and a compliant half space."""
    _count_faces(query, pair, True, True)


@kernel
def write_triangles_on_half_space(query, face):
    """Write a face of a rigid triangle and a compliant half space."""
    _write_faces(query, face, True, True)


@kernel
def place_faces(query, pair):
    """Tell each face of which pair it is.

    Reads query: counts, ends.
    Writes query: source.
    """
    for k in range(query.counts[pair]):
        query.source[query.ends[pair] - 1 - k] = pair


# --- Sums -----------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _moment_within(query, f):
    """Moment of the pressure on a face about its centroid, with its normal: ``(S g) x n``, as in ``contact.moments``.

    Reads query: data, num_vertices, polygons.
    """
    data, corners = query.data, query.polygons[f]
    n = query.num_vertices[f]
    cx, cy, cz = data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]
    gx, gy, gz = data[GRADIENT, f], data[GRADIENT + 1, f], data[GRADIENT + 2, f]
    sx, sy, sz = 0.0, 0.0, 0.0
    ax, ay, az = corners[n - 1, 0] - cx, corners[n - 1, 1] - cy, corners[n - 1, 2] - cz
    for i in range(n):
        bx, by, bz = corners[i, 0] - cx, corners[i, 1] - cy, corners[i, 2] - cz
        ux, uy, uz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        doubled = math.sqrt(ux * ux + uy * uy + uz * uz)
        along_a, along_b = ax * gx + ay * gy + az * gz, bx * gx + by * gy + bz * gz
        # The sum over a, b and a + b of x (x . g).
        share_a, share_b = doubled * (2.0 * along_a + along_b), doubled * (along_a + 2.0 * along_b)
        sx += share_a * ax + share_b * bx
        sy += share_a * ay + share_b * by
        sz += share_a * az + share_b * bz
        ax, ay, az = bx, by, bz
    sx, sy, sz = sx / 24.0, sy / 24.0, sz / 24.0
    nx, ny, nz = data[NORMAL, f], data[NORMAL + 1, f], data[NORMAL + 2, f]
    return sy * nz - sz * ny, sz * nx - sx * nz, sx * ny - sy * nx


@kernel(inline=True)
def _add_face(query, f, totals):
    """Add area, force and moment of a face to the sums of a thread.

    Reads query: data.
    """
    data = query.data
    area, pressure = data[AREA, f], data[PRESSURE, f]
    if pressure >= 0.0:
        totals[SUM_AREA] += area
    if not pressure > 0.0:
        return
    force = area * pressure
    fx, fy, fz = force * data[NORMAL, f], force * data[NORMAL + 1, f], force * data[NORMAL + 2, f]
    x, y, z = data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]
    mx, my, mz = _moment_within(query, f)
    totals[SUM_FORCE] += fx
    totals[SUM_FORCE + 1] += fy
    totals[SUM_FORCE + 2] += fz
    totals[SUM_MOMENT] += y * fz - z * fy + mx
    totals[SUM_MOMENT + 1] += z * fx - x * fz + my
    totals[SUM_MOMENT + 2] += x * fy - y * fx + mz
    if min(data[SLOPE_A, f], data[SLOPE_B, f]) <= 0.0:
        totals[SUM_FALLING] += force


@kernel
def sum_faces(query, i):
    """Add up the faces i, i + m, i + 2 m, ..., where m is the number of threads: neighbours read neighbours.

    Reads query: num_vertices, sums.
    Writes query: sums.
    """
    totals = local_floats(8)
    for k in range(NUM_SUMS):
        totals[k] = 0.0
    threads = query.sums.shape[1]
    for f in range(i, query.num_vertices.shape[0], threads):
        _add_face(query, f, totals)
    for k in range(NUM_SUMS):
        query.sums[k, i] = totals[k]


@kernel
def add_sums(query, i):
    """Add up terms j, j + m, j + 2 m, ... of a row, where m is the number of sums in a row.

    Reads query: terms.
    Writes query: sums.
    """
    m = query.sums.shape[1]
    row, j = i // m, i % m
    total = 0.0
    for k in range(j, query.terms.shape[1], m):
        total += query.terms[row, k]
    query.sums[row, j] = total


def _grid(name: str, *kernels: Any) -> Grid:
    return Grid(__name__, name, GridQuery, (*kernels, place_faces, sum_faces, add_sums))


#: Programs by kind of pair: two compliant meshes, a rigid and a compliant one, each on a half space. First of their
#: kernels are those that count and list pairs, and count and write faces; then, for meshes, that which tells whether
#: pairs touch.
TETRAHEDRA = _grid(
    "TETRAHEDRA",
    count_pairs,
    list_pairs,
    count_faces_of_tetrahedra,
    write_faces_of_tetrahedra,
    count_touching_tetrahedra,
    list_touching,
)
TRIANGLES = _grid(
    "TRIANGLES",
    count_pairs,
    list_pairs,
    count_faces_of_triangles,
    write_faces_of_triangles,
    count_touching_triangles,
    list_touching,
)
TETRAHEDRA_ON_HALF_SPACE = _grid(
    "TETRAHEDRA_ON_HALF_SPACE",
    count_near_half_space,
    list_near_half_space,
    count_tetrahedra_on_half_space,
    write_tetrahedra_on_half_space,
)
TRIANGLES_ON_HALF_SPACE = _grid(
    "TRIANGLES_ON_HALF_SPACE",
    count_near_half_space,
    list_near_half_space,
    count_triangles_on_half_space,
    write_triangles_on_half_space,
)
