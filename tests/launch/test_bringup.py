"""What belongs to the arguments of the launch file: everything about it that needs no launch package."""

import logging
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import hydro_sim_core as hs
from hydro_sim_bringup.plan import ARMS, GRIPPERS, ROBOTS, control_blocks, plan_bringup
from hydro_sim_bringup.rviz import rviz_config
from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description import load_robot, load_scene
from hydro_sim_core.drawing.focus import focus_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

ROOT = Path(__file__).parents[2]
RVIZ = ROOT / "config" / "rviz" / "hydro_sim.rviz"
ARM_JOINTS = {"gen3_7dof": 7, "gen3_6dof": 6, "jaco2": 6}
FINGERS = {"left_finger_joint", "right_finger_joint"}
COMBINATIONS = list(product(ARMS, GRIPPERS))


def plan(**arguments):
    return plan_bringup(**arguments)


def moving_joints(arm, gripper):
    arm_joints = {f"joint_{i + 1}" for i in range(ARM_JOINTS[arm])}
    return arm_joints | (FINGERS if gripper == "soft_bubble" else set())


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("arm", "gripper"), COMBINATIONS)
def test_description_is_plain_urdf_of_the_simulated_robot(arm, gripper, tmp_path):
    """urdfdom, which robot_state_publisher and ros2_control use, reads it: same joints, same mass as the scene's."""
    bringup = plan(arm=arm, gripper=gripper, controllers="ros2_control")
    model = pin.buildModelFromXML(bringup.description)
    assert set(model.names[1:]) == moving_joints(arm, gripper)

    scene = load_scene(bringup.scene)
    (simulated,) = (
        robot
        for spec, robot in zip(scene.spec.models, scene.robots, strict=True)
        if spec.name in bringup.models
    )
    described = tmp_path / "robot.urdf"
    described.write_text(bringup.description)
    read = load_robot(described)
    root = simulated.root  # KDL takes no inertia there, so a link fixed to it bears that
    borne = {f"{root}_inertia"}
    assert {link.name for link in read.links} - borne == {link.name for link in simulated.links}
    assert {joint.name for joint in read.joints} - borne == {joint.name for joint in simulated.joints}
    assert next(link for link in read.links if link.name == root).inertial is None
    masses = [sum(x.inertial.mass for x in robot.links if x.inertial) for robot in (read, simulated)]
    assert masses[0] == pytest.approx(masses[1])
    assert {link.name for link in read.links if link.collisions} == {
        link.name for link in simulated.links if link.collisions
    }


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("arm", "gripper"), COMBINATIONS)
def test_controllers_command_the_joints_that_the_block_offers(arm, gripper):
    """The block offers position and velocity for every moving joint; the controllers lead each joint once, by both."""
    bringup = plan(arm=arm, gripper=gripper, controllers="ros2_control")
    (block,) = ElementTree.fromstring(bringup.description).findall("ros2_control")
    offered = {
        joint.get("name"): [interface.get("name") for interface in joint.findall("command_interface")]
        for joint in block.findall("joint")
    }
    assert offered == {name: ["position", "velocity"] for name in moving_joints(arm, gripper)}
    for joint in block.findall("joint"):
        states = [interface.get("name") for interface in joint.findall("state_interface")]
        assert states == ["position", "velocity", "effort"]

    parameters = {}
    for path in bringup.controllers_files:
        for name, values in yaml.safe_load(path.read_text()).items():
            parameters.setdefault(name, {}).update(values["ros__parameters"])
    types = {
        name: v["type"] for name, v in parameters["/**/controller_manager"].items() if name != "update_rate"
    }
    assert set(types) == set(bringup.controllers)
    led = []
    for name, kind in types.items():
        if kind.startswith("joint_trajectory_controller/"):
            assert parameters[f"/**/{name}"]["command_interfaces"] == ["position", "velocity"]
            led += parameters[f"/**/{name}"]["joints"]
    # A goal that is not reached fails, but for fingers, which stop at what they hold.
    follows = parameters["/**/joint_trajectory_controller"]
    assert 0.0 < follows["constraints"]["goal_time"] <= 1.0
    assert all(0.0 < follows["constraints"][joint]["goal"] <= 0.01 for joint in follows["joints"])
    assert sorted(led) == sorted(offered)
    assert bringup.active_controllers == ("joint_state_broadcaster", "joint_trajectory_controller")
    # The simulation publishes joint_states itself.
    assert parameters["/**/joint_state_broadcaster"]["use_local_topics"] is True
    node = yaml.safe_load((ROOT / "config" / "node.yaml").read_text())["/**"]["ros__parameters"]
    assert parameters["/**/controller_manager"]["update_rate"] <= node["joint_state_rate"]


