"""The force-torque sensors that descriptions of robots have, as sensors of a scene."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hydro_sim_core.description.names import topic_token
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS
from hydro_sim_core.description.sensor_spec import SensorSpec
from hydro_sim_core.description.spec import DescribedSensor, RobotSpec

#: Rate at which the controller manager updates broadcasters unless told otherwise, Hz.
_RATE = 100.0


def described_sensors(
    robots: Iterable[RobotSpec], given: Iterable[SensorSpec], time_step: float
) -> tuple[SensorSpec, ...]:
    """The sensors of descriptions that the scene has none of the same name of, in the frames of their links.

    Args:
        robots: The robots, prefixes applied.
        given: Sensors of the scene.
        time_step: That of the scene, s; no sensor is faster.
    """
    taken = {sensor.name for sensor in given}
    return tuple(
        _section(sensor, min(_RATE, 1.0 / time_step))
        for robot in robots
        for sensor in robot.sensors
        if _word(sensor.name) not in taken
    )


def _section(sensor: DescribedSensor, rate: float) -> SensorSpec:
    values: dict[str, Any] = {
        "type": "force_torque",
        "name": _word(sensor.name),
        "link": sensor.link,
        "rate": rate,
    }
    section = SENSOR_SECTIONS["force_torque"].model_validate(values)
    section.take_frame_of_link()
    return section


def _word(name: str) -> str:
    """A name as sensors of scenes have them."""
    token = topic_token(name)
    return token if token[:1].isalpha() else f"sensor{token}"
