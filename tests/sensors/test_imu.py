"""What an IMU reads, held against closed forms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.rotations import matrix_of, quaternions_of
from hydro_sim_core.simulation.world.snapshot import take_snapshot

G = 9.81
DT = 1e-3


def read(world, name="imu"):
    return world.sensors[name].read()


def rotation_of(reading):
    w, x, y, z = reading.orientation
    return matrix_of(np.array([x, y, z, w]))


def body(*, gravity=(0.0, 0.0, -G), center=(0.0, 0.0, 0.0), tilt=(0.0, 0.0, 0.0), solver="lagged", **sensor):
    """A free box with an IMU, nothing around it."""
    scene = hs.SceneBuilder(time_step=DT, gravity=gravity, solver=solver)
    scene.add_body(
        "box", 2.0, center_of_mass=center, inertia=(0.01, 0.02, 0.03), xyz=(0.3, 0.2, 1.0), rpy=tilt
    )
    scene.add_sensor("imu", "imu", "box", **sensor)
    return hs.World(scene.build())


def turntable(**sensor):
    """A plate that turns as it is told about the world's z axis."""
    scene = hs.SceneBuilder(time_step=DT)
    scene.add_model("table", base="kinematic").add_link("plate")
    scene.add_sensor("imu", "imu", "plate", **sensor)
    return hs.World(scene.build())


# --- closed forms


@pytest.mark.parametrize("tilt", [(0.0, 0.0, 0.0), (0.4, -0.3, 1.2), (np.pi, 0.0, 0.0)])
def test_at_rest_on_the_ground_it_reads_one_g_along_up(tilt):
    """With a margin: without it a flat face rattles, by 1e-7 rad/s, which an accelerometer sees."""
    scene = hs.SceneBuilder(time_step=DT, contact={"modulus": 1e6, "margin": 1e-4})
    scene.add_ground()
    scene.add_body("box", 1.0, xyz=(0.0, 0.0, 0.05)).add_shape("box", size=(0.2, 0.2, 0.1))
    scene.add_sensor("imu", "imu", "box", xyz=(0.1, 0.0, 0.05), rpy=tilt)
    world = hs.World(scene.build())
    world.step(1000)
    reading = read(world)
    up = pose(rpy=tilt)[:3, :3].T @ [0.0, 0.0, 1.0]
    np.testing.assert_allclose(reading.specific_force, G * up, atol=1e-6)
    np.testing.assert_allclose(reading.angular_velocity, 0.0, atol=1e-8)
    np.testing.assert_allclose(rotation_of(reading), pose(rpy=tilt)[:3, :3], atol=1e-6)


@pytest.mark.parametrize("solver", ["lagged", "tamsi", "continuous", {"model": "lagged", "accuracy": 1e-5}])
def test_free_fall_reads_nothing(solver):
    """At the centre of mass, also of a body that turns; the error control's sub-steps are one step here."""
    center = (0.1, -0.05, 0.02)
    world = body(center=center, xyz=center, solver=solver)
    world.place("box", V_WB=[3.0, 0.0, 0.0, 0.5, 0.2, 1.0])  # about a principal axis
    world.step(50)
    np.testing.assert_allclose(read(world).specific_force, 0.0, atol=1e-3 if solver == "continuous" else 1e-9)


