"""Axis-aligned bounding-volume tree over the elements of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def build_tree(vertices: FloatArray, elements: IntArray) -> tuple[FloatArray, IntArray]:
    """Build a tree (see :func:`build_tree_of_boxes`) over the elements (M, 3) or (M, 4) of a mesh."""
    corners = vertices[elements]
    return build_tree_of_boxes(corners.min(axis=1), corners.max(axis=1))


def build_tree_of_boxes(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, IntArray]:
    """Build a balanced binary tree of boxes with one element per leaf.

    A node is split at the median of its elements' centres along the axis of largest spread. The shape of the tree
    depends only on the number of elements, so that the depth-first numbers of nodes are known in advance (a left child
    follows its parent, the right child follows the left subtree), and each depth is built by a few array operations.

    Args:
        lower: (M, 3) lower corners of the elements' boxes, m; M at least 1.
        upper: (M, 3) upper corners, m.

    Returns:
        ``boxes`` (2 M - 1, 6), lower corner then upper corner, and ``links`` (2 M - 1, 2): the children of an
        inner node, ``(-1, element)`` for a leaf. Node 0 is the root.
    """
    centres = 0.5 * (lower + upper)
    boxes = np.empty((2 * len(lower) - 1, 6))
    links = np.empty((2 * len(lower) - 1, 2), dtype=np.int64)

    # The nodes of one depth: node k contains order[starts[k] : starts[k] + counts[k]].
    order = np.arange(len(lower))
    nodes, counts = np.zeros(1, dtype=np.int64), np.array([len(lower)])
    while nodes.size:
        starts = np.cumsum(counts) - counts
        boxes[nodes, :3] = np.minimum.reduceat(lower[order], starts)
        boxes[nodes, 3:] = np.maximum.reduceat(upper[order], starts)
        leaf = counts == 1
        links[nodes[leaf], 0] = -1
        links[nodes[leaf], 1] = order[starts[leaf]]

        order = order[np.repeat(~leaf, counts)]
        nodes, counts = nodes[~leaf], counts[~leaf]
        left_counts = (counts + 1) // 2
        children = np.column_stack([nodes + 1, nodes + 2 * left_counts])
        links[nodes] = children
        order = _sorted_along_spread(centres, order, counts)
        nodes, counts = children.ravel(), np.column_stack([left_counts, counts - left_counts]).ravel()
    return boxes, links


def _sorted_along_spread(centres: FloatArray, order: IntArray, counts: IntArray) -> IntArray:
    """Sort every run of ``order`` (of lengths ``counts``) along the axis of the largest spread of its centres."""
    if not counts.size:
        return order
    starts = np.cumsum(counts) - counts
    points = centres[order]
    spread = np.maximum.reduceat(points, starts) - np.minimum.reduceat(points, starts)
    axis = np.repeat(spread.argmax(axis=1), counts)
    run = np.repeat(np.arange(len(counts)), counts)
    return order[np.lexsort((points[np.arange(len(points)), axis], run))]
