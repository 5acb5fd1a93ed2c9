"""Shapes of description files become the geometries that their properties ask for."""

from dataclasses import replace
from pathlib import Path

import meshio
import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry as hs
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import shapes, write_surface
from hydro_sim_core.geometry.simplices import enclosed_volume
from support.geometry.fields import assert_valid_field
from support.geometry.grids import cube_grid

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


def test_compliant_surface_that_is_not_convex_is_filled(files):
    solid = hs.make_geometry(shape(files / "ring.obj"), COMPLIANT)
    assert_valid_field(solid, 1e6)
    ring = trimesh.load(files / "ring.obj")
    bare = hs.make_geometry(shape(files / "ring.obj"), replace(COMPLIANT, margin=0.0))
    assert bare.volume() == pytest.approx(ring.volume, rel=5e-3)
    assert solid.volume() - bare.volume() == pytest.approx(1e-4 * ring.area, rel=0.02)


def peg_of_six_decimals():
    """A peg of 4 mm whose vertices are off by up to half a micrometre, in rows on its side: dented all over."""
    profile = [(0.0, 0.0), *((2e-3, z) for z in np.linspace(0.0, 0.03, 9)), (0.0, 0.03)]
    made = hs.revolve(profile, 300)
    return made.vertices.round(6), made.triangles


def test_a_convex_surface_of_few_decimals_is_coned_as_well(tmp_path, monkeypatch):
    """Pegs of IndustReal took minutes to fill for dents of half a micrometre."""
    monkeypatch.setattr(shapes, "compliant_solid", lambda *_, **__: pytest.fail("it is filled"))
    vertices, triangles = peg_of_six_decimals()
    write_surface(hs.Surface(vertices, triangles), tmp_path / "peg.obj")
    assert not shapes.is_convex(vertices, triangles)
    peg = hs.make_geometry(shape(tmp_path / "peg.obj"), replace(COMPLIANT, margin=0.0))
    assert peg.volume() == pytest.approx(enclosed_volume(vertices, triangles), rel=1e-4)


def test_a_dent_deeper_than_the_last_decimal_is_one():
    """A dimple of 5 micrometres in a peg of 30 mm has as small a share of its volume as its rounding."""
    vertices, triangles = peg_of_six_decimals()
    assert shapes.is_convex(vertices, triangles, rounded=True)
    row = int(np.argmin(np.linalg.norm(vertices - [2e-3, 0.0, 0.015], axis=1)))
    vertices[row, 0] -= 5e-6
    assert not shapes.is_convex(vertices, triangles, rounded=True)


def test_chosen_field_fills_a_convex_surface_as_well(files):
    ball = hs.make_geometry(shape(files / "convex.stl"), replace(COMPLIANT, pressure_field="laplace"))
    assert_valid_field(ball, 1e6)
    assert len(ball.elements) > 80


def test_chosen_field_reaches_tetrahedral_files(files):
    fields = {
        name: hs.make_geometry(shape(files / "solid.vtk"), replace(COMPLIANT, pressure_field=name))
        for name in ("distance", "laplace")
    }
    np.testing.assert_array_equal(fields["distance"].elements, fields["laplace"].elements)
    assert np.abs(fields["distance"].pressure - fields["laplace"].pressure).max() > 1e4


@pytest.mark.parametrize(
    ("spec", "compliance"),
    [
        (ShapeSpec("sphere", (0.1,)), "compliant"),
        (ShapeSpec("mesh", path=Path("ring.obj"), declare_convex=True), "compliant"),
        (ShapeSpec("mesh", path=Path("ring.obj")), "rigid"),
    ],
)
def test_field_where_none_is_possible(files, spec, compliance):
    if spec.path:
        spec = replace(spec, path=files / spec.path)
    with pytest.raises(InputError, match=r"pressure_field: is 'laplace', but a .* takes none"):
        hs.make_geometry(spec, replace(COMPLIANT, compliance=compliance, pressure_field="laplace"))


