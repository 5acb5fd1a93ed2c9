"""Flat sides of few large triangles are found, whatever else the mesh has."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core import geometry
from hydro_sim_core.geometry.flat_sides import has_coarse_flats


def side_of_squares(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A plate of 1 x 1 x 0.05, of which both large sides have ``count`` x ``count`` squares, each of two triangles."""
    ticks = np.linspace(0.0, 1.0, count + 1)
    x, y = np.meshgrid(ticks, ticks, indexing="ij")
    corner = np.arange((count + 1) ** 2).reshape(count + 1, count + 1)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    top = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    points = [np.column_stack([x.ravel(), y.ravel(), np.full(x.size, z)]) for z in (0.05, 0.0)]
    rim = np.r_[corner[:-1, 0], corner[-1, :-1], corner[:0:-1, -1], corner[0, :0:-1]]
    ahead = np.roll(rim, -1)
    low, low_ahead = rim + x.size, ahead + x.size
    wall = np.r_[np.column_stack([low, low_ahead, ahead]), np.column_stack([low, ahead, rim])]
    return np.vstack(points), np.vstack([top, top[:, ::-1] + x.size, wall])


@pytest.mark.parametrize(("count", "is_coarse"), [(1, True), (3, True), (5, True), (9, False), (16, False)])
def test_squares_of_a_side_are_large_where_much_of_its_moment_lies_within_them(count, is_coarse):
    """Triangles of n x n squares hold 2 / (3 n^2) of it: a fiftieth is passed between 5 and 6."""
    assert has_coarse_flats(*side_of_squares(count)) == is_coarse


def test_sides_are_flat_in_files_of_few_decimals():
    vertices, triangles = side_of_squares(5)
    turned = vertices @ a_turn()
    assert has_coarse_flats(np.round(turned, 6), triangles)


def a_turn() -> np.ndarray:
    c, s = np.cos(0.7), np.sin(0.7)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.array(
        [[1, 0, 0], [0, c, -s], [0, s, c]]
    )


@pytest.mark.parametrize("resolution", [0.05, 0.01, 0.003])
@pytest.mark.parametrize("modulus", [None, 1e6])
def test_ends_of_cylinders_are_fans_however_fine_their_edge_is(resolution, modulus):
    assert geometry.cylinder(0.08, 0.04, resolution=resolution, modulus=modulus).has_coarse_flats


def test_round_bodies_are_coarse_only_with_few_elements():
    assert not geometry.sphere(0.1, resolution=0.03, modulus=1e6).has_coarse_flats
    assert geometry.sphere(0.1, resolution=0.2, modulus=1e6).has_coarse_flats
    assert not geometry.ellipsoid(0.05, 0.05, 0.01, resolution=0.01, modulus=1e6).has_coarse_flats


def test_boxes_and_half_spaces_are_coarse():
    assert geometry.box(0.2, 0.1, 0.05, modulus=1e6, margin=1e-3).has_coarse_flats
    assert geometry.half_space(1e6).has_coarse_flats


def test_a_surface_of_no_area_has_no_sides():
    assert not has_coarse_flats(np.zeros((3, 3)), np.array([[0, 1, 2]]))
