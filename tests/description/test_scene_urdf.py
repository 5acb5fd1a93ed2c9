"""The scene that viewers and controllers are told of is the one that is simulated."""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from hydro_sim_core.description import load_robot, load_scene
from hydro_sim_core.description.exported_meshes import readable_mesh
from hydro_sim_core.description.scene_urdf import fixed_links, robot_urdf, scene_urdf
from hydro_sim_core.geometry import load_surface
from hydro_sim_core.geometry.simplices import enclosed_volume
from hydro_sim_core.geometry.volume_files import load_volume

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

URDF = Path(__file__).parents[2] / "urdf"
SCENES = sorted((Path(__file__).parents[2] / "config" / "scenes").glob("*.yaml"))


@pytest.mark.heavy(3)
@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_joints_and_links_survive_the_round_trip(path, tmp_path):
    """Read back by the loader: the same joints between the same links, at the same places, with the same mass."""
    scene = load_scene(path)
    written = tmp_path / "scene.urdf"
    written.write_text(scene_urdf(scene, "map"))
    read = load_robot(written)
    assert read.root == "map"

    links = {link.name: link for link in read.links}
    joints = {joint.name: joint for joint in read.joints}
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        base = next(joint for joint in read.joints if joint.child == robot.root)
        assert base.type == model.base
        assert base.parent == (model.attach_to or "map")
        assert pytest.approx(model.pose.X, abs=1e-12) == base.X_PJ
        for link in robot.links:
            assert len(links[link.name].visuals) >= len(link.visuals)
            if link.inertial is not None:
                assert links[link.name].inertial.mass == link.inertial.mass
                assert np.array_equal(links[link.name].inertial.I_LCo, link.inertial.I_LCo)
        for joint in robot.joints:
            same = joints[joint.name]
            assert (same.type, same.parent, same.child) == (joint.type, joint.parent, joint.child)
            assert pytest.approx(joint.X_PJ, abs=1e-12) == same.X_PJ
            assert same.axis == pytest.approx(joint.axis, abs=1e-12)
            assert same.mimic == joint.mimic
            if joint.type in ("revolute", "prismatic"):
                assert (same.limits.lower, same.limits.upper) == (joint.limits.lower, joint.limits.upper)


def test_fixed_links_are_those_that_never_move():
    """Stand, base and fixed mounts are; the arm's moving links and the free spatula are not."""
    fixed = fixed_links(load_scene(SCENES[0].with_name("spatula_slip.yaml")))
    assert {"stand", "base_link", "gripper", "grasp_frame"} <= fixed
    assert not fixed & {"shoulder_link", "left_finger", "spatula"}


def test_ellipsoids_are_drawn_as_ellipsoids(tmp_path):
    """URDF has no ellipsoid: a scaled mesh of the unit sphere gives its own extents."""
    (tmp_path / "egg.urdf").write_text(
        '<robot name="egg" xmlns:drake="http://drake.mit.edu"><link name="egg"><visual><geometry>'
        '<drake:ellipsoid a="0.04165" b="0.05" c="0.0625"/></geometry></visual></link></robot>'
    )
    (tmp_path / "egg.yaml").write_text("name: egg\nmodels: [{name: egg, urdf: egg.urdf, base: fixed}]\n")
    written = tmp_path / "scene.urdf"
    written.write_text(scene_urdf(load_scene(tmp_path / "egg.yaml"), "world"))
    egg = next(link for link in load_robot(written).links if link.name == "egg")
    meshes = [visual.shape for visual in egg.visuals if visual.shape.kind == "mesh"]
    assert len(meshes) == 1
    vertices, _ = load_surface(meshes[0].path, meshes[0].scale, watertight=True)
    assert np.abs(vertices).max(axis=0) == pytest.approx((0.04165, 0.05, 0.0625), rel=1e-6)


def test_root_has_no_inertia_of_its_own(tmp_path):
    """KDL drops the inertia of a root, with a warning at every start; a link fixed to it bears it."""
    robot = load_robot(URDF / "kinova_gen3_7dof.urdf.xacro")
    text = robot_urdf(robot)
    links = {link.get("name"): link for link in ElementTree.fromstring(text).findall("link")}
    assert links["base_link"].find("inertial") is None
    assert links["base_link"].find("visual") is not None
    written = tmp_path / "robot.urdf"
    written.write_text(text)
    read = load_robot(written)
    assert read.root == "base_link"
    (bearer,) = (link for link in read.links if link.name == "base_link_inertia")
    (root,) = (link for link in robot.links if link.name == "base_link")
    assert bearer.inertial.mass == root.inertial.mass
    (mount,) = (joint for joint in read.joints if joint.child == "base_link_inertia")
    assert (mount.type, mount.parent) == ("fixed", "base_link")
    np.testing.assert_array_equal(mount.X_PJ, np.eye(4))


