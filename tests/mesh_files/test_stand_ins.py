"""What lies where a mesh should, such as a pointer of Git LFS, is refused: left out, it would let things pass."""

from __future__ import annotations

import re

import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import EmptyMesh, read_coloured_parts, read_surface, read_volume
from support.description.urdf_text import write_urdf

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a2146' * 8}\nsize 12345\n"
PAGE = (
    "\n<!doctype HTML><html><head><title>404</title></head><body>no such file, but many words</body></html>\n"
)
#: More than the header of a binary STL file.
LONG = "hello world, this is a text of more bytes than there are in the header of an STL file of bytes\n"
WITHOUT_ANYTHING = {
    "short text.stl": "hello world\n",
    "long text.stl": LONG,
    "text.obj": LONG,
    "no facet.stl": "solid a\nendsolid a\n",
    "few zeros.stl": 79 * "\0",
    "normals.obj": "vn 0 0 1\n",
    "no vertex.ply": "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\n"
    "property float z\nend_header\n",
}
#: Meshes that hold no triangle; Kinova's end_effector_link.STL is the first.
WITHOUT_TRIANGLES = {
    "start of a header.stl": 80 * "\0",
    "header.stl": "exported by a program".ljust(80) + 4 * "\0",
    "points.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\n",
    "lines.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2\nl 2 3\n",
    "points.ply": "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\n"
    "property float z\nend_header\n0 0 0\n1 0 0\n",
}


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "ply", "vtk", "vtu", "msh"])
def test_a_pointer_of_git_lfs_is_called_so(tmp_path, suffix):
    path = tmp_path / f"arm.{suffix}"
    path.write_text(POINTER)
    readers = (read_volume,) if suffix in ("vtk", "vtu", "msh") else (read_surface, read_coloured_parts)
    for read in readers:
        with pytest.raises(
            InputError, match=rf"arm\.{suffix}: is a pointer of Git LFS, .*; run git lfs pull in"
        ):
            read(path)


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "ply", "vtu"])
def test_a_web_page_is_called_so(tmp_path, suffix):
    path = tmp_path / f"arm.{suffix}"
    path.write_text(PAGE)
    with pytest.raises(InputError, match=rf"arm\.{suffix}: is a web page; download the mesh file"):
        (read_volume if suffix == "vtu" else read_surface)(path)


@pytest.mark.parametrize("name", WITHOUT_ANYTHING)
def test_a_file_without_a_vertex_is_no_mesh(tmp_path, name):
    (tmp_path / name).write_text(WITHOUT_ANYTHING[name])
    words = rf"{re.escape(name)}: is no mesh: it has no vertices and no triangles; export the mesh again, or"
    for read in (read_surface, read_coloured_parts):
        with pytest.raises(InputError, match=words) as caught:
            read(tmp_path / name)
        assert not isinstance(caught.value, EmptyMesh)


@pytest.mark.parametrize("name", WITHOUT_TRIANGLES)
def test_a_mesh_without_triangles_is_an_empty_one(tmp_path, name):
    """Which is left out of a robot."""
    (tmp_path / name).write_text(WITHOUT_TRIANGLES[name])
    with pytest.raises(EmptyMesh, match="has no triangles; export a triangulated surface"):
        read_surface(tmp_path / name)


@pytest.mark.parametrize("tag", ["", "<drake:rigid_hydroelastic/>", "<drake:compliant_hydroelastic/>"])
@pytest.mark.parametrize("content", [POINTER, PAGE, LONG], ids=["pointer", "page", "text"])
def test_a_robot_with_such_a_collision_mesh_is_refused(tmp_path, content, tag):
    """By any policy of repair, and also beside another shape."""
    (tmp_path / "arm.obj").write_text(content)
    path = write_urdf(
        tmp_path,
        '<link name="part"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial><collision><geometry><mesh filename="arm.obj"/></geometry>'
        f"<drake:proximity_properties>{tag}</drake:proximity_properties></collision>"
        '<collision><geometry><box size="1 1 1"/></geometry></collision></link>',
    )
    for repair in ("warn", "silent", "strict"):
        with pytest.raises(InputError, match=r"link 'part', <collision>, line 2: .*arm\.obj: is "):
            hs.load_urdf(path, repair=repair)
