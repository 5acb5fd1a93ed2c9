# mypy: allow-untyped-defs
"""Which pairs of elements a walk has seen and which it still has to.

A pair without a polygon may hide where the surface goes on: where walls of both bodies coincide it goes on behind two
of them at once, and round-off decides which pair takes a face in a shared wall. Each pair therefore carries *patience*:
how many pairs without polygon may be stepped over, one after the other, beyond it.
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel

#: Patience of a pair behind an edge of a polygon. Aligned meshes need 2.
PATIENCE = 2
#: Marks a pair whose polygon has been found.
_FOUND = 15
_STATUS_BITS = 4

#: Stands for the slot of a seed.
_NO_SLOT = -1

#: A pair of elements a, b has the key ``a << _SHIFT | b``.
_SHIFT = 31
#: Distance of the first slots of neighbouring elements of A.
_STRIDE = 61
#: Odd multiplier whose high bits spread neighbouring keys (2^64 over the golden ratio).
_SPREAD = -7046029254386353131

#: Pairs that one pair can add.
_MOST_ADDED = 16


@kernel(inline=True)
def begin_visits(scratch):
    """Forget all visits.

    Reads scratch: generation.
    Writes scratch: generation, num_visited.
    """
    scratch.generation[0] += 1
    scratch.num_visited[0] = 0


@kernel(inline=True)
def is_full(scratch, num_pending):
    """Whether the memory may not hold what the next pair adds.

    Reads scratch: num_visited.
    """
    num_slots = scratch.visited.shape[0]
    return 2 * (scratch.num_visited[0] + _MOST_ADDED) > num_slots or num_pending + _MOST_ADDED > num_slots


@kernel(inline=True)
def _find_slot(scratch, key):
    """Slot of a pair, or the free one that would take it.

    Reads scratch: generation, visited.
    """
    visited, generation = scratch.visited, scratch.generation[0]
    last = visited.shape[0] - 1
    # Neighbouring pairs get neighbouring slots, which stay in the cache. Those that meet in one do not meet again,
    # because each key goes on in steps of its own.
    slot = ((key >> _SHIFT) * _STRIDE + key) & last
    while visited[slot, 1] >> _STATUS_BITS == generation and visited[slot, 0] != key:
        slot = (slot + ((key * _SPREAD) >> 24 | 1)) & last
    return slot


@kernel(inline=True)
def _is_free(scratch, slot):
    """Whether a slot of the table of visited pairs holds none of this query.

    Reads scratch: generation, visited.
    """
    return scratch.visited[slot, 1] >> _STATUS_BITS != scratch.generation[0]


@kernel(inline=True)
def _append(scratch, num_pending, element_a, element_b, slot):
    """Put a pair behind those that wait; returns how many there are.

    Writes scratch: pending.
    """
    pending = scratch.pending
    pending[num_pending, 0] = element_a
    pending[num_pending, 1] = element_b
    pending[num_pending, 2] = slot
    return num_pending + 1


@kernel(inline=True)
def push_seed(scratch, num_pending, element_a, element_b):
    """Add a pair in which there may be a polygon; most have none, so it takes no slot yet."""
    return _append(scratch, num_pending, element_a, element_b, _NO_SLOT)


@kernel(inline=True)
def push(scratch, num_pending, element_a, element_b, patience):
    """Add a pending pair unless it was visited with as much patience; returns how many there are.

    Reads scratch: generation, num_visited, visited.
    Writes scratch: num_visited, visited.
    """
    visited = scratch.visited
    key = element_a << _SHIFT | element_b
    slot = _find_slot(scratch, key)
    if _is_free(scratch, slot):
        visited[slot, 0] = key
        scratch.num_visited[0] += 1
    elif visited[slot, 1] & _FOUND >= patience:
        return num_pending
    visited[slot, 1] = scratch.generation[0] << _STATUS_BITS | patience
    return _append(scratch, num_pending, element_a, element_b, slot)


@kernel(inline=True)
def patience_left(scratch, num_pending):
    """Patience of the last pending pair; negative if it need not be visited any more.

    Reads scratch: pending, visited.
    """
    pending = scratch.pending
    slot = pending[num_pending - 1, 2]
    if slot == _NO_SLOT:
        slot = _find_slot(scratch, pending[num_pending - 1, 0] << _SHIFT | pending[num_pending - 1, 1])
        return 0 if _is_free(scratch, slot) else -1
    status = scratch.visited[slot, 1] & _FOUND
    return -1 if status == _FOUND else status


@kernel(inline=True)
def mark_found(scratch, element_a, element_b, slot):
    """Never visit a pair again.

    Reads scratch: generation, num_visited.
    Writes scratch: num_visited, visited.
    """
    if slot == _NO_SLOT:
        key = element_a << _SHIFT | element_b
        slot = _find_slot(scratch, key)
        scratch.visited[slot, 0] = key
        scratch.num_visited[0] += 1
    scratch.visited[slot, 1] = scratch.generation[0] << _STATUS_BITS | _FOUND


@kernel(inline=True)
def push_neighbors(geometries, element_a, element_b, patience, scratch, num_pending):
    """Add the up to eight pairs that share one element with a pair.

    Reads geometries: neighbors.
    """
    for k in range(4):
        next_a, next_b = geometries.neighbors[element_a, k], geometries.neighbors[element_b, k]
        if next_a >= 0:
            num_pending = push(scratch, num_pending, next_a, element_b, patience)
        if next_b >= 0:
            num_pending = push(scratch, num_pending, element_a, next_b, patience)
    return num_pending
