# mypy: allow-untyped-defs
"""Blocks of pairs of elements: which pairs are worth a lane, and how their polygons are computed (see ``lanes``)."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import one_thread_a_world
from hydro_sim_core.compilation.local_arrays import local_floats
from hydro_sim_core.contact.geometry_set import RECORD
from hydro_sim_core.contact.pressure_field.containment import coordinate
from hydro_sim_core.contact.pressure_field.element_pairs import evaluate
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_HALF_SPACE,
    RIGID_MESH,
    load_vertices,
)
from hydro_sim_core.contact.pressure_field.lane_planes import (
    cut_on_half_space,
    cut_on_rigid_half_space,
    cut_tetrahedra,
    cut_triangles,
)
from hydro_sim_core.contact.pressure_field.lanes import LANES, RECORD_A, RECORD_B
from hydro_sim_core.contact.pressure_field.polygon import NEAR

#: Share of a way that counts, for round-off.
_SURELY = 0.999


@kernel(inline=True)
def _way_to_meet(geometries, moved, element, num_vertices, tie, x):
    """How far (m) vertices x may move at least before their element can have a polygon with a fixed one; else <= 0.

    They lie beyond one face of the fixed tetrahedron, or on one side of the plane of equal pressure.

    Args:
        geometries: ``GeometrySet``.
        moved: The element whose vertices they are, a tetrahedron or a triangle.
        element: The other one, a tetrahedron.
        num_vertices: Number of vertices.
        tie: ``tie_distance``.
        x: (4, 3) its vertices in the frame of the other one.

    Reads geometries: coordinates, elements, fields, pressure, steepness.
    """
    way, c = 0.0, geometries.coordinates[element]
    if num_vertices == 4:
        field, corners = geometries.fields[element], geometries.elements[moved]
        lowest, highest = math.inf, -math.inf
        for k in range(4):
            f = geometries.pressure[corners[k]] - evaluate(field, x[k, 0], x[k, 1], x[k, 2])
            lowest, highest = min(lowest, f), max(highest, f)
        steepness = geometries.steepness[element]
        round_off = tie * (geometries.steepness[moved] + steepness)
        way = max(way, (max(lowest, -highest) - round_off) / steepness)
    for wall in range(4):
        nearest = -math.inf
        for k in range(num_vertices):
            nearest = max(nearest, coordinate(geometries, element, wall, x[k]))
        if nearest < -NEAR:
            slope = math.sqrt(c[0, wall] * c[0, wall] + c[1, wall] * c[1, wall] + c[2, wall] * c[2, wall])
            way = max(way, (-NEAR - nearest) / slope)
    return way


@kernel(inline=True)
def way_to_meet(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, scratch):
    """How far (m) A may move at least before two elements can have a polygon; 0 if they may have one already.

    Most candidates are pairs without one, and this takes less time than their polygon.

    Reads geometries: elements, vertices.
    """
    x = local_floats(4, 3)
    load_vertices(geometries, element_a, R_BA, p_BA, scratch, x)
    way = _way_to_meet(geometries, element_a, element_b, 3 if a_is_rigid else 4, tie, x)
    if way > 0.0 or a_is_rigid:
        return _SURELY * way
    for k in range(4):
        y = geometries.vertices[geometries.elements[element_b, k]]
        d = y[0] - p_BA[0], y[1] - p_BA[1], y[2] - p_BA[2]
        for i in range(3):
            x[k, i] = R_BA[0, i] * d[0] + R_BA[1, i] * d[1] + R_BA[2, i] * d[2]
    return _SURELY * _way_to_meet(geometries, element_b, element_a, 4, tie, x)


@kernel(inline=True)
def fill_lane(geometries, element_a, element_b, slot, edges, on_half_space, scratch, lane):
    """Put a pair into a lane.

    Writes scratch: block, in_lanes.
    """
    into = scratch.in_lanes[lane]
    into[0], into[1], into[2], into[3] = element_a, element_b, slot, edges
    if not one_thread_a_world():
        _load_records(geometries, element_a, element_b, on_half_space, scratch.block, lane)


@kernel(inline=True)
def _load_records(geometries, element_a, element_b, on_half_space, w, lane):
    """Copy the records of a pair into a lane.

    Reads geometries: records.
    """
    records, of_a, of_b = geometries.records, local_floats(RECORD), local_floats(RECORD)
    # All are read before one is written, see ``Face``.
    for row in range(RECORD):
        of_a[row] = records[element_a, row]
        of_b[row] = 0.0 if on_half_space else records[element_b, row]
    for row in range(RECORD):
        w[(RECORD_A + row) * LANES + lane] = of_a[row]
    if not on_half_space:
        for row in range(RECORD):
            w[(RECORD_B + row) * LANES + lane] = of_b[row]


@kernel(inline=True)
def cut_block(geometries, a, b, R_BA, p_BA, scratch):
    """Compute the polygons of all lanes of a block, unless ``cut_lane`` does.

    Reads scratch: block.
    Writes scratch: block.
    """
    if not one_thread_a_world():
        _cut(geometries, a, b, R_BA, p_BA, scratch.block)


@kernel(inline=True)
def cut_lane(geometries, a, b, R_BA, p_BA, lane, scratch):
    """Column of the block where the polygon of a lane stands, after ``cut_block``.

    Where one thread steps a world it is computed only now, in the first column, until the next one is: rows of one lane
    stay in a GPU's caches; those of all lanes, of all worlds that it steps at a time, do not.

    Reads geometries: kind; scratch: block, in_lanes.
    Writes scratch: block.
    """
    if not one_thread_a_world():
        return lane
    pair, w, on_half_space = scratch.in_lanes[lane], scratch.block, geometries.kind[b] != COMPLIANT_MESH
    _load_records(geometries, pair[0], pair[1], on_half_space, w, 0)
    _cut(geometries, a, b, R_BA, p_BA, w)
    return 0


@kernel(inline=True)
def _cut(geometries, a, b, R_BA, p_BA, w):
    """Compute the polygons of the lanes that are computed at once.

    Reads geometries: field_start, fields, kind, margin.
    """
    a_is_rigid = geometries.kind[a] == RIGID_MESH
    if geometries.kind[b] == COMPLIANT_MESH:
        if a_is_rigid:
            cut_triangles(w, R_BA, p_BA)
        else:
            cut_tetrahedra(w, R_BA, p_BA)
    elif geometries.kind[b] == RIGID_HALF_SPACE:
        cut_on_rigid_half_space(w, R_BA, p_BA)
    else:
        field = geometries.fields[geometries.field_start[b]]
        cut_on_half_space(w, R_BA, p_BA, field, geometries.margin[b], a_is_rigid)
