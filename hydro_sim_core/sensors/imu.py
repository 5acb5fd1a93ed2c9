"""An inertial measurement unit."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.noise import standard_normals
from hydro_sim_core.rotations import matrix_of, quaternions_of
from hydro_sim_core.sensors.sensor import Sensor, SensorTopic

if TYPE_CHECKING:
    from hydro_sim_core.messages.cdr import CdrWriter
    from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]


class ImuReading(NamedTuple):
    """Reading of an IMU after a step, in the axes of its frame S.

    Attributes:
        time: Simulated time, s.
        orientation: (4,) quaternion (w, x, y, z) of S in the world, without noise.
        angular_velocity: (3,) angular velocity of S in the world, rad/s.
        specific_force: (3,) mean acceleration of S's origin over the last step minus gravity, m/s^2, as an
            accelerometer measures it.
        angular_velocity_variance: Variance of the noise on each axis, (rad/s)^2.
        specific_force_variance: Variance of the noise on each axis, (m/s^2)^2.
    """

    time: float
    orientation: Array
    angular_velocity: Array
    specific_force: Array
    angular_velocity_variance: float
    specific_force_variance: float


def _write_imu(writer: CdrWriter, reading: ImuReading) -> None:
    """``sensor_msgs/Imu`` after its header.

    Covariances are those of the noise; without noise they are zeros, which the message definition calls unknown.
    """
    w, x, y, z = reading.orientation.tolist()
    gyroscope, accelerometer = reading.angular_velocity_variance, reading.specific_force_variance
    writer.float64(x, y, z, w, *_covariance(0.0))
    writer.float64(*reading.angular_velocity.tolist(), *_covariance(gyroscope))
    writer.float64(*reading.specific_force.tolist(), *_covariance(accelerometer))


def _covariance(variance: float) -> tuple[float, ...]:
    """Entries (9,) of an isotropic covariance matrix, row by row."""
    return (variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance)


class Imu(Sensor):
    """Inertial measurement unit: angular velocity and specific force of its frame; arguments as for ``Sensor``."""

    topics = (SensorTopic("data", "sensor_msgs/msg/Imu", _write_imu),)

    def __init__(self, spec: Any, world: World) -> None:
        super().__init__(spec, world)
        self._gravity = np.array(world.scene.spec.gravity)
        # Variance of white noise: the square of its density (per square root of Hz) times the sample rate.
        samples = spec.rate or 1.0 / world.time_step
        self._variances = (
            spec.gyroscope_noise_density**2 * samples,
            spec.accelerometer_noise_density**2 * samples,
        )
        self._biases = np.array([spec.gyroscope_bias, spec.accelerometer_bias])
        self._seed = (spec.seed, zlib.crc32(spec.name.encode()))

    def read(self, snapshot: Snapshot) -> ImuReading:
        """See ``Sensor``; without a last step, as after a reset, the acceleration counts as zero."""
        before = snapshot if snapshot.before is None else snapshot.before
        (X_WS0, _, v_WS0), (X_WS, w_WS, v_WS) = self._motion(before), self._motion(snapshot)
        start, end = quaternions_of(np.array([X_WS0[:3, :3], X_WS[:3, :3]]))
        # In the axes at the middle of the step, to which the mean acceleration belongs.
        R_WM = matrix_of(start + end if start @ end >= 0.0 else start - end)
        acceleration = (v_WS - v_WS0) / snapshot.length_of_step
        errors = self._errors(snapshot.step)
        return ImuReading(
            snapshot.time,
            end[[3, 0, 1, 2]],
            X_WS[:3, :3].T @ w_WS + errors[0],
            R_WM.T @ (acceleration - self._gravity) + errors[1],
            *self._variances,
        )

    def _motion(self, motion: Any) -> tuple[Array, Array, Array]:
        """Pose, angular velocity and velocity of the origin of the sensor's frame in the world."""
        X_WS = self.pose_in(motion.frames)
        wx, wy, wz, vx, vy, vz = motion.twists[self.link].tolist()  # about the world's origin
        x, y, z = X_WS[:3, 3].tolist()
        velocity = np.array([vx + wy * z - wz * y, vy + wz * x - wx * z, vz + wx * y - wy * x])
        return X_WS, np.array([wx, wy, wz]), velocity

    def _errors(self, step: int) -> Array:
        """Bias and noise (2, 3) of angular velocity and specific force in a step, the same at every read."""
        if not any(self._variances):
            return self._biases
        noise = np.empty(6)
        standard_normals(*self._seed, step, noise)  # as the compiled loop
        return self._biases + np.sqrt(self._variances)[:, None] * noise.reshape(2, 3)
