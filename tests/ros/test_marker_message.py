"""The hand-written CDR bytes decode, with the ROS type support, to exactly what was put in."""

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from visualization_msgs.msg import Marker as MarkerMsg
from visualization_msgs.msg import MarkerArray

from hydro_sim_core.messages.marker_message import (
    ADD,
    DELETE,
    LINE_LIST,
    TEXT_VIEW_FACING,
    TRIANGLE_LIST,
    Marker,
    encode_marker_array,
)

finite = st.floats(-1e6, 1e6)
names = st.text(string.printable + "µ→", max_size=12).filter(lambda text: "\x00" not in text)
vectors = st.tuples(finite, finite, finite)
unit32 = st.floats(0.0, 1.0, width=32)
counts = st.integers(0, 7)

markers = st.builds(
    Marker,
    ns=names,
    id=st.integers(-(2**31), 2**31 - 1),
    type=st.sampled_from([LINE_LIST, TEXT_VIEW_FACING, TRIANGLE_LIST]),
    action=st.sampled_from([ADD, DELETE]),
    position=vectors,
    scale=vectors,
    rgba=st.tuples(unit32, unit32, unit32, unit32),
    points=counts.flatmap(lambda n: arrays(np.float64, (n, 3), elements=finite)),
    colours=counts.flatmap(lambda n: arrays(np.float32, (n, 4), elements=unit32)),
    text=names,
)


@given(st.lists(markers, max_size=4), names, st.integers(0, 2**31 - 1), st.integers(0, 999_999_999))
def test_decodes_to_what_was_encoded(sent, frame_id, seconds, nanoseconds):
    """Every field arrives, whatever the lengths do to the alignment of what follows."""
    received = deserialize_message(encode_marker_array(sent, frame_id, (seconds, nanoseconds)), MarkerArray)

    assert len(received.markers) == len(sent)
    for marker, message in zip(sent, received.markers, strict=True):
        assert message.header.frame_id == frame_id
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (seconds, nanoseconds)
        assert (message.ns, message.id, message.text) == (marker.ns, marker.id, marker.text)
        assert (message.type, message.action) == (marker.type, marker.action)
        assert _xyz(message.pose.position) == marker.position
        assert _xyz(message.scale) == marker.scale
        assert _rgba(message.color) == marker.rgba
        assert [_xyz(p) for p in message.points] == [tuple(p) for p in marker.points.tolist()]
        assert [_rgba(c) for c in message.colors] == [tuple(c) for c in marker.colours.tolist()]


def test_unset_fields_hold_the_defaults_of_the_message():
    """What this node does not set is what an untouched message holds: identity pose, no lifetime, no mesh."""
    encoded = encode_marker_array([Marker("n", 3, TRIANGLE_LIST)], "world", (0, 0))
    received = deserialize_message(encoded, MarkerArray).markers[0]

    expected = MarkerMsg(ns="n", id=3, type=TRIANGLE_LIST)
    expected.header.frame_id = "world"
    expected.pose.orientation.w = 1.0
    for axis in "xyz":
        setattr(expected.scale, axis, 1.0)
    for channel in "rgba":
        setattr(expected.color, channel, 1.0)
    assert received == expected


def test_type_constants_are_those_of_the_message():
    """The numbers written are the ones Marker.msg names."""
    assert (LINE_LIST, TEXT_VIEW_FACING, TRIANGLE_LIST) == (
        MarkerMsg.LINE_LIST,
        MarkerMsg.TEXT_VIEW_FACING,
        MarkerMsg.TRIANGLE_LIST,
    )
    assert (ADD, DELETE) == (MarkerMsg.ADD, MarkerMsg.DELETE)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_length_equals_that_of_the_type_support(count):
    """No byte too many or too few; padding bytes may differ, so lengths are compared."""
    sent = [Marker("ns" * i, i, LINE_LIST, points=np.ones((count, 3)), text="t" * i) for i in range(4)]
    encoded = encode_marker_array(sent, "world", (1, 2))
    assert len(encoded) == len(serialize_message(deserialize_message(encoded, MarkerArray)))


def _xyz(value):
    return (value.x, value.y, value.z)


def _rgba(value):
    return (value.r, value.g, value.b, value.a)
