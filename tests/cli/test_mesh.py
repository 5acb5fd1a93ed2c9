"""``hydro-sim mesh``: the solid, its report, its files and its picture; what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import hydro_sim_core as hs
from hydro_sim_core.cli import app, mesh
from hydro_sim_core.cli.mesh_picture import cut, draw_section, telling_plane
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.geometry_bench.shapes import lobed_solid

SOLIDS = {
    "ellipsoid": hs.geometry.ellipsoid(0.06, 0.08, 0.1, resolution=0.05, modulus=1e5),
    "box with margin": hs.geometry.box([0.1, 0.2, 0.15], modulus=1e5, margin=2e-3),
    "lobed solid": lobed_solid(0.05, 2, 3, 1e5),
}


def call(*arguments):
    return CliRunner().invoke(app, ["mesh", *map(str, arguments)], env={"COLUMNS": "200"})


def refused(result):
    """The one line of a refusal."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture
def bracket(tmp_path):
    """An L of 0.1 m, 0.03 m thick, as an STL file in mm."""
    outline = [(0, 0), (100, 0), (100, 30), (30, 30), (30, 100), (0, 100)]
    triangles = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    solid = trimesh.creation.extrude_triangulation(np.array(outline, float), np.array(triangles), height=30.0)
    path = tmp_path / "bracket.stl"
    solid.export(path)
    return path


def test_a_surface_becomes_a_solid_with_report_file_and_picture(bracket, tmp_path):
    written, picture, report = (tmp_path / name for name in ("solid.vtk", "section.png", "report.json"))
    result = call(
        bracket, "--scale", 0.001, "--resolution", 0.015, "--modulus", 2e5,
        "--out", written, "--out", picture, "--json", report,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    for line in ("tetrahedra", "radius ratio", "largest pressure", "volume"):
        assert line in result.stdout
    data = json.loads(report.read_text())
    volume = 0.03 * (0.1**2 - 0.07**2)
    assert data["volume"] == pytest.approx(volume, rel=0.01)
    assert data["surface_volume"] == pytest.approx(volume, rel=1e-6)
    assert data["num_inner_vertices"] > 0
    assert data["num_zero_gradient"] == 0
    solid = hs.geometry.stored_geometry(written)
    assert len(solid.elements) == data["num_tetrahedra"]
    assert solid.modulus == solid.pressure.max() == 2e5
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_tetrahedra_of_a_file_are_kept_and_get_the_field_that_is_asked_for(tmp_path):
    given, written = tmp_path / "given.vtk", tmp_path / "written.vtu"
    hs.geometry.write_vtk(SOLIDS["lobed solid"], given)
    assert call(given, "--out", written, "--modulus", 3e5).exit_code == 0
    kept = hs.geometry.stored_geometry(written)
    np.testing.assert_array_equal(kept.elements, SOLIDS["lobed solid"].elements)
    np.testing.assert_allclose(kept.pressure, 3.0 * SOLIDS["lobed solid"].pressure)
    assert call(given, "--overwrite", "--out", written, "--field", "laplace", "--margin", 1e-3).exit_code == 0
    laplace = hs.geometry.stored_geometry(written)
    assert len(laplace.elements) > len(kept.elements)
    assert laplace.pressure.min() < 0.0
    assert laplace.margin == 1e-3


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("none.stl", (), "does not exist"),
        ("none.xyz", (), "use one of .stl, .obj, .dae, .glb, .ply, .vtk, .vtu, .msh"),
        ("broken.stl", (), "no triangles"),
        ("open.stl", (), "open.stl"),
        ("bracket.stl", ("--resolution", 1e-3), "resolution"),
        ("solid.vtk", ("--resolution", 0.01), "leave it out"),
        ("bracket.stl", ("--out", "solid.stl"), "end it in .vtk"),
        ("bracket.stl", ("--out", "none/solid.vtk"), "no folder"),
        ("bracket.stl", ("--out", "none/section.png"), "no folder"),
        ("solid.vtk", ("--out", "section.png", "--axis", "y", "--at", 0.2), "between -0.05 and 0.05 m"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(bracket, tmp_path, monkeypatch, name, options, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.stl").write_text("solid broken\nfacet normal nothing")
    sheet = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1]])
    sheet.export(tmp_path / "open.stl")
    hs.geometry.write_vtk(SOLIDS["lobed solid"], tmp_path / "solid.vtk")
    line = refused(call(name, *options))
    assert says in line


@pytest.mark.parametrize(
    "options",
    [("--field", "cubic"), ("--modulus", 0), ("--axis", "w"), ("--margin", -1), ("--margin", "nan")],
)
def test_wrong_usage_is_exit_status_2(bracket, options):
    assert call(bracket, *options).exit_code == 2


def test_files_that_cannot_be_written_are_refused_before_anything_is_meshed(bracket, monkeypatch, tmp_path):
    monkeypatch.setattr(mesh, "tetrahedralise", lambda *_, **__: pytest.fail("meshed"))
    refused(call(bracket, "--json", tmp_path / "none" / "report.json"))
    refused(call(bracket, "--out", tmp_path / "solid.stl"))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("name", SOLIDS)
def test_a_section_holds_the_pressure_that_a_rigid_plane_meets(name, axis):
    solid = SOLIDS[name]
    place = 0.3 * solid.vertices[:, axis].max()
    area, force = area_and_integral(cut(solid, axis, place))
    # The half space below z = 0 takes the place of everything below the section.
    R_WA = Rotation.align_vectors([[0.0, 0.0, 1.0]], [np.eye(3)[axis]])[0].as_matrix()
    X_WA = np.eye(4)
    X_WA[:3, :3], X_WA[2, 3] = R_WA, -place
    patch = hs.contact.compute_patch(solid, X_WA, hs.geometry.half_space(), np.eye(4))
    assert area == pytest.approx(patch.areas.sum(), rel=1e-12)
    assert force == pytest.approx(patch.areas @ patch.pressures, rel=1e-9)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("name", SOLIDS)
def test_a_section_through_vertices_and_faces_is_whole(name, axis):
    solid = SOLIDS[name]
    through = area_and_integral(cut(solid, axis, 0.0))
    beside = area_and_integral(cut(solid, axis, 1e-12))
    np.testing.assert_allclose(through, beside, rtol=1e-9)


def area_and_integral(section):
    """Area, m^2, and integral of the pressure over it, N."""
    corners = section.points[section.triangles]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    return areas.sum(), areas @ section.pressure[section.triangles].mean(axis=1)


def test_a_section_shows_the_largest_pressure():
    for solid in SOLIDS.values():
        axis, place = telling_plane(solid, None)
        assert np.ptp(solid.vertices[:, axis]) == np.ptp(solid.vertices, axis=0).min()
        assert cut(solid, axis, place).pressure.max() == pytest.approx(solid.pressure.max())
        assert telling_plane(solid, 2)[0] == 2


def test_a_plane_beside_the_body_is_refused(tmp_path):
    for place in (1.0, -1.0, np.nan):
        with pytest.raises(InputError, match="misses the body"):
            draw_section(SOLIDS["ellipsoid"], 0, place, "ellipsoid", tmp_path / "section.png")
