"""Bounding boxes of A against those of B."""

from __future__ import annotations

from hydro_sim_core.jit import kernel


@kernel(forceinline=True)
def boxes_apart(box_a, R_BA, p_BA, box_b, slack):
    """True if box A, turned into B's frame and bounded again, misses box B by more than ``slack``."""
    for i in range(3):
        center = p_BA[i]
        half = slack
        for j in range(3):
            center += R_BA[i, j] * 0.5 * (box_a[j] + box_a[j + 3])
            half += abs(R_BA[i, j]) * 0.5 * (box_a[j + 3] - box_a[j])
        if center - half > box_b[i + 3] or center + half < box_b[i]:
            return True
    return False


@kernel(forceinline=True)
def box_misses_slab(box_a, R_BA, p_BA, lowest, highest):
    """True if box A lies wholly outside lowest <= z <= highest in B's frame."""
    center = p_BA[2]
    half = 0.0
    for j in range(3):
        center += R_BA[2, j] * 0.5 * (box_a[j] + box_a[j + 3])
        half += abs(R_BA[2, j]) * 0.5 * (box_a[j + 3] - box_a[j])
    return center - half > highest or center + half < lowest


@kernel(forceinline=True)
def extent(box):
    """Sum of a box's edge lengths."""
    return (box[3] - box[0]) + (box[4] - box[1]) + (box[5] - box[2])
