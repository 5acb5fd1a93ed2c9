# mypy: allow-untyped-defs
"""Visited and pending pairs of elements of a walk.

The contact surface may continue behind a pair without a polygon: where element faces of both bodies coincide, it
crosses two of them at once, and round-off decides which pair gets a polygon in the common plane. Each pair therefore
carries a number of *neighbor retries*: how many successive pairs without a polygon the walk may cross beyond it.
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel

#: Neighbor retries of a pair behind an edge of a polygon. Aligned meshes need 2.
NEIGHBOR_RETRIES = 2
#: Status of a pair whose polygon has been found.
_FOUND = 15
_STATUS_BITS = 4

#: Slot of a seed, which has none in the table.
NO_SLOT = -1

#: A pair of elements a, b has the key ``a << _SHIFT | b``.
_SHIFT = 31
#: Offset between the first slots of consecutive elements of A.
_STRIDE = 61
#: Odd multiplier of a hash whose high bits separate similar keys (2^64 over the golden ratio).
_SPREAD = -7046029254386353131

#: Largest number of pairs that one pair can add.
_MOST_ADDED = 16


@kernel(inline=True)
def key_of(element_a, element_b):
    """Number of a pair, by which pairs are sorted."""
    return element_a << _SHIFT | element_b


@kernel(inline=True)
def begin_visits(scratch):
    """Clear all visits.

    Reads scratch: generation.
    Writes scratch: generation, num_visited.
    """
    scratch.generation[0] += 1
    scratch.num_visited[0] = 0


@kernel(inline=True)
def is_full(scratch, num_pending):
    """Whether the memory may be too small for the pairs that the next pair adds.

    Reads scratch: num_visited.
    """
    num_slots = scratch.visited.shape[0]
    return 2 * (scratch.num_visited[0] + _MOST_ADDED) > num_slots or num_pending + _MOST_ADDED > num_slots


@kernel(inline=True)
def _find_slot(scratch, key):
    """Slot of a pair in the hash table, or the free slot where it would be inserted.

    Reads scratch: generation, visited.
    """
    visited, generation = scratch.visited, scratch.generation[0]
    last = visited.shape[0] - 1
    # Neighbouring pairs get neighbouring slots, which stay in the cache. Keys that collide do not collide again,
    # because the probing step depends on the key.
    slot = ((key >> _SHIFT) * _STRIDE + key) & last
    while visited[slot, 1] >> _STATUS_BITS == generation and visited[slot, 0] != key:
        slot = (slot + ((key * _SPREAD) >> 24 | 1)) & last
    return slot


@kernel(inline=True)
def _is_free(scratch, slot):
    """Whether a slot of the table holds no pair of the current query.

    Reads scratch: generation, visited.
    """
    return scratch.visited[slot, 1] >> _STATUS_BITS != scratch.generation[0]


@kernel(inline=True)
def _append(scratch, num_pending, element_a, element_b, slot):
    """Append a pair to the pending ones; returns their number.

    Writes scratch: pending.
    """
    pending = scratch.pending
    pending[num_pending, 0] = element_a
    pending[num_pending, 1] = element_b
    pending[num_pending, 2] = slot
    return num_pending + 1


@kernel(inline=True)
def push_seed(scratch, num_pending, element_a, element_b):
    """Add a seed pair. Most seeds have no polygon, so it gets no slot in the table yet."""
    return _append(scratch, num_pending, element_a, element_b, NO_SLOT)


@kernel(inline=True)
def push(scratch, num_pending, element_a, element_b, neighbor_retries):
    """Add a pending pair unless it was visited with at least as many retries; returns the number of pending pairs.

    Reads scratch: generation, num_visited, visited.
    Writes scratch: num_visited, visited.
    """
    visited = scratch.visited
    key = key_of(element_a, element_b)
    slot = _find_slot(scratch, key)
    if _is_free(scratch, slot):
        visited[slot, 0] = key
        scratch.num_visited[0] += 1
    elif visited[slot, 1] & _FOUND >= neighbor_retries:
        return num_pending
    visited[slot, 1] = scratch.generation[0] << _STATUS_BITS | neighbor_retries
    return _append(scratch, num_pending, element_a, element_b, slot)


@kernel(inline=True)
def retries_left(scratch, num_pending):
    """Neighbor retries of the last pending pair; negative if it need not be visited any more.

    Reads scratch: pending, visited.
    """
    pending = scratch.pending
    slot = pending[num_pending - 1, 2]
    if slot == NO_SLOT:
        slot = _find_slot(scratch, pending[num_pending - 1, 0] << _SHIFT | pending[num_pending - 1, 1])
        return 0 if _is_free(scratch, slot) else -1
    status = scratch.visited[slot, 1] & _FOUND
    return -1 if status == _FOUND else status


@kernel(inline=True)
def mark_found(scratch, element_a, element_b, slot, entry):
    """Mark a pair as found, with the number ``entry``, so that it is not visited again; return whether it is new.

    A pair may stand twice in a block of lanes, as a seed and behind an edge.

    Reads scratch: generation, num_visited, visited.
    Writes scratch: num_visited, visited.
    """
    if slot == NO_SLOT:
        key = key_of(element_a, element_b)
        slot = _find_slot(scratch, key)
        if _is_free(scratch, slot):
            scratch.visited[slot, 0] = key
            scratch.visited[slot, 1] = 0
            scratch.num_visited[0] += 1
    if scratch.visited[slot, 1] & _FOUND == _FOUND:
        return False
    scratch.visited[slot, 1] = scratch.generation[0] << _STATUS_BITS | _FOUND
    scratch.visited[slot, 2] = entry
    return True


@kernel(inline=True)
def entry_of(scratch, element_a, element_b):
    """Number with which a pair was marked as found; -1 if it was not.

    Reads scratch: visited.
    """
    slot = _find_slot(scratch, key_of(element_a, element_b))
    if _is_free(scratch, slot) or scratch.visited[slot, 1] & _FOUND != _FOUND:
        return -1
    return scratch.visited[slot, 2]


@kernel(inline=True)
def push_neighbors(geometries, element_a, element_b, neighbor_retries, scratch, num_pending):
    """Add the up to eight neighbouring pairs, each of which differs from a pair in one element.

    Reads geometries: neighbors.
    """
    for k in range(4):
        next_a, next_b = geometries.neighbors[element_a, k], geometries.neighbors[element_b, k]
        if next_a >= 0:
            num_pending = push(scratch, num_pending, next_a, element_b, neighbor_retries)
        if next_b >= 0:
            num_pending = push(scratch, num_pending, element_a, next_b, neighbor_retries)
    return num_pending
