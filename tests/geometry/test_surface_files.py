"""Surface mesh files: every format gives the same solid, and bad files one clear error."""

import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from support.geometry.fields import assert_watertight


@pytest.fixture
def part():
    """A box with a corner at the origin: off-centre, so that a lost transform shows."""
    return trimesh.creation.box(bounds=[[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".dae", ".glb"])
def test_every_format_gives_the_same_solid(tmp_path, part, suffix):
    path = tmp_path / f"part{suffix}"
    part.export(path)
    vertices, triangles = hs.load_surface(path, watertight=True)
    assert vertices.shape == (8, 3)
    assert triangles.shape == (12, 3)
    assert_watertight(triangles)
    np.testing.assert_allclose(hs.rigid_mesh(vertices, triangles).volume(), 0.006, rtol=1e-6)
    np.testing.assert_allclose(vertices.max(axis=0), [0.1, 0.2, 0.3], rtol=1e-6)


def test_scene_parts_stand_where_their_transforms_put_them(tmp_path, part):
    scene = trimesh.Scene()
    scene.add_geometry(part)
    scene.add_geometry(part, transform=trimesh.transformations.translation_matrix([1.0, 0.0, 0.0]))
    path = tmp_path / "scene.glb"
    scene.export(path)
    vertices, triangles = hs.load_surface(path)
    assert triangles.shape == (24, 3)
    np.testing.assert_allclose(vertices.max(axis=0), [1.1, 0.2, 0.3], rtol=1e-6)


def test_dae_unit_is_applied(tmp_path, part):
    path = tmp_path / "part.dae"
    part.export(path)
    text = path.read_text()
    assert "<up_axis>" in text
    path.write_text(text.replace("<up_axis>", '<unit name="millimeter" meter="0.001"/><up_axis>'))
    vertices, _ = hs.load_surface(path)
    np.testing.assert_allclose(vertices.max(axis=0), [1e-4, 2e-4, 3e-4], rtol=1e-6)


@pytest.mark.parametrize("scale", [2.0, (1.0, 2.0, 4.0), (-1.0, 2.0, 4.0)])
def test_scale_keeps_the_outside_outside(tmp_path, part, scale):
    path = tmp_path / "part.stl"
    part.export(path)
    vertices, triangles = hs.load_surface(path, scale, watertight=True)
    expected = 0.006 * np.abs(np.broadcast_to(scale, 3)).prod()
    np.testing.assert_allclose(hs.rigid_mesh(vertices, triangles).volume(), expected, rtol=1e-6)


def test_inside_out_surface_is_turned(tmp_path, part):
    part.invert()
    path = tmp_path / "part.stl"
    part.export(path)
    assert hs.rigid_mesh(*hs.load_surface(path)).volume() == pytest.approx(0.006, rel=1e-6)


def test_inside_out_surface_with_a_degenerate_triangle_is_turned(tmp_path, part):
    part.invert()
    path = tmp_path / "part.obj"
    part.export(path)
    path.write_text(path.read_text() + "f 1 1 2\n")
    assert hs.rigid_mesh(*hs.load_surface(path)).volume() == pytest.approx(0.006, rel=1e-6)


def test_open_surface(tmp_path, part):
    part.update_faces(np.arange(len(part.faces)) > 1)
    path = tmp_path / "open.stl"
    part.export(path)
    vertices, triangles = hs.load_surface(path)
    assert len(triangles) == 10
    assert hs.rigid_mesh(vertices, triangles, open_surface=True).kind == hs.GeometryKind.RIGID_MESH
    with pytest.raises(InputError, match=r"open\.stl: edge .* is open"):
        hs.load_surface(path, watertight=True)


def bad_file(folder, name):
    path = folder / name
    if name == "empty.obj":
        path.write_text("# nothing\n")
    elif name == "truncated.stl":
        path.write_bytes(b"\0" * 80 + b"\x10\0\0\0" + b"\0" * 7)
    elif name == "garbage.dae":
        path.write_text("<COLLADA><unclosed></COLLADA>")
    elif name == "garbage.glb":
        path.write_bytes(b"not a glTF file")
    elif name == "nan.obj":
        path.write_text("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    elif name == "points.ply":
        trimesh.PointCloud(np.eye(3)).export(path)
    elif name == "flat.obj":
        path.write_text("v 0 0 0\nv 0 0 0\nv 0 1 0\nf 1 2 3\n")
    elif name == "part.step":
        path.write_text("ISO-10303-21;")
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.stl", "does not exist"),
        ("part.step", "unknown format"),
        ("empty.obj", "triangles|cannot be read"),
        ("truncated.stl", "triangles|cannot be read"),
        ("garbage.dae", "triangles|cannot be read"),
        ("garbage.glb", "cannot be read"),
        ("nan.obj", "finite"),
        ("points.ply", "triangles|cannot be read"),
        ("flat.obj", "degenerate"),
    ],
)
def test_bad_file(tmp_path, name, words):
    path = bad_file(tmp_path, name)
    with pytest.raises(InputError, match=words) as caught:
        hs.load_surface(path)
    assert caught.value.source == str(path)
    assert caught.value.mend


@pytest.mark.parametrize("scale", [0.0, np.nan, (1.0, 1.0), (1.0, 0.0, 1.0)])
def test_bad_scale(tmp_path, part, scale):
    path = tmp_path / "part.stl"
    part.export(path)
    with pytest.raises(InputError, match="scale"):
        hs.load_surface(path, scale)
