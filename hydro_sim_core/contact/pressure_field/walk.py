# mypy: allow-untyped-defs
"""Contact faces by walking over the contact surface.

Each edge of a pair's polygon lies in a face of A's or of B's element; the surface continues in the neighbour behind
that face. A walk therefore visits few pairs beside those with a polygon, at any resolution. It starts where the *rim*
of one body meets the *shell* of the other and, for closed surfaces, at pairs on rays from *peaks* (see
``geometry.adjacency``).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, entry, kernel
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.boxes import (
    apart_along_axes_of_a,
    box_misses_slab,
    boxes_apart,
    extent,
    push_children,
    turn_box,
)
from hydro_sim_core.contact.pressure_field.containment import one_lies_in_other
from hydro_sim_core.contact.pressure_field.element_pairs import EDGE_FACES
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    face_of_elements,
    face_on_half_space,
    load_element,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer, append_polygon
from hydro_sim_core.contact.pressure_field.peaks import push_pairs_at_peak
from hydro_sim_core.contact.pressure_field.polygon import FACES_OF_B
from hydro_sim_core.contact.pressure_field.report import OVERLAPS
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch
from hydro_sim_core.contact.pressure_field.visits import (
    NEIGHBOR_RETRIES,
    begin_visits,
    is_full,
    mark_found,
    push,
    push_neighbors,
    push_seed,
    retries_left,
)

#: Relative difference below which pressures on rims are equal: their round-off.
_SAME_PRESSURE = 1e-9

#: Ratio of sizes above which a box of A, transformed into B's frame, is also tested along its own axes: only for a
#: large one, above all a flat slab, does the box around the rotated box add many false overlaps.
LARGE = 2.0


@kernel(inline=True)
def descend(boxes, links, R_BA, p_BA, tie, scratch, num_nodes, num_pending):
    """Process a pair of tree nodes: push pairs of their children, or a pending pair for two overlapping leaves.

    Boxes of A are transformed into B's frame once per query, as each is tested against several of B.

    Reads scratch: box_stamp, boxes_B, generation, nodes.
    Writes scratch: box_stamp, boxes_B, nodes.
    """
    nodes, stamps, generation = scratch.nodes, scratch.box_stamp, scratch.generation[0]
    num_nodes -= 1
    node_a, node_b = nodes[num_nodes, 0], nodes[num_nodes, 1]
    at = node_a & (stamps.shape[0] - 1)  # no other node of A is there
    if stamps[at] != generation:
        stamps[at] = generation
        turn_box(boxes[node_a], R_BA, p_BA, tie, scratch.boxes_B[at])
    box_a, box_b = scratch.boxes_B[at], boxes[node_b]
    if boxes_apart(box_a, box_b):
        return num_nodes, num_pending
    is_large = extent(box_a) > LARGE * extent(box_b)
    if is_large and apart_along_axes_of_a(boxes[node_a], box_a, box_b, R_BA, tie):
        return num_nodes, num_pending
    leaf_a, leaf_b = links[node_a, 0] < 0, links[node_b, 0] < 0
    if leaf_a and leaf_b:
        return num_nodes, push_seed(scratch, num_pending, links[node_a, 1], links[node_b, 1])
    descend_b = leaf_a or (not leaf_b and extent(box_b) > extent(box_a))
    for side in range(2):
        nodes[num_nodes, 0] = node_a if descend_b else links[node_a, side]
        nodes[num_nodes, 1] = links[node_b, side] if descend_b else node_b
        num_nodes += 1
    return num_nodes, num_pending


@kernel(inline=True)
def _descend_half_space(boxes, links, row_b, lowest, highest, R_BA, p_BA, scratch, num_nodes, num_pending):
    """Process a tree node of A: push its children, or a pending pair for a leaf between two heights over half space B.

    Reads scratch: nodes.
    Writes scratch: nodes.
    """
    nodes = scratch.nodes
    num_nodes -= 1
    node = nodes[num_nodes, 0]
    if box_misses_slab(boxes[node], R_BA, p_BA, lowest, highest):
        return num_nodes, num_pending
    if links[node, 0] < 0:
        return num_nodes, push_seed(scratch, num_pending, links[node, 1], row_b)
    return push_children(links, node, nodes, num_nodes), num_pending


@kernel(inline=True)
def opposed(geometries, element_a, element_b):
    """Whether pressures of different signs leave two elements no face; round-off would give them needles.

    Reads geometries: sign.
    """
    return geometries.sign[element_a] * geometries.sign[element_b] < 0


@kernel(inline=True)
def _behind_zero(geometries, element):
    """Tetrahedron behind the face with pressure zero; -1 if there is none.

    Reads geometries: neighbors, zero_face.
    """
    face = geometries.zero_face[element]
    return geometries.neighbors[element, face] if face >= 0 else -1


@kernel(inline=True)
def pair_behind(geometries, element_a, element_b, face):
    """The pair in which the surface continues behind an edge of a polygon, in a face of A's element or of B's.

    One of the two elements is negative where it does not continue.

    Where it passes from positive to negative pressure, into the margins of both bodies, the edge lies in a face of
    both.

    Reads geometries: neighbors.
    """
    next_a, next_b = element_a, element_b
    if face < FACES_OF_B:
        next_a = geometries.neighbors[element_a, face]
    else:
        next_b = geometries.neighbors[element_b, face - FACES_OF_B]
    if next_a >= 0 and next_b >= 0 and opposed(geometries, next_a, next_b):
        next_a = _behind_zero(geometries, element_a)
        next_b = _behind_zero(geometries, element_b)
    return next_a, next_b


@kernel(inline=True)
def push_pair_behind(geometries, element_a, element_b, face, scratch, num_pending):
    """Add the pair behind an edge of a polygon; return the number of pending pairs."""
    next_a, next_b = pair_behind(geometries, element_a, element_b, face)
    if next_a >= 0 and next_b >= 0:
        num_pending = push(scratch, num_pending, next_a, next_b, NEIGHBOR_RETRIES)
    return num_pending


@kernel(inline=True)
def _push_pairs_behind_edges(geometries, element_a, element_b, n, scratch, num_pending):
    """Add the pairs behind all edges of the polygon in ``scratch.work``; return the number of pending pairs.

    Reads scratch.work: cycle.
    """
    edge_faces = scratch.work.cycle[EDGE_FACES]
    for i in range(n):
        face = (edge_faces >> 4 * i) & 15
        num_pending = push_pair_behind(geometries, element_a, element_b, face, scratch, num_pending)
    return num_pending


@kernel(inline=True)
def descend_either(region, row_b, R_BA, p_BA, slack, on_half_space, scratch, num_nodes, num_pending):
    """Process one pair of tree nodes, or one node over a half space; boxes count as larger by ``slack``."""
    boxes, links, lowest, highest = region
    if on_half_space:
        return _descend_half_space(
            boxes, links, row_b, lowest - slack, highest + slack, R_BA, p_BA, scratch, num_nodes, num_pending
        )
    return descend(boxes, links, R_BA, p_BA, slack, scratch, num_nodes, num_pending)


@kernel(inline=True)
def must_try_all(geometries, a, b):
    """Whether a contact surface may have no start on rims and peaks, so that every pair of elements is tried.

    It may end outside the shells if the pressure is positive on a boundary, end or fold at a chord, and enclose no peak
    if both fields have valleys.

    Reads geometries: boundary_is_low, has_chords, has_valley.
    """
    low = geometries.boundary_is_low[a] and geometries.boundary_is_low[b]
    has_chords = geometries.has_chords[a] or geometries.has_chords[b]
    return not low or has_chords or (geometries.has_valley[a] and geometries.has_valley[b])


@kernel(inline=True)
def _search_region(geometries, a, b, try_all, tie):
    """Boxes and links of the trees for the start of walks, and the heights over half space B between which they start.

    Reads geometries: boxes, kind, links, margin.
    """
    boxes, links = geometries.shell_boxes, geometries.shell_links
    if try_all:
        boxes, links = geometries.boxes, geometries.links
    # Equal pressures of at most zero can occur only between B's surface and the end of its margin.
    lowest, highest = -tie, geometries.margin[b] + tie
    if try_all or geometries.kind[a] == RIGID_MESH:
        lowest = -math.inf
    return boxes, links, lowest, highest


@kernel(inline=True)
def rims_that_meet(geometries, a, b):
    """Of which bodies the rims alone are to be searched, not the shells, and whether that of A comes afterwards.

    Along its boundary a contact surface has the pressure of the rim on which it ends. So it ends on the rim of the body
    whose pressure there is the higher one, or on both rims at once if all of their pressures are equal.

    Reads geometries: rim_pressure.
    """
    low_a, high_a = geometries.rim_pressure[a, 0], geometries.rim_pressure[a, 1]
    low_b, high_b = geometries.rim_pressure[b, 0], geometries.rim_pressure[b, 1]
    round_off = _SAME_PRESSURE * abs(high_a)
    if max(high_a, high_b) - min(low_a, low_b) <= round_off < math.inf:
        return True, True, False
    if low_a >= high_b:
        return True, False, False
    return False, True, low_b < high_a


@kernel(inline=True)
def begin_walk(geometries, a, b, tie, scratch):
    """Push the roots of the first trees.

    Returns:
        The region to search, whether the rim of A and the shell of B come after them, and whether a body has a margin
        and one is a skin.

    Reads geometries: is_skin, margin, rim_start, shell_start.
    Writes scratch: nodes, report.
    """
    try_all, root_a, root_b = (
        must_try_all(geometries, a, b),
        geometries.node_start[a],
        geometries.node_start[b],
    )
    by_rim_a, by_rim_b, other_rim = rims_that_meet(geometries, a, b)
    if not try_all:
        root_a = geometries.rim_start[a] if by_rim_a else geometries.shell_start[a]
        root_b = geometries.rim_start[b] if by_rim_b else geometries.shell_start[b]
    scratch.nodes[0, 0], scratch.nodes[0, 1] = root_a, root_b
    begin_visits(scratch)
    scratch.report[:] = 0.0
    has_margin = geometries.margin[a] > 0.0 or geometries.margin[b] > 0.0
    is_skin = geometries.is_skin[a] or geometries.is_skin[b]
    region = _search_region(geometries, a, b, try_all, tie)
    return region, other_rim and not try_all, has_margin, is_skin


@kernel(inline=True)
def push_pairs_at_next_peak(geometries, a, b, peak, R_BA, p_BA, scratch):
    """Add the pairs on rays from a peak; peaks of A are numbered first, then those of B.

    Reads geometries: peak_start.
    """
    first, end = geometries.peak_start[a], geometries.peak_start[a + 1]
    if first + peak < end:
        return push_pairs_at_peak(geometries, a, b, first + peak, True, R_BA, p_BA, scratch)
    of_b = geometries.peak_start[b] + peak - (end - first)
    return push_pairs_at_peak(geometries, a, b, of_b, False, R_BA, p_BA, scratch)


@kernel(inline=True)
def face_of_pair(geometries, element_a, element_b, b, R_BA, p_BA, tie, a_is_rigid, on_half_space, scratch):
    """Write the polygon of a pair to ``scratch.work``; returns its number of vertices."""
    load_element(geometries, element_a, R_BA, p_BA, scratch)
    if on_half_space:
        return face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, tie, scratch.work)
    return face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, scratch.work)


@entry
def walk_surface(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    every: bool,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Append contact faces, or ``every`` polygon of the equilibrium surface; otherwise like ``query.find_faces``.

    Reads geometries: field_start, kind, peak_start, rim_start, shell_start; scratch: pending.
    Writes scratch: nodes, report.
    """
    on_half_space, a_is_rigid = geometries.kind[b] != COMPLIANT_MESH, geometries.kind[a] == RIGID_MESH
    row_b, tie = geometries.field_start[b], tie_distance(geometries, a, b, p_BA)
    region, other_rim, has_margin, is_skin = begin_walk(geometries, a, b, tie, scratch)
    num_nodes, num_pending, num_polygons = 1, 0, 0
    peaks, peak = geometries.peak_start, 0
    num_peaks = peaks[a + 1] - peaks[a] + peaks[b + 1] - peaks[b]
    while True:
        if num_pending == 0:
            if num_nodes > 0:
                num_nodes, num_pending = descend_either(
                    region, row_b, R_BA, p_BA, tie, on_half_space, scratch, num_nodes, 0
                )
            elif other_rim:
                other_rim, num_nodes = False, 1
                scratch.nodes[0, 0], scratch.nodes[0, 1] = geometries.rim_start[a], geometries.shell_start[b]
            elif peak < num_peaks:
                num_pending = push_pairs_at_next_peak(geometries, a, b, peak, R_BA, p_BA, scratch)
                peak += 1
            else:
                if num_polygons == 0 and one_lies_in_other(geometries, a, b, R_BA, p_BA, scratch):
                    scratch.report[OVERLAPS] = 1.0
                return count
            continue
        if is_full(scratch, num_pending):
            return faces.num_vertices.shape[0] + count + 1
        neighbor_retries = retries_left(scratch, num_pending)
        num_pending -= 1
        waiting = scratch.pending[num_pending]
        element_a, element_b, slot = waiting[0], waiting[1], waiting[2]
        if neighbor_retries < 0 or opposed(geometries, element_a, element_b):
            continue
        n = face_of_pair(
            geometries, element_a, element_b, b, R_BA, p_BA, tie, a_is_rigid, on_half_space, scratch
        )
        if n == 0:
            if neighbor_retries > 0:
                num_pending = push_neighbors(
                    geometries, element_a, element_b, neighbor_retries - 1, scratch, num_pending
                )
            continue
        mark_found(scratch, element_a, element_b, slot, num_polygons)
        num_polygons += 1
        num_pending = _push_pairs_behind_edges(geometries, element_a, element_b, n, scratch, num_pending)
        count = append_polygon(faces, count, n, every, has_margin, is_skin, scratch)
