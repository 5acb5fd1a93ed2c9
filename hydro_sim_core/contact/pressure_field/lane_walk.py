# mypy: allow-untyped-defs
"""The walk over a contact surface (``walk``) with polygons of many pairs of elements at once (``lanes``).

It begins with the pairs that had polygons in the last step (``kept_pairs``); where one has a new edge, the surface goes
on in a new pair. Other surfaces begin where the walk of ``walk`` begins. Polygons are not made before somebody wants to
see them (``late_polygons``).

What it returns depends on the pose alone, not on what was kept: all pairs with a polygon, sorted. It gives up where
round-off decides: if one of these pairs is doubtful, or if there is no polygon behind an edge of one. Pairs without
polygon decide nothing, since which of them are tried depends on what was kept.
"""

from __future__ import annotations

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, entry, kernel
from hydro_sim_core.compilation.instructions import one_thread_a_world
from hydro_sim_core.compilation.local_arrays import local_floats
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.containment import one_lies_in_other
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    NORMAL,
    NUM_ROWS,
    PRESSURE,
    FaceBuffer,
    append_polygon,
    share_ahead,
)
from hydro_sim_core.contact.pressure_field.kept_pairs import (
    CANDIDATES,
    FIRST,
    FIRST_CANDIDATE,
    FOUND,
    LAST,
    NOTHING_KEPT,
    NUM_CANDIDATES,
    NUM_FOUND,
    PASS,
    POOLS,
    WRITTEN,
    WRITTEN_TO,
    is_known,
    pools_of,
    sort_found,
    write_pose,
)
from hydro_sim_core.contact.pressure_field.lane_blocks import cut_block, cut_lane, fill_lane
from hydro_sim_core.contact.pressure_field.lane_candidates import fill_with_candidates, find_candidates
from hydro_sim_core.contact.pressure_field.lane_doubts import (
    is_still_in_doubt,
    is_torn,
    note_doubt,
    note_tear,
)
from hydro_sim_core.contact.pressure_field.lanes import (
    CROSSES_ZERO,
    DOUBTFUL,
    EDGES,
    FACE,
    IS_FACE,
    LANES,
    NUM_LINES,
    WORD,
)
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE, OVERLAPS
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch
from hydro_sim_core.contact.pressure_field.visits import NO_SLOT, is_full, mark_found, retries_left
from hydro_sim_core.contact.pressure_field.walk import (
    begin_walk,
    face_of_pair,
    must_try_all,
    opposed,
    push_pair_behind,
    push_pairs_at_next_peak,
)

#: Results of a walk that met a doubtful pair, and of one without enough memory.
IN_DOUBT, NO_ROOM = -1, -2


@kernel(inline=True)
def may_walk_in_lanes(geometries, a, b):
    """Whether lanes know all rules that hold for the faces of two geometries.

    Upright faces of skins are not among them, nor are pairs of which all elements must be tried: lists of so many
    candidates would be long.

    Reads geometries: is_skin.
    """
    return not (geometries.is_skin[a] or geometries.is_skin[b] or must_try_all(geometries, a, b))


@kernel(inline=True)
def _keep(kept, pair, num_found, num_candidates, R_BA, p_BA):
    """Keep the lists of a pair of geometries.

    Reads kept: now.
    Writes kept: now, poses, spans.
    """
    if pair == kept.spans.shape[0] - 1:
        return
    span, now = kept.spans[pair], kept.now
    span[WRITTEN] = now[PASS]
    span[FIRST], span[FOUND] = now[NUM_FOUND], num_found
    span[FIRST_CANDIDATE], span[CANDIDATES] = now[NUM_CANDIDATES], num_candidates
    span[WRITTEN_TO] = now[POOLS]
    now[NUM_FOUND] += num_found
    now[NUM_CANDIDATES] += num_candidates
    write_pose(kept.poses[pair], LAST, R_BA, p_BA)


