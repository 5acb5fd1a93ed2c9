"""Slender shapes: hulls around their medial axis are exact, and other primitives lose nothing by being slender."""

import time

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry as hs
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.convex import hull
from hydro_sim_core.geometry.convex_depth import depth_mesh
from support.geometry.fields import assert_valid_field, pressure_at

MODULUS = 1e6


def bar(length, width=1.0, height=1.0):
    return trimesh.creation.box((length, width, height)).vertices


def end_force(geometry, depth):
    """Force on a rigid half space that cuts off the end of a body along z by a depth."""
    X_WG = np.eye(4)
    X_WG[2, 3] = -geometry.vertices[:, 2].min() - depth - geometry.margin
    return -compute_patch(geometry, X_WG, hs.half_space(), np.eye(4)).force_on_b[2]


@pytest.mark.parametrize("margin", [0.0, 1e-3])
def test_bar_on_its_end_is_as_stiff_as_its_field_says(margin):
    depth = 1e-2
    rod = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=margin)
    assert_valid_field(rod, MODULUS)
    # p = E depth / 0.05 within the cell of the end; near the rim, in those of the sides, the depth below them.
    core = 0.1 - 2.0 * depth
    exact = MODULUS / 0.05 * (depth * core**2 + 4.0 * (depth**2 / 2.0 * core + depth**3 / 3.0))
    # Faces at the rim reach into the margin's negative pressure and are weighed by the one at their centroid.
    assert end_force(rod, depth) == pytest.approx(exact, rel=1e-9 if margin == 0.0 else 5e-3)
    coned = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=margin, medial=False)
    assert end_force(coned, depth) < 0.1 * exact  # what the mesh around one vertex makes of it


@pytest.mark.parametrize("ratio", [1.0, 2.0, 7.9])
def test_hulls_that_are_not_slender_keep_one_inner_vertex(ratio):
    geometry = hs.convex_mesh(bar(ratio), modulus=MODULUS)
    assert len(geometry.vertices) == 9
    assert (geometry.pressure > 0.0).sum() == 1
    assert (hs.convex_mesh(bar(8.1), modulus=MODULUS).pressure > 0.0).sum() > 1


def depth_below_faces(points, where):
    equations = ConvexHull(points).equations
    return -(where @ equations[:, :3].T + equations[:, 3]).max(axis=1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(5, 40), stretch=st.floats(0.05, 20.0))
def test_pressure_is_proportional_to_depth(seed, count, stretch):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * [1.0, 0.5, stretch]
    geometry = hs.convex_mesh(points, modulus=MODULUS, medial=True)
    assert_valid_field(geometry, MODULUS)
    assert geometry.volume() == pytest.approx(ConvexHull(points).volume, rel=1e-9)
    where = rng.dirichlet(np.ones(count), 50) @ points
    depth = depth_below_faces(points, where)
    inner = geometry.vertices[geometry.pressure > 0.0]
    largest = depth_below_faces(points, inner).max()
    np.testing.assert_allclose(pressure_at(geometry, where), MODULUS * depth / largest, atol=1e-6 * MODULUS)


@pytest.mark.parametrize(
    "solid",
    [
        trimesh.creation.cylinder(0.05, 1.0, sections=32),
        trimesh.creation.cylinder(0.05, 1.0, sections=33),
        trimesh.creation.capsule(1.0, 0.05, count=[8, 8]),
        trimesh.creation.cone(0.05, 1.0, sections=16),
        trimesh.creation.box((1.0, 0.3, 0.02)),
    ],
    ids=["cylinder 32", "cylinder 33", "capsule", "cone", "plate"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_solids_with_many_faces_through_one_medial_vertex(solid, turned):
    points = np.array(solid.vertices)
    if turned:
        points = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).apply(points)
    geometry = hs.convex_mesh(points, modulus=MODULUS, margin=1e-3, medial=True)
    assert_valid_field(geometry, MODULUS)
    rng = np.random.default_rng(0)
    where = rng.dirichlet(np.ones(len(points)), 50) @ points
    depth = depth_below_faces(points, where)
    largest = depth_below_faces(points, geometry.vertices).max()
    np.testing.assert_allclose(pressure_at(geometry, where), MODULUS * depth / largest, atol=1e-6 * MODULUS)
    # With the margin every face has moved out by it, and the zero level set has not.
    surface = geometry.vertices[np.unique(geometry.surface_triangles())]
    np.testing.assert_allclose(depth_below_faces(points, surface), -1e-3, rtol=1e-6)


def test_single_precision_hull_is_valid_whichever_mesh_it_gets():
    points = trimesh.creation.capsule(1.0, 0.05, count=[12, 12]).vertices
    points = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).apply(points).astype(np.float32)
    geometry = hs.convex_mesh(points, modulus=MODULUS, margin=1e-4)
    assert_valid_field(geometry, MODULUS)


