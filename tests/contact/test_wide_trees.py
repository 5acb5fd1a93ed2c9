"""Trees with eight children a node: which pairs of elements they list, and vector instructions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.compilation import Float1D, Float2D, Int2D, entry
from hydro_sim_core.compilation.targets import levels
from hydro_sim_core.contact import GeometrySet, make_geometry_set
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch, make_query_scratch
from hydro_sim_core.contact.pressure_field.wide_trees import list_meetings, list_near_half_space
from hydro_sim_core.geometry.tree import build_tree_of_boxes
from hydro_sim_core.geometry.wide_tree import WIDTH, widened
from support.contact.poses import random_rotation

SLACK = 1e-3
sphere = hs.geometry.sphere
BALL = sphere(0.1, resolution=0.03, modulus=1e5)
BODIES = {
    "balls": (BALL, sphere(0.08, resolution=0.02, modulus=2e5)),
    "a margin": (BALL, sphere(0.08, resolution=0.02, modulus=2e5, margin=2e-3)),
    "a surface of few triangles": (hs.geometry.box(0.4, 0.3, 0.001), BALL),
    "one triangle": (
        hs.geometry.rigid_mesh(0.1 * np.eye(3), [[0, 1, 2]], open_surface=True),
        BALL,
    ),
}


@entry
def meetings(
    geometries: GeometrySet, R_BA: Float2D, p_BA: Float1D, slack: float, scratch: QueryScratch, into: Int2D
) -> int:
    """Pairs of elements of two shells."""
    tree_a, tree_b = geometries.wide_shell[0], geometries.wide_shell[1]
    return list_meetings(geometries, tree_a, tree_b, R_BA, p_BA, slack, scratch, into, 0)


@entry
def near_ground(
    geometries: GeometrySet,
    low: float,
    high: float,
    R_BA: Float2D,
    p_BA: Float1D,
    scratch: QueryScratch,
    into: Int2D,
) -> int:
    """Elements of a shell between two heights."""
    return list_near_half_space(
        geometries, geometries.wide_shell[0], 7, low, high, R_BA, p_BA, scratch, into, 0
    )


def leaves(geometries: GeometrySet, root: int) -> dict[int, np.ndarray]:
    """Boxes of the elements of a binary tree."""
    found, nodes = {}, [int(root)]
    while nodes:
        node = nodes.pop()
        first, second = geometries.shell_links[node].tolist()
        if first < 0:
            found[second] = geometries.shell_boxes[node]
        else:
            nodes += [first, second]
    return found


def meeting(
    a: dict[int, np.ndarray], b: dict[int, np.ndarray], R: np.ndarray, p: np.ndarray
) -> set[tuple[int, int]]:
    """Pairs whose boxes come as near as ``SLACK`` along the axes of both frames."""
    boxes_a, boxes_b = np.stack(list(a.values()))[:, None], np.stack(list(b.values()))[None]
    (c_a, h_a), (c_b, h_b) = ((boxes[..., :3], boxes[..., 3:]) for boxes in (boxes_a, boxes_b))
    in_b = np.abs(c_a @ R.T + p - c_b) <= h_a @ np.abs(R).T + h_b + SLACK
    in_a = np.abs((c_b - p) @ R - c_a) <= h_b @ np.abs(R) + h_a + SLACK
    of_a, of_b = list(a), list(b)
    return {(of_a[i], of_b[j]) for i, j in np.argwhere((in_a & in_b).all(axis=-1)).tolist()}


@pytest.mark.parametrize("name", BODIES)
def test_pairs_are_those_whose_boxes_meet(name: str) -> None:
    geometries = make_geometry_set(BODIES[name])
    scratch, into = make_query_scratch(geometries, 64), np.zeros((20_000, 2), dtype=np.int64)
    a, b = (leaves(geometries, geometries.shell_start[i]) for i in range(2))
    random, some = np.random.default_rng(len(name)), 0
    for distance in (0.02, 0.09, 0.15, 0.17):
        R, p = random_rotation(random), np.array([0.1, -0.2, 1.0]) * distance
        num = meetings(geometries, R, p, SLACK, scratch, into)
        found = [tuple(pair) for pair in into[:num].tolist()]
        assert len(set(found)) == len(found)
        expected = meeting(a, b, R, p)
        assert set(found) == expected
        some += len(expected)
    assert some > 20


def test_elements_between_two_heights() -> None:
    geometries = make_geometry_set((BALL, hs.geometry.half_space()))
    scratch, into = make_query_scratch(geometries, 64), np.zeros((5000, 2), dtype=np.int64)
    boxes = leaves(geometries, geometries.shell_start[0])
    random = np.random.default_rng(1)
    for low, high in ((-0.01, 0.01), (-np.inf, 0.02), (0.2, 0.3)):
        R, p = random_rotation(random), np.array([0.3, 0.1, 0.07])
        num = near_ground(geometries, low, high, R, p, scratch, into)
        height = {i: (R @ box[:3] + p)[2] for i, box in boxes.items()}
        reach = {i: (np.abs(R) @ box[3:])[2] for i, box in boxes.items()}
        expected = {i for i in boxes if height[i] - reach[i] <= high and height[i] + reach[i] >= low}
        assert set(into[:num, 0].tolist()) == expected
        assert len(expected) == num
        assert num > 20 or low > 0.1
        assert set(into[:num, 1].tolist()) <= {7}


def test_without_room_there_is_no_list() -> None:
    geometries = make_geometry_set(BODIES["balls"])
    scratch, into = make_query_scratch(geometries, 64), np.zeros((40, 2), dtype=np.int64)
    assert meetings(geometries, np.eye(3), np.array([0.0, 0.0, 0.15]), SLACK, scratch, into) == -1
    geometries = make_geometry_set((BALL, hs.geometry.half_space()))
    assert near_ground(geometries, -1.0, 1.0, np.eye(3), np.zeros(3), scratch, into) == -1


@pytest.mark.parametrize(
    "p", [(np.inf, 0.0, 0.0), (0.0, 0.0, np.inf), (1e308, 1e308, 1e308), (np.nan, 0.0, 0.0)]
)
def test_places_beyond_all_numbers_end(p: tuple[float, float, float]) -> None:
    """Absent children met what is infinitely near once, and with them the first node of all, again and again."""
    geometries = make_geometry_set((BALL, hs.geometry.half_space()))
    scratch, into = make_query_scratch(geometries, 64), np.zeros((5000, 2), dtype=np.int64)
    R, at = random_rotation(np.random.default_rng(2)), np.array(p)
    for low, high in ((-np.inf, np.inf), (-0.01, 0.01)):
        num = near_ground(geometries, low, high, R, at, scratch, into)
        assert 0 <= num <= len(geometries.elements)
    geometries = make_geometry_set(BODIES["balls"])
    into, scratch = np.zeros((400_000, 2), dtype=np.int64), make_query_scratch(geometries, 64)
    for slack in (SLACK, np.inf):
        num = meetings(geometries, R, at, slack, scratch, into)
        found = into[:num].tolist()
        assert len({tuple(pair) for pair in found}) == num


@pytest.mark.parametrize(
    ("num", "share"),
    [(2, 0.2), (8, 0.9), (9, 0.4), (63, 0.9), (65, 0.8), (72, 0.5), (90, 0.65), (513, 0.9), (4097, 0.9)],
)
def test_nodes_are_filled(num: int, share: float) -> None:
    lower = np.random.default_rng(3).normal(size=(num, 3))
    boxes, links = build_tree_of_boxes(lower, lower + 0.1)
    wide = widened(boxes, links, np.zeros(1, dtype=np.int64))
    there = ~np.isnan(wide.boxes[1:, :WIDTH])
    assert there.mean() > share


def test_every_element_has_one_place_within_its_parents() -> None:
    geometries = make_geometry_set((BALL, sphere(0.05, resolution=0.02)))
    binary = leaves(geometries, geometries.shell_start[0]) | leaves(geometries, geometries.shell_start[1])
    wide = widened(geometries.shell_boxes, geometries.shell_links, geometries.shell_start)
    boxes = wide.boxes.reshape(-1, 6, WIDTH)
    elements, nodes = [], [(int(root), np.array([0, 0, 0, 1, 1, 1.0])) for root in wide.roots]
    while nodes:
        node, around = nodes.pop()
        for k in range(WIDTH):
            box, link = boxes[node, :, k], int(wide.links[node, k])
            if np.isnan(box[3]):
                continue
            assert np.all(np.abs(box[:3] - around[:3]) + box[3:] <= around[3:] + 1e-12)
            if link < 0:
                elements.append(-1 - link)
                assert np.array_equal(box, binary[-1 - link])
            else:
                nodes.append((link, box))
    assert sorted(elements) == sorted(binary)
    # Eight children a node, but for the last two levels of each tree.
    assert len(wide.links) < len(binary) / 4


def test_boxes_are_tested_by_vector_instructions() -> None:
    """Of the few additions over a half space the compiler makes none."""
    from hydro_sim_core.compilation import compiler

    with compiler._own_settings():
        code = str(compiler._translated(meetings, next(iter(levels()))))
    compared = re.findall(r"fcmp (?:\w+ )*(<\d+ x double>|double)", code)
    assert len([width for width in compared if width != "double"]) >= 12
    # The sizes of two boxes are compared, nothing else.
    assert compared.count("double") <= 2
