"""In the built workspace: the executable, the installed files, and the interfaces that the wheels alone lack."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from catkin_pkg.package import parse_package
from hydro_sim_msgs.msg import ContactArray, ContactPatch, ContactPatchArray
from hydro_sim_msgs.srv import Delete, Place, Spawn, StepMany
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage

from hydro_sim_core import assets, geometry
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.messages.contact_list import encode_contacts
from hydro_sim_core.messages.contact_patches import (
    AT_POINT,
    BETWEEN_RIGID,
    DEEP,
    INSIGNIFICANT,
    SOFT,
    UNDER_RESOLVED,
    encode_contact_patches,
)
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

#: Tests of the repository have 1 to 100 (tests/ros_domains.py).
DOMAIN = 101
SHARE = Path(get_package_share_directory("hydro_sim_bringup"))
PACKAGE = Path(__file__).parents[1]
CONFIG = assets.folder("config")
LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture(scope="module")
def node():
    """The installed executable on the installed scene."""
    executable = Path(get_package_prefix("hydro_sim"), "lib", "hydro_sim", "hydro_sim")
    arguments = ["--params-file", CONFIG / "node.yaml"]
    arguments += ["-p", f"scene:={CONFIG / 'scenes' / 'spatula_slip.yaml'}"]
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(DOMAIN),
        "ROS_PYTHON_CHECK_FIELDS": "1",
        "PYTHONFAULTHANDLER": "1",
    }
    process = subprocess.Popen([executable, "--ros-args", *arguments], env=environment)
    yield process
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(20) == 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # it prints what each of its threads is at
        process.wait(20)
        raise


@pytest.fixture(scope="module")
def client(node):
    context = rclpy.Context()
    context.init(domain_id=DOMAIN)
    client = rclpy.create_node("workspace_test", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(client)

    def wait_until(condition, timeout=600.0):  # the first start compiles
        deadline = time.monotonic() + timeout
        while not condition():
            assert node.poll() is None
            assert time.monotonic() < deadline
            executor.spin_once(timeout_sec=0.1)

    client.wait_until = wait_until
    yield client
    executor.shutdown()
    client.destroy_node()
    context.shutdown()


def _subscribe(client, message_type, topic, qos=10):
    received = []
    client.create_subscription(message_type, topic, received.append, qos)
    return received


def _stamp(message):
    """Simulated time of a message, s."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_transforms_form_one_tree_from_the_world(client):
    """Fixed links come once and latched, moving ones again and again; together every link has one parent."""
    static = _subscribe(client, TFMessage, "/tf_static", LATCHED)
    moving = _subscribe(client, TFMessage, "/tf")
    client.wait_until(lambda: static and len(moving) > 3)
    parents = {}
    for transform in [*static[-1].transforms, *moving[-1].transforms]:
        assert transform.child_frame_id not in parents
        parents[transform.child_frame_id] = transform.header.frame_id
        rotation = transform.transform.rotation
        norm = np.linalg.norm([rotation.x, rotation.y, rotation.z, rotation.w])
        assert norm == pytest.approx(1.0)
    for frame in parents:
        while frame != "world":
            frame = parents[frame]
    assert parents["spatula"] == "world"
    assert "spatula" in {transform.child_frame_id for transform in moving[-1].transforms}