def test_medial_axis_hidden_by_round_off():
    points = trimesh.creation.capsule(1.0, 0.05, count=[12, 12]).vertices
    points = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).apply(points).astype(np.float32)
    with pytest.raises(InputError, match="round-off hides"):
        hs.convex_mesh(points, modulus=MODULUS, medial=True)


def pushed_by_plane(geometry, depth, R_WG=None):
    """Force on a rigid half space that cuts off the lowest part of a body."""
    X_WG = np.eye(4)
    X_WG[:3, :3] = np.eye(3) if R_WG is None else R_WG
    X_WG[2, 3] = -(geometry.vertices @ X_WG[:3, :3].T)[:, 2].min() - depth
    return -compute_patch(geometry, X_WG, hs.half_space(), np.eye(4)).force_on_b[2]


@pytest.mark.parametrize("semi_axes", [(0.01, 0.01, 0.1), (0.1, 0.01, 0.01), (0.1, 0.1, 0.01)])
def test_ellipsoid_is_as_exact_as_a_sphere(semi_axes):
    """Its field is the image of the sphere's: pressures agree, areas scale with a b, at any slenderness."""
    a, b, c = semi_axes
    ellipsoid = hs.ellipsoid(semi_axes, resolution=0.02, modulus=MODULUS)
    sphere = hs.sphere(0.1, resolution=0.02, modulus=MODULUS)
    scaled = pushed_by_plane(sphere, 0.02) * a * b / 0.01
    assert pushed_by_plane(ellipsoid, 0.2 * c) == pytest.approx(scaled, rel=1e-9)


def test_cylinder_needs_no_axial_split():
    """Lying on its side, the error is that of the polygon around the axis, however long the cylinder is."""
    on_its_side = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    errors = []
    for length in (0.4, 4.0):
        coarse, fine = (
            hs.cylinder(0.05, length, resolution=resolution, modulus=MODULUS) for resolution in (0.02, 0.001)
        )
        errors.append(
            pushed_by_plane(coarse, 5e-3, on_its_side) / pushed_by_plane(fine, 5e-3, on_its_side) - 1.0
        )
    assert errors[1] == pytest.approx(errors[0], abs=0.01)


@pytest.mark.long
def test_time_grows_little_faster_than_the_number_of_faces():
    """Eight times as many took 240 times as long, which is minutes for the hulls of real robots."""
    took = []
    for count in (80, 640):
        directions = np.random.default_rng(3).normal(size=(count, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        points, triangles = hull("", directions * [1.0, 0.1, 0.1])
        began = time.thread_time()
        depth_mesh(points, triangles)
        took.append(time.thread_time() - began)
    assert took[1] < 60.0 * took[0]


def test_meshes_of_many_corners_are_kept_and_the_same_again(tmp_path, monkeypatch, caplog):
    """The file of the cache gives the same bits; a damaged one is made anew, with a warning."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("hydro_sim_core.geometry.convex._MANY_POINTS", 7)
    made = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3)
    (file,) = (tmp_path / "meshes").iterdir()

    def refuse(*_):
        raise AssertionError("is made again")

    with monkeypatch.context() as patch:
        patch.setattr("hydro_sim_core.geometry.convex.depth_mesh", refuse)
        kept = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3)
    for name in ("vertices", "elements", "pressure"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(made, name))
    content = file.read_bytes()
    for damaged in (content[:100], b"", content[:-40] + bytes(40)):
        file.write_bytes(damaged)
        again = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3)
        np.testing.assert_array_equal(again.vertices, made.vertices)
        assert "is damaged" in caplog.messages[-1]


def test_that_there_is_no_mesh_is_kept_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("hydro_sim_core.geometry.convex._MANY_POINTS", 7)
    monkeypatch.setattr("hydro_sim_core.geometry.convex.depth_mesh", lambda *_: None)
    coned = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3)
    monkeypatch.undo()
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("hydro_sim_core.geometry.convex._MANY_POINTS", 7)
    again = hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3)
    np.testing.assert_array_equal(again.elements, coned.elements)
    with pytest.raises(InputError, match="round-off hides"):
        hs.convex_mesh(bar(0.1, 0.1, 2.0), modulus=MODULUS, margin=1e-3, medial=True)