@pytest.mark.parametrize("name", [robot.urdf for robot in ROBOTS.values()])
def test_block_is_off_by_default_and_read_without_a_warning(name, caplog):
    """Its topics are relative, so that they follow the namespace; our loader passes it over in silence."""
    path = ROOT / "urdf" / f"{name}.urdf.xacro"
    with caplog.at_level(logging.WARNING):
        plain = load_robot(path)
        controlled = load_robot(path, xacro_args={"ros2_control": True, "command_interface": "effort"})
    assert not caplog.records
    assert [joint.name for joint in plain.joints] == [joint.name for joint in controlled.joints]


def test_description_without_controllers_has_no_block():
    bringup = plan()
    assert bringup.models == ("arm",)
    assert bringup.controllers_files == ()
    assert "ros2_control" not in bringup.description


@pytest.mark.parametrize("asked", ["position", "velocity", "effort", "position effort"])
def test_block_offers_the_command_interfaces_that_are_asked_for(asked):
    path = ROOT / "urdf" / "kinova_gen3_7dof.urdf.xacro"
    arguments = {"ros2_control": True, "command_interface": asked}
    (block,) = control_blocks(path, arguments)
    for joint in block.findall("joint"):
        assert [interface.get("name") for interface in joint.findall("command_interface")] == asked.split()


def test_block_names_the_plugin_and_relative_topics():
    description = ElementTree.fromstring(plan(controllers="ros2_control").description)
    # ros2_control gives its name to a node of its own, and there is one called hydro_sim.
    assert description.find("ros2_control").get("name") == "simulated_joints"
    hardware = description.find("ros2_control/hardware")
    assert hardware.findtext("plugin") == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    values = {parameter.get("name"): parameter.text for parameter in hardware.findall("param")}
    assert values == {
        "joint_commands_topic": "joint_commands",
        "joint_states_topic": "joint_states",
        "trigger_joint_command_threshold": "-1",
    }


def test_a_scene_alone_is_left_to_the_node():
    """By name or by path; the node knows what is in it."""
    assert plan(scene="drop_box").scene == str(ROOT / "config" / "scenes" / "drop_box.yaml")
    assert plan(scene=str(ROOT / "urdf" / "box.urdf.xacro")).description is None
    assert plan(scene="nowhere").scene == "nowhere"


@pytest.fixture
def own_arm(tmp_path):
    """A user's description of the arm in spatula_slip, with a block of its own."""
    path = tmp_path / "own.urdf"
    path.write_text(plan(controllers="ros2_control").description)
    return path


def test_own_description_is_passed_on_as_written(own_arm):
    """Beside the scene that holds the robot, or simulated alone without one."""
    beside = plan(scene="spatula_slip", description_file=str(own_arm))
    assert beside.models == ("arm",)
    assert beside.description == own_arm.read_text()
    alone = plan(description_file=str(own_arm))
    assert (alone.scene, alone.models) == (str(own_arm), ("gen3_7dof_soft_bubble",))


def test_own_description_may_say_to_gazebo_what_is_not_used(own_arm):
    """It is shown and not simulated; where it is simulated, the node refuses it or is told to ignore it."""
    joint = '<gazebo><joint name="loop" type="revolute"/></gazebo></robot>'
    own_arm.write_text(own_arm.read_text().replace("</robot>", joint))
    assert plan(scene="spatula_slip", description_file=str(own_arm)).models == ("arm",)
    assert plan(description_file=str(own_arm)).models == ("gen3_7dof_soft_bubble",)


