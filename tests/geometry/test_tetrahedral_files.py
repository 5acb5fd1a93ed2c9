"""Tetrahedral mesh files: pressures against closed forms and Drake, the margin skin, bad files."""

import meshio
import numpy as np
import pytest
from pydrake.geometry import Mesh
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.distance import distance_to_surface
from support.geometry.drake_meshes import assert_same_mesh, drake_mesh, drake_pressure_on_plane
from support.geometry.fields import assert_valid_field, pressure_at, sample_surface
from support.geometry.grids import cube_grid

MODULUS = 1e5


def write(path, points, cells):
    meshio.write_points_cells(
        path, points, cells, file_format={".vtk": "vtk42", ".msh": "gmsh22"}[path.suffix]
    )
    return path


@pytest.fixture
def cube(tmp_path):
    points, tetrahedra = cube_grid(6)
    return write(tmp_path / "cube.vtk", points, [("tetra", tetrahedra)])


@pytest.fixture
def angle(tmp_path):
    """An L-shaped solid: not convex."""
    points, tetrahedra = cube_grid(6, keep=lambda i, j, k: i < 3 or j < 3)
    return write(tmp_path / "angle.vtk", points, [("tetra", tetrahedra)])


@pytest.mark.parametrize("scale", [1.0, (0.2, 0.4, -0.6)])
def test_cube_pressure_is_proportional_to_depth(cube, scale):
    geometry = hs.tetrahedral_mesh(cube, MODULUS, scale=scale)
    assert_valid_field(geometry, MODULUS)
    half = 0.5 * np.abs(np.broadcast_to(scale, 3))
    np.testing.assert_allclose(geometry.volume(), 8.0 * half.prod(), rtol=1e-12)
    depth = (half - np.abs(geometry.vertices)).min(axis=1)
    np.testing.assert_allclose(geometry.pressure, MODULUS * depth / half.min(), atol=1e-6 * MODULUS)


def test_angle_equals_drakes(angle):
    geometry = hs.tetrahedral_mesh(angle, MODULUS)
    assert_valid_field(geometry, MODULUS)
    np.testing.assert_allclose(geometry.volume(), 0.75, rtol=1e-12)
    assert_same_mesh(geometry, *drake_mesh(Mesh(str(angle)), 1.0, MODULUS, 0.0))
    rng = np.random.default_rng(2)
    for _ in range(3):
        X_GP = np.eye(4)
        X_GP[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        X_GP[:3, 3] = [-0.2, -0.2, 0.03]
        points, pressure = drake_pressure_on_plane(Mesh(str(angle)), 1.0, MODULUS, 0.0, X_GP)
        np.testing.assert_allclose(pressure_at(geometry, points), pressure, atol=1e-8 * MODULUS)


@pytest.mark.parametrize("margin", [1e-4, 1e-2])
def test_margin_adds_a_skin_and_leaves_the_rest_as_it_is(angle, margin):
    bare = hs.tetrahedral_mesh(angle, MODULUS)
    grown = hs.tetrahedral_mesh(angle, MODULUS, margin)
    assert_valid_field(grown, MODULUS)
    count = len(bare.elements)
    np.testing.assert_array_equal(grown.elements[:count], bare.elements)
    np.testing.assert_array_equal(grown.fields[:count], bare.fields)
    assert len(grown.elements) == count + 3 * len(bare.surface_triangles())

    points = sample_surface(bare, np.random.default_rng(0), 200)
    np.testing.assert_allclose(pressure_at(grown, points), 0.0, atol=1e-9 * MODULUS)
    np.testing.assert_allclose(grown.vertices.max(axis=0), 0.5 + margin, atol=1e-5 * margin)
    np.testing.assert_allclose(grown.vertices.min(axis=0), -0.5 - margin, atol=1e-5 * margin)
    deepest = np.sqrt(2.0) / 6.0  # the vertices nearest to the concave edge
    skin_slope = np.linalg.norm(grown.fields[count:, :3], axis=1)
    np.testing.assert_allclose(skin_slope, MODULUS / deepest, rtol=1e-5)


def test_rigid_surface(angle):
    rigid = hs.tetrahedral_mesh(angle, margin=1e-3)
    assert rigid.kind == hs.GeometryKind.RIGID_MESH
    np.testing.assert_allclose(rigid.volume(), 0.75, rtol=1e-12)


def test_gmsh_file_with_surface_cells(tmp_path):
    points, tetrahedra = cube_grid(3)
    path = write(tmp_path / "cube.msh", points, [("triangle", tetrahedra[:2, :3]), ("tetra", tetrahedra)])
    assert len(hs.tetrahedral_mesh(path, MODULUS).elements) == len(tetrahedra)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_distance_to_surface_of_a_sphere(scale):
    sphere = hs.sphere(1.0, resolution=0.1)
    rng = np.random.default_rng(4)
    points = rng.normal(size=(200, 3))
    points *= rng.uniform(0.0, 0.99, (200, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    a, b, c = (sphere.vertices[sphere.elements[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # Inside a convex body the nearest face plane is as near as the nearest face.
    expected = (np.einsum("ij,ij->i", a, normals) - points @ normals.T).min(axis=1)
    found = distance_to_surface(scale * points, scale * sphere.vertices, sphere.elements)
    np.testing.assert_allclose(found, scale * expected, atol=1e-12 * scale)


def test_bad_files(tmp_path):
    points, tetrahedra = cube_grid(1)
    shallow = write(tmp_path / "shallow.vtk", points, [("tetra", tetrahedra)])
    surface = write(tmp_path / "surface.vtk", points, [("triangle", tetrahedra[:, :3])])
    garbage = tmp_path / "garbage.vtk"
    garbage.write_text("not a mesh\n")
    points = points.copy()
    points[0] = np.nan
    not_finite = write(tmp_path / "nan.vtk", points, [("tetra", tetrahedra)])
    for path, words in [
        (shallow, "vertex lies inside"),
        (surface, "export linear tetrahedra"),
        (garbage, "cannot be read"),
        (not_finite, "finite"),
        (tmp_path / "missing.vtk", "does not exist"),
        (tmp_path / "mesh.step", "unknown format"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            hs.tetrahedral_mesh(path, MODULUS)
        assert str(path) in str(caught.value)


def test_skin_is_thinner_where_it_would_fold(angle):
    margin = 0.6  # the cells of the mesh are 1/6 wide, so the skin folds at the concave edge
    bare, grown = hs.tetrahedral_mesh(angle, MODULUS), hs.tetrahedral_mesh(angle, MODULUS, margin)
    assert_valid_field(grown, MODULUS)
    slope = MODULUS / (np.sqrt(2.0) / 6.0)
    thickness = -grown.pressure[len(bare.vertices) :] / slope
    assert thickness.max() == pytest.approx(margin)
    assert thickness.min() < margin
    on_concave_edge = (np.abs(bare.vertices[np.unique(bare.surface_triangles())][:, :2]) < 1e-9).all(axis=1)
    assert (thickness[on_concave_edge] < margin).all()
