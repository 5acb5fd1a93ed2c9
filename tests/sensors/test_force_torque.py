"""What a force-torque sensor reads, in programs and in recordings, and which descriptions have one."""

from __future__ import annotations

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.recording import Recorder
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
    for message, reading in zip(told, readings[::2], strict=True):
        assert message.header.frame_id == "ft"
        force, torque = message.wrench.force, message.wrench.torque
        assert [force.x, force.y, force.z] == list(reading.force)
        assert [torque.x, torque.y, torque.z] == list(reading.torque)
