# mypy: allow-untyped-defs
"""Overlap tests of bounding boxes (6,), centre then half lengths, of A and B."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel

#: Round-off of a box's numbers, relative.
_ROUND_OFF = 1e-12


@kernel(inline=True)
def turn_box(box_a, R_BA, p_BA, slack, turned):
    """Write the bounding box in B's frame of a box of A, grown by ``slack``, to ``turned`` (6,)."""
    for i in range(3):
        center = p_BA[i]
        half = slack
        for j in range(3):
            center += R_BA[i, j] * box_a[j]
            half += abs(R_BA[i, j]) * box_a[j + 3]
        turned[i] = center
        turned[i + 3] = half


@kernel(inline=True)
def boxes_apart(a, b):
    """Whether two boxes in the same frame are disjoint."""
    return abs(a[0] - b[0]) > a[3] + b[3] or abs(a[1] - b[1]) > a[4] + b[4] or abs(a[2] - b[2]) > a[5] + b[5]


@kernel(inline=True)
def apart_along_axes_of_a(box_a, turned, box_b, R_BA, slack):
    """Whether an axis of A's frame separates box A, whose bounds in B's frame are ``turned``, from box B.

    The bounds of a large flat box grow much by rotation; along its own axes the test stays sharp.
    """
    d0, d1, d2 = turned[0] - box_b[0], turned[1] - box_b[1], turned[2] - box_b[2]
    for j in range(3):
        distance = abs(d0 * R_BA[0, j] + d1 * R_BA[1, j] + d2 * R_BA[2, j])
        reach = abs(R_BA[0, j]) * box_b[3] + abs(R_BA[1, j]) * box_b[4] + abs(R_BA[2, j]) * box_b[5]
        if distance > box_a[j + 3] + slack + reach:
            return True
    return False


@kernel(inline=True)
def box_misses_slab(box_a, R_BA, p_BA, lowest, highest):
    """Whether box A lies entirely outside lowest <= z <= highest in B's frame."""
    height = p_BA[2]
    reach = 0.0
    for j in range(3):
        height += R_BA[2, j] * box_a[j]
        reach += abs(R_BA[2, j]) * box_a[j + 3]
    return height - reach > highest or height + reach < lowest


@kernel(inline=True)
def outside_box(x, box):
    """Whether x (3,), in the box's frame, lies outside the box by more than round-off."""
    for i in range(3):
        if abs(x[i] - box[i]) > (1.0 + _ROUND_OFF) * box[i + 3] + _ROUND_OFF * abs(box[i]):
            return True
    return False


@kernel(inline=True)
def push_children(links, node, nodes, num_nodes):
    """Put both children of a tree node on the stack ``nodes``; return how many nodes are on it."""
    for side in range(2):
        nodes[num_nodes + side, 0] = links[node, side]
    return num_nodes + 2


@kernel(inline=True)
def extent(box):
    """Half the sum of a box's edge lengths."""
    return box[3] + box[4] + box[5]
