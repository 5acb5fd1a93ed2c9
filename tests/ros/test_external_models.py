"""What the node leaves to robot_state_publisher and ros2_control when it is told that they are there."""

import math
import time
from functools import partial
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import rclpy
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState

from hydro_sim.publishing.transforms import TransformPublisher, inner_links
from hydro_sim_bringup.plan import plan_bringup
from hydro_sim_core.description.scene_for_rviz import added_links
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene
from support.ros.ros_client import Client


@pytest.fixture(scope="module")
def world():
    return load_scene(shipped_scene("spatula_slip"))


class Sent(list):
    """Stands in for a publisher."""

    publish = list.append


def transforms(world, left_out):
    """(parent, child) of what goes to /tf and /tf_static."""
    topics = {}
    node = SimpleNamespace(create_publisher=lambda _, topic, *__: topics.setdefault(topic, Sent()))
    snapshot = FixedRateRunner(world, 1.0, "skip", True).snapshot()
    publisher = TransformPublisher(node, SimpleNamespace, "world")
    publisher.describe(world, snapshot, left_out)
    publisher.publish(snapshot)
    decode = partial(get_typestore(Stores.ROS2_JAZZY).deserialize_cdr, typename="tf2_msgs/msg/TFMessage")
    return {
        topic: {(t.header.frame_id, t.child_frame_id) for t in decode(sent[-1]).transforms}
        for topic, sent in topics.items()
    }


def test_inner_links_are_all_but_the_root(world):
    """Every child of a joint of the model, no link of another model."""
    arm = inner_links(world.scene, ["arm"])
    assert {"shoulder_link", "left_finger", "grasp_frame"} <= arm
    assert not arm & {"base_link", "stand", "spatula"}
    assert inner_links(world.scene, []) == frozenset()
    assert inner_links(world.scene, ["spatula"]) == frozenset()


def test_unknown_model_is_named(world):
    with pytest.raises(InputError, match=r"external_models: the scene has no model 'amr'.*'arm'"):
        inner_links(world.scene, ["amr"])


def test_every_frame_has_one_publisher(world):
    """Left to robot_state_publisher: what it derives from joint states.

    Ours: where bases and free bodies are, contacts, and what RViz's links of other colours need.
    """
    everything = transforms(world, frozenset())
    ours = transforms(world, inner_links(world.scene, ["arm"]))
    contacts = {("spatula", f"{side}_finger_on_spatula") for side in ("left", "right")}
    assert ours["/tf"] == {("world", "spatula")} | contacts
    assert ours["/tf_static"] == {("world", "stand"), ("world", "base_link"), *added_links(world.scene)}
    theirs = {link for topic in everything for link in everything[topic] - ours[topic]}
    (arm,) = (robot for robot in world.scene.robots if robot.root == "base_link")
    assert theirs == {(joint.parent, joint.child) for joint in arm.joints}


def test_node_leaves_topics_to_others(start_node):
    """robot_description, and the topics of the controllers; its own stay."""
    node = start_node(
        *("-p", "scene:=spatula_slip", "-p", "start_paused:=true", "-p", "builtin_controllers:=false"),
        *("-p", "external_models:=[arm]"),
    )
    context = rclpy.Context()
    context.init(domain_id=node.domain)
    observer = rclpy.create_node("observer", context=context)
    expected = {"/clock", "/hydro_sim/scene_description", "/hydro_sim/joint_trajectory"}
    topics = set()
    try:
        deadline = time.monotonic() + 300.0
        while not expected <= topics and time.monotonic() < deadline:
            assert node.alive, node.output
            time.sleep(0.2)
            topics = {name for name, _ in observer.get_topic_names_and_types()}
    finally:
        observer.destroy_node()
        context.shutdown()
    assert expected <= topics
    assert "/robot_description" not in topics
    assert not {name for name in topics if "_controller/" in name}


def test_hardware_interface_of_ros2_control_leads_the_arm(start_node):
    """Messages as our <ros2_control> block gives them: its joints in order, NaN while no controller has claimed one."""
    description = plan_bringup(controllers="ros2_control").description
    (block,) = ElementTree.fromstring(description).findall("ros2_control")
    names = [joint.get("name") for joint in block.findall("joint")]
    topics = {p.get("name"): p.text for p in block.findall("hardware/param")}
    node = start_node(
        *("-p", "scene:=spatula_slip", "-p", "builtin_controllers:=false", "-p", "external_models:=[arm]")
    )
    node.wait_for_output("scene 'spatula_slip'", timeout=300)
    client = Client(node.domain, ("/clock", "/joint_states", "/diagnostics"))
    try:
        client.wait_for_node()
        client.next(f"/{topics['joint_states_topic']}")
        start, fingers = client.joint("joint_7"), client.joint("left_finger_joint")
        command = [math.nan if "finger" in name else client.joint(name) for name in names]
        command[names.index("joint_7")] = start + 0.05

        def there():
            client.send(f"/{topics['joint_commands_topic']}", JointState(name=names, position=command))
            return abs(client.joint("joint_7") - start - 0.05) < 5e-3

        client.wait_until(there, "the arm in its new place")
        # The scene's own command still holds the spatula.
        assert abs(client.joint("left_finger_joint") - fingers) < 5e-3
        assert client.refused() == 0
    finally:
        client.close()