def test_own_description_with_shapes_that_urdf_lacks_is_written_in_those_it_has():
    """As our own xacro files: urdfdom would drop the skin of the fingers; what else stands in the file stays."""
    own = ROOT / "urdf" / "gen3_7dof_soft_bubble.urdf.xacro"
    description = ElementTree.fromstring(plan(scene="spatula_slip", description_file=str(own)).description)
    shapes = {shape.tag for geometry in description.iter("geometry") for shape in geometry}
    assert shapes <= {"box", "cylinder", "sphere", "mesh"}
    finger = next(link for link in description.findall("link") if link.get("name") == "left_finger")
    read = next(link for link in load_robot(own).links if link.name == "left_finger")
    assert len(finger.findall("visual")) == len(read.visuals) > 0
    assert len(finger.findall("collision")) == len(read.collisions) == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('<mesh filename="meshes/pepper.obj"/>', False),
        ('<mesh filename="file://{folder}/pepper.vtk"/>', False),
        ('<mesh filename="file://{folder}/pepper.obj"/>', True),
        ('<box size="1 1 1"/>', True),
    ],
)
def test_own_description_is_written_anew_where_its_meshes_would_not_be_found(tmp_path, given, kept):
    """A path that is relative to the file, which others are not told, or a format that they do not read."""
    meshes = ROOT / "urdf" / "meshes"
    shape = given.format(folder=meshes)
    (tmp_path / "meshes").symlink_to(meshes)
    path = tmp_path / "own.urdf"
    path.write_text(
        f'<robot name="own"><link name="a"><collision><geometry>{shape}</geometry></collision></link></robot>'
    )
    description = plan(description_file=str(path)).description
    assert (description == path.read_text()) == kept
    for mesh in ElementTree.fromstring(description).iter("mesh"):
        assert mesh.get("filename").startswith("file:///")
        assert Path(mesh.get("filename")).suffix in (".stl", ".obj")
        assert Path(mesh.get("filename").removeprefix("file://")).is_file()


def test_own_controllers(own_arm, tmp_path):
    """Every controller of the file is found; those that would fight over joints wait."""
    file = tmp_path / "controllers.yaml"
    names = ("joint_state_broadcaster", "forward_position_controller", "joint_trajectory_controller")
    types = {name: {"type": "a/B"} for name in names}
    file.write_text(
        yaml.safe_dump({"controller_manager": {"ros__parameters": {"update_rate": 100, **types}}})
    )
    bringup = plan(
        scene="spatula_slip",
        description_file=str(own_arm),
        controllers="ros2_control",
        controllers_file=str(file),
    )
    assert bringup.controllers_files == (file,)
    assert bringup.active_controllers == ("joint_state_broadcaster", "joint_trajectory_controller")
    assert bringup.inactive_controllers == ("forward_position_controller",)
    assert bringup.control_period == 0.01
    file.write_text(file.read_text().replace("100", "fast"))
    with pytest.raises(InputError, match="update_rate: 'fast' is no rate"):
        _ = bringup.control_period


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"arm": "ur5"}, "arm: 'ur5' is unknown; use one of auto, gen3_7dof, gen3_6dof, jaco2"),
        ({"gripper": "hand"}, "gripper: 'hand' is unknown; use one of auto, soft_bubble, none"),
        ({"controllers": "moveit"}, "controllers: 'moveit' is unknown; use one of none, ros2_control"),
        ({"scene": "drop_box", "arm": "jaco2"}, "arm, gripper: contradict scene"),
        ({"description_file": "robot.urdf", "gripper": "none"}, "arm, gripper: contradict"),
        ({"description_file": "nowhere.urdf"}, "nowhere.urdf: no such file"),
        ({"controllers_file": "x.yaml"}, "controllers_file: nothing reads it; add controllers:=ros2_control"),
        ({"scene": "drop_box", "controllers": "ros2_control"}, "ros2_control needs to know the robot"),
        ({"controllers": "ros2_control", "controllers_file": "nowhere.yaml"}, "nowhere.yaml: cannot be read"),
        (
            {"controllers": "ros2_control", "controllers_file": str(ROOT / "config" / "node.yaml")},
            "names no controller",
        ),
        (
            {"description_file": str(ROOT / "urdf" / "box.urdf.xacro"), "controllers": "ros2_control"},
            "description_file: has no <ros2_control> block",
        ),
        (
            {"scene": "spatula_slip", "description_file": str(ROOT / "urdf" / "box.urdf.xacro")},
            "starts at the link 'box'; describe the model that starts at 'stand', 'base_link', 'spatula'",
        ),
        (
            {"scene": "spatula_slip", "description_file": str(ROOT / "urdf" / "kinova_gen3_7dof.urdf.xacro")},
            "link 'adapter_plate': is missing",
        ),
        (
            {
                "scene": "gen3_6dof",
                "description_file": str(ROOT / "urdf" / "gen3_6dof_soft_bubble.urdf.xacro"),
            },
            "joint 'left_finger_joint': is not a joint of the model 'arm'",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_is_refused_in_one_line(arguments, expected):
    with pytest.raises(InputError, match=re.escape(expected)) as error:
        plan(**arguments)
    assert "\n" not in str(error.value)


def test_own_description_without_controllers_file_is_refused(own_arm):
    with pytest.raises(InputError, match="controllers_file: is needed with description_file"):
        plan(scene="spatula_slip", description_file=str(own_arm), controllers="ros2_control")


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("arm", "gripper"), [key for key in COMBINATIONS if ROBOTS[key].scene != "spatula_slip"]
)
def test_robots_without_a_task_hold_still(arm, gripper):
    """Every joint of the shipped scenes stays within 1 µrad or µm of its start for half a second."""
    world = hs.load_scene(plan(arm=arm, gripper=gripper).scene)
    start = world.joint_positions().copy()
    world.step(500)
    assert abs(world.joint_positions() - start).max() < 1e-6