@kernel(inline=True)
def _append_parted(geometries, a, b, R_BA, p_BA, tie, num, found, scratch, faces, count):
    """Append the faces that the line of zero pressure parts, in order; return the new count.

    Reads geometries: kind.
    """
    on_half_space, a_is_rigid = geometries.kind[b] != COMPLIANT_MESH, geometries.kind[a] == RIGID_MESH
    for k in range(num):
        if found[k, 2] & CROSSES_ZERO:
            n = face_of_pair(
                geometries, found[k, 0], found[k, 1], b, R_BA, p_BA, tie, a_is_rigid, on_half_space, scratch
            )
            if n != 0:
                count = append_polygon(faces, count, n, False, True, False, scratch)
    return count


@kernel(inline=True)
def _append_contact_faces(faces, count, num, found, has_margin, scratch):
    """Append the contact faces among polygons, in order, and return the new count.

    With a margin those are left out that the line of zero pressure parts.

    Reads scratch: ahead, report; scratch.kept: faces, places.
    Writes scratch: report.
    """
    kept, face = scratch.kept, local_floats(NUM_ROWS)
    for k in range(num):
        # Read at once, so that a GPU waits once, and before anything is written, which might change it for all that
        # compilers know.
        one, other, word, place = found[k, 0], found[k, 1], found[k, 2], kept.places[k]
        for row in range(NUM_ROWS):
            face[row] = kept.faces[place, row]
        if face[AREA] > 0.0 and not (has_margin and word & CROSSES_ZERO):
            if word & IS_FACE:
                _append(faces, count, one, other, face)
                count += 1
            elif face[PRESSURE] > 0.0:
                normal = face[NORMAL], face[NORMAL + 1], face[NORMAL + 2]
                force = face[AREA] * face[PRESSURE]
                scratch.report[DROPPED_FORCE] += force * share_ahead(normal, scratch.ahead)
    return count


@kernel(inline=True)
def _append(faces, count, element_a, element_b, face):
    """Append a face that has no polygon yet.

    Writes faces: data, elements, num_vertices.
    """
    data = faces.data
    for row in range(NUM_ROWS):
        data[row, count] = face[row]
    faces.num_vertices[count] = 0
    faces.elements[count, 0], faces.elements[count, 1] = element_a, element_b


@kernel(inline=True)
def _fill_with_known(geometries, on_half_space, known, known_at, lane, scratch):
    """Fill lanes with known pairs; return the next known pair and the next lane."""
    while lane < LANES and known_at < known.shape[0]:
        old = known[known_at]
        fill_lane(geometries, old[0], old[1], NO_SLOT, old[2] & EDGES, on_half_space, scratch, lane)
        known_at += 1
        lane += 1
    return known_at, lane


@kernel(inline=True)
def _fill_with_pending(geometries, on_half_space, num_pending, lane, scratch):
    """Fill lanes with pending pairs; return their number and the next lane.

    Reads scratch: pending.
    """
    while lane < LANES and num_pending > 0:
        retries = retries_left(scratch, num_pending)
        num_pending -= 1
        new = scratch.pending[num_pending]
        if retries >= 0 and not opposed(geometries, new[0], new[1]):
            fill_lane(geometries, new[0], new[1], new[2], 0, on_half_space, scratch, lane)
            lane += 1
    return num_pending, lane


@kernel(inline=True)
def _fill_block(
    geometries, a, b, R_BA, p_BA, tie, known, candidates, ways, way, cursors, num_pending, only_known, scratch
):
    """Fill the lanes: with known pairs, then with pairs behind new edges, then with candidates.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        tie: ``tie_distance``.
        known: (n, 3) pairs that had polygons in the last pass.
        candidates: (m, 2) pairs where new surfaces may begin.
        ways: (m,) how far A may move without a polygon there, see ``KeptPairs``; those that are not known are written.
        way: How far A may have moved, m.
        cursors: How many known pairs and how many candidates have been taken.
        num_pending: Number of pending pairs.
        only_known: Whether to leave all others for later.
        scratch: ``QueryScratch``.

    Returns:
        Number of filled lanes; ``cursors`` and ``num_pending`` afterwards.

    Reads geometries: kind.
    """
    on_half_space, (known_at, at) = geometries.kind[b] != COMPLIANT_MESH, cursors
    known_at, lane = _fill_with_known(geometries, on_half_space, known, known_at, 0, scratch)
    if not only_known:
        num_pending, lane = _fill_with_pending(geometries, on_half_space, num_pending, lane, scratch)
        at, lane = fill_with_candidates(
            geometries, a, b, R_BA, p_BA, tie, candidates, ways, way, at, lane, scratch
        )
    return lane, (known_at, at), num_pending


