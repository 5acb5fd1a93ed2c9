"""Tetrahedra without depth: which there are, and that splits give each a vertex inside without moving the surface."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from hydro_sim_core import geometry as hs
from hydro_sim_core.geometry.simplices import boundary_triangles, sorted_rows, tetrahedron_volumes
from hydro_sim_core.geometry.splits import give_every_tetrahedron_depth
from support.geometry.grids import cube_grid

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])


def assert_depth_everywhere(vertices, tetrahedra):
    """Nothing inside the body has all its vertices on the surface."""
    surface = boundary_triangles(tetrahedra)
    on_surface = set(surface.ravel().tolist())
    surface_edges = {frozenset(edge) for row in surface.tolist() for edge in itertools.combinations(row, 2)}
    surface_faces = {frozenset(row) for row in surface.tolist()}
    for row in tetrahedra.tolist():
        assert not on_surface.issuperset(row)
        for size, allowed in ((2, surface_edges), (3, surface_faces)):
            for part in itertools.combinations(row, size):
                assert not on_surface.issuperset(part) or frozenset(part) in allowed


def check(vertices, tetrahedra):
    volumes = tetrahedron_volumes(vertices, tetrahedra)
    tetrahedra = np.where((volumes < 0.0)[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)
    new_vertices, new_tetrahedra = give_every_tetrahedron_depth(vertices, tetrahedra)
    assert_depth_everywhere(new_vertices, new_tetrahedra)
    np.testing.assert_array_equal(new_vertices[: len(vertices)], vertices)
    assert (tetrahedron_volumes(new_vertices, new_tetrahedra) > 0.0).all()
    assert tetrahedron_volumes(new_vertices, new_tetrahedra).sum() == pytest.approx(np.abs(volumes).sum())
    before = {frozenset(row) for row in boundary_triangles(tetrahedra).tolist()}
    assert {frozenset(row) for row in boundary_triangles(new_tetrahedra).tolist()} == before
    _, _, counts = sorted_rows(
        np.vstack([new_tetrahedra[:, list(c)] for c in itertools.combinations(range(4), 3)])
    )
    assert counts.max() <= 2
    return new_vertices, new_tetrahedra


def test_single_tetrahedron_gets_its_middle():
    vertices, tetrahedra = check(CORNERS[:4], np.array([[0, 1, 2, 3]]))
    assert len(tetrahedra) == 4
    np.testing.assert_allclose(vertices[-1], [0.25, 0.25, 0.25])


def test_neck_between_two_tetrahedra_gets_depth():
    """Two tetrahedra share a face whose edges all lie on the surface: the face itself is split."""
    vertices, tetrahedra = check(CORNERS, np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))
    assert len(tetrahedra) == 6
    np.testing.assert_allclose(vertices[-1], CORNERS[1:4].mean(axis=0))


def test_tetrahedra_around_an_inner_edge_are_halved():
    angles = np.arange(5) * 2.0 * np.pi / 5.0
    rim = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(5)])
    vertices = np.vstack([[[0.0, 0, -1], [0, 0, 1]], rim])
    tetrahedra = np.array([[0, 1, 2 + i, 2 + (i + 1) % 5] for i in range(5)])
    new_vertices, new_tetrahedra = check(vertices, tetrahedra)
    assert len(new_tetrahedra) == 10
    np.testing.assert_allclose(new_vertices[-1], 0.0, atol=1e-15)


def test_wall_of_one_layer():
    check(*cube_grid(3, keep=lambda i, j, k: k == 0))


def test_mesh_that_has_depth_stays_as_it_is():
    ball = hs.sphere(1.0, resolution=0.5, modulus=1.0)
    vertices, same = give_every_tetrahedron_depth(ball.vertices, ball.elements)
    np.testing.assert_array_equal(vertices, ball.vertices)
    np.testing.assert_array_equal(same, ball.elements)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(5, 25), kept=st.floats(0.2, 1.0))
def test_any_mesh_gets_depth(seed, count, kept):
    """Random parts of Delaunay meshes: with necks, pinches, edges of many tetrahedra and separate parts."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    tetrahedra = Delaunay(points).simplices.astype(np.int64)
    sizes = np.abs(tetrahedron_volumes(points, tetrahedra))
    tetrahedra = tetrahedra[(sizes > 1e-6) & (rng.uniform(size=len(tetrahedra)) < kept)]
    if len(tetrahedra):
        check(points, tetrahedra)
