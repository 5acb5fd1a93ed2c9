"""What ``~/contacts`` says of a contact is that of its patch: decoded from the message definitions themselves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import hydro_sim_core as hs
from hydro_sim_core import contact, geometry
from hydro_sim_core.messages.contact_frames import contact_wrench
from hydro_sim_core.messages.contact_list import encode_contacts
from hydro_sim_core.messages.contact_patches import DEEP, INSIGNIFICANT
from hydro_sim_core.simulation.world.contact_summary import ContactSummary
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import view_patch

DEFINITIONS = Path(__file__).parents[2] / "ros2_ws" / "src" / "hydro_sim_msgs" / "msg"
STAMP = (12, 345_678_901)


@pytest.fixture(scope="module")
def decode():
    """Reader of ContactArray that knows nothing but the .msg files."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in ("Contact", "ContactArray"):
        text = (DEFINITIONS / f"{name}.msg").read_text()
        store.register(get_types_from_msg(text, f"hydro_sim_msgs/msg/{name}"))
    return lambda data: store.deserialize_cdr(data, "hydro_sim_msgs/msg/ContactArray")


def _patch(depth, names=("ball", "ground")):
    """A compliant ball pressed ``depth`` (m) into the ground, away from the origin."""
    X_WB = np.eye(4)
    X_WB[:3, 3] = 0.3, -0.2, 0.05 - depth
    ball = geometry.sphere(0.05, resolution=0.005, modulus=1e5)
    patch = contact.compute_patch(ball, X_WB, geometry.half_space(), np.eye(4))
    return replace(patch, name_a=names[0], name_b=names[1], geometry_a="skin", geometry_b="floor µ")


def _vector(value):
    return np.array([value.x, value.y, value.z])


@pytest.mark.parametrize("names", [("ball", "ground"), ("a", "bcd"), ("", "")])
def test_every_field_arrives(decode, names):
    """Names of any length, which shift the alignment of what follows; nothing of patches that transmit no force."""
    deep, tiny = replace(_patch(0.004, names), dropped_force=1.0), _patch(1e-5, names[::-1])
    message = decode(encode_contacts(ContactSummary((deep, _patch(-0.01), tiny)), "map", STAMP))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == STAMP
    assert message.header.frame_id == "map"
    assert [got.flags for got in message.contacts] == [DEEP, INSIGNIFICANT]
    for patch, got in zip((deep, tiny), message.contacts, strict=True):
        assert (got.body_a, got.body_b) == (patch.name_a, patch.name_b)
        assert (got.geometry_a, got.geometry_b) == ("skin", "floor µ")
        centre, force, torque = map(_vector, (got.center, got.wrench_on_b.force, got.wrench_on_b.torque))
        np.testing.assert_allclose(centre, patch.centroid, rtol=1e-12)
        np.testing.assert_array_equal(force, patch.force_on_b)
        np.testing.assert_allclose(torque, patch.moment_on_b(patch.centroid), rtol=1e-9, atol=1e-15)
        np.testing.assert_array_equal(_vector(got.normal_force_on_b), patch.normal_force_on_b)
        assert got.area == patch.area
        assert got.peak_pressure == pytest.approx(patch.peak_pressure, rel=1e-12)
        quality = patch.quality
        assert (got.force_error, got.face_size_ratio) == (quality.force_error, quality.face_size_ratio)
        assert got.lost_force_share == quality.lost_force_share


def test_no_contact_is_an_empty_array(decode):
    assert decode(encode_contacts(ContactSummary(()), "world", STAMP)).contacts == []


def test_the_contacts_of_a_body_at_rest_bear_its_weight(decode):
    world = hs.load_scene("drop_box")
    world.step(1500)
    (got,) = decode(encode_contacts(take_snapshot(world, 0).contact_summary, "world", STAMP)).contacts
    box = world.built.model.tree.mass.sum()
    sign = 1.0 if got.body_b == "box" else -1.0
    np.testing.assert_allclose(
        sign * _vector(got.wrench_on_b.force), [0.0, 0.0, 9.81 * box], atol=1e-3 * 9.81 * box
    )
    np.testing.assert_allclose(_vector(got.center)[:2], world.frame_pose("box")[:2, 3], atol=1e-3)


def test_the_step_in_which_bodies_meet_is_told(decode):
    """At its begin no face has pressure yet: what stops the box is told nevertheless, at a finite place on it."""
    scene = hs.SceneBuilder("drop", contact={"modulus": 1e8, "friction": 0.5})
    scene.add_ground()
    scene.add_body("box", 1.0, xyz=(0.2, 0, 0.051)).add_shape("box", size=(0.1, 0.1, 0.1))
    world = hs.World(scene.build())
    unpressed = 0
    for _ in range(30):
        world.step()
        unpressed += sum(not np.any(patch.pressures > 0) for patch in world.contacts)
        snapshot = take_snapshot(world, 0)
        told = decode(encode_contacts(snapshot.contact_summary, "world", STAMP)).contacts
        force = np.sum([_vector(got.wrench_on_b.force) for got in told] or [np.zeros(3)], axis=0)
        np.testing.assert_array_equal(
            force, np.sum([p.force_on_b for p in world.contacts] or [np.zeros(3)], 0)
        )
        for got in told:
            assert np.abs(_vector(got.center) - [0.2, 0.0, 0.0]).max() < 0.05
            pair = got.body_a, got.body_b
            sent = contact_wrench(snapshot, pair)
            np.testing.assert_allclose(np.linalg.norm(sent[:3]), np.linalg.norm(force), rtol=1e-12)
            (shown,) = (view_patch(patch) for patch in snapshot.contacts)
            np.testing.assert_allclose(shown.point, _vector(got.center), rtol=1e-12)
            assert shown.max_pressure == pytest.approx(got.peak_pressure, rel=1e-9)
    assert unpressed
