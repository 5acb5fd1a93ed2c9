# mypy: allow-untyped-defs
"""Pairs of elements kept from one step to the next: those with polygons, and candidates where new surfaces may begin.

Where bodies move little, nearly all pairs with a polygon have one again, with the same edges, and behind these nothing
is to be looked for. Candidates are what the trees say with boxes grown by a *skin*: as long as bodies have moved less
than that, the trees need not be asked again.

What is kept saves time and changes no result: faces come sorted by their elements, and a walk finds the same ones with
a list and without. So states, copies and replays know nothing of it.

Lists of all pairs of geometries stand one after the other in two pools: that of the last step is read, the other
written. Each thread of a team writes to two pools of its own, and reads those that others have written, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float2D, Int1D, Int2D, Int3D, kernel
from hydro_sim_core.contact.pressure_field.boxes import extent
from hydro_sim_core.contact.pressure_field.faces import NUM_ROWS
from hydro_sim_core.contact.pressure_field.visits import key_of

#: Entries of ``KeptPairs.now``: number of the present pass over all pairs, filled rows of the pools, and which two
#: pools this thread writes by turns.
PASS, NUM_FOUND, NUM_CANDIDATES, POOLS = range(4)
#: Entries of a row of ``KeptPairs.spans``: pass in which it was written, first row and number in the pools of pairs
#: with polygons and of candidates, and which pools.
WRITTEN, FIRST, FOUND, FIRST_CANDIDATE, CANDIDATES, WRITTEN_TO = range(6)
#: Entries of a row of ``KeptPairs.poses``: pose of A in B at the last query, rotation by rows, then origin; the same
#: when the trees were asked; the skin, m.
LAST, ASKED, SKIN = 0, 12, 24
#: Entries of a row of ``KeptPairs.doubts``: pass in which it was written; elements of A and B of a pair with a polygon;
#: those of the pair behind one of its edges that has none, or ``NOTHING_KEPT`` where the polygon itself was doubtful.
NOTED, HAS_POLYGON, HAS_NONE = 0, 1, 3

#: Rows of the pools per face of the capacity: there are up to twice as many candidates as faces.
_ROWS_A_FACE = 2

#: Row of a pair of which nothing is kept.
NOTHING_KEPT = -1
#: Steps like the last one for which a skin is made.
_STEPS = 8.0
#: Largest skin, as a share of the smaller body: a thicker one has too many candidates.
_THICKEST = 1.0 / 150.0
#: The same as a share of the finer body's grain: around fine meshes a thicker one has several times the candidates.
_THICKEST_OF_GRAIN = 0.375
#: Least skin of bodies that move little, as a share of the thickest: hardly more candidates, and trees seldom asked.
_THINNEST = 0.5


class KeptPairs(NamedTuple):
    """Memory of the lists.

    Attributes:
        now: (4,) see ``PASS``.
        spans: (P, 6) of each pair of geometries, see ``WRITTEN``.
        poses: (P, 25) of each pair of geometries, see ``LAST``.
        doubts: (P, 5) why round-off decided about each pair of geometries, see ``NOTED``.
        found: (2 threads, n, 3) pools of pairs with polygons: element of A, element of B, word (see ``lanes``).
        candidates: (2 threads, n, 2) pools of candidates.
        ways: (2 threads, n) of each candidate, how far (m) A may move from where the trees were asked without a polygon
            there.
        vanished: (n, 3) pairs that have no polygon any more, with their last word.
        faces: (m, NUM_ROWS) face of each polygon in the order in which they were found, rows as in ``FaceBuffer.data``.
        places: (n,) where in that order each pair stands after sorting.
        order: (n, 2) scratch of sorting: keys and places.
        words: (n, 3) scratch of sorting.
    """

    now: Int1D
    spans: Int2D
    poses: Float2D
    doubts: Int2D
    found: Int3D
    candidates: Int3D
    ways: Float2D
    vanished: Int2D
    faces: Float2D
    places: Int1D
    order: Int2D
    words: Int2D


#: What each thread of a team has for itself.
OWN = ("now", "vanished", "faces", "places", "order", "words")


def make_kept_pairs(num_pairs: int, max_faces: int, threads: int = 1) -> KeptPairs:
    """Allocate lists for a number of pairs of geometries with up to ``max_faces`` faces of each, found by some threads.

    One row more serves queries that keep nothing.
    """
    size = _ROWS_A_FACE * max_faces
    return KeptPairs(
        now=np.zeros(4, dtype=np.int64),
        spans=np.full((num_pairs + 1, 6), -9, dtype=np.int64),
        poses=np.zeros((num_pairs + 1, 25)),
        doubts=np.full((num_pairs + 1, 5), -9, dtype=np.int64),
        found=np.zeros((2 * threads, size, 3), dtype=np.int64),
        candidates=np.zeros((2 * threads, size, 2), dtype=np.int64),
        ways=np.zeros((2 * threads, size)),
        vanished=np.zeros((size, 3), dtype=np.int64),
        faces=np.zeros((max_faces, NUM_ROWS)),
        places=np.zeros(size, dtype=np.int64),
        order=np.zeros((size, 2), dtype=np.int64),
        words=np.zeros((size, 3), dtype=np.int64),
    )


@kernel(inline=True)
def begin_pass(kept):
    """Begin to query all pairs of geometries once more: the other pool is written.

    Reads kept: now.
    Writes kept: now.
    """
    kept.now[PASS] += 1
    kept.now[NUM_FOUND] = 0
    kept.now[NUM_CANDIDATES] = 0


@kernel(inline=True)
def pools_of(kept, pair):
    """Number of the pool in which the lists of a pair of geometries stand from the last pass, and of that to write to.

    Reads kept: now, spans.
    """
    parity = kept.now[PASS] & 1
    read = kept.spans[pair, WRITTEN_TO] + 1 - parity if is_known(kept, pair) else 0
    return read, kept.now[POOLS] + parity


@kernel(inline=True)
def is_known(kept, pair):
    """Whether there is a list of a pair of geometries from the last pass.

    Reads kept: now, spans.
    """
    return kept.spans[pair, WRITTEN] == kept.now[PASS] - 1


@kernel(inline=True)
def write_pose(pose, first, R_BA, p_BA):
    """Write the pose of A in B to twelve entries of a row."""
    for i in range(3):
        pose[first + 9 + i] = p_BA[i]
        for j in range(3):
            pose[first + 3 * i + j] = R_BA[i, j]


@kernel(inline=True)
def way_from(pose, first, R_BA, p_BA, box):
    """Upper bound of the way (m) of any point of A's box since a pose was written."""
    turned, moved = 0.0, 0.0
    for i in range(3):
        way = p_BA[i] - pose[first + 9 + i]
        for j in range(3):
            change = R_BA[i, j] - pose[first + 3 * i + j]
            turned += change * change
            way += change * box[j]
        moved += way * way
    size = math.sqrt(box[3] * box[3] + box[4] * box[4] + box[5] * box[5])
    return math.sqrt(moved) + math.sqrt(turned) * size