def test_contact_patches_carry_the_weight(client):
    """The pressures times areas of all faces give the normal force; the wrenches on the spatula carry its weight."""
    received = _subscribe(client, ContactPatchArray, "/hydro_sim/contact_patches")
    # The scene grips with 6.5 N in the first half of every three seconds.
    client.wait_until(lambda: received and 1.0 <= _stamp(received[-1]) % 3.0 < 1.45)
    patches = received[-1].patches
    assert {patch.body_a for patch in patches} == {"left_finger", "right_finger"}
    assert all(patch.body_b == "spatula" for patch in patches)
    lift = 0.0
    for patch in patches:
        pressures, areas = np.array(patch.pressures), np.array(patch.areas)
        normals = np.array(patch.normals).reshape(-1, 3)
        slips = np.array(patch.slip_velocities).reshape(-1, 3)
        assert len(pressures) == len(areas) == len(normals) == len(patch.vertex_counts) > 0
        assert 3 * sum(patch.vertex_counts) == len(patch.vertices) == 3 * len(patch.vertex_pressures)
        assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-6)
        assert np.einsum("fi,fi->f", normals, slips) == pytest.approx(0.0, abs=1e-6)
        pressed = pressures >= 0.0
        assert patch.area == pytest.approx(areas[pressed].sum(), rel=1e-6)
        assert pressures.max() <= patch.peak_pressure < 2.0 * pressures.max()
        assert 0.0 < patch.energy < patch.peak_pressure * patch.area * 0.01
        # The fingers press along y, against each other, with the force that the scene commands.
        force = patch.wrench_on_b.force
        push = (pressures * areas)[pressed] @ normals[pressed]
        assert force.y == pytest.approx(np.sign(push[1]) * 6.5, rel=0.02)
        lift += force.z
    assert lift == pytest.approx(0.068 * 9.81, rel=0.05)


def test_contacts_on_one_topic_carry_the_weight(client):
    """The same forces as the wrenches of the pairs, with the centre of each contact beside the handle."""
    received = _subscribe(client, ContactArray, "/hydro_sim/contacts")
    client.wait_until(lambda: received and 1.0 <= _stamp(received[-1]) % 3.0 < 1.45)
    assert received[-1].header.frame_id == "world"
    contacts = received[-1].contacts
    assert {(contact.body_a, contact.body_b) for contact in contacts} == {
        ("left_finger", "spatula"),
        ("right_finger", "spatula"),
    }
    assert sum(contact.wrench_on_b.force.z for contact in contacts) == pytest.approx(0.068 * 9.81, rel=0.05)
    assert sorted(np.sign(contact.normal_force_on_b.y) for contact in contacts) == [-1.0, 1.0]
    assert all(contact.peak_pressure * contact.area > 6.5 for contact in contacts)


def test_hand_written_contacts_are_those_of_the_type_support():
    ball, X_WB = geometry.sphere(0.05, resolution=0.01, modulus=1e5), np.eye(4)
    X_WB[2, 3] = 0.046
    patch = compute_patch(ball, X_WB, geometry.half_space(), np.eye(4))
    message = deserialize_message(encode_contacts(ContactSummary((patch,)), "world", (1, 2)), ContactArray)
    assert deserialize_message(serialize_message(message), ContactArray) == message
    (contact,) = message.contacts
    assert (contact.area, contact.wrench_on_b.force.z) == (patch.area, patch.force_on_b[2])


def test_hand_written_patches_are_those_of_the_type_support():
    """Bytes written here decode to a message that, written by ROS, decodes to itself; also without faces."""
    ball = geometry.sphere(0.05, resolution=0.01, modulus=1e5)
    poses = [np.eye(4) for _ in range(3)]
    for pose, z in zip(poses, (0.046, 0.06, 0.048), strict=True):
        pose[2, 3] = z
    patches = tuple(compute_patch(ball, pose, geometry.half_space(), np.eye(4)) for pose in poses)
    message = deserialize_message(
        encode_contact_patches(ContactSummary(patches), {}, "world", (1, 2)), ContactPatchArray
    )
    assert deserialize_message(serialize_message(message), ContactPatchArray) == message
    for patch, got in zip(patches, message.patches, strict=True):
        assert got.vertices.tolist() == np.concatenate([*patch.polygons, np.zeros((0, 3))]).ravel().tolist()
        assert got.pressures.tolist() == patch.pressures.astype(np.float32).tolist()
        assert got.area == patch.area
    assert (UNDER_RESOLVED, DEEP, INSIGNIFICANT, BETWEEN_RIGID, AT_POINT, SOFT) == (
        ContactPatch.UNDER_RESOLVED,
        ContactPatch.DEEP,
        ContactPatch.INSIGNIFICANT,
        ContactPatch.BETWEEN_RIGID,
        ContactPatch.AT_POINT,
        ContactPatch.SOFT,
    )