def _displays(config):
    return {d["Class"].rpartition("/")[2]: d for d in config["Visualization Manager"]["Displays"]}


@pytest.mark.parametrize("namespace", ["", "left", "/robots/left/"])
def test_rviz_shows_what_the_node_publishes(namespace):
    """Every display reads a topic of the node, in its namespace, as it is published."""
    config = yaml.safe_load(rviz_config("spatula_slip", namespace))
    published = {"/hydro_sim/scene_description", "/hydro_sim/contact_markers"}
    prefix = "/" + namespace.strip("/") if namespace else ""
    shown = set()
    for display in config["Visualization Manager"]["Displays"]:
        topic = display.get("Topic") or display.get("Description Topic")
        if topic:
            shown.add(topic["Value"])
            # Markers and descriptions are published reliable; a best-effort reader would lose some.
            assert topic["Reliability Policy"] == "Reliable"
    assert shown == {prefix + topic for topic in published}
    assert config["Visualization Manager"]["Global Options"]["Fixed Frame"] == "world"
    assert {"RobotModel", "TF", "MarkerArray", "Grid"} == set(_displays(config))


def test_rviz_has_room_for_the_picture():
    """A window of its own size, one panel beside the view, and bodies in their own colours."""
    config = yaml.safe_load(RVIZ.read_text())
    assert [panel["Name"] for panel in config["Panels"]] == ["Displays"]
    window = config["Window Geometry"]
    assert 1000 <= window["Width"] <= 1366  # the small laptop's screen
    assert 600 <= window["Height"] <= 800
    assert _displays(config)["RobotModel"]["Alpha"] == 1


@pytest.mark.heavy(3)
@pytest.mark.parametrize("scene", sorted(shipped_scenes()))
def test_rviz_looks_at_what_the_scene_handles(scene):
    """From a distance, with a grid and a near plane, that follow from its size; displays bear the scene's name."""
    loaded = find_scene(scene)
    focus = focus_of(loaded)
    config = yaml.safe_load(rviz_config(scene))
    view = config["Visualization Manager"]["Views"]["Current"]
    assert [view["Focal Point"][axis] for axis in "XYZ"] == pytest.approx(focus.centre.tolist())
    assert 1.5 * focus.size < view["Distance"] < 3.0 * focus.size
    assert view["Near Clip Distance"] < 0.02 * view["Distance"]
    displays = _displays(config)
    assert displays["RobotModel"]["Name"] == f"Scene {loaded.spec.name}"
    assert 0.4 * focus.size <= displays["Grid"]["Cell Size"] <= focus.size


def test_rviz_opens_on_a_robot_file():
    config = yaml.safe_load(rviz_config(str(ROOT / "urdf" / "kinova_gen3_7dof.urdf.xacro")))
    assert config["Visualization Manager"]["Views"]["Current"]["Distance"] > 1.0


def test_the_shipped_configuration_fits_the_default_scene():
    """It is what somebody sees who opens it by hand."""
    shipped = yaml.safe_load(RVIZ.read_text())["Visualization Manager"]["Views"]["Current"]
    written = yaml.safe_load(rviz_config("spatula_slip"))["Visualization Manager"]["Views"]["Current"]
    assert shipped["Distance"] == pytest.approx(written["Distance"], rel=0.01)
    for axis in "XYZ":
        assert shipped["Focal Point"][axis] == pytest.approx(written["Focal Point"][axis], abs=1e-3)