def test_beside_the_centre_of_a_body_that_turns_freely_it_reads_the_centripetal_force():
    world = body(xyz=(0.0, 0.2, 0.0))
    world.place("box", V_WB=[3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    world.step(200)
    np.testing.assert_allclose(read(world).specific_force, [0.0, -(3.0**2) * 0.2, 0.0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mounted", [(0.0, 0.0, 0.0), (0.3, 0.5, -0.7)])
def test_on_a_turntable_it_reads_the_centripetal_force(mounted):
    """Inward, whatever the angle; the chord of a step is shorter than its arc by (w dt)^2 / 24 of it."""
    w, r = 7.0, 0.4
    world = turntable(xyz=(r, 0.0, 0.1), rpy=mounted)
    world.move("table", V_WB=[0.0, 0.0, w, 0.0, 0.0, 0.0])
    world.step(237)
    reading = read(world)
    R_LS = pose(rpy=mounted)[:3, :3]
    np.testing.assert_allclose(R_LS @ reading.angular_velocity, [0.0, 0.0, w], atol=1e-12)
    np.testing.assert_allclose(
        R_LS @ reading.specific_force, [-w * w * r, 0.0, G], rtol=(w * DT) ** 2 / 20.0, atol=1e-9
    )


def test_a_turntable_that_speeds_up_pushes_along_its_rim():
    alpha, r = 5.0, 0.4
    world = turntable(xyz=(r, 0.0, 0.0))
    for step in range(1, 301):
        world.move("table", V_WB=[0.0, 0.0, alpha * step * DT, 0.0, 0.0, 0.0])
        world.step()
    w = alpha * 300 * DT
    # In the last step it turned at w, and its speed was in the mean that of half a step earlier.
    expected = [-w * (w - 0.5 * alpha * DT) * r, alpha * r, G]
    np.testing.assert_allclose(read(world).specific_force, expected, rtol=1e-6)


def test_at_the_end_of_a_pendulum_it_reads_the_tension():
    """No force but along the rod: m v^2 / l = T - m g cos(angle)."""
    length, start = 0.5, 1.0
    scene = hs.SceneBuilder(time_step=1e-4)
    arm = scene.add_model("pendulum", positions={"hinge": start})
    arm.add_link("base")
    arm.add_link("rod", 1.0, center_of_mass=(0, 0, -length), inertia=(1e-9, 1e-9, 1e-9))
    arm.add_joint("hinge", "continuous", "base", "rod", axis=(0, 1, 0))
    scene.add_sensor("imu", "imu", "rod", xyz=(0, 0, -length))
    world = hs.World(scene.build())
    world.step(3000)
    (angle,) = world.q
    tension = G * (3.0 * np.cos(angle) - 2.0 * np.cos(start))
    assert abs(angle) < 0.7
    np.testing.assert_allclose(read(world).specific_force, [0.0, 0.0, tension], rtol=1e-3, atol=1e-2)


def test_its_axes_are_those_of_its_frame():
    """Turned by a quarter about y in a body that spins about its own z: that is the sensor's -x."""
    world = body(gravity=(0.0, 0.0, 0.0), rpy=(0.0, 0.5 * np.pi, 0.0))
    world.place("box", V_WB=[0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    world.step(300)
    reading = read(world)
    R_WS = world.frame_pose("box")[:3, :3] @ pose(rpy=(0.0, 0.5 * np.pi, 0.0))[:3, :3]
    np.testing.assert_allclose(rotation_of(reading), R_WS, atol=1e-12)
    np.testing.assert_allclose(reading.angular_velocity, [-2.0, 0.0, 0.0], atol=1e-12)


# --- when there is no last step


def test_what_is_put_elsewhere_has_not_leapt():
    """At the start, after a reset, and after a state was set, it reads what stands still."""
    world = body(xyz=(0.1, 0.0, 0.0))
    at_rest = [0.0, 0.0, G]
    np.testing.assert_allclose(read(world).specific_force, at_rest)
    saved = world.save_state()
    world.step(20)
    np.testing.assert_allclose(read(world).specific_force, 0.0, atol=1e-9)
    world.set_state(world.q + np.eye(7)[4], world.v + 1.0)
    np.testing.assert_allclose(read(world).specific_force, at_rest)
    world.step()
    world.restore_state(saved)
    np.testing.assert_allclose(read(world).specific_force, at_rest)
    world.step()
    world.reset()
    np.testing.assert_allclose(read(world).specific_force, at_rest)


def test_who_is_placed_disturbs_no_other():
    scene = hs.SceneBuilder(time_step=DT)
    for name in ("one", "two"):
        scene.add_body(name, 1.0, inertia=(1, 1, 1), xyz=(0, 0, 5))
        scene.add_sensor(f"imu_{name}", "imu", name)
    world = hs.World(scene.build())
    world.step(10)
    world.place("two", np.eye(4), np.ones(6))
    np.testing.assert_allclose(read(world, "imu_one").specific_force, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(read(world, "imu_two").specific_force), G)
    world.step()
    for name in ("imu_one", "imu_two"):
        np.testing.assert_allclose(read(world, name).specific_force, 0.0, atol=1e-9)


def test_a_world_that_takes_over_goes_on_reading():
    world = body()
    world.step(10)
    other = body()
    other.take_over(world)
    np.testing.assert_array_equal(read(other).specific_force, read(world).specific_force)


@pytest.mark.parametrize("time_step", [1e-4, 1e-2])
def test_a_world_of_another_time_step_reads_the_last_step_of_the_one_before(time_step):
    """A change of velocity belongs to the step that made it, whatever the next ones are: no jump of gravity here."""
    world = body()
    world.step(200)
    other = hs.World(world.scene.with_({"time_step": time_step}))
    other.take_over(world)
    np.testing.assert_allclose(read(other).specific_force, 0.0, atol=1e-9)
    np.testing.assert_array_equal(read(other.copy()).specific_force, read(other).specific_force)
    saved = other.save_state()
    other.step()
    np.testing.assert_allclose(read(other).specific_force, 0.0, atol=1e-9)
    other.restore_state(saved)
    np.testing.assert_allclose(read(other).specific_force, [0.0, 0.0, G])  # no step led here


def test_copies_and_pickles_read_the_same():
    world = body(xyz=(0.1, 0, 0), accelerometer_noise_density=0.01)
    world.place("box", V_WB=[1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    world.step(5)
    for other in (world.copy(), pickle.loads(pickle.dumps(world))):
        np.testing.assert_array_equal(read(other).specific_force, read(world).specific_force)
        other.step(3)
    world.step(3)
    np.testing.assert_array_equal(read(other).specific_force, read(world).specific_force)


def test_a_snapshot_reads_as_the_world_did():
    world = body(xyz=(0.1, 0, 0))
    world.place("box", V_WB=[1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    world.step(5)
    snapshot, then = take_snapshot(world, 0), read(world)
    world.step(5)
    for now, before in zip(world.sensors["imu"].sensor.read(snapshot), then, strict=True):
        np.testing.assert_array_equal(now, before)


# --- who does not ask does not pay


@pytest.mark.parametrize("solver", ["lagged", {"model": "lagged", "accuracy": 1e-4}])
def test_sensors_change_no_bit_of_a_motion(solver):
    def thrown(with_sensor):
        scene = hs.SceneBuilder(time_step=DT, solver=solver, contact={"modulus": 1e6})
        scene.add_ground()
        scene.add_body("box", 1.0, xyz=(0, 0, 0.1)).add_shape("box", size=(0.1, 0.1, 0.1))
        if with_sensor:
            scene.add_sensor("imu", "imu", "box")
        world = hs.World(scene.build())
        world.place("box", V_WB=[1.0, 2.0, 3.0, 0.3, 0.0, 0.0])
        return world

    watched, alone = thrown(True), thrown(False)
    for world in (watched, alone):
        world.step(150)
        world.step(3)
    np.testing.assert_array_equal(watched.q, alone.q)
    np.testing.assert_array_equal(watched.v, alone.v)
    alone.restore_state(watched.save_state())  # a state does not know who looks at it


# --- noise


def test_noise_has_the_density_asked_for_and_the_bias_its_mean():
    density, rate = 0.02, 250.0
    world = body(
        rate=rate,
        gyroscope_noise_density=density,
        accelerometer_noise_density=2.0 * density,
        gyroscope_bias=(0.1, -0.2, 0.3),
        accelerometer_bias=(-1.0, 0.0, 2.0),
    )
    rows = []
    for _ in range(2000):
        world.step()
        reading = read(world)
        rows.append([*reading.angular_velocity, *reading.specific_force])
    deviation = np.sqrt(rate) * density * np.repeat([1.0, 2.0], 3)
    np.testing.assert_allclose(np.std(rows, axis=0), deviation, rtol=0.08)
    apart = np.mean(rows, axis=0) - [0.1, -0.2, 0.3, -1.0, 0.0, 2.0]
    assert np.all(np.abs(apart) <= 5.0 * deviation / np.sqrt(len(rows)))
    np.testing.assert_allclose(reading.angular_velocity_variance, deviation[0] ** 2)
    np.testing.assert_allclose(reading.specific_force_variance, deviation[3] ** 2)
    correlation = np.corrcoef(np.array(rows).T) - np.eye(6)
    assert np.abs(correlation).max() < 0.1


def test_noise_is_that_of_its_seed_its_name_and_its_step():
    noisy = {"gyroscope_noise_density": 0.1}
    one, same = body(**noisy), body(**noisy)
    for world in (one, same):
        world.step(7)
    read(one)  # asking changes nothing
    np.testing.assert_array_equal(read(one).angular_velocity, read(same).angular_velocity)
    other = body(**noisy, seed=1)
    other.step(7)
    assert np.all(read(other).angular_velocity != read(one).angular_velocity)
    before = read(one).angular_velocity
    one.step()
    assert np.all(read(one).angular_velocity != before)


def test_orientation_is_a_unit_quaternion_with_the_scalar_first():
    world = body(tilt=(0.0, 0.0, 0.5 * np.pi))
    np.testing.assert_allclose(
        read(world).orientation, np.sqrt(0.5) * np.array([1.0, 0.0, 0.0, 1.0]), atol=1e-12
    )
    x, y, z, w = quaternions_of(world.frame_pose("box")[:3, :3])
    np.testing.assert_array_equal(read(world).orientation, [w, x, y, z])
