"""Shapes of description files become the geometries that their properties ask for."""

import meshio
import numpy as np
import pytest
import trimesh
from grids import cube_grid

from hydro_sim_core import geometry as hs
from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError

COMPLIANT = ProximitySpec(
    compliance="compliant", modulus=1e6, resolution_hint=0.05, margin=1e-4, slab_thickness=0.1
)
RIGID = ProximitySpec(compliance="rigid", resolution_hint=0.05, margin=1e-4)


@pytest.mark.parametrize(
    ("kind", "size", "make"),
    [
        ("sphere", (0.1,), hs.sphere),
        ("box", (0.1, 0.2, 0.3), hs.box),
        ("cylinder", (0.1, 0.3), hs.cylinder),
        ("capsule", (0.1, 0.3), hs.capsule),
        ("ellipsoid", (0.1, 0.2, 0.3), hs.ellipsoid),
        ("half_space", (), hs.half_space),
    ],
)
def test_primitives(kind, size, make):
    soft = hs.make_geometry(ShapeSpec(kind, size), COMPLIANT)
    options = {"slab_thickness": 0.1} if kind == "half_space" else {}
    expected = make(*size, resolution=0.05, modulus=1e6, margin=1e-4, **options)
    np.testing.assert_array_equal(soft.vertices, expected.vertices)
    np.testing.assert_array_equal(soft.fields, expected.fields)
    assert soft.margin == 1e-4
    hard = hs.make_geometry(ShapeSpec(kind, size), RIGID)
    assert hard.is_rigid
    np.testing.assert_array_equal(hard.elements, make(*size, resolution=0.05).elements)


@pytest.fixture
def files(tmp_path):
    convex = trimesh.creation.icosphere(subdivisions=1, radius=0.1)
    convex.export(tmp_path / "convex.stl")
    ring = trimesh.creation.torus(0.2, 0.05, major_sections=12, minor_sections=8)
    ring.export(tmp_path / "ring.obj")
    points, tetrahedra = cube_grid(4)
    meshio.write_points_cells(tmp_path / "solid.vtk", points, [("tetra", tetrahedra)], file_format="vtk42")
    return tmp_path


def shape(path, **options):
    return ShapeSpec("mesh", path=path, **options)


def test_rigid_surface_keeps_its_triangles(files):
    ring = hs.make_geometry(shape(files / "ring.obj", scale=(2.0, 2.0, 2.0)), RIGID)
    assert ring.kind == hs.GeometryKind.RIGID_MESH
    assert len(ring.elements) == 12 * 8 * 2
    np.testing.assert_allclose(ring.vertices[:, :2].max(), 0.5, rtol=1e-5)


def test_compliant_convex_surface_is_coned_to_its_centroid(files):
    ball = hs.make_geometry(shape(files / "convex.stl"), COMPLIANT)
    assert ball.kind == hs.GeometryKind.COMPLIANT_MESH
    assert len(ball.elements) == 80
    np.testing.assert_allclose(ball.vertices[ball.pressure.argmax()], 0.0, atol=1e-7)


@pytest.mark.parametrize(("proximity", "kind"), [(COMPLIANT, 0), (RIGID, 1)], ids=["compliant", "rigid"])
def test_declared_convex_takes_the_hull(files, proximity, kind):
    plate = hs.make_geometry(shape(files / "ring.obj", declare_convex=True), proximity)
    assert plate.kind == kind
    surface = plate.vertices[np.unique(plate.surface_triangles())]
    assert np.linalg.norm(surface[:, :2], axis=1).min() > 0.19  # nothing is left of the hole


def test_compliant_surface_that_is_not_convex(files):
    with pytest.raises(InputError, match=r"ring\.obj.*declare_convex or supply a tetrahedral mesh \(\.vtk\)"):
        hs.make_geometry(shape(files / "ring.obj"), COMPLIANT)


def test_tetrahedral_file(files):
    solid = hs.make_geometry(shape(files / "solid.vtk", scale=(0.1, 0.1, 0.1)), COMPLIANT)
    assert len(solid.vertices) == 125 + 98  # and the skin of the margin
    hard = hs.make_geometry(shape(files / "solid.vtk"), RIGID)
    assert hard.volume() == pytest.approx(1.0)


def test_open_surface_names_the_file(files):
    mesh = trimesh.creation.box()
    mesh.update_faces(np.arange(12) > 0)
    mesh.export(files / "open.stl")
    for proximity in (RIGID, COMPLIANT):
        with pytest.raises(InputError, match=r"open\.stl: edge .* is open"):
            hs.make_geometry(shape(files / "open.stl"), proximity)


@pytest.mark.parametrize(
    ("spec", "proximity", "element"),
    [
        (ShapeSpec("sphere", (0.1,)), ProximitySpec(), "compliance"),
        (ShapeSpec("sphere", (0.1,)), ProximitySpec(compliance="compliant", margin=0.0), "modulus"),
        (ShapeSpec("sphere", (0.1,)), ProximitySpec(compliance="rigid", margin=0.0), "resolution_hint"),
        (ShapeSpec("half_space"), ProximitySpec("compliant", modulus=1.0, margin=0.0), "slab_thickness"),
        (ShapeSpec("mesh"), RIGID, "path"),
        (ShapeSpec("sphere", (-0.1,)), RIGID, "radius"),
        (ShapeSpec("box", (0.1, 0.2)), RIGID, "size"),
        (ShapeSpec("cylinder", (0.1,)), RIGID, "size"),
    ],
)
def test_missing_or_bad_property(spec, proximity, element):
    with pytest.raises(InputError) as caught:
        hs.make_geometry(spec, proximity)
    assert caught.value.element.startswith(element)
