"""Sensors as topics: what recordings hold of them, as a reader sees it that is not ours."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.messages.streams import recorded_streams, stream_kinds
from hydro_sim_core.messages.view import View
from hydro_sim_core.recording import Recorder
from hydro_sim_core.simulation.world.snapshot import take_snapshot

DT = 1e-3
MOUNT = {"xyz": (0.1, 0.2, 0.3), "rpy": (0.3, -0.2, 0.9)}


@pytest.fixture
def world():
    scene = hs.SceneBuilder(time_step=DT)
    scene.add_body("box", 2.0, inertia=(0.01, 0.02, 0.03), xyz=(0.3, 0.2, 1.0))
    scene.add_sensor("imu", "imu", "box", rate=200, **MOUNT)
    scene.add_sensor("noisy", "imu", "box", gyroscope_noise_density=0.01, accelerometer_noise_density=0.1)
    world = hs.World(scene.build())
    world.place("box", V_WB=[1.0, 2.0, 3.0, 0.3, 0.2, 0.1])
    return world


def recorded(world, path, steps=20, **options):
    """Messages by topic, each with its time in steps, and the readings at every step."""
    recorder = Recorder(path, complete=True, **options)
    recorder.start(take_snapshot(world, 0), world)
    readings = [{name: world.sensors[name].read() for name in world.sensors}]
    for _ in range(steps):
        world.step()
        recorder.record(take_snapshot(world, 0), world)
        readings.append({name: world.sensors[name].read() for name in world.sensors})
    assert recorder.stop().error is None
    found: dict[str, list] = {}
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, message, decoded in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((round(message.log_time / (1e9 * DT)), decoded))
    return found, readings


def numbers(value):
    return [getattr(value, key) for key in ("x", "y", "z", "w") if hasattr(value, key)]


def test_messages_are_the_readings_of_their_steps(world, tmp_path):
    """At the sensor's own rate, which is a fifth of the steps' here; or one every step."""
    found, readings = recorded(world, tmp_path / "run.mcap")
    assert [step for step, _ in found["/imu/data"]] == [0, 5, 10, 15, 20]
    assert [step for step, _ in found["/noisy/data"]] == list(range(21))
    for name in ("imu", "noisy"):
        for step, message in found[f"/{name}/data"]:
            reading = readings[step][name]
            assert message.header.frame_id == name
            assert message.header.stamp.nanosec == step * 10**6
            w, *vector = reading.orientation
            assert numbers(message.orientation) == [*vector, w]
            assert numbers(message.angular_velocity) == list(reading.angular_velocity)
            assert numbers(message.linear_acceleration) == list(reading.specific_force)


def test_covariances_are_those_of_the_noise_or_unknown(world, tmp_path):
    """As sensor_msgs says it: all zeros are unknown; -1 would be that nothing is measured."""
    found, _ = recorded(world, tmp_path / "run.mcap", steps=1)
    quiet, noisy = (found[f"/{name}/data"][-1][1] for name in ("imu", "noisy"))
    for message in (quiet, noisy):
        np.testing.assert_array_equal(message.orientation_covariance, 0.0)
    np.testing.assert_array_equal(quiet.angular_velocity_covariance, 0.0)
    np.testing.assert_array_equal(quiet.linear_acceleration_covariance, 0.0)
    np.testing.assert_allclose(noisy.angular_velocity_covariance, 0.01**2 / DT * np.eye(3).ravel())
    np.testing.assert_allclose(noisy.linear_acceleration_covariance, 0.1**2 / DT * np.eye(3).ravel())


def test_a_rate_of_the_recording_goes_before_that_of_the_sensor(world, tmp_path):
    found, _ = recorded(world, tmp_path / "run.mcap", rates={"sensors": 100.0})
    assert (
        [step for step, _ in found["/imu/data"]] == [step for step, _ in found["/noisy/data"]] == [0, 10, 20]
    )


def test_the_frame_of_a_sensor_is_told_with_those_of_links(world, tmp_path):
    found, _ = recorded(world, tmp_path / "run.mcap", steps=1)
    ((_, message),) = found["/tf_static"]
    (transform,) = [each for each in message.transforms if each.child_frame_id == "imu"]
    assert transform.header.frame_id == "box"
    assert numbers(transform.transform.translation) == pytest.approx(MOUNT["xyz"], abs=1e-15)
    rotation = Rotation.from_quat(numbers(transform.transform.rotation))
    np.testing.assert_allclose(
        rotation.as_matrix(), Rotation.from_euler("xyz", MOUNT["rpy"]).as_matrix(), atol=1e-12
    )
    root = ElementTree.fromstring(found["/robot_description"][0][1].data)
    joint = root.find("joint/child[@link='imu']/..")
    assert joint.get("type") == "fixed"
    assert joint.find("parent").get("link") == "box"
    np.testing.assert_allclose(
        [float(x) for x in joint.find("origin").get("rpy").split()], MOUNT["rpy"], atol=1e-12
    )
    assert root.find("link[@name='imu']") is not None


def test_a_sensor_without_its_link_is_silent(world):
    """The streams of one world may be asked about a snapshot of the next, which has lost a model."""
    streams = list(stream_kinds()["sensors"].streams(world, View()))
    rest = hs.World(without(world.scene, "box"))
    assert [stream.encode(take_snapshot(rest, 0)) for stream in streams] == [None, None]
    assert not list(stream_kinds()["sensors"].streams(rest, View()))


def test_streams_without_sensors_are_those_of_before(tmp_path):
    world = hs.World(hs.SceneBuilder().add_ground().build())
    assert not [stream for stream, _ in recorded_streams(world, {}, View()) if stream.rate is not None]