@pytest.mark.parametrize("name", ["gen3_7dof_soft_bubble", "jaco_soft_bubble"])
def test_urdfdom_reads_a_robot_as_we_do(name):
    """Plain URDF: Pinocchio, through urdfdom, finds our joints, limits, masses and shapes."""
    robot = load_robot(URDF / f"{name}.urdf.xacro")
    block = Element("ros2_control", name="c")
    text = robot_urdf(robot, [block])
    assert ElementTree.fromstring(text).find("ros2_control").get("name") == "c"

    model = pin.buildModelFromXML(text)
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    assert set(model.names[1:]) == {joint.name for joint in moving}
    for joint in moving:
        if joint.type != "continuous":
            i = model.joints[model.getJointId(joint.name)].idx_q
            assert model.lowerPositionLimit[i] == joint.limits.lower
            assert model.upperPositionLimit[i] == joint.limits.upper
    # The root has no moving joint above it, so Pinocchio leaves its mass to the universe.
    welded = robot.links[0].inertial.mass
    whole = sum(link.inertial.mass for link in robot.links if link.inertial is not None)
    assert pin.computeTotalMass(model) == pytest.approx(whole - welded)
    for kind, key in ((pin.VISUAL, "visuals"), (pin.COLLISION, "collisions")):
        shapes = pin.buildGeomFromUrdfString(model, text, kind)
        assert shapes.ngeoms == sum(len(getattr(link, key)) for link in robot.links)


@pytest.mark.parametrize("name", ["spatula_slip", "pancake_flip", "peppers"])
def test_urdfdom_reads_a_scene_whole_and_without_a_word(name, capfd):
    """As robot_state_publisher, RViz and MoveIt do: every shape is there, from a file that can be read."""
    scene = load_scene(SCENES[0].with_name(f"{name}.yaml"))
    texts = [scene_urdf(scene, "map", collisions=True), *(robot_urdf(robot) for robot in set(scene.robots))]
    for text in texts:
        model = pin.buildModelFromXML(text)
        for kind, tag in ((pin.VISUAL, "visual"), (pin.COLLISION, "collision")):
            shapes = pin.buildGeomFromUrdfString(model, text, kind)
            assert shapes.ngeoms == len(ElementTree.fromstring(text).findall(f"link/{tag}"))
    assert capfd.readouterr() == ("", "")


def test_a_mesh_of_tetrahedra_goes_out_as_its_surface():
    """RViz and MoveIt do not read VTK; the surface is in the unit of the file, and made once."""
    robot = load_robot(URDF / "pepper.urdf.xacro")
    (solid,) = (link.collisions[0].shape for link in robot.links if link.collisions)
    assert solid.path.suffix == ".vtk"
    (mesh,) = ElementTree.fromstring(robot_urdf(robot)).iterfind("link/collision/geometry/mesh")
    path = Path(mesh.get("filename").removeprefix("file://"))
    assert path == readable_mesh(solid.path) != solid.path
    scale = [float(word) for word in mesh.get("scale").split()]
    vertices, triangles = load_surface(path, scale, watertight=True)
    volume = load_volume(solid.path, solid.scale)
    corners = volume.vertices[volume.tetrahedra]
    expected = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / 6.0
    assert enclosed_volume(vertices, triangles) == pytest.approx(expected, rel=1e-5)


def test_robots_have_collision_shapes_for_planners_and_what_lies_about_has_none():
    """A body on another is in contact with it, and a planner would call that a collision of the start."""
    scene = load_scene(SCENES[0].with_name("spatula_slip.yaml"))
    links = ElementTree.fromstring(scene_urdf(scene, "map", collisions=True)).findall("link")
    counts = {link.get("name"): len(link.findall("collision")) for link in links}
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        for link in robot.links:
            assert counts[link.name] == (len(link.collisions) if model.name == "arm" else 0)
    assert counts["left_finger"] == 1
    assert "collision" not in scene_urdf(scene, "map")
