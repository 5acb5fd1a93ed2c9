"""Mesh files become the arrays that they hold, and what they only claim is refused."""

from __future__ import annotations

import os
import struct

import meshio
import numpy as np
import pytest
import trimesh

from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import MAX_ELEMENTS, read_coloured_parts, read_surface, read_volume
from support.hostile.inputs.scene_meshes import dae, glb, gltf
from support.hostile.inputs.surface_meshes import obj, ply
from support.hostile.meshes import FACES, POINTS

COLOURED = "newmtl red\nKd 1 0 0\n"


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply"])
def test_vertices_are_merged_as_trimesh_merges_them(tmp_path, suffix):
    """Whose order results hang on."""
    surface = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    random = np.random.default_rng(5)
    surface.vertices += 1e-3 * random.random(surface.vertices.shape)
    corners = surface.vertices[surface.faces[random.permutation(len(surface.faces))]].reshape(-1, 3)
    soup = trimesh.Trimesh(
        np.vstack([random.random((7, 3)), corners]), 7 + np.arange(len(corners)).reshape(-1, 3), process=False
    )
    path = tmp_path / f"soup{suffix}"
    soup.export(path)
    expected = trimesh.load_scene(path, process=False, skip_materials=True).to_mesh()
    expected.merge_vertices(merge_tex=True, merge_norm=True)
    vertices, triangles = read_surface(path)
    np.testing.assert_array_equal(vertices, expected.vertices)
    np.testing.assert_array_equal(triangles, expected.faces)
    assert len(vertices) == len(surface.vertices)


