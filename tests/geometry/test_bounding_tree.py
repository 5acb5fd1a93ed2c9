"""The tree holds every element once, and every box what lies under it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core import geometry as hs
from hydro_sim_core.geometry.tree import build_tree


def assert_tree(vertices, elements, boxes, links):
    assert boxes.shape == (2 * len(elements) - 1, 6)
    assert links.shape == (2 * len(elements) - 1, 2)
    leaves, visited, deepest = [], [], 0
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        visited.append(node)
        deepest = max(deepest, depth)
        left, right = links[node]
        if left == -1:
            leaves.append(right)
            corners = vertices[elements[right]]
            np.testing.assert_array_equal(boxes[node], np.r_[corners.min(axis=0), corners.max(axis=0)])
        else:
            lower = np.minimum(boxes[left, :3], boxes[right, :3])
            upper = np.maximum(boxes[left, 3:], boxes[right, 3:])
            np.testing.assert_array_equal(boxes[node], np.r_[lower, upper])
            stack += [(left, depth + 1), (right, depth + 1)]
    assert sorted(leaves) == list(range(len(elements)))
    assert sorted(visited) == list(range(len(links)))
    assert deepest == int(np.ceil(np.log2(len(elements))))


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 300),
    width=st.sampled_from([3, 4]),
    seed=st.integers(0, 10**6),
    coincident=st.booleans(),
)
def test_tree_of_random_elements(count, width, seed, coincident):
    rng = np.random.default_rng(seed)
    vertices = np.zeros((50, 3)) if coincident else rng.normal(size=(50, 3))
    elements = rng.integers(0, 50, (count, width))
    assert_tree(vertices, elements, *build_tree(vertices, elements))


def test_trees_of_geometries():
    for geometry in (
        hs.sphere(0.1, resolution=0.02, modulus=1e5),
        hs.cylinder(0.1, 0.3),
        hs.box(1.0, 2.0, 3.0, modulus=1e5, margin=1e-3),
    ):
        assert_tree(geometry.vertices, geometry.elements, geometry.tree_boxes, geometry.tree_links)


def test_boxes_are_compact_in_whatever_order_the_elements_come():
    geometry = hs.sphere(1.0, resolution=0.1)
    shuffled = np.random.default_rng(0).permutation(geometry.elements)
    boxes, _ = build_tree(geometry.vertices, shuffled)
    size = boxes[:, 3:] - boxes[:, :3]
    area = (size * np.roll(size, 1, axis=1)).sum(axis=1)
    # Boxes that a random line through the root crosses: 31 here, some 2000 if elements were not sorted.
    assert area.sum() / area[0] < 40.0
