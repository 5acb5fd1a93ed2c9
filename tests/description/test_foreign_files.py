"""Files that are given as a scene and are something else: the error says what."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_scene_spec
from hydro_sim_core.errors import InputError


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "arm.xml",
            b"<mujoco/>",
            ("<mujoco>: is a MuJoCo model", "make one with mjcf_urdf_simple_converter"),
        ),
        (
            "arm.xml",
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <robot/> -->\n<mujoco model='a'/>",
            ("<mujoco>: is a MuJoCo model",),
        ),
        (
            "world.sdf",
            b"<?xml version='1.0'?><sdf version='1.7'/>",
            ("SDF", "Gazebo", "sdf2urdf of the ROS package sdformat_tools"),
        ),
        ("page.html", b"<!DOCTYPE html>\n<html></html>", ("<html>: is XML", "export the robot as URDF")),
        ("part.STL", b"solid part\nendsolid", ("is a mesh, and no scene", "<mesh> in a URDF")),
        ("part.stl", bytes(range(256)), ("is a mesh",)),
        ("part.obj", b"# obj\nv 0 0 0", ("is a mesh",)),
        ("run.mcap", b"\x89MCAP0", ("is a recording, and no scene", "hydro-sim replay shows it")),
        ("arm.usda", b"#usda 1.0", ("is USD", "usd_to_urdf")),
    ],
)
def test_what_is_of_another_format_is_named(tmp_path, name, text, words):
    """The mend says what is accepted; a complaint of YAML's would be a riddle."""
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        load_scene_spec(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert all(word in str(caught.value) for word in (*words, "a scene is YAML, a robot URDF or xacro"))


def test_a_robot_of_another_name_is_told_to_be_one(tmp_path):
    for name, mend in (("arm.xml", r"name the file \.urdf"), ("arm.URDF.XACRO", "load it with load_urdf")):
        path = tmp_path / name
        path.write_text("<robot name='a'/>")
        with pytest.raises(InputError, match=rf"{name}: <robot>: is a robot; {mend}"):
            load_scene_spec(path)
