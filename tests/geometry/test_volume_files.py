"""Geometries written to files come back bit by bit; bad files and fields are refused."""

import meshio
import numpy as np
import pytest

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from support.geometry.grids import cube_grid

MODULUS = 1e5
ARRAYS = ("vertices", "elements", "pressure", "fields")
SUFFIXES = (".vtk", ".vtu", ".msh")


@pytest.fixture
def solid():
    points, tetrahedra = cube_grid(4)
    return hs.pressurised(points / 3.0, tetrahedra, modulus=MODULUS, field="laplace")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("margin", [0.0, 1e-3])
def test_round_trip_is_lossless(tmp_path, suffix, margin):
    points, tetrahedra = cube_grid(4)
    written = hs.pressurised(points / 3.0, tetrahedra, modulus=MODULUS, field="laplace", margin=margin)
    path = tmp_path / f"solid{suffix}"
    hs.write_vtk(written, path)
    for read in (hs.stored_geometry(path), hs.tetrahedral_mesh(path, MODULUS, margin)):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(read, name), getattr(written, name))
        assert (read.modulus, read.margin) == (MODULUS, margin)


@pytest.mark.parametrize(
    "make", [lambda: hs.sphere(0.1, modulus=1e5, margin=1e-3), lambda: hs.box(1, 2, 3, modulus=7.0)]
)
def test_primitives_come_back_too(tmp_path, make):
    written = make()
    hs.write_vtk(written, tmp_path / "part.vtk")
    read = hs.stored_geometry(tmp_path / "part.vtk")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))


def test_other_programs_see_the_pressure(tmp_path, solid):
    hs.write_vtk(solid, tmp_path / "solid.vtu")
    mesh = meshio.read(tmp_path / "solid.vtu")
    np.testing.assert_array_equal(mesh.point_data["pressure"], solid.pressure)
    assert mesh.cells[0].type == "tetra"


def test_another_modulus_scales_the_stored_field(tmp_path, solid):
    hs.write_vtk(solid, tmp_path / "solid.vtk")
    stiffer = hs.tetrahedral_mesh(tmp_path / "solid.vtk", 4.0 * MODULUS)
    np.testing.assert_allclose(stiffer.pressure, 4.0 * solid.pressure, rtol=1e-15)


def test_named_field_replaces_the_stored_one(tmp_path, solid):
    hs.write_vtk(solid, tmp_path / "solid.vtk")
    read = hs.tetrahedral_mesh(tmp_path / "solid.vtk", MODULUS, field="distance")
    expected = hs.pressurised(solid.vertices, solid.elements, modulus=MODULUS)
    np.testing.assert_allclose(read.pressure, expected.pressure, rtol=1e-12)


def test_margin_is_added_to_a_stored_field(tmp_path, solid):
    hs.write_vtk(solid, tmp_path / "solid.vtk")
    grown = hs.tetrahedral_mesh(tmp_path / "solid.vtk", MODULUS, 1e-3)
    np.testing.assert_allclose(
        grown.fields[: len(solid.fields)], solid.fields, rtol=1e-9, atol=1e-6 * MODULUS
    )
    assert grown.pressure.min() < 0.0


def test_another_margin_than_the_stored_one(tmp_path, solid):
    path = tmp_path / "solid.vtk"
    hs.write_vtk(hs.pressurised(solid.vertices, solid.elements, modulus=MODULUS, margin=1e-3), path)
    with pytest.raises(
        InputError, match=r"solid\.vtk: margin: is 0\.002 m, but the mesh in the file has one of 0\.001"
    ):
        hs.tetrahedral_mesh(path, MODULUS, 2e-3)
    with pytest.raises(InputError, match="already holds a margin"):
        hs.tetrahedral_mesh(path, MODULUS, 1e-3, field="distance")


def test_file_without_pressure(tmp_path):
    points, tetrahedra = cube_grid(4)
    path = tmp_path / "bare.vtk"
    meshio.write_points_cells(path, points, [("tetra", tetrahedra)], file_format="vtk42")
    with pytest.raises(InputError, match=r"bare\.vtk: pressure: is not stored"):
        hs.stored_geometry(path)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (lambda p: np.full(len(p), np.nan), "pressure: is not finite"),
        (lambda p: np.zeros(len(p)), "modulus|pressure: is nowhere positive"),
        (lambda p: np.ones(len(p)), "pressure: is .* on the surface"),
        (lambda p: np.ones((len(p), 3)), r"pressure: has shape \(125, 3\)"),
    ],
)
def test_bad_stored_pressure(tmp_path, values, words):
    points, tetrahedra = cube_grid(4)
    path = tmp_path / "bad.vtk"
    data = {"pressure": values(points)}
    meshio.write_points_cells(path, points, [("tetra", tetrahedra)], point_data=data, file_format="vtk42")
    with pytest.raises(InputError, match=words) as caught:
        hs.stored_geometry(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (lambda: hs.sphere(1.0, resolution=0.5), "ball.vtk", "cannot hold a rigid_mesh"),
        (lambda: hs.half_space(1e5), "ground.vtk", "cannot hold a compliant_half_space"),
        (lambda: hs.box(1, 1, 1, modulus=1.0), "box.stl", r"unknown format '\.stl'"),
        (lambda: hs.box(1, 1, 1, modulus=1.0), "nowhere/box.vtk", "cannot be written"),
    ],
)
def test_what_cannot_be_written(tmp_path, make, name, words):
    with pytest.raises(InputError, match=words):
        hs.write_vtk(make(), tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated_files(tmp_path, solid, suffix):
    path = tmp_path / f"solid{suffix}"
    hs.write_vtk(solid, path)
    content = path.read_bytes()
    for part in (0.1, 0.5, 0.9):
        path.write_bytes(content[: int(part * len(content))])
        with pytest.raises(InputError, match="solid"):
            hs.stored_geometry(path)
