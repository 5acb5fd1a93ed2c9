"""Trees of boxes with eight children a node, made of binary ones: one box is tested against eight at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Children of a node.
WIDTH = 8
#: Numbers of a node: centres along three axes, then half lengths, of all children each.
NODE = 6 * WIDTH
#: Place and half lengths of a child that is not there: no comparison with it is true, at any pose.
NOWHERE = float("nan")

_LEVELS = 3


class WideTrees(NamedTuple):
    """Trees side by side.

    Attributes:
        boxes: (W, NODE) bounds of the children of each node, see ``NODE``.
        links: (W, WIDTH) node of a child's own children, or ``-1 - element`` of a leaf; 0, which is never followed,
            where there is no child.
        roots: (T,) node above each tree, whose only child is the tree's root.
    """

    boxes: FloatArray
    links: IntArray
    roots: IntArray


def widened(boxes: FloatArray, links: IntArray, roots: IntArray) -> WideTrees:
    """Binary trees as wide ones.

    Args:
        boxes: (K, 6) bounds of the nodes, centre then half lengths, m.
        links: (K, 2) children of the nodes, numbered as ``geometry.tree`` does; (-1, element) for leaves.
        roots: (T,) root of each tree.
    """
    members = [np.column_stack([roots, np.full((len(roots), WIDTH - 1), -1)])]
    parents, total = roots[links[roots, 0] >= 0], len(roots)
    # The first nodes have fewer children where levels do not come out even, so that the many last ones are full.
    levels = 1 + (_depths(links, parents) - 1) % _LEVELS
    place = np.zeros(len(links), dtype=np.int64)
    while parents.size:
        place[parents] = np.arange(total, total + len(parents))
        total += len(parents)
        members.append(_descendants(links, parents, levels))
        ends = members[-1][members[-1] >= 0]
        parents = ends[links[ends, 0] >= 0]
        levels = np.full(len(parents), _LEVELS)
    member = np.concatenate(members)
    there = member >= 0
    is_leaf = links[member, 0] < 0
    of_child = np.where(there[..., None], boxes[member], NOWHERE)
    return WideTrees(
        boxes=of_child.transpose(0, 2, 1).reshape(-1, NODE).copy(),
        links=np.where(there, np.where(is_leaf, -1 - links[member, 1], place[member]), 0),
        roots=np.arange(len(roots)),
    )


def _depths(links: IntArray, roots: IntArray) -> IntArray:
    """Depth to which nodes with eight children are laid out, at least 1: that of most leaves.

    Each leaf that is deeper costs a node of its own, and another level twice as many nodes as hold leaves; so up to an
    eighth of the leaves may be. Between a root and its second child are all nodes of the first one's subtree, which has
    half of the leaves.
    """
    num_leaves = links[roots, 1] - roots
    return np.maximum(np.ceil(np.log2(num_leaves / (1.0 + 1.0 / WIDTH))).astype(np.int64), 1)


def _descendants(links: IntArray, nodes: IntArray, levels: IntArray) -> IntArray:
    """Descendants (n, 8) of nodes so many levels below; a leaf above these stands for itself, -1 for nothing."""
    found = nodes[:, None]
    for level in range(_LEVELS):
        is_inner = (found >= 0) & (links[found, 0] >= 0) & (level < levels)[:, None]
        first = np.where(is_inner, links[found, 0], found)
        second = np.where(is_inner, links[found, 1], -1)
        found = np.stack([first, second], axis=2).reshape(len(nodes), -1)
    return found