def test_step_many_takes_as_many_steps_as_asked_for(client):
    """Only while paused; refuses none and too many."""
    step = client.create_client(StepMany, "/hydro_sim/step_many")
    pause = client.create_client(SetBool, "/hydro_sim/pause")
    client.wait_until(lambda: step.service_is_ready() and pause.service_is_ready())

    def call(service, request):
        future = service.call_async(request)
        client.wait_until(future.done, timeout=30.0)
        return future.result()

    assert not call(step, StepMany.Request(steps=10)).success
    assert call(pause, SetBool.Request(data=True)).success
    try:
        first = float(call(step, StepMany.Request(steps=1)).message.split()[1])
        later = float(call(step, StepMany.Request(steps=250)).message.split()[1])
        assert later - first == pytest.approx(0.25)
        assert not call(step, StepMany.Request(steps=0)).success
    finally:
        call(pause, SetBool.Request(data=False))


@pytest.mark.parametrize("name", ["hydro_sim", "hydro_sim_bringup", "hydro_sim_msgs"])
def test_manifest_is_valid(name):
    """What REP 149 asks for, as catkin_pkg understands it."""
    warnings = []
    package = parse_package(get_package_share_directory(name), warnings=warnings)
    assert package.name == name
    assert not warnings


def test_bringup_is_installed_whole():
    """Every launch file lies in the package, its plans beside it, and nothing that comes with the engine."""
    program = "import hydro_sim_bringup.plan as plan; print(plan.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert Path(found.stdout.strip()).is_relative_to(SHARE.parents[1])
    source = {path.name for path in (PACKAGE / "launch").glob("*.py")}
    assert source
    assert {path.name for path in (SHARE / "launch").glob("*.py")} == source
    assert not (SHARE / "urdf").exists()
    assert not (SHARE / "config").exists()


BALL = (
    '<robot name="ball"><link name="ball"><inertial><mass value="0.1"/>'
    '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.05"/></geometry></collision></link></robot>'
)


def test_entities_come_move_and_go(client):
    """Spawned from text, seen in the transforms, put elsewhere, deleted; what cannot be done is said."""
    moving = _subscribe(client, TFMessage, "/tf")

    def call(service_type, name, request):
        service = client.create_client(service_type, f"/hydro_sim/{name}")
        client.wait_until(service.service_is_ready, timeout=30.0)
        future = service.call_async(request)
        client.wait_until(future.done, timeout=30.0)
        return future.result()

    def heights(child):
        return [t.transform.translation.z for m in moving for t in m.transforms if t.child_frame_id == child]

    spawn = Spawn.Request(urdf=BALL, entity_namespace="lab")
    spawn.pose.pose.position.z = 30.0
    answer = call(Spawn, "spawn", spawn)
    assert answer.success, answer.message
    assert answer.name == "lab/ball"
    client.wait_until(lambda: heights("lab/ball/ball"), timeout=30.0)
    answer = call(Spawn, "spawn", spawn)
    assert not answer.success
    assert "there is a 'lab/ball' already" in answer.message

    place = Place.Request(name="lab/ball")
    place.pose.pose.position.z = 300.0
    assert call(Place, "place", place).success
    client.wait_until(lambda: heights("lab/ball/ball")[-1] > 200.0, timeout=30.0)
    assert not call(Delete, "delete", Delete.Request(name="nobody")).success
    assert call(Delete, "delete", Delete.Request(name="lab/ball")).success
    moving.clear()
    client.wait_until(lambda: len(heights("spatula")) > 3, timeout=30.0)
    assert not heights("lab/ball/ball")[2:]
