# mypy: allow-untyped-defs
"""Candidates: pairs of elements where new parts of a contact surface may begin, and which of them get a lane."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import one_thread_a_world
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.kept_pairs import (
    ASKED,
    CANDIDATES,
    FIRST_CANDIDATE,
    LAST,
    NUM_CANDIDATES,
    SKIN,
    is_known,
    pools_of,
    skin_for,
    way_from,
    write_pose,
)
from hydro_sim_core.contact.pressure_field.lane_blocks import fill_lane, way_to_meet
from hydro_sim_core.contact.pressure_field.lanes import LANES
from hydro_sim_core.contact.pressure_field.visits import NO_SLOT, entry_of
from hydro_sim_core.contact.pressure_field.walk import opposed, rims_that_meet
from hydro_sim_core.contact.pressure_field.wide_trees import list_meetings, list_near_half_space


@kernel(inline=True)
def _ask_trees(geometries, a, b, R_BA, p_BA, region, slack, scratch, candidates, first):
    """List the pairs at which walks start, with boxes grown by ``slack``; return their number, -1 if there is no room.

    Reads geometries: field_start, kind, wide_rim, wide_shell.
    """
    by_rim_a, by_rim_b, other_rim = rims_that_meet(geometries, a, b)
    of_a = geometries.wide_rim[a] if by_rim_a else geometries.wide_shell[a]
    if geometries.kind[b] != COMPLIANT_MESH:
        lowest, highest, row_b = region[2] - slack, region[3] + slack, geometries.field_start[b]
        return list_near_half_space(
            geometries, of_a, row_b, lowest, highest, R_BA, p_BA, scratch, candidates, first
        )
    of_b = geometries.wide_rim[b] if by_rim_b else geometries.wide_shell[b]
    num = list_meetings(geometries, of_a, of_b, R_BA, p_BA, slack, scratch, candidates, first)
    if num < 0 or not other_rim:
        return num
    of_a, of_b, first = geometries.wide_rim[a], geometries.wide_shell[b], first + num
    num_more = list_meetings(geometries, of_a, of_b, R_BA, p_BA, slack, scratch, candidates, first)
    return num + num_more if num_more >= 0 else -1


@kernel(inline=True)
def _candidates_again(kept, pair):
    """Take over the candidates of the last pass; return their number, -1 if there is no room.

    Reads kept: candidates, now, spans, ways.
    Writes kept: candidates, ways.
    """
    (old, new), first = pools_of(kept, pair), kept.now[NUM_CANDIDATES]
    start, num = kept.spans[pair, FIRST_CANDIDATE], kept.spans[pair, CANDIDATES]
    candidates, ways = kept.candidates, kept.ways
    if first + num > ways.shape[1]:
        return -1
    for k in range(num):
        one, other = candidates[old, start + k, 0], candidates[old, start + k, 1]
        way = ways[old, start + k]
        candidates[new, first + k, 0], candidates[new, first + k, 1] = one, other
        ways[new, first + k] = way
    return num


@kernel(inline=True)
def find_candidates(geometries, a, b, pair, R_BA, p_BA, region, tie, scratch):
    """List the candidates of a pair of geometries: those of the last pass or, if bodies have moved too far, new ones.

    Returns:
        Their number, -1 if there is no room; how far (m) A may have moved since the trees were asked.

    Reads geometries: boxes, grain, node_start; scratch.kept: now, poses.
    Writes scratch.kept: candidates, poses, ways.
    """
    kept = scratch.kept
    pose, now = kept.poses[pair], kept.now
    _, new = pools_of(kept, pair)
    root_a, root_b = geometries.node_start[a], geometries.node_start[b]
    box_a, skin = geometries.boxes[root_a], 0.0
    if is_known(kept, pair):
        way = way_from(pose, ASKED, R_BA, p_BA, box_a)
        if way < pose[SKIN]:
            return _candidates_again(kept, pair), way
        box_b, grain = box_a, geometries.grain[a]
        if root_b != geometries.node_start[b + 1]:
            box_b, grain = geometries.boxes[root_b], min(grain, geometries.grain[b])
        skin = skin_for(way_from(pose, LAST, R_BA, p_BA, box_a), box_a, box_b, grain)
    pose[SKIN] = skin
    write_pose(pose, ASKED, R_BA, p_BA)
    first = now[NUM_CANDIDATES]
    num = _ask_trees(geometries, a, b, R_BA, p_BA, region, tie + skin, scratch, kept.candidates[new], first)
    for k in range(num):
        kept.ways[new, first + k] = 0.0
    return num, 0.0


@kernel(inline=True)
def _list_worth_a_look(ways, way, at, lane, scratch):
    """Put the numbers of candidates that may have a polygon by now into lanes; return the next candidate and lane.

    Without a branch, over which neither processors nor threads of a GPU stumble.

    Writes scratch: in_lanes.
    """
    in_lanes = scratch.in_lanes
    while lane < LANES and at < ways.shape[0]:
        in_lanes[lane, 0] = at
        lane += 1 if way >= ways[at] else 0
        at += 1
    return at, lane


@kernel(inline=True)
def _leave_out_found(geometries, candidates, first, end, scratch):
    """Leave candidates out of a list that have been found already, or have no polygon; return its new end.

    Reads scratch: in_lanes.
    Writes scratch: in_lanes.
    """
    kept = first
    for k in range(first, end):
        candidate = scratch.in_lanes[k, 0]
        one, other = candidates[candidate, 0], candidates[candidate, 1]
        leaves_out = opposed(geometries, one, other) or entry_of(scratch, one, other) >= 0
        scratch.in_lanes[kept, 0] = candidate
        kept += 0 if leaves_out else 1
    return kept


@kernel(inline=True)
def fill_with_candidates(geometries, a, b, R_BA, p_BA, tie, candidates, ways, way, at, lane, scratch):
    """Fill lanes with candidates; return the next candidate and the next lane; arguments as for ``_fill_block``.

    Which of them are worth a look is listed before any is looked at. Most are not: threads of a GPU, which step worlds
    side by side, then look at one each at a time. They go on with what the first list leaves.

    Reads geometries: kind; scratch: in_lanes.
    """
    on_half_space, a_is_rigid = geometries.kind[b] != COMPLIANT_MESH, geometries.kind[a] == RIGID_MESH
    enough = 1 if one_thread_a_world() else LANES
    while lane < enough and at < candidates.shape[0]:
        first = lane
        at, end = _list_worth_a_look(ways, way, at, first, scratch)
        end = _leave_out_found(geometries, candidates, first, end, scratch)
        for k in range(first, end):
            candidate = scratch.in_lanes[k, 0]
            one, other = candidates[candidate, 0], candidates[candidate, 1]
            left = 0.0
            if not on_half_space:
                left = way_to_meet(geometries, one, other, a_is_rigid, R_BA, p_BA, tie, scratch)
            if left > 0.0:
                ways[candidate] = left - way
            else:
                fill_lane(geometries, one, other, NO_SLOT, 0, on_half_space, scratch, lane)
                lane += 1
    return at, lane
