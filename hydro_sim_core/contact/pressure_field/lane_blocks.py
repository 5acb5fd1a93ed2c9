# mypy: allow-untyped-defs
"""Blocks of pairs of elements: which pairs are worth a lane, and how their polygons are computed (see ``lanes``)."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.geometry_set import RECORD
from hydro_sim_core.contact.pressure_field.containment import coordinate
from hydro_sim_core.contact.pressure_field.element_pairs import evaluate
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_HALF_SPACE,
    RIGID_MESH,
    load_element,
)
from hydro_sim_core.contact.pressure_field.lane_planes import (
    cut_on_half_space,
    cut_on_rigid_half_space,
    cut_tetrahedra,
    cut_triangles,
)
from hydro_sim_core.contact.pressure_field.lanes import LANES, RECORD_A, RECORD_B
from hydro_sim_core.contact.pressure_field.polygon import NEAR


@kernel(inline=True)
def is_beyond(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, scratch):
    """Whether A's element lies on one side of the plane of equal pressure, or beyond one face of B's tetrahedron.

    Most candidates are such pairs, and this takes less time than their polygon.

    Reads geometries: elements, fields, pressure, steepness; scratch.work: x.
    """
    load_element(geometries, element_a, R_BA, p_BA, scratch)
    x, num_vertices = scratch.work.x, 3 if a_is_rigid else 4
    if not a_is_rigid:
        field, corners = geometries.fields[element_b], geometries.elements[element_a]
        lowest, highest = math.inf, -math.inf
        for k in range(4):
            f = geometries.pressure[corners[k]] - evaluate(field, x[k, 0], x[k, 1], x[k, 2])
            lowest, highest = min(lowest, f), max(highest, f)
        round_off = tie * (geometries.steepness[element_a] + geometries.steepness[element_b])
        if lowest > round_off or highest < -round_off:
            return True
    for wall in range(4):
        nearest = -math.inf
        for k in range(num_vertices):
            nearest = max(nearest, coordinate(geometries, element_b, wall, x[k]))
        if nearest < -NEAR:
            return True
    return False


@kernel(inline=True)
def fill_lane(geometries, element_a, element_b, slot, edges, on_half_space, scratch, lane):
    """Put a pair into a lane.

    Reads geometries: records.
    Writes scratch: block, in_lanes.
    """
    w, into, records = scratch.block, scratch.in_lanes[lane], geometries.records
    into[0], into[1], into[2], into[3] = element_a, element_b, slot, edges
    for row in range(RECORD):
        w[(RECORD_A + row) * LANES + lane] = records[element_a, row]
    if not on_half_space:
        for row in range(RECORD):
            w[(RECORD_B + row) * LANES + lane] = records[element_b, row]


@kernel(inline=True)
def cut_block(geometries, a, b, R_BA, p_BA, w):
    """Compute the polygons of a block.

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
