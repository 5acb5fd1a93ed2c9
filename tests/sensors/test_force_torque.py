"""What a force-torque sensor reads, in programs and in recordings, and which descriptions have one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.recording import Recorder
from hydro_sim_core.replay import Recording
from hydro_sim_core.simulation.world.snapshot import take_snapshot

G = 9.81
MOUNT = {"xyz": (0.02, 0.0, 0.05), "rpy": (0.3, -0.2, 0.9)}


def gripped(**sensor):
    """A hand on a wrist that a drive holds, and a sensor between it and its flange."""
    scene = hs.SceneBuilder("gripped", time_step=1e-3)
    model = scene.add_model("arm", xyz=(0, 0, 1))
    model.add_link("base")
    model.add_link("flange", mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    model.add_link("hand", mass=1.5, inertia=(0.01, 0.01, 0.01), center_of_mass=(0.1, 0.0, 0.02))
    model.add_joint("wrist", "continuous", "base", "flange", axis=(0, 1, 0))
    model.add_joint("mount", "fixed", "flange", "hand", xyz=(0.05, 0, 0))
    scene.add_actuators(["wrist"], kp=1e4, kd=200.0)
    scene.add_sensor("ft", "force_torque", "hand", **MOUNT, **sensor)
    return hs.World(scene.build())


def test_it_reads_the_weight_of_what_hangs_at_it():
    """About and along its own frame, downwards; and the reaction if that is asked for."""
    world, other = gripped(), gripped(measure_direction="parent_to_child")
    for each in (world, other):
        each.step(2000)
    X_WS = world.frame_pose("hand") @ pose(**MOUNT)
    weight = X_WS[:3, :3].T @ [0.0, 0.0, -1.5 * G]
    lever = np.linalg.inv(pose(**MOUNT)) @ [0.1, 0.0, 0.02, 1.0]
    reading = world.sensors["ft"].read()
    assert reading.time == pytest.approx(2.0)
    np.testing.assert_allclose(reading.force, weight, atol=1e-9)
    np.testing.assert_allclose(reading.torque, np.cross(lever[:3], weight), atol=1e-9)
    np.testing.assert_array_equal(other.sensors["ft"].read().force, -reading.force)
    # Without a pose in the link it is what the joint above the link transmits.
    np.testing.assert_allclose(
        world.joint_wrench("mount")[3:], pose(**MOUNT)[:3, :3] @ reading.force, atol=1e-12
    )


def test_a_recording_holds_its_readings(tmp_path):
    """On the topic that force_torque_sensor_broadcaster has for a controller of that name, in the sensor's frame."""
    world = gripped(rate=500)
    recorder = Recorder(tmp_path / "run.mcap", complete=True)
    recorder.start(take_snapshot(world, 0), world)
    readings = [world.sensors["ft"].read()]
    for _ in range(4):
        world.step()
        recorder.record(take_snapshot(world, 0), world)
        readings.append(world.sensors["ft"].read())
    assert recorder.stop().error is None
    with (tmp_path / "run.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        told = [message for _, _, _, message in reader.iter_decoded_messages(topics="/ft/wrench")]
    assert len(told) == 3
    with Recording(tmp_path / "run.mcap") as recording:
        assert len(recording.messages("wrench")) == 3
    for message, reading in zip(told, readings[::2], strict=True):
        assert message.header.frame_id == "ft"
        force, torque = message.wrench.force, message.wrench.torque
        assert [force.x, force.y, force.z] == list(reading.force)
        assert [torque.x, torque.y, torque.z] == list(reading.torque)


# --- descriptions

ARM = """<robot name="arm"><link name="base"/>
<link name="forearm"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="{flange}"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="50" velocity="1"/></joint>
<joint name="mount" type="fixed"><parent link="forearm"/><child link="{flange}"/><origin xyz="0 0 0.3"/></joint>
<ros2_control name="arm" type="system"><hardware><plugin>x/Y</plugin></hardware>
<joint name="elbow"><command_interface name="position"/><state_interface name="position"/></joint>
<sensor name="{name}"><state_interface name="force.z"/><state_interface name="torque.z"/>{param}</sensor>
<sensor name="wrist_imu"><state_interface name="orientation.x"/></sensor>
</ros2_control></robot>"""
FRAME = '<param name="frame_id">{}</param>'


def described(tmp_path, flange="flange", name="tcp_fts_sensor", param=""):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(flange=flange, name=name, param=param))
    return path