@kernel(inline=True)
def skin_for(way, box_a, box_b, grain):
    """Skin (m) for bodies that move by ``way`` in a step; 0 if they are so fast that none pays.

    Args:
        way: m.
        box_a: Box around A.
        box_b: Box around B.
        grain: That of the finer body, see ``GeometrySet``, m.
    """
    thickest = min(_THICKEST * min(extent(box_a), extent(box_b)), _THICKEST_OF_GRAIN * grain)
    return 0.0 if 2.0 * way > thickest else min(max(_STEPS * way, _THINNEST * thickest), thickest)


@kernel
def _sort(order, n):
    """Sort the first rows of an array by their first entries with Shell's method."""
    gap = 1
    while gap < n:
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for i in range(gap, n):
            key, value, j = order[i, 0], order[i, 1], i
            while j >= gap and order[j - gap, 0] > key:
                order[j, 0], order[j, 1] = order[j - gap, 0], order[j - gap, 1]
                j -= gap
            order[j, 0], order[j, 1] = key, value


@kernel
def sort_found(kept, found, num_sorted, num):
    """Bring pairs of elements into order, and write to ``kept.places`` where each of them stood.

    Args:
        kept: ``KeptPairs``.
        found: (>= num, 3) pairs of elements with words, of which the first ``num_sorted`` are in order.
        num_sorted: How many are in order.
        num: How many there are.

    Reads kept: order, words.
    Writes kept: order, places, words.
    """
    new, order, words, places = num - num_sorted, kept.order, kept.words, kept.places
    for k in range(new):
        order[k, 0] = key_of(found[num_sorted + k, 0], found[num_sorted + k, 1])
        order[k, 1] = num_sorted + k
    _sort(order, new)
    # Merge from behind: position k gets what stood at ``place``; before the first new one nothing moves.
    old, begin = num_sorted - 1, num
    while new > 0:
        begin -= 1
        place = order[new - 1, 1]
        if old >= 0 and key_of(found[old, 0], found[old, 1]) > order[new - 1, 0]:
            place = old
            old -= 1
        else:
            new -= 1
        words[begin, 0], words[begin, 1], words[begin, 2] = found[place, 0], found[place, 1], found[place, 2]
        places[begin] = place
    for k in range(begin):
        places[k] = k
    for k in range(begin, num):
        found[k, 0], found[k, 1], found[k, 2] = words[k, 0], words[k, 1], words[k, 2]
