# mypy: allow-untyped-defs
"""Descending two trees of boxes at once, eight boxes a test (see ``geometry.wide_tree``).

Of two boxes that meet the larger one gives way to its eight children. These are tested against the other one along the
axes of both frames, in one loop without branches and without stores, of which the compiler makes vector instructions
(``tests/contact/test_wide_trees.py`` counts them).
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.geometry.wide_tree import WIDTH

_BITS = 3
assert 1 << _BITS == WIDTH


@kernel
def list_meetings(geometries, tree_a, tree_b, R_BA, p_BA, slack, scratch, candidates, first):
    """List the pairs of elements whose boxes come as near as ``slack``; return their number, -1 without room.

    Two trees of one element each are not tested.

    Args:
        geometries: ``GeometrySet``.
        tree_a: Node above the root of A's tree.
        tree_b: Node above that of B's.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        slack: Distance, m.
        scratch: ``QueryScratch``.
        candidates: (n, 2) the list.
        first: Its first row that is free.

    Reads geometries: wide_boxes, wide_links; scratch: nodes.
    Writes scratch: nodes.
    """
    boxes, links, nodes = geometries.wide_boxes, geometries.wide_links, scratch.nodes
    to_b, to_a = _motion(R_BA, p_BA), _inverse_motion(R_BA, p_BA)
    nodes[0, 0], nodes[0, 1] = tree_a << _BITS, tree_b << _BITS
    if links[tree_a, 0] < 0 and links[tree_b, 0] < 0:
        if first == candidates.shape[0]:
            return -1
        candidates[first, 0], candidates[first, 1] = -1 - links[tree_a, 0], -1 - links[tree_b, 0]
        return 1
    num_nodes, num = 1, 0
    while num_nodes > 0:
        num_nodes -= 1
        at_a, at_b = nodes[num_nodes, 0], nodes[num_nodes, 1]
        link_a, link_b = links[at_a >> _BITS, at_a & (WIDTH - 1)], links[at_b >> _BITS, at_b & (WIDTH - 1)]
        a, b = _box(boxes, at_a), _box(boxes, at_b)
        opens_a = link_b < 0 or (link_a >= 0 and a[3] + a[4] + a[5] > b[3] + b[4] + b[5])
        if opens_a:
            meet = _children_that_meet(boxes, link_a, to_b, b, _turned(b, to_a), slack)
        else:
            meet = _children_that_meet(boxes, link_b, to_a, a, _turned(a, to_b), slack)
        opened = link_a if opens_a else link_b
        for k in range(WIDTH):
            if meet >> k & 1:
                child = links[opened, k]
                one, other = child if opens_a else link_a, link_b if opens_a else child
                if one < 0 and other < 0:
                    if first + num == candidates.shape[0]:
                        return -1
                    candidates[first + num, 0], candidates[first + num, 1] = -1 - one, -1 - other
                    num += 1
                else:
                    place = opened << _BITS | k
                    nodes[num_nodes, 0] = place if opens_a else at_a
                    nodes[num_nodes, 1] = at_b if opens_a else place
                    num_nodes += 1
    return num


@kernel
def list_near_half_space(geometries, tree, row_b, lowest, highest, R_BA, p_BA, scratch, candidates, first):
    """List the elements of A whose boxes come between two heights over half space B, as pairs with its row.

    Other arguments and the result are those of ``list_meetings``.

    Reads geometries: wide_boxes, wide_links; scratch: nodes.
    Writes scratch: nodes.
    """
    boxes, links, nodes = geometries.wide_boxes, geometries.wide_links, scratch.nodes
    up = R_BA[2, 0], R_BA[2, 1], R_BA[2, 2], p_BA[2]
    nodes[0, 0] = tree
    num_nodes, num = 1, 0
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes[num_nodes, 0]
        near = _children_between(boxes, node, up, lowest, highest)
        for k in range(WIDTH):
            if near >> k & 1:
                child = links[node, k]
                if child < 0:
                    if first + num == candidates.shape[0]:
                        return -1
                    candidates[first + num, 0], candidates[first + num, 1] = -1 - child, row_b
                    num += 1
                else:
                    nodes[num_nodes, 0] = child
                    num_nodes += 1
    return num


@kernel(inline=True)
def _motion(R_BA, p_BA):
    """Rotation by rows, then translation, of a rigid motion, as twelve numbers."""
    return (
        (R_BA[0, 0], R_BA[0, 1], R_BA[0, 2]),
        (R_BA[1, 0], R_BA[1, 1], R_BA[1, 2]),
        (R_BA[2, 0], R_BA[2, 1], R_BA[2, 2]),
        (p_BA[0], p_BA[1], p_BA[2]),
    )


@kernel(inline=True)
def _inverse_motion(R_BA, p_BA):
    """The same of the inverse."""
    x, y, z = (
        (R_BA[0, 0], R_BA[1, 0], R_BA[2, 0]),
        (R_BA[0, 1], R_BA[1, 1], R_BA[2, 1]),
        (R_BA[0, 2], R_BA[1, 2], R_BA[2, 2]),
    )
    p = (
        -(x[0] * p_BA[0] + x[1] * p_BA[1] + x[2] * p_BA[2]),
        -(y[0] * p_BA[0] + y[1] * p_BA[1] + y[2] * p_BA[2]),
        -(z[0] * p_BA[0] + z[1] * p_BA[1] + z[2] * p_BA[2]),
    )
    return x, y, z, p


@kernel(inline=True)
def _box(boxes, at):
    """The box of a child, by its node and its place there: centre, then half lengths."""
    row, k = boxes[at >> _BITS], at & (WIDTH - 1)
    return (
        row[k],
        row[WIDTH + k],
        row[2 * WIDTH + k],
        row[3 * WIDTH + k],
        row[4 * WIDTH + k],
        row[5 * WIDTH + k],
    )


@kernel(inline=True)
def _center(x, y, z, axis, shift):
    """Coordinate along an axis of the other frame."""
    return shift + axis[0] * x + axis[1] * y + axis[2] * z


@kernel(inline=True)
def _half(x, y, z, axis):
    """Half length along an axis of the other frame."""
    return abs(axis[0]) * x + abs(axis[1]) * y + abs(axis[2]) * z


@kernel(inline=True)
def _turned(box, motion):
    """Bounds of a box in the other frame."""
    x, y, z, p = motion
    return (
        _center(box[0], box[1], box[2], x, p[0]),
        _center(box[0], box[1], box[2], y, p[1]),
        _center(box[0], box[1], box[2], z, p[2]),
        _half(box[3], box[4], box[5], x),
        _half(box[3], box[4], box[5], y),
        _half(box[3], box[4], box[5], z),
    )


@kernel(inline=True)
def _children_that_meet(boxes, node, motion, other, other_here, slack):
    """Bit k is set if child k of a node comes as near to another box as ``slack`` along all six axes.

    Args:
        boxes: (W, NODE) of all nodes.
        node: The node.
        motion: From the frame of its tree to that of the other box.
        other: The other box in its frame.
        other_here: Its bounds in the frame of the node's tree.
        slack: Distance, m.
    """
    row, (x, y, z, p) = boxes[node], motion
    meet = 0
    for k in range(WIDTH):
        c_0, c_1, c_2 = row[k], row[WIDTH + k], row[2 * WIDTH + k]
        h_0, h_1, h_2 = row[3 * WIDTH + k], row[4 * WIDTH + k], row[5 * WIDTH + k]
        is_near = abs(c_0 - other_here[0]) <= h_0 + other_here[3] + slack
        is_near &= abs(c_1 - other_here[1]) <= h_1 + other_here[4] + slack
        is_near &= abs(c_2 - other_here[2]) <= h_2 + other_here[5] + slack
        is_near &= (
            abs(_center(c_0, c_1, c_2, x, p[0]) - other[0]) <= _half(h_0, h_1, h_2, x) + other[3] + slack
        )
        is_near &= (
            abs(_center(c_0, c_1, c_2, y, p[1]) - other[1]) <= _half(h_0, h_1, h_2, y) + other[4] + slack
        )
        is_near &= (
            abs(_center(c_0, c_1, c_2, z, p[2]) - other[2]) <= _half(h_0, h_1, h_2, z) + other[5] + slack
        )
        meet |= (1 if is_near else 0) << k
    return meet


@kernel(inline=True)
def _children_between(boxes, node, up, lowest, highest):
    """Bit k is set if child k of a node has a part between two heights; ``up`` gives the height of a point."""
    row, between = boxes[node], 0
    for k in range(WIDTH):
        height = _center(row[k], row[WIDTH + k], row[2 * WIDTH + k], up, up[3])
        reach = _half(row[3 * WIDTH + k], row[4 * WIDTH + k], row[5 * WIDTH + k], up)
        is_between = (height - reach <= highest) & (height + reach >= lowest)
        between |= (1 if is_between else 0) << k
    return between