@pytest.mark.parametrize(
    ("flange", "name", "param"),
    [
        ("flange", "tcp_fts_sensor", FRAME.format("flange")),
        ("tcp_fts_sensor", "tcp_fts_sensor", ""),
        ("flange", "mount", ""),
        ("tool0", "tcp_fts_sensor", ""),
    ],
)
def test_a_ros2_control_block_has_one(tmp_path, flange, name, param):
    """At the link of frame_id, of its name, below the joint of its name, or at tool0; in the frame of this link."""
    world = hs.load_urdf(described(tmp_path, flange, name, param))
    world.step(300)
    assert list(world.sensors) == [name]
    sensor = world.sensors[name].sensor
    assert (sensor.link, sensor.frame, sensor.rate) == (flange, flange, 100.0)
    reading = world.sensors[name].read()
    np.testing.assert_array_equal(reading.force, world.joint_wrench("mount")[3:])
    assert reading.force @ reading.force == pytest.approx((0.5 * G) ** 2, rel=1e-6)


def test_its_messages_are_in_the_frame_of_its_link(tmp_path):
    world = hs.load_urdf(described(tmp_path, param=FRAME.format("flange")))
    recorder = Recorder(tmp_path / "run.mcap", complete=True)
    recorder.start(take_snapshot(world, 0), world)
    assert recorder.stop().error is None
    with (tmp_path / "run.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        told = {channel.topic: message for _, channel, _, message in reader.iter_decoded_messages()}
    assert told["/tcp_fts_sensor/wrench"].header.frame_id == "flange"
    frames = [each.child_frame_id for topic in ("/tf", "/tf_static") for each in told[topic].transforms]
    assert sorted(frames) == ["base", "flange", "forearm"]
    assert told["/robot_description"].data.count("<link ") == 4


def test_one_that_is_nowhere_is_left_out_with_a_warning(tmp_path, caplog):
    for param, problem in (
        ("", "has no frame_id"),
        (FRAME.format("hand"), "frame_id 'hand' is none of its links"),
    ):
        caplog.clear()
        world = hs.load_urdf(described(tmp_path, param=param))
        assert list(world.sensors) == []
        (record,) = caplog.records
        assert f"sensor 'tcp_fts_sensor' of <ros2_control>: {problem}" in record.getMessage()


def test_a_sensor_of_the_scene_goes_before_one_of_the_same_name(tmp_path):
    """Two robots with prefixes have one each; without, they would share a topic."""
    path = described(tmp_path, param=FRAME.format("flange"))
    scene = hs.SceneBuilder("two", time_step=0.02)
    scene.add_urdf(path, name="a", prefix="a/")
    scene.add_urdf(path, name="b", prefix="b-", xyz=(1, 0, 0))
    scene.add_sensor("b_tcp_fts_sensor", "force_torque", "b-forearm", rate=20)
    world = hs.World(scene.build())
    assert list(world.sensors) == ["b_tcp_fts_sensor", "a_tcp_fts_sensor"]
    assert [world.sensors[name].sensor.link for name in world.sensors] == ["b-forearm", "a/flange"]
    assert world.sensors["a_tcp_fts_sensor"].sensor.rate == 50.0
    assert list(hs.World(without(world.scene, "a")).sensors) == ["b_tcp_fts_sensor"]
    assert list(pickle.loads(pickle.dumps(world)).sensors) == list(world.sensors)


def swinging(solver, time_step):
    """A rod on a hinge, with both sensors."""
    scene = hs.SceneBuilder("swinging", time_step=time_step, solver=solver)
    arm = scene.add_model("arm", xyz=(0, 0, 1), positions={"hinge": 0.4})
    arm.add_link("base")
    arm.add_link("rod", 1.0, center_of_mass=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01))
    arm.add_joint("hinge", "continuous", "base", "rod", axis=(0, 1, 0))
    scene.add_sensor("wrist", "force_torque", "rod")
    scene.add_sensor("imu", "imu", "rod", xyz=(0.3, 0, 0))
    return hs.World(scene.build())


@pytest.mark.parametrize("time_step", [5e-4, 1e-2])
@pytest.mark.parametrize("solver", ["lagged", "continuous", {"model": "lagged", "accuracy": 1e-5}])
def test_after_taking_over_it_reads_the_last_step_of_the_world_before(solver, time_step):
    """In a world of other steps of another length: what swings is pulled and pushed, and let go after that step."""
    world = swinging(solver, 1e-3)
    world.apply_wrench("rod", [0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    world.pull("rod", (0.3, 0.0, 0.0), (0.3, 0.0, 1.0), stiffness=500.0, damping=5.0)
    world.step(40)
    world.apply_wrench("rod", np.zeros(6))
    world.let_go("rod")
    other = swinging("lagged", time_step)
    other.take_over(world)
    for taken in (other, other.copy()):
        for name in ("wrist", "imu"):
            for now, then in zip(taken.sensors[name].read(), world.sensors[name].read(), strict=True):
                np.testing.assert_allclose(now, then, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(taken.joint_wrench("hinge"), world.joint_wrench("hinge"), atol=1e-9)
    other.step()
    assert np.ptp([one.sensors["wrist"].read().force[2] for one in (other, world)]) > 0.5
