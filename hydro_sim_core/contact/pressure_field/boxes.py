"""Bounding boxes (6,), centre then half lengths, of A against those of B."""

from __future__ import annotations

from hydro_sim_core.jit import kernel

#: Of a box's numbers.
_ROUND_OFF = 1e-12


@kernel(forceinline=True)
def set_absolute(R, size_of_R):
    """Write the absolute values of a rotation's entries, which turn half lengths."""
    for i in range(3):
        for j in range(3):
            size_of_R[i, j] = abs(R[i, j])


@kernel(forceinline=True)
def boxes_apart(box_a, R_BA, size_of_R, p_BA, box_b, slack):
    """True if box A, turned into B's frame and bounded again, misses box B by more than ``slack``."""
    for i in range(3):
        apart = p_BA[i] - box_b[i]
        reach = slack + box_b[i + 3]
        for j in range(3):
            apart += R_BA[i, j] * box_a[j]
            reach += size_of_R[i, j] * box_a[j + 3]
        if abs(apart) > reach:
            return True
    return False


@kernel(forceinline=True)
def box_misses_slab(box_a, R_BA, p_BA, lowest, highest):
    """True if box A lies wholly outside lowest <= z <= highest in B's frame."""
    height = p_BA[2]
    reach = 0.0
    for j in range(3):
        height += R_BA[2, j] * box_a[j]
        reach += abs(R_BA[2, j]) * box_a[j + 3]
    return height - reach > highest or height + reach < lowest


@kernel(forceinline=True)
def outside_box(x, box):
    """True if x (3,), in the box's frame, lies outside by more than round-off."""
    for i in range(3):
        if abs(x[i] - box[i]) > (1.0 + _ROUND_OFF) * box[i + 3] + _ROUND_OFF * abs(box[i]):
            return True
    return False


@kernel(forceinline=True)
def extent(box):
    """Half the sum of a box's edge lengths."""
    return box[3] + box[4] + box[5]
