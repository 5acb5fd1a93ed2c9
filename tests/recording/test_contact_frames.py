"""Frames of contacts and the wrenches in them: the same force as about the body, at the centre of pressure."""

import numpy as np
import pytest
import yaml

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.contact_frames import ContactFrames, contact_wrench, framed_pairs
from hydro_sim_core.messages.state import pair_wrench
from hydro_sim_core.messages.streams import stream_kinds
from hydro_sim_core.messages.view import View
from hydro_sim_core.messages.wrench_pairs import check_wrench_topics
from hydro_sim_core.simulation.world.snapshot import take_snapshot

PAIR = ("left_finger", "spatula")


@pytest.fixture(scope="module")
def gripped():
    """The shipped scene after it has closed its grip."""
    world = hs.load_scene("spatula_slip_welded")
    world.step(300)
    return world


def test_frame_stands_at_the_centre_of_pressure(gripped):
    """With the axes of the second body."""
    pose = ContactFrames(gripped).poses(take_snapshot(gripped, 0))["left_finger_on_spatula"]
    (patch,) = [p for p in gripped.contacts if (p.name_a, p.name_b) == PAIR]
    assert np.allclose(pose[:3, 3], patch.centroid, atol=1e-12)
    assert np.allclose(pose[:3, :3], gripped.frame_pose("spatula")[:3, :3])


def test_wrench_is_that_about_the_body_moved_to_the_frame(gripped):
    """Equal forces; the moments differ by that of the force at the frame's place."""
    snapshot = take_snapshot(gripped, 0)
    X_WB = gripped.frame_pose("spatula")
    about_body = pair_wrench(snapshot.contacts, PAIR, X_WB)
    here = contact_wrench(snapshot, PAIR)
    p_B = X_WB[:3, :3].T @ (
        ContactFrames(gripped).poses(snapshot)["left_finger_on_spatula"][:3, 3] - X_WB[:3, 3]
    )
    assert np.linalg.norm(here[:3]) > 1.0
    assert np.allclose(here[:3], about_body[:3])
    assert np.allclose(here[3:] + np.cross(p_B, here[:3]), about_body[3:], atol=1e-9)
    # About the patch only its own friction is left.
    assert np.linalg.norm(here[3:]) < 0.1 * np.linalg.norm(about_body[3:])


def test_frame_stays_in_the_body_when_the_contact_ends(gripped):
    """It moves with B, and the wrench is zero."""
    frames = ContactFrames(gripped)
    before = frames.poses(take_snapshot(gripped, 0))["left_finger_on_spatula"]
    X_WB = gripped.frame_pose("spatula")
    free = gripped.copy()
    q = free.q.copy()
    fingers = [i for i, name in enumerate(free.joint_names) if "finger" in name]
    q[fingers] = [-0.05, 0.05]
    free.set_state(q, free.v)
    free.step(5)
    snapshot = take_snapshot(free, 0)
    assert not [p for p in snapshot.contacts if (p.name_a, p.name_b) == PAIR]
    after = frames.poses(snapshot)["left_finger_on_spatula"]
    assert np.allclose(np.linalg.inv(snapshot.frames["spatula"]) @ after, np.linalg.inv(X_WB) @ before)
    assert (contact_wrench(snapshot, PAIR) == 0.0).all()


def test_only_pairs_that_the_scene_names_have_frames(gripped):
    """Without a choice there may be thousands."""
    assert set(framed_pairs(gripped).values()) == {"left_finger_on_spatula", "right_finger_on_spatula"}
    assert framed_pairs(hs.load_scene("drop_box")) == {}


def test_a_sensor_of_the_same_name_is_refused(tmp_path):
    """One frame cannot be two."""
    shipped = hs.simulation.scenes.shipped_scene("spatula_slip_welded")
    scene = yaml.safe_load(shipped.read_text())
    for model in scene["models"]:
        model["urdf"] = str((shipped.parent / model["urdf"]).resolve())
    scene["sensors"] = [{"type": "imu", "name": "left_finger_on_spatula", "link": "spatula"}]
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(scene))
    with pytest.raises(InputError, match="'left_finger_on_spatula': is a link or a sensor"):
        framed_pairs(hs.load_scene(path))


def wrenches_of(world, *names):
    """Topics of wrenches about the bodies' origins."""
    streams = stream_kinds()["wrenches"].streams(world, View(wrench_topics=names))
    return [stream.topic for stream in streams if stream.topic.startswith("~/wrench/")]


def test_only_pairs_that_are_asked_for_have_wrench_topics(gripped):
    """Those that the scene names, or else those that the view names, whether the scene has them or not."""
    fingers = ["~/wrench/left_finger_on_spatula", "~/wrench/right_finger_on_spatula"]
    assert wrenches_of(gripped) == fingers
    assert wrenches_of(gripped, "left_finger_on_spatula") == fingers[:1]
    everything = wrenches_of(gripped, "all")
    assert set(fingers) < set(everything)
    other = next(topic for topic in everything if topic not in fingers)
    assert wrenches_of(gripped, other.removeprefix("~/wrench/"), "nobody_on_nothing") == [other]
    dropped = hs.load_scene("drop_box")
    assert wrenches_of(dropped) == []
    assert wrenches_of(dropped, "all") == ["~/wrench/box_on_ground"]


def test_a_name_of_no_pair_is_told(gripped):
    check_wrench_topics(View(wrench_topics=("all",)), gripped)
    with pytest.raises(InputError, match="did you mean 'left_finger_on_spatula'"):
        check_wrench_topics(View(wrench_topics=("left_finger_on_spatul",)), gripped)
