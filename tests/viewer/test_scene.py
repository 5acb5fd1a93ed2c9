"""What pages are shown of shapes is what trimesh and the simulation know of them."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.meshes import encode_mesh, shape_meshes
from hydro_sim_core.viewer.scene import scene_of_urdf, scene_of_world
from support.simulation.linkage_gripper import gripper_urdf

SCENES = sorted((Path(__file__).parents[2] / "config" / "scenes").glob("*.yaml"))
SCALE = PressureScale(20e3)
RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)


def decode(data):
    """Vertices, normals and triangles, read as the page reads them."""
    num_vertices, num_triangles = np.frombuffer(data, "<u4", 2)
    assert len(data) == 8 + 24 * num_vertices + 12 * num_triangles
    vertices = np.frombuffer(data, "<f4", 3 * num_vertices, 8).reshape(-1, 3)
    normals = np.frombuffer(data, "<f4", 3 * num_vertices, 8 + 12 * num_vertices).reshape(-1, 3)
    triangles = np.frombuffer(data, "<u4", 3 * num_triangles, 8 + 24 * num_vertices).reshape(-1, 3)
    assert triangles.max() < num_vertices
    return vertices.astype(float), normals.astype(float), triangles.astype(int)


def decoded(data):
    vertices, normals, triangles = decode(data)
    return trimesh.Trimesh(vertices, triangles, vertex_normals=normals, process=False)


def only_mesh(shape):
    ((mesh, _),) = shape_meshes(shape, None)
    return decoded(mesh.data)


def test_a_box_keeps_its_edges():
    mesh = only_mesh(ShapeSpec("box", (0.2, 0.3, 0.5)))
    assert mesh.area == pytest.approx(2 * (0.06 + 0.10 + 0.15), rel=1e-6)
    assert mesh.volume == pytest.approx(0.03, rel=1e-6)
    at_corners = np.all(np.isclose(np.abs(mesh.vertices), [0.1, 0.15, 0.25]), axis=1)
    assert at_corners.sum() == 24  # three at every corner
    _, normals, triangles = decode(shape_meshes(ShapeSpec("box", (0.2, 0.3, 0.5)), None)[0][0].data)
    for corner in triangles.T:
        assert normals[corner] == pytest.approx(mesh.face_normals, abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "area", "volume"),
    [
        (ShapeSpec("sphere", (0.1,)), 4 * np.pi * 0.01, 4 / 3 * np.pi * 1e-3),
        (ShapeSpec("cylinder", (0.1, 0.4)), 2 * np.pi * 0.1 * 0.5, np.pi * 0.004),
        (ShapeSpec("capsule", (0.1, 0.4)), 4 * np.pi * 0.01 + 2 * np.pi * 0.04, np.pi * (0.004 + 4e-3 / 3)),
        (ShapeSpec("ellipsoid", (0.1, 0.2, 0.3)), None, 4 / 3 * np.pi * 0.006),
    ],
    ids=lambda value: value.kind if isinstance(value, ShapeSpec) else "",
)
def test_round_shapes_have_their_area_and_place(shape, area, volume):
    mesh = only_mesh(shape)
    if area is not None:
        assert mesh.area == pytest.approx(area, rel=0.01)
    assert mesh.volume == pytest.approx(volume, rel=0.015)
    assert mesh.bounds.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-6)
    half = {"cylinder": 0.2, "capsule": 0.3, "ellipsoid": 0.3, "sphere": 0.1}[shape.kind]
    assert mesh.bounds[1, 2] == pytest.approx(half, rel=1e-5)


def test_a_sphere_is_smooth_and_a_cylinder_has_two_sharp_rims():
    vertices, normals, _ = decode(shape_meshes(ShapeSpec("sphere", (0.1,)), None)[0][0].data)
    assert normals == pytest.approx(vertices / 0.1, abs=0.01)

    vertices, normals, _ = decode(shape_meshes(ShapeSpec("cylinder", (0.1, 0.4)), None)[0][0].data)
    upright = np.abs(normals[:, 2])
    assert np.all((upright < 1e-6) | (upright > 1.0 - 1e-6))  # side or cap, nothing in between
    side = upright < 0.5
    assert normals[side, :2] == pytest.approx(vertices[side, :2] / 0.1, abs=1e-5)
    assert np.all(np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-5))


def test_a_lone_triangle_and_a_degenerate_one_have_finite_normals():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 0, 0]])
    _, normals, _ = decode(encode_mesh(vertices, np.array([[0, 1, 2], [0, 1, 3]])).data)
    assert np.all(np.isfinite(normals))


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "glb", "dae"])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (-2.0, 1.0, 0.5)])
def test_mesh_files_keep_area_and_orientation(tmp_path, suffix, scale):
    """Mirrored ones too: what is seen is the outside."""
    solid = trimesh.creation.box((0.1, 0.2, 0.3)).apply_translation((0.5, 0, 0))
    solid.export(tmp_path / f"solid.{suffix}")
    meshes = [decoded(mesh.data) for mesh, _ in shape_meshes(_mesh(tmp_path, f"solid.{suffix}", scale), None)]
    expected = solid.copy()
    expected.vertices *= scale
    assert sum(mesh.area for mesh in meshes) == pytest.approx(expected.area, rel=1e-5)
    assert sum(mesh.volume for mesh in meshes) == pytest.approx(abs(expected.volume), rel=1e-5)
    assert meshes[0].bounds == pytest.approx(expected.bounds, abs=1e-6)
    assert sum(len(mesh.vertices) for mesh in meshes) == 24


def _mesh(folder, name, scale=(1.0, 1.0, 1.0)):
    return ShapeSpec("mesh", path=folder / name, scale=scale)


def test_a_file_shows_its_own_colours_unless_the_description_gives_one(tmp_path):
    (tmp_path / "two.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    (tmp_path / "two.obj").write_text(
        "mtllib two.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nusemtl red\nf 1 2 3\nusemtl blue\nf 1 2 4\nf 1 3 4\n"
    )
    own = {rgba: decoded(mesh.data).area for mesh, rgba in shape_meshes(_mesh(tmp_path, "two.obj"), None)}
    assert own == {RED: pytest.approx(0.5), BLUE: pytest.approx(1.0)}
    ((mesh, rgba),) = shape_meshes(_mesh(tmp_path, "two.obj"), (0.1, 0.2, 0.3, 1.0))
    assert rgba == (0.1, 0.2, 0.3, 1.0)
    assert decoded(mesh.data).area == pytest.approx(1.5)


def test_a_tetrahedral_file_shows_its_surface(tmp_path):
    ball = hs.geometry.sphere(0.1, resolution=0.05, modulus=1e5)
    hs.geometry.write_vtk(ball, tmp_path / "ball.vtk")
    mesh = only_mesh(_mesh(tmp_path, "ball.vtk"))
    surface = hs.geometry.sphere(0.1, resolution=0.05)  # the rigid one is its surface alone
    expected = trimesh.Trimesh(surface.vertices, surface.elements[:, :3], process=False)
    assert mesh.area == pytest.approx(expected.area, rel=1e-5)
    assert mesh.volume == pytest.approx(expected.volume, rel=1e-5)


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "bad.dae").write_bytes(b"<COLLADA>\0\xff")
    with pytest.raises(InputError, match=r"bad\.dae") as caught:
        shape_meshes(_mesh(tmp_path, "bad.dae"), None)
    assert "\n" not in str(caught.value)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_world_and_its_description_are_drawn_alike(path):
    """A replay draws from the URDF in the recording what the live page drew: the same shapes at the same places."""
    world = hs.load_scene(path)
    live = scene_of_world(world, SCALE)
    replayed = scene_of_urdf(scene_urdf(world.scene, "world"), SCALE, mode="replay")
    slabs = len(live.ground)  # URDF has no half space
    poses = dict(zip(world.frame_names, world.frame_poses(), strict=True))
    drawn_live, drawn_replayed = _boxes(live, poses), _boxes(replayed, poses)
    assert len(drawn_replayed) == len(drawn_live) + slabs
    for centre, colour in drawn_live:
        nearest = min(drawn_replayed, key=lambda item: np.linalg.norm(item[0] - centre))
        assert nearest[0] == pytest.approx(centre, abs=1e-5)
        assert colour in {c for box, c in drawn_replayed if np.allclose(box, centre, atol=1e-5)}


def _boxes(scene, poses):
    """Corners in the world of the box around every visual, and its colour."""
    boxes = []
    for visual in scene.visuals:
        X_WV = poses.get(scene.links[visual.link], np.eye(4)) @ np.reshape(visual.X_LV, (4, 4))
        mesh = decoded(scene.meshes[visual.mesh]).apply_transform(X_WV)
        boxes.append((mesh.bounds.ravel(), visual.rgba))
    return boxes


def test_a_slide_without_ends_has_a_slider_of_the_usual_length(tmp_path):
    """Its repair puts the ends 10 km away, where a slider of as many pixels finds no place."""
    path = tmp_path / "cart.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    path.write_text(
        f'<robot name="cart"><link name="rail"/><link name="cart">{inertial}</link><joint name="push" type="prismatic">'
        '<parent link="rail"/><child link="cart"/><limit effort="5" velocity="1"/></joint></robot>'
    )
    (joint,) = scene_of_world(hs.load_urdf(path, drives="all", repair="silent"), SCALE).joints
    assert (joint.lower, joint.upper, joint.commandable) == (None, None, True)


def test_the_message_of_a_scene_is_json_that_names_its_parts():
    world = hs.load_scene(SCENES[0].with_name("spatula_slip.yaml"))
    scene = scene_of_world(world, SCALE)
    message = json.loads(json.dumps(scene.as_json(), allow_nan=False))
    assert set(world.frame_names) < set(message["links"])
    assert {visual["mesh"].removeprefix("/mesh/") for visual in message["visuals"]} == set(scene.meshes)
    joints = {joint["name"]: joint for joint in message["joints"]}
    assert list(joints) == list(world.joint_names)
    assert (joints["joint_1"]["lower"], joints["joint_1"]["unit"]) == (None, "rad")
    assert joints["joint_2"]["lower"] == pytest.approx(-2.24)
    # Fingers follow the grip slider.
    assert not joints["left_finger_joint"]["commandable"]
    assert joints["joint_7"]["commandable"]
    assert message["grippers"] == [
        {
            "name": "gripper",
            "max_force": 80.0,
            "unit": "N",
            "joints": ["left_finger_joint", "right_finger_joint"],
        }
    ]
    assert message["scale"]["maximum"] == 20e3
    assert message["scale"]["colours"] == SCALE.table().tolist()


def test_the_joint_of_a_linkage_has_a_slider_beside_that_of_its_effort(tmp_path):
    """The one closes it, the other opens it again."""
    (tmp_path / "hand.urdf").write_text(gripper_urdf())
    message = scene_of_world(hs.load_urdf(tmp_path / "hand.urdf", drives="all"), SCALE).as_json()
    joints = {joint["name"]: joint["commandable"] for joint in message["joints"]}
    assert joints["knuckle_joint"]
    assert not joints["left_tip_joint"]
    assert message["grippers"] == [
        {"name": "gripper", "max_force": 50.0, "unit": "N m", "joints": ("knuckle_joint",)}
    ]


def test_scenes_that_differ_have_different_keys():
    world = hs.load_scene(SCENES[0].with_name("drop_box.yaml"))
    one, other = scene_of_world(world, SCALE), scene_of_world(world, PressureScale(5e3))
    assert one.as_json()["key"] == scene_of_world(world, SCALE).as_json()["key"] != other.as_json()["key"]


def test_missing_meshes_are_left_out_of_a_replay_with_one_warning(tmp_path, caplog):
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "there.stl")
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    text = (
        '<robot name="r"><link name="map">'
        + mesh.format((tmp_path / "there.stl").as_uri())
        + mesh.format("file:///gone/away.stl")
        + mesh.format("package://nowhere/lost.dae")
        + "<collision><geometry><box size='1 1 1'/></geometry></collision></link></robot>"
    )
    with caplog.at_level(logging.WARNING):
        scene = scene_of_urdf(text, SCALE)
    assert len(scene.visuals) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "robot_description: 2 mesh files are missing and not drawn, file:///gone/away.stl among them"
    ]


def test_what_a_recorded_description_says_to_gazebo_keeps_nobody_from_seeing_it():
    links = "<link name='a'><visual><geometry><box size='1 1 1'/></geometry></visual></link>"
    text = f"<robot name='r'>{links}<gazebo><joint name='loop' type='screw'/></gazebo></robot>"
    assert len(scene_of_urdf(text, SCALE).visuals) == 1


@pytest.mark.parametrize("text", ["", "<robot", "<html/>", "\0"])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(InputError):
        scene_of_urdf(text, SCALE)


def test_a_link_with_a_visual_mesh_that_cannot_be_read_is_drawn_as_its_collision_shape(tmp_path, caplog):
    """With one warning for all such links, and a link beside them as it looks."""
    (tmp_path / "torn.stl").write_bytes(b"\0" * 90)
    links = "".join(
        f'<link name="{name}"><visual><geometry>{seen}</geometry></visual>'
        f'<collision><geometry><box size="0.1 0.2 {size}"/></geometry></collision></link>'
        f'<joint name="{name}_weld" type="fixed"><parent link="base"/><child link="{name}"/></joint>'
        for name, size, seen in (
            ("a", 0.3, '<mesh filename="torn.stl"/>'),
            ("b", 0.5, '<mesh filename="torn.stl"/>'),
            ("c", 0.7, '<sphere radius="0.1"/>'),
        )
    )
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="base"/>{links}</robot>')
    world = hs.load_urdf(tmp_path / "r.urdf")
    caplog.clear()
    scene = scene_of_world(world, SCALE)
    (warning,) = caplog.records
    assert "visual meshes of 2 links are not drawn, that of 'a' among them" in warning.getMessage()
    drawn = {scene.links[one.link]: decoded(scene.meshes[one.mesh]) for one in scene.visuals}
    assert drawn["a"].extents == pytest.approx([0.1, 0.2, 0.3], rel=1e-6)
    assert drawn["b"].extents == pytest.approx([0.1, 0.2, 0.5], rel=1e-6)
    assert drawn["c"].volume == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.02)
