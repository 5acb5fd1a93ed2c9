"""Recordings of other programs: what they have is shown, what is missing is left out or named."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording.mcap_file import RecordingFile
from hydro_sim_core.replay import Recording

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types
URDF = """<robot name="{name}">
  <link name="base"/>
  <link name="arm"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="tip"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="wrist" type="continuous"><parent link="arm"/><child link="tip"/><axis xyz="0 0 1"/></joint>
</robot>"""


def transform(parent, child, x, quaternion=(0.0, 0.0, 0.0, 1.0)):
    stamp = TYPES["builtin_interfaces/msg/Time"](0, 0)
    return TYPES["geometry_msgs/msg/TransformStamped"](
        TYPES["std_msgs/msg/Header"](stamp, parent),
        child,
        TYPES["geometry_msgs/msg/Transform"](
            TYPES["geometry_msgs/msg/Vector3"](float(x), 0.0, 0.0),
            TYPES["geometry_msgs/msg/Quaternion"](*map(float, quaternion)),
        ),
    )


def joints(**positions):
    empty = np.zeros(0)
    stamp = TYPES["builtin_interfaces/msg/Time"](0, 0)
    header = TYPES["std_msgs/msg/Header"](stamp, "")
    values = np.array(list(positions.values()))
    return TYPES["sensor_msgs/msg/JointState"](header, list(positions), values, empty, empty)


class Bag:
    """Writes messages as a recorder of another program would."""

    def __init__(self, path):
        self.path = path
        self._file = RecordingFile(path, overwrite=False)

    def write(self, topic, type_name, time, message):
        self._file.write(topic, type_name, time, bytes(STORE.serialize_cdr(message, type_name)))

    def transforms(self, topic, time, *transforms):
        message = TYPES["tf2_msgs/msg/TFMessage"](list(transforms))
        self.write(topic, "tf2_msgs/msg/TFMessage", time, message)

    def description(self, time, text):
        message = TYPES["std_msgs/msg/String"](text)
        self.write("/robot_description", "std_msgs/msg/String", time, message)

    def joints(self, time, **positions):
        self.write("/joint_states", "sensor_msgs/msg/JointState", time, joints(**positions))

    def opened(self):
        self._file.close()
        return Recording(self.path)


@pytest.fixture
def bag(tmp_path):
    return Bag(tmp_path / "other.mcap")


def x_of(recording, row, link):
    return recording.frame(row).poses[recording.scene(row).links.index(link), 0, 3]


def test_several_programs_may_tell_transforms_and_joints(bag):
    """Each link by its newest transform, in whichever message it came; the same for joints."""
    bag.description(0.0, URDF.format(name="other"))
    bag.transforms("/tf_static", 0.0, transform("map", "base", 10.0))
    for i in range(10):
        bag.transforms("/tf", 0.1 * i, transform("base", "arm", i))
        bag.transforms("/tf", 0.1 * i + 0.05, transform("arm", "tip", 0.01 * i))
        bag.joints(0.1 * i, shoulder=float(i))
    with bag.opened() as recording:
        assert len(recording.instants) == 20
        row = recording.row(0.5)
        assert x_of(recording, row, "arm") == 15.0
        assert x_of(recording, row, "tip") == pytest.approx(15.04)
        assert [joint.name for joint in recording.scene(row).joints] == ["shoulder"]
        assert recording.frame(row).joint_positions.tolist() == [5.0]


def test_links_without_a_transform_are_not_drawn_and_named(bag, caplog):
    bag.description(0.0, URDF.format(name="other"))
    bag.transforms("/tf", 0.0, transform("base", "arm", 1.0))
    with caplog.at_level(logging.WARNING), bag.opened() as recording:
        scene = recording.scene(0)
    assert [scene.links[visual.link] for visual in scene.visuals] == ["arm"]
    assert "not drawn, for there is no transform: tip" in caplog.text


def test_without_a_description_frames_are_shown(bag):
    bag.transforms("/tf", 0.0, transform("/map", "/tool", 1.0))
    with bag.opened() as recording:
        scene = recording.scene(0)
        assert set(scene.links) == {"map", "tool"}
        assert scene.visuals == ()
        assert x_of(recording, 0, "tool") == 1.0


def test_times_of_a_wall_clock_begin_at_zero(bag):
    for i in range(3):
        bag.transforms("/tf", 1.7e9 + i, transform("map", "tool", i))
    with bag.opened() as recording:
        assert recording.instants == pytest.approx([0.0, 1.0, 2.0])
        assert recording.scene(0).timeline == pytest.approx((0.0, 2.0))


def test_models_come_where_the_description_changes(bag):
    """The same scene object until then, so that pages keep their meshes."""
    bag.description(0.0, URDF.format(name="before"))
    for i in range(4):
        bag.transforms("/tf", 0.1 * i, transform("base", "arm", 0.0), transform("arm", "tip", 0.0))
        if i == 1:
            bag.description(0.15, URDF.format(name="after"))
    with bag.opened() as recording:
        scenes = [recording.scene(row) for row in range(4)]
    assert [scene.name for scene in scenes] == ["before", "before", "after", "after"]
    assert scenes[0] is scenes[1]
    assert scenes[2] is scenes[3]


def test_topics_say_what_is_shown_of_them(bag):
    """By type and the end of the name, in any namespace; of two descriptions one is shown."""
    bag.transforms("/a/tf", 0.0, transform("base", "arm", 1.0))
    for name in ("a", "b"):
        text = TYPES["std_msgs/msg/String"](URDF.format(name=name))
        bag.write(f"/{name}/robot_description", "std_msgs/msg/String", 0.0, text)
    bag.write("/a/old_joint_states", "sensor_msgs/msg/JointState", 0.0, joints(shoulder=1.0))
    with bag.opened() as recording:
        assert {topic.name: topic.shows for topic in recording.topics} == {
            "/a/tf": "poses",
            "/a/robot_description": "shapes",
            "/b/robot_description": "",
            "/a/old_joint_states": "",
        }
        assert recording.scene(0).name == "a"


def test_a_file_without_poses_is_refused_with_what_it_holds(bag):
    bag.joints(0.0, shoulder=1.0)
    with pytest.raises(InputError, match=r"tells no poses.*\(/joint_states\); record /tf as well"):
        bag.opened()


@pytest.mark.parametrize("quaternion", [(0.0, 0.0, 0.0, 0.0), (float("nan"), 0.0, 0.0, 1.0)])
def test_a_transform_that_is_no_pose_is_refused(bag, quaternion):
    bag.transforms("/tf", 0.0, transform("map", "tool", 1.0, quaternion))
    with pytest.raises(InputError, match=r"other.mcap: topic '/tf': holds a transform that is no pose"):
        bag.opened()


def test_transforms_in_a_circle_end(bag):
    bag.transforms("/tf", 0.0, transform("a", "b", 1.0), transform("b", "a", 1.0))
    with bag.opened() as recording:
        assert np.isfinite(recording.frame(0).poses).all()