@pytest.mark.parametrize("scale", [1e3, 1e-3])
def test_mesh_in_the_wrong_unit(files, scale):
    with pytest.raises(
        InputError, match=r"ring\.obj: vertices: are .* across.*0\.001 for one in millimetres"
    ):
        hs.make_geometry(shape(files / "ring.obj", scale=(scale,) * 3), COMPLIANT)


def test_tetrahedral_file(files):
    solid = hs.make_geometry(shape(files / "solid.vtk", scale=(0.1, 0.1, 0.1)), COMPLIANT)
    assert len(solid.vertices) == 125 + 98  # and the skin of the margin
    hard = hs.make_geometry(shape(files / "solid.vtk"), RIGID)
    assert hard.volume() == pytest.approx(1.0)


@pytest.fixture
def open_box(files):
    """A unit box without the two triangles of its lower side."""
    mesh = trimesh.creation.box()
    mesh.update_faces(mesh.face_normals[:, 2] > -0.5)
    path = files / "open.stl"
    mesh.export(path)
    return path


def test_open_compliant_surface_names_the_file(open_box):
    with pytest.raises(InputError, match=r"open\.stl: triangles: have holes of"):
        hs.make_geometry(shape(open_box), COMPLIANT)


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)], ids=["as written", "mirrored"])
def test_open_rigid_surface_pushes_like_the_closed_one(open_box, scale):
    lid = hs.make_geometry(shape(open_box, scale=scale), RIGID)
    assert len(lid.elements) == 10
    ball = hs.sphere(0.2, resolution=0.05, modulus=1e6)
    X_WB = np.eye(4)
    X_WB[:3, 3] = 0.1, -0.05, 0.5 + 0.17
    onto_lid = compute_patch(lid, np.eye(4), ball, X_WB)
    onto_box = compute_patch(hs.box(1.0, 1.0, 1.0), np.eye(4), ball, X_WB)
    assert onto_lid.force_on_b[2] > 1.0
    np.testing.assert_allclose(onto_lid.force_on_b, onto_box.force_on_b, rtol=1e-6, atol=1e-6)


def described(path, proximity=None):
    proximity = ProximitySpec() if proximity is None else proximity
    return CollisionSpec("c", shape(path), np.eye(4), proximity, "robot.urdf", "link 'a', <collision>")


@pytest.mark.parametrize("name", ["ring.obj", "open.stl"])
def test_untagged_surface_that_is_no_convex_solid_becomes_its_hull(files, open_box, name):
    geometry, is_hull = hs.make_collision_geometry(described(files / name), COMPLIANT)
    assert is_hull
    wanted = hs.make_geometry(shape(files / name, declare_convex=True), COMPLIANT)
    np.testing.assert_array_equal(geometry.vertices, wanted.vertices)


def test_tagged_surface_that_is_not_convex_is_filled(files):
    geometry, is_hull = hs.make_collision_geometry(described(files / "ring.obj", COMPLIANT), COMPLIANT)
    assert not is_hull
    np.testing.assert_array_equal(
        geometry.elements, hs.make_geometry(shape(files / "ring.obj"), COMPLIANT).elements
    )


@pytest.mark.parametrize(
    ("name", "completed"), [("convex.stl", COMPLIANT), ("solid.vtk", COMPLIANT), ("ring.obj", RIGID)]
)
def test_untagged_mesh_that_can_be_used_stays(files, name, completed):
    geometry, is_hull = hs.make_collision_geometry(described(files / name), completed)
    assert not is_hull
    np.testing.assert_array_equal(
        geometry.elements, hs.make_geometry(shape(files / name), completed).elements
    )


def test_errors_name_the_description_and_the_mesh(files, open_box):
    with pytest.raises(InputError) as caught:
        hs.make_collision_geometry(described(open_box, COMPLIANT), COMPLIANT)
    assert caught.value.source == "robot.urdf"
    assert caught.value.element == "link 'a', <collision>"
    assert caught.value.problem.startswith(f"{open_box}: triangles: have holes of")
    with pytest.raises(InputError, match=r"robot\.urdf: link 'a', <collision>: .*gone\.stl: does not exist"):
        hs.make_collision_geometry(described(files / "gone.stl"), COMPLIANT)


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
