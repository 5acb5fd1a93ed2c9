"""Table of sensor types: their settings in scenes and programs, and a reference to the code of each.

To add a sensor, add a row here, or a plug-in's entry point in the group ``hydro_sim.sensors``, and a class that reads a
world and writes messages (``sensors/sensor.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from hydro_sim_core.description.names import is_key
from hydro_sim_core.description.scene_fields import NonNegative, Vector3, WholeNumber
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import guarded, is_reference, load_plugins, referred

if TYPE_CHECKING:
    from hydro_sim_core.description.sensor_spec import SensorSpec
    from hydro_sim_core.sensors.sensor import Sensor
    from hydro_sim_core.simulation import World

_GROUP = "hydro_sim.sensors"
#: Names that settings cannot have: keys of all sensors and keywords of ``SceneBuilder.add_sensor``.
_TAKEN = {"type", "name", "link", "pose", "rate", "xyz", "rpy", "X_LS"}


@dataclass(frozen=True)
class Setting:
    """A key of a scene file that sensors of one type have, and a keyword of ``SceneBuilder.add_sensor``.

    Attributes:
        name: Name of the key.
        description: Meaning, as a sentence.
        type: Type of its values: one of ``scene_fields``, or any type that pydantic validates.
        default: Default value; ``...`` if the key is required.
        unit: Unit of its numbers.
    """

    name: str
    description: str
    type: Any
    default: Any = ...
    unit: str = ""

    def __post_init__(self) -> None:
        if not is_key(self.name) or self.name in _TAKEN or hasattr(BaseModel, self.name):
            raise InputError(
                "Setting", f"{self.name!r}", "cannot be the key of a setting", "call it otherwise"
            )


@dataclass(frozen=True)
class SensorType:
    """A kind of sensor.

    Attributes:
        name: Value of ``type`` in a scene file.
        description: Description, as a sentence.
        make: Reference ``module:name`` to its class, a ``Sensor``; imported when a world has the first one.
        settings: Keys beside those that all sensors have.
        rate: Default rate, messages per second of simulated time; 0 for one every step.
    """

    name: str
    description: str
    make: str
    settings: tuple[Setting, ...] = ()
    rate: float = 0.0

    def __post_init__(self) -> None:
        def refuse(attribute: str, mend: str) -> None:
            value = getattr(self, attribute)
            raise InputError("SensorType", f"{self.name!r}, {attribute}", f"{value!r} does not fit", mend)

        if not is_key(self.name):
            refuse("name", "give a name of letters, digits and _")
        if not is_reference(self.make):
            refuse("make", "write module:class")
        settings = self.settings
        if not isinstance(settings, tuple) or not all(isinstance(setting, Setting) for setting in settings):
            refuse("settings", "give a tuple of Setting")
        if not (isinstance(self.rate, int | float) and 0.0 <= self.rate < math.inf):
            refuse("rate", "give a finite number of at least 0")
        if len({setting.name for setting in settings}) != len(settings):
            refuse("settings", "give each its own name")

    def sensor(self, spec: SensorSpec, world: World) -> Sensor:
        """Make a sensor of a scene.

        Raises:
            InputError: The sensor does not fit the world, or the code of a plug-in fails.
        """
        make = referred(self.make, f"sensor '{spec.name}'")
        made: Sensor = guarded(lambda: make(spec, world), self.make, f"sensor '{spec.name}'")
        return made


def sensor_types() -> Mapping[str, SensorType]:
    """All sensor types by name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a sensor type, or has the name of another.
    """
    return dict(_all_types())


@cache
def _all_types() -> dict[str, SensorType]:
    return {kind.name: kind for kind in (*_SENSORS, *load_plugins(_GROUP, SensorType, _SENSORS))}


_SENSORS = (
    SensorType(
        "imu",
        "An inertial measurement unit: orientation, angular velocity and specific force.",
        "hydro_sim_core.sensors.imu:Imu",
        settings=(
            Setting(
                "gyroscope_noise_density",
                "White noise of the angular velocity, an axis.",
                NonNegative,
                0.0,
                "rad/s/√Hz",
            ),
            Setting("gyroscope_bias", "Added to the angular velocity.", Vector3, (0.0, 0.0, 0.0), "rad/s"),
            Setting(
                "accelerometer_noise_density",
                "White noise of the specific force, an axis.",
                NonNegative,
                0.0,
                "m/s^2/√Hz",
            ),
            Setting("accelerometer_bias", "Added to the specific force.", Vector3, (0.0, 0.0, 0.0), "m/s^2"),
            Setting("seed", "Of the noise; the same seed gives the same noise.", WholeNumber, 0),
        ),
    ),
    SensorType(
        "force_torque",
        "A force-torque sensor between its link and the parent of that: the wrench that the joint above the link "
        "transmits.",
        "hydro_sim_core.sensors.force_torque:ForceTorque",
        settings=(
            Setting(
                "measure_direction",
                "Whether the link's wrench on its parent is read, as with the sensors of arms, or the reaction.",
                Literal["child_to_parent", "parent_to_child"],
                "child_to_parent",
            ),
        ),
    ),
)