@kernel(inline=True)
def _note_vanished(kept, num_vanished, here):
    """Note a known pair that has no polygon any more.

    Writes kept: vanished.
    """
    gone = kept.vanished[num_vanished]
    gone[0], gone[1], gone[2] = here[0], here[1], here[3]
    return num_vanished + 1


@kernel(inline=True)
def _take_polygon(geometries, word, column, here, found, num_found, num_pending, scratch):
    """List a polygon as entry ``num_found`` and add the pairs behind its new edges; return the number of pending pairs.

    Reads scratch: block.
    Writes scratch.kept: faces.
    """
    w, face, values = scratch.block, scratch.kept.faces[num_found], local_floats(NUM_ROWS)
    for row in range(NUM_ROWS):
        values[row] = w[(FACE + row) * LANES + column]
    for row in range(NUM_ROWS):
        face[row] = values[row]
    found[num_found, 0], found[num_found, 1], found[num_found, 2] = here[0], here[1], word
    new_edges = word & EDGES & ~here[3]
    if new_edges != 0:
        for side in range(NUM_LINES):
            if new_edges & 1 << side:
                num_pending = push_pair_behind(geometries, here[0], here[1], side, scratch, num_pending)
    return num_pending


@kernel(inline=True)
def _use_block(geometries, a, b, pair, R_BA, p_BA, num_lanes, room, found, tally, num_pending, scratch):
    """List the polygons of a block and add the pairs behind their new edges.

    Threads of a GPU that step worlds side by side come together at the end of a turn only where no way leads out of it.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        pair: Row of the pair of geometries in what is kept.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        num_lanes: Number of filled lanes.
        room: How many polygons there is room for.
        found: (n, 3) the list.
        tally: How many have been found, how many of these are known ones in order, and how many have vanished.
        num_pending: Number of pending pairs.
        scratch: ``QueryScratch``.

    Returns:
        0, ``IN_DOUBT`` or ``NO_ROOM``; ``tally`` and ``num_pending`` afterwards.

    Reads scratch: block, in_lanes.
    """
    num_found, num_sorted, num_vanished = tally
    status, lane = 0, 0
    while lane < num_lanes and status == 0:
        column, here = cut_lane(geometries, a, b, R_BA, p_BA, lane, scratch), scratch.in_lanes[lane]
        word = int(scratch.block[WORD * LANES + column])
        if is_full(scratch, num_pending):
            status = NO_ROOM
        elif word & EDGES == 0:
            if here[2] != NO_SLOT:
                note_tear(geometries, pair, here[0], here[1], EDGES, found, scratch)
                status = IN_DOUBT
            elif here[3] != 0:
                num_vanished = _note_vanished(scratch.kept, num_vanished, here)
        elif mark_found(scratch, here[0], here[1], here[2], num_found):
            if num_found == room:
                status = NO_ROOM
            elif word & DOUBTFUL:
                note_doubt(scratch.kept, pair, here[0], here[1], NOTHING_KEPT, NOTHING_KEPT)
                status = IN_DOUBT
            else:
                num_pending = _take_polygon(
                    geometries, word, column, here, found, num_found, num_pending, scratch
                )
                num_sorted += 1 if here[3] != 0 and num_sorted == num_found else 0
                num_found += 1
        lane += 1
    return status, (num_found, num_sorted, num_vanished), num_pending


@kernel(inline=True)
def _lists(kept, pair, num_candidates):
    """Pairs that had polygons in the last pass (n, 3), room for those of this one, candidates (m, 2), and their ways.

    Reads kept: candidates, found, now, spans, ways.
    """
    (old, new), span, first = pools_of(kept, pair), kept.spans[pair], kept.now[NUM_CANDIDATES]
    begin = span[FIRST] if is_known(kept, pair) else 0
    end = begin + span[FOUND] if is_known(kept, pair) else 0
    return (
        kept.found[old, begin:end],
        kept.found[new, kept.now[NUM_FOUND] :],
        kept.candidates[new, first : first + num_candidates],
        kept.ways[new, first : first + num_candidates],
    )


