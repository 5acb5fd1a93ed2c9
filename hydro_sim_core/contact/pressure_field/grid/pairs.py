# mypy: allow-untyped-defs
"""Which pairs of elements may have faces: one thread an element of A, then one a pair."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.local_arrays import local_floats
from hydro_sim_core.contact.pressure_field.boxes import box_misses_slab, boxes_apart, turn_box
from hydro_sim_core.contact.pressure_field.element_pairs import evaluate
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
def _has_one_sign(f, allowed):
    """Whether the values of a function at four corners have one sign, by more than is ``allowed``."""
    low, high = min(min(f[0], f[1]), min(f[2], f[3])), max(max(f[0], f[1]), max(f[2], f[3]))
    return low > allowed or high < -allowed


@kernel(inline=True)
def _is_clear(f, allowed):
    """Whether none of the values of a function at four corners is so near zero that round-off could give its sign."""
    return min(min(abs(f[0]), abs(f[1])), min(abs(f[2]), abs(f[3]))) > allowed


@kernel(inline=True)
def _highest_on_section(f, g):
    """Largest value of g where f is zero in a tetrahedron, both by their values (4,) at its corners."""
    highest = -math.inf
    for p in range(3):
        for q in range(p + 1, 4):
            if (f[p] > 0.0) != (f[q] > 0.0):
                t = f[p] / (f[p] - f[q])
                highest = max(highest, g[p] + t * (g[q] - g[p]))
    return highest


@kernel(inline=True)
def _section_outside(coordinates, x, f, is_clear, g):
    """Whether corners ``x`` (4, 3), or what of them has f = 0, lie beyond one face of another tetrahedron.

    By more than ``polygon.NEAR``. ``g`` (4,) is written.
    """
    for k in range(4):
        for i in range(4):
            g[i] = (
                coordinates[0, k] * x[i, 0]
                + coordinates[1, k] * x[i, 1]
                + coordinates[2, k] * x[i, 2]
                + coordinates[3, k]
            )
        if max(max(g[0], g[1]), max(g[2], g[3])) < -NEAR:
            return True
        if is_clear and _highest_on_section(f, g) < -NEAR:
            return True
    return False


@kernel
def count_touching_tetrahedra(query, pair):
    """Tell whether a pair of tetrahedra may have a polygon: where p_A = p_B in each is not beyond a face of the other.

    Reads query: R_BA, coordinates, elements, fields, p_BA, pairs, pressure, steepness, tie, vertices.
    Writes query: counts.
    """
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    R_BA, p_BA = query.R_BA, query.p_BA
    x, f, g = local_floats(4, 3), local_floats(4), local_floats(4)
    field_a, field_b = local_floats(4), query.fields[element_b]
    allowed = 4.0 * query.tie * (query.steepness[element_a] + query.steepness[element_b])
    for k in range(4):
        v = query.elements[element_a, k]
        move_vertex(query, v, R_BA, p_BA, x[k])
        f[k] = query.pressure[v] - evaluate(field_b, x[k, 0], x[k, 1], x[k, 2])
    touches = not _has_one_sign(f, allowed)
    if touches:
        touches = not _section_outside(query.coordinates[element_b], x, f, _is_clear(f, allowed), g)
    if touches:
        load_field(query, element_a, R_BA, p_BA, field_a)
        for k in range(4):
            v = query.elements[element_b, k]
            at = query.vertices[v]
            f[k] = evaluate(field_a, at[0], at[1], at[2]) - query.pressure[v]
            for i in range(3):
                # In A's frame, where its coordinates are.
                x[k, i] = (
                    R_BA[0, i] * (at[0] - p_BA[0])
                    + R_BA[1, i] * (at[1] - p_BA[1])
                    + R_BA[2, i] * (at[2] - p_BA[2])
                )
        touches = not _has_one_sign(f, allowed)
    if touches:
        touches = not _section_outside(query.coordinates[element_a], x, f, _is_clear(f, allowed), g)
    query.counts[pair] = 1 if touches else 0


@kernel(inline=True)
def _outside_a_face(coordinates, x):
    """Whether three corners ``x`` lie beyond one face of a tetrahedron, by more than ``polygon.NEAR``."""
    for k in range(4):
        highest = -math.inf
        for i in range(3):
            value = (
                coordinates[0, k] * x[i, 0]
                + coordinates[1, k] * x[i, 1]
                + coordinates[2, k] * x[i, 2]
                + coordinates[3, k]
            )
            highest = max(highest, value)
        if highest < -NEAR:
            return True
    return False


@kernel(inline=True)
def _section_beyond_edge(a, b, c, normal, y, h, g):
    """Whether the section of a tetrahedron by the plane of triangle a, b, c lies beyond its edge from a to b.

    Corners ``y`` (4, 3) of the tetrahedron are ``h`` (4,) above the plane; ``g`` (4,) is written.
    """
    ex, ey, ez = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    # Points into the triangle, across the edge.
    ix, iy, iz = (
        normal[1] * ez - normal[2] * ey,
        normal[2] * ex - normal[0] * ez,
        normal[0] * ey - normal[1] * ex,
    )
    double_area = ix * (c[0] - a[0]) + iy * (c[1] - a[1]) + iz * (c[2] - a[2])
    for i in range(4):
        g[i] = ix * (y[i, 0] - a[0]) + iy * (y[i, 1] - a[1]) + iz * (y[i, 2] - a[2])
    return _highest_on_section(h, g) < -NEAR * double_area


@kernel
def count_touching_triangles(query, pair):
    """Tell whether a rigid triangle and a tetrahedron may have a polygon: neither is beyond a face of the other.

    Reads query: R_BA, coordinates, elements, p_BA, pairs, tie, vertices.
    Writes query: counts.
    """
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    x, y, normal = local_floats(3, 3), local_floats(4, 3), local_floats(4)
    h, g = local_floats(4), local_floats(4)
    allowed = 4.0 * query.tie
    for k in range(3):
        move_vertex(query, query.elements[element_a, k], query.R_BA, query.p_BA, x[k])
    touches = not _outside_a_face(query.coordinates[element_b], x)
    if touches:
        load_field(query, element_a, query.R_BA, query.p_BA, normal)
        for k in range(4):
            v = query.elements[element_b, k]
            for i in range(3):
                y[k, i] = query.vertices[v, i]
            h[k] = (
                normal[0] * (y[k, 0] - x[0, 0])
                + normal[1] * (y[k, 1] - x[0, 1])
                + normal[2] * (y[k, 2] - x[0, 2])
            )
        touches = not _has_one_sign(h, allowed)
    if touches and _is_clear(h, allowed):
        touches = not (
            _section_beyond_edge(x[0], x[1], x[2], normal, y, h, g)
            or _section_beyond_edge(x[1], x[2], x[0], normal, y, h, g)
            or _section_beyond_edge(x[2], x[0], x[1], normal, y, h, g)
        )
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
