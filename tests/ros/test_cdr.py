"""Messages filled into templates decode to what was filled in, and nothing is left of the time before."""

import string

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from hydro_sim_core.messages.state import (
    clock_template,
    joint_state_template,
    transform_values,
    transforms_template,
    wrench_template,
)

names = st.text(string.ascii_letters + "_/µ", max_size=9)
stamps = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 999_999_999))
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(names, max_size=5), st.lists(st.tuples(stamps, st.integers(0)), min_size=1, max_size=3))
def test_joint_states(joints, fillings):
    """One template, filled again and again: each time exactly the new stamp and numbers."""
    template = joint_state_template(joints)
    for stamp, seed in fillings:
        values = np.random.default_rng(seed).normal(size=(3, len(joints)))
        message = deserialize_message(template.fill(stamp, values), JointState)
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == stamp
        assert message.header.frame_id == ""
        assert message.name == joints
        assert [*message.position, *message.velocity, *message.effort] == values.ravel().tolist()


def test_what_was_filled_before_stays_as_it_was():
    """A message that waits in the middleware does not change under it."""
    template = joint_state_template(["a"])
    first = template.fill((1, 2), [3.0, 4.0, 5.0])
    template.fill((6, 7), [8.0, 9.0, 10.0])
    assert deserialize_message(first, JointState).effort.tolist() == [5.0]


@given(stamps)
def test_clock(stamp):
    message = deserialize_message(clock_template().fill(stamp), Clock)
    assert (message.clock.sec, message.clock.nanosec) == stamp


@given(names, stamps, st.lists(finite, min_size=6, max_size=6))
def test_wrench(frame, stamp, values):
    message = deserialize_message(wrench_template(frame).fill(stamp, values), WrenchStamped)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == stamp
    assert message.header.frame_id == frame
    force, torque = message.wrench.force, message.wrench.torque
    assert [force.x, force.y, force.z, torque.x, torque.y, torque.z] == values


@given(st.lists(st.tuples(names, names), max_size=4), stamps, st.integers(0))
def test_transforms(links, stamp, seed):
    """Read by a decoder that knows the definition of TFMessage, as the wheels have none."""
    values = np.random.default_rng(seed).normal(size=(len(links), 7))
    data = transforms_template(links, "map").fill(stamp, values)
    message = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr(data, "tf2_msgs/msg/TFMessage")
    assert len(message.transforms) == len(links)
    for (parent, child), row, transform in zip(links, values.tolist(), message.transforms, strict=True):
        assert (transform.header.stamp.sec, transform.header.stamp.nanosec) == stamp
        assert transform.header.frame_id == ("map" if parent == "world" else parent)
        assert transform.child_frame_id == child
        p, r = transform.transform.translation, transform.transform.rotation
        assert [p.x, p.y, p.z, r.x, r.y, r.z, r.w] == row


def test_a_child_is_given_in_its_parent():
    """Position and turn of the child as the parent sees them; whoever has no pose is the world."""
    X_WP, X_WC = np.eye(4), np.eye(4)
    X_WP[:3] = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]]  # a quarter turn about z
    X_WC[:3, 3] = 1.0, 4.0, 3.0
    poses = {"parent": X_WP, "child": X_WC}
    transforms = transform_values([("parent", "child"), ("world", "parent")], poses)
    transforms[:, 3:] *= np.sign(transforms[:, 6:])  # a quaternion and its negative are one rotation
    in_parent, in_world = transforms
    half = np.sqrt(0.5)
    assert in_parent == pytest.approx([2.0, 0.0, 0.0, 0.0, 0.0, -half, half])
    assert in_world == pytest.approx([1.0, 2.0, 3.0, 0.0, 0.0, half, half])


@pytest.mark.parametrize("joints", [["a"], ["joint_1", "joint_22"]])
def test_length_equals_that_of_the_type_support(joints):
    """But for empty sequences of doubles, behind which the type support adds padding that no reader asks for."""
    data = joint_state_template(joints).fill((1, 2), np.ones(3 * len(joints)))
    assert len(data) == len(serialize_message(deserialize_message(data, JointState)))