@kernel(inline=True)
def _finish(
    geometries,
    a,
    b,
    pair,
    R_BA,
    p_BA,
    has_margin,
    status,
    found,
    tally,
    num_candidates,
    faces,
    count,
    scratch,
):
    """Sort and keep what a walk has found; return one past the last contact face.

    After a walk that was given up, and where the surface is torn, nothing is to be sorted, in place of a way around all
    this: threads of a GPU would not come together again before its end.

    Writes scratch: report.
    """
    num_found, num_sorted, num_vanished = tally if status == 0 else (0, 0, 0)
    if is_torn(geometries, pair, found, num_vanished, scratch):
        status, num_found, num_sorted = IN_DOUBT, 0, 0
    sort_found(scratch.kept, found, num_sorted, num_found)
    count = _append_contact_faces(faces, count, num_found, found, has_margin, scratch)
    if has_margin:
        tie = tie_distance(geometries, a, b, p_BA)
        count = _append_parted(geometries, a, b, R_BA, p_BA, tie, num_found, found, scratch, faces, count)
    if status != 0:
        return status
    if num_found == 0 and one_lies_in_other(geometries, a, b, R_BA, p_BA, scratch):
        scratch.report[OVERLAPS] = 1.0
    _keep(scratch.kept, pair, num_found, num_candidates, R_BA, p_BA)
    return count


@kernel(inline=True)
def _num_peaks(geometries, g):
    """Number of peaks of a geometry.

    Reads geometries: peak_start.
    """
    return geometries.peak_start[g + 1] - geometries.peak_start[g]


@entry
def walk_in_lanes(
    geometries: GeometrySet,
    a: int,
    b: int,
    pair: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Append contact faces like ``query.find_faces_again``, or return ``IN_DOUBT`` or ``NO_ROOM``.

    Nothing is kept of a negative ``pair``.
    """
    kept, tie = scratch.kept, tie_distance(geometries, a, b, p_BA)
    pair = pair if pair >= 0 else kept.spans.shape[0] - 1
    if is_still_in_doubt(geometries, a, b, pair, R_BA, p_BA, scratch):
        return IN_DOUBT
    region, _, has_margin, _ = begin_walk(geometries, a, b, tie, scratch)
    num_candidates, way = find_candidates(geometries, a, b, pair, R_BA, p_BA, region, tie, scratch)
    if num_candidates < 0:
        return NO_ROOM
    known, found, candidates, ways = _lists(kept, pair, num_candidates)
    tally, cursors, num_pending = (0, 0, 0), (0, 0), 0
    room = min(found.shape[0], kept.faces.shape[0], faces.num_vertices.shape[0] - count)
    peak, num_peaks = 0, _num_peaks(geometries, a) + _num_peaks(geometries, b)
    # Threads of a GPU wait for each other where a loop ends: all known pairs of their worlds before all others.
    status, loops = 0, 2 if one_thread_a_world() else 1
    for loop in range(loops):
        goes_on, is_last = status == 0, loop == loops - 1
        while goes_on:
            num_lanes, cursors, num_pending = _fill_block(
                *(geometries, a, b, R_BA, p_BA, tie, known, candidates, ways, way),
                *(cursors, num_pending, not is_last, scratch),
            )
            if num_lanes > 0:
                cut_block(geometries, a, b, R_BA, p_BA, scratch)
                status, tally, num_pending = _use_block(
                    geometries, a, b, pair, R_BA, p_BA, num_lanes, room, found, tally, num_pending, scratch
                )
                goes_on = status == 0
            elif is_last and peak < num_peaks:
                num_pending = push_pairs_at_next_peak(geometries, a, b, peak, R_BA, p_BA, scratch)
                peak += 1
            else:
                goes_on = False
    return _finish(
        *(geometries, a, b, pair, R_BA, p_BA, has_margin, status, found, tally, num_candidates),
        *(faces, count, scratch),
    )