def test_an_stl_file_of_text_is_that_of_bytes(tmp_path):
    surface = trimesh.creation.box((1.0, 2.0, 4.0))
    surface.export(tmp_path / "binary.stl")
    (tmp_path / "text.stl").write_text(trimesh.exchange.stl.export_stl_ascii(surface))
    for one, other in zip(
        read_surface(tmp_path / "binary.stl"), read_surface(tmp_path / "text.stl"), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_an_stl_file_that_is_cut_says_by_how_much(tmp_path):
    path = tmp_path / "cut.stl"
    path.write_bytes(bytes(80) + struct.pack("<I", 7) + bytes(3 * 50 + 20))
    with pytest.raises(InputError, match=r"cut\.stl: has 3 triangles, and 7 by its header; export"):
        read_surface(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-16"])
def test_comments_may_be_in_any_letters(tmp_path, encoding):
    (tmp_path / "a.obj").write_bytes(("# Größe in m\n" + obj()).encode(encoding))
    vertices, triangles = read_surface(tmp_path / "a.obj")
    assert (vertices.shape, triangles.shape) == ((4, 3), (4, 3))


@pytest.mark.parametrize("suffix", [".obj", ".dae", ".glb", ".ply", ".stl"])
def test_a_device_behind_a_link_is_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=rf"a{suffix}: is a device; name a readable file"):
        read_surface(path)
    with pytest.raises(InputError, match="is a device"):
        read_coloured_parts(path)


def test_a_large_file_is_refused_unread(tmp_path):
    (tmp_path / "a.obj").touch()
    os.truncate(tmp_path / "a.obj", 2**40)
    with pytest.raises(InputError, match="larger than 100 MB; decimate the mesh"):
        read_surface(tmp_path / "a.obj")


def test_too_many_triangles_are_refused(tmp_path):
    count = MAX_ELEMENTS + 1
    (tmp_path / "a.stl").write_bytes(bytes(80) + struct.pack("<I", count) + bytes(50 * count))
    with pytest.raises(InputError, match=r"has 500001 triangles .*, the limit is 500000; decimate the mesh"):
        read_surface(tmp_path / "a.stl")


def test_memory_is_that_of_the_file_and_not_of_its_claims(tmp_path):
    """392 bytes that made 3.4 GB."""
    accessors = [{"componentType": 5126, "count": 400_000_000, "type": "VEC3"}, gltf()["accessors"][1]]
    (tmp_path / "a.glb").write_bytes(glb(gltf(accessors=accessors), bytes(96)))
    with pytest.raises(InputError, match=r"a\.glb: cannot be read \(it takes more than 640 MB of memory\)"):
        read_surface(tmp_path / "a.glb")


def test_an_archive_is_not_unpacked(tmp_path):
    (tmp_path / "a.dae").write_bytes(b"PK\3\4 and so on")
    with pytest.raises(InputError, match="is a ZIP archive; unpack it"):
        read_surface(tmp_path / "a.dae")


@pytest.mark.parametrize("name", ["a.dae", "a.vtu"])
def test_a_doctype_is_refused(tmp_path, name):
    (tmp_path / name).write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    with pytest.raises(InputError, match="has a DOCTYPE"):
        (read_surface if name == "a.dae" else read_volume)(tmp_path / name)


@pytest.mark.parametrize("uri", ["/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x", "beside.bin"])
def test_a_scene_refers_to_nothing_outside(tmp_path, uri):
    (tmp_path / "beside.bin").write_bytes(bytes(96))
    (tmp_path / "a.glb").write_bytes(glb(gltf(buffers=[{"byteLength": 96, "uri": uri}])))
    with pytest.raises(InputError, match=f"it refers to '{uri}', which is not read"):
        read_surface(tmp_path / "a.glb")


def test_colours_come_from_a_file_that_lies_beside(tmp_path):
    (tmp_path / "a.obj").write_text(obj("f 1 2 3\n", before="mtllib colours.mtl\nusemtl red\n"))
    assert read_coloured_parts(tmp_path / "a.obj")[0].colour in (None, (0.4, 0.4, 0.4, 1.0))
    (tmp_path / "colours.mtl").write_text(COLOURED)
    assert read_coloured_parts(tmp_path / "a.obj")[0].colour == (1.0, 0.0, 0.0, 1.0)


MANY = range(20_000)
MATERIALS = {
    "their own": "".join(f"usemtl m{i}\nf 1 2 3\n" for i in MANY),
    "in comments": "".join(f"# usemtl m{i}\nf 1 2 3\n" for i in MANY),
    "on two lines": "".join(f"use\\\r\nmtl m{i}\nf 1 2 3\n" for i in MANY),
}


@pytest.mark.parametrize("lines", MATERIALS)
def test_materials_take_no_time_where_colours_are_not_wanted(tmp_path, lines):
    """The library's time grows with their square: these took more than the limit of a file."""
    (tmp_path / "a.obj").write_text(obj(MATERIALS[lines]))
    _, triangles = read_surface(tmp_path / "a.obj")
    assert triangles.tolist() == [[0, 1, 2]] * len(MANY)


TEXTURED = {
    ".obj": obj("vt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"),
    ".ply": ply(
        vertices="3\nproperty float s\nproperty float t", body="0 0 0 0 0\n0 1 1 0 0\n1 0 0 1 0\n3 0 1 2\n"
    ).decode(),
}


@pytest.mark.parametrize("suffix", TEXTURED)
def test_places_on_pictures_do_not_matter(tmp_path, suffix):
    """Pictures are not read, and most OBJ files tell which corner has which place on one."""
    path = tmp_path / f"a{suffix}"
    path.write_text(TEXTURED[suffix])
    vertices, triangles = read_surface(path)
    assert (vertices.shape, triangles.shape) == ((3, 3), (1, 3))
    (part,) = read_coloured_parts(path)
    np.testing.assert_array_equal(part.vertices, vertices)


def test_a_material_with_a_picture_has_its_colour(tmp_path):
    (tmp_path / "a.mtl").write_text(COLOURED + "map_Kd a.png\n")
    (tmp_path / "a.obj").write_text("mtllib a.mtl\nusemtl red\n" + TEXTURED[".obj"])
    (part,) = read_coloured_parts(tmp_path / "a.obj")
    assert part.colour == (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("name", ["../outside.mtl", "{folder}/outside.mtl", "folder/inside.mtl"])
def test_colours_do_not_come_from_elsewhere(tmp_path, name):
    place = tmp_path / "here"
    (place / "folder").mkdir(parents=True)
    for path in (tmp_path / "outside.mtl", place / "folder" / "inside.mtl"):
        path.write_text(COLOURED)
    (place / "a.obj").write_text(obj("f 1 2 3\n", f"mtllib {name.format(folder=tmp_path)}\nusemtl red\n"))
    assert read_coloured_parts(place / "a.obj")[0].colour != (1.0, 0.0, 0.0, 1.0)


def test_a_pipe_of_colours_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "colours.mtl")
    (tmp_path / "a.obj").write_text(obj("f 1 2 3\n", before="mtllib colours.mtl\nusemtl red\n"))
    assert len(read_coloured_parts(tmp_path / "a.obj")) == 1


def test_a_face_of_a_vertex_that_is_not_there(tmp_path):
    """An ordinary exporter's fault: it was a traceback."""
    (tmp_path / "a.ply").write_bytes(ply(body="0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 4\n"))
    with pytest.raises(InputError, match=r"a\.ply: triangles: name vertices that do not exist; export"):
        read_surface(tmp_path / "a.ply")


@pytest.mark.parametrize("second", [[0, 1, 2, 3], [2, 1, 0, 3]])
def test_a_tetrahedron_that_is_there_twice(tmp_path, second):
    """An ordinary exporter's fault: it was a traceback."""
    cells = [("tetra", np.array([[0, 1, 2, 3], second]))]
    meshio.write_points_cells(tmp_path / "a.vtk", POINTS, cells, file_format="vtk42")
    words = r"a\.vtk: tetrahedron 1: has the same corners as tetrahedron 0 \(1 such\); keep one"
    with pytest.raises(InputError, match=words):
        read_volume(tmp_path / "a.vtk")


@pytest.mark.parametrize("name", ["a.vtk", "a.vtu", "a.msh", "a.stl", "a.glb"])
def test_an_empty_file_is_called_so(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="is empty; export"):
        (read_volume if name[2:] in ("vtk", "vtu", "msh") else read_surface)(tmp_path / name)


def test_what_is_no_vtu_file_is_told_in_words(tmp_path):
    """Not by the status with which meshio ends the process."""
    (tmp_path / "a.vtu").write_text("hello")
    with pytest.raises(InputError, match=r"cannot be read \(it is no VTU file\)"):
        read_volume(tmp_path / "a.vtu")


@pytest.mark.parametrize("read", [read_surface, read_coloured_parts])
def test_a_dae_file_with_a_picture_that_it_does_not_name_is_read(tmp_path, read):
    """The library left out what has such a material, as it did with a shin of Valkyrie."""
    path = tmp_path / "a.dae"
    trimesh.creation.box().export(path)
    surface = "<surface type='2D'><init_from>gone</init_from></surface>"
    begin = "<profile_COMMON>"
    text = path.read_text()
    assert begin in text
    path.write_text(text.replace(begin, f"{begin}<newparam sid='skin'>{surface}</newparam>"))
    triangles = read(path)[1] if read is read_surface else read(path)[0].triangles
    assert len(triangles) == 12


def test_positions_of_a_dae_file_that_are_no_numbers(tmp_path):
    """They were read as zero."""
    (tmp_path / "a.dae").write_text(dae("NaN 0 0 0.1 0 0 0 0.1 0 0 0 0.1"))
    with pytest.raises(InputError, match="vertices that are not finite"):
        read_surface(tmp_path / "a.dae")


def test_normals_of_a_dae_file_may_be_no_numbers(tmp_path):
    """Exporters write them for triangles without area, and nobody asks for them."""
    normals = (
        '<source id="n"><float_array id="b" count="3">NaN NaN NaN</float_array><technique_common><accessor source="#b" '
        'count="1" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" '
        'type="float"/></accessor></technique_common></source>'
    )
    (tmp_path / "a.dae").write_text(dae().replace('<vertices id="v">', f'{normals}<vertices id="v">'))
    vertices, triangles = read_surface(tmp_path / "a.dae")
    assert (vertices.shape, triangles.shape) == (POINTS.shape, FACES.shape)


def test_words_of_a_parser_stay_on_one_line(tmp_path):
    (tmp_path / "a.vtk").write_text("# vtk DataFile Version 4.2\nx\nASCII\nDATASET \x1b[31m\x9bforged\n")
    with pytest.raises(InputError) as caught:
        read_volume(tmp_path / "a.vtk")
    assert str(caught.value).isprintable()
