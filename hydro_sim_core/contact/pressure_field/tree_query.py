# mypy: allow-untyped-defs
"""Reference query that descends the trees over all elements of both geometries.

Finds the same faces as the walk (``walk``), in another order and without following the surface: a slow test oracle.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.boxes import box_misses_slab, boxes_apart, extent, turn_box
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    face_of_elements,
    face_on_half_space,
    load_element,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import append_polygon


@kernel(inline=True)
def _query_meshes(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Descend the trees of two meshes together, splitting the larger box first.

    Reads geometries: boxes, is_skin, kind, links, margin, node_start; scratch: boxes_B, nodes.
    Writes scratch: boxes_B, nodes.
    """
    a_is_rigid = geometries.kind[a] == RIGID_MESH
    boxes, links, stack = geometries.boxes, geometries.links, scratch.nodes
    root_a, root_b = geometries.node_start[a], geometries.node_start[b]
    # Because of round-off a triangle may belong to a tetrahedron that it touches from outside.
    tie = tie_distance(geometries, a, b, p_BA)
    has_margin = geometries.margin[a] > 0.0 or geometries.margin[b] > 0.0
    is_skin = geometries.is_skin[a] or geometries.is_skin[b]
    stack[0, 0], stack[0, 1] = root_a, root_b
    box_a, top = scratch.boxes_B[0], 1
    while top:
        top -= 1
        node_a, node_b = stack[top, 0], stack[top, 1]
        turn_box(boxes[node_a], R_BA, p_BA, tie, box_a)
        if boxes_apart(box_a, boxes[node_b]):
            continue
        leaf_a, leaf_b = links[node_a, 0] < 0, links[node_b, 0] < 0
        if leaf_a and leaf_b:
            element_a, element_b = links[node_a, 1], links[node_b, 1]
            load_element(geometries, element_a, R_BA, p_BA, scratch)
            n = face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, scratch.work)
            if n != 0:
                count = append_polygon(faces, count, n, False, has_margin, is_skin, scratch)
            continue
        descend_b = leaf_a or (not leaf_b and extent(boxes[node_b]) > extent(boxes[node_a]))
        for side in range(2):
            stack[top, 0] = node_a if descend_b else links[node_a, side]
            stack[top, 1] = links[node_b, side] if descend_b else node_b
            top += 1
    return count


@kernel(inline=True)
def _query_half_space(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Descend A's tree against a half space.

    Reads geometries: boxes, is_skin, kind, links, margin, node_start; scratch: nodes.
    Writes scratch: nodes.
    """
    a_is_rigid = geometries.kind[a] == RIGID_MESH
    boxes, links, stack = geometries.boxes, geometries.links, scratch.nodes
    tie = tie_distance(geometries, a, b, p_BA)
    has_margin = geometries.margin[a] > 0.0 or geometries.margin[b] > 0.0
    is_skin = geometries.is_skin[a] or geometries.is_skin[b]
    height = geometries.margin[b] + tie
    stack[0, 0] = geometries.node_start[a]
    top = 1
    while top:
        top -= 1
        node = stack[top, 0]
        if box_misses_slab(boxes[node], R_BA, p_BA, -math.inf, height):
            continue
        if links[node, 0] < 0:
            element = links[node, 1]
            load_element(geometries, element, R_BA, p_BA, scratch)
            n = face_on_half_space(geometries, element, b, a_is_rigid, R_BA, p_BA, tie, scratch.work)
            if n != 0:
                count = append_polygon(faces, count, n, False, has_margin, is_skin, scratch)
            continue
        for side in range(2):
            stack[top, 0] = links[node, side]
            top += 1
    return count


@kernel
def find_faces_by_tree(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Append the contact faces of a canonical pair to ``faces``; arguments and result as ``query.find_faces``.

    Reads geometries: kind; scratch: generation.
    Writes scratch: generation, report.
    """
    scratch.generation[0] += 1
    scratch.report[:] = 0.0
    if geometries.kind[b] == COMPLIANT_MESH:
        return _query_meshes(geometries, a, b, R_BA, p_BA, scratch, faces, count)
    return _query_half_space(geometries, a, b, R_BA, p_BA, scratch, faces, count)
