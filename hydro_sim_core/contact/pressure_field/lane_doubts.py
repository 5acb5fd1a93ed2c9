# mypy: allow-untyped-defs
"""Where round-off decides about a pair of geometries, and lanes give way to the walk of one pair after another.

That is so where a polygon is doubtful (``lanes``), and where the surface is torn: behind an edge there is no polygon.
Bodies that lie flush are in doubt step after step, at the same place. That place is kept, and looked at first: where it
is in doubt again, nothing else need be looked at, and the result is the same.
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH
from hydro_sim_core.contact.pressure_field.kept_pairs import (
    HAS_NONE,
    HAS_POLYGON,
    NOTED,
    NOTHING_KEPT,
    PASS,
)
from hydro_sim_core.contact.pressure_field.lane_blocks import cut_block, cut_lane, fill_lane
from hydro_sim_core.contact.pressure_field.lanes import DOUBTFUL, EDGES, LANES, NUM_LINES, WORD
from hydro_sim_core.contact.pressure_field.visits import NO_SLOT, entry_of
from hydro_sim_core.contact.pressure_field.walk import pair_behind


@kernel(inline=True)
def note_doubt(kept, pair, element_a, element_b, behind_a, behind_b):
    """Note what gave rise to doubt, to be looked at first in the next pass.

    Args:
        kept: ``KeptPairs``.
        pair: Row of the pair of geometries.
        element_a: Element of A of a pair with a polygon.
        element_b: Its element of B.
        behind_a: Element of A of the pair without a polygon behind one of its edges; ``NOTHING_KEPT`` where the polygon
            itself is doubtful.
        behind_b: Its element of B.

    Reads kept: now.
    Writes kept: doubts.
    """
    if pair == kept.spans.shape[0] - 1:
        return
    row = kept.doubts[pair]
    row[NOTED] = kept.now[PASS]
    row[HAS_POLYGON], row[HAS_POLYGON + 1] = element_a, element_b
    row[HAS_NONE], row[HAS_NONE + 1] = behind_a, behind_b


@kernel(inline=True)
def _leads_to(geometries, element_a, element_b, edges, next_a, next_b):
    """Whether the surface goes on from one pair, behind one of its edges, in another."""
    for face in range(NUM_LINES):
        if edges & 1 << face:
            behind_a, behind_b = pair_behind(geometries, element_a, element_b, face)
            if behind_a == next_a and behind_b == next_b:
                return True
    return False


@kernel(inline=True)
def _polygon_beside(geometries, element_a, element_b, faces, found, scratch):
    """Entry of ``found`` with an edge towards a pair that has no polygon; -1 if there is none.

    Only behind the ``faces`` of that pair it is looked for.
    """
    for face in range(NUM_LINES):
        if faces & 1 << face == 0:
            continue
        next_a, next_b = pair_behind(geometries, element_a, element_b, face)
        if next_a < 0 or next_b < 0:
            continue
        there = entry_of(scratch, next_a, next_b)
        if there >= 0 and _leads_to(geometries, next_a, next_b, found[there, 2], element_a, element_b):
            return there
    return -1


@kernel(inline=True)
def note_tear(geometries, pair, element_a, element_b, faces, found, scratch):
    """Note a polygon with an edge behind which a pair has none, if there is one; return whether there is."""
    there = _polygon_beside(geometries, element_a, element_b, faces, found, scratch)
    if there >= 0:
        note_doubt(scratch.kept, pair, found[there, 0], found[there, 1], element_a, element_b)
    return there >= 0


@kernel(inline=True)
def is_torn(geometries, pair, found, num_vanished, scratch):
    """Whether a pair still has an edge towards one that has no polygon any more.

    Reads scratch.kept: vanished.
    """
    torn, k = False, 0
    while k < num_vanished and not torn:
        gone = scratch.kept.vanished[k]
        torn = note_tear(geometries, pair, gone[0], gone[1], gone[2], found, scratch)
        k += 1
    return torn


@kernel(inline=True)
def is_still_in_doubt(geometries, a, b, pair, R_BA, p_BA, scratch):
    """Whether what gave rise to doubt in the last pass does so again, so that nothing else need be looked at.

    Reads geometries: kind; scratch: block; scratch.kept: doubts, now.
    Writes scratch.kept: doubts.
    """
    doubt, w = scratch.kept.doubts[pair], scratch.block
    if doubt[NOTED] != scratch.kept.now[PASS] - 1:
        return False
    on_half_space, is_tear = geometries.kind[b] != COMPLIANT_MESH, doubt[HAS_NONE] != NOTHING_KEPT
    one, other = doubt[HAS_POLYGON], doubt[HAS_POLYGON + 1]
    fill_lane(geometries, one, other, NO_SLOT, 0, on_half_space, scratch, 0)
    if is_tear:
        fill_lane(geometries, doubt[HAS_NONE], doubt[HAS_NONE + 1], NO_SLOT, 0, on_half_space, scratch, 1)
    cut_block(geometries, a, b, R_BA, p_BA, scratch)
    word = int(w[WORD * LANES + cut_lane(geometries, a, b, R_BA, p_BA, 0, scratch)])
    if is_tear:
        behind = int(w[WORD * LANES + cut_lane(geometries, a, b, R_BA, p_BA, 1, scratch)])
        is_open = _leads_to(geometries, one, other, word & EDGES, doubt[HAS_NONE], doubt[HAS_NONE + 1])
        is_doubtful = is_open and behind & EDGES == 0
    else:
        is_doubtful = word & EDGES != 0 and word & DOUBTFUL != 0
    if is_doubtful:
        doubt[NOTED] = scratch.kept.now[PASS]
    return is_doubtful
