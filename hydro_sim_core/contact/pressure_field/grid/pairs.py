# mypy: allow-untyped-defs
"""Which pairs of elements may have faces: one thread an element of A, then one a pair."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.local_arrays import local_floats
from hydro_sim_core.contact.pressure_field.boxes import box_misses_slab, boxes_apart, turn_box
from hydro_sim_core.contact.pressure_field.elements import load_field, move_vertex
from hydro_sim_core.contact.pressure_field.polygon import NEAR


@kernel(inline=True)
def _follow_tree(query, i, of_a, lists):
    """Count the elements whose boxes and pressures reach those of the element of leaf ``i``; maybe list the pairs.

    The leaf is A's and the tree B's, or the other way round. Nodes follow each other in the order of their numbers,
    those below a node that is out of reach are left out: no stack is needed, and the order is that of the leaves.

    Reads query: R_BA, after, boxes, counts, end, ends, leaves, links, node_pressures, p_BA, root, slack, tie.
    Writes query: pairs.
    """
    leaf = query.leaves[i]
    boxes, links, R_BA, p_BA, tie = query.boxes, query.links, query.R_BA, query.p_BA, query.tie
    box_a, box_b = local_floats(6), boxes[leaf]
    if of_a:
        turn_box(boxes[leaf], R_BA, p_BA, tie, box_a)
    low, high = query.node_pressures[leaf, 0] - query.slack, query.node_pressures[leaf, 1] + query.slack
    first = query.ends[i] - query.counts[i] if lists else 0
    node, found = query.root, 0
    while node < query.end:
        if query.node_pressures[node, 0] > high or query.node_pressures[node, 1] < low:
            node = query.after[node]
            continue
        if of_a:
            box_b = boxes[node]
        else:
            turn_box(boxes[node], R_BA, p_BA, tie, box_a)
        if boxes_apart(box_a, box_b):
            node = query.after[node]
            continue
        if links[node, 0] < 0:
            if lists:
                query.pairs[0, first + found] = links[leaf, 1] if of_a else links[node, 1]
                query.pairs[1, first + found] = links[node, 1] if of_a else links[leaf, 1]
            found += 1
        node += 1
    return found


@kernel
def count_pairs_of_a(query, i):
    """Count the elements of B that the element of A's leaf ``i`` may meet.

    Writes query: counts.
    """
    query.counts[i] = _follow_tree(query, i, True, False)


@kernel
def list_pairs_of_a(query, i):
    """List the elements of B that the element of A's leaf ``i`` may meet, after ``count_pairs_of_a``.

    Reads query: counts.
    """
    if query.counts[i] != 0:
        _follow_tree(query, i, True, True)


@kernel
def count_pairs_of_b(query, i):
    """Count the elements of A that the element of B's leaf ``i`` may meet.

    Writes query: counts.
    """
    query.counts[i] = _follow_tree(query, i, False, False)


@kernel
def list_pairs_of_b(query, i):
    """List the elements of A that the element of B's leaf ``i`` may meet, after ``count_pairs_of_b``.

    Reads query: counts.
    """
    if query.counts[i] != 0:
        _follow_tree(query, i, False, True)


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
