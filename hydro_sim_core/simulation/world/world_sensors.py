"""Sensors of a world, for programs that step it themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.snapshot import take_snapshot

if TYPE_CHECKING:
    from hydro_sim_core.sensors.sensor import Sensor


class WorldSensor:
    """A sensor of a world.

    Attributes:
        sensor: Reads snapshots of any world that has its link.
    """

    def __init__(self, sensor: Sensor, world: World) -> None:
        self.sensor = sensor
        self._world = world

    def read(self) -> Any:
        """Reading in the world as it is now, a NamedTuple."""
        return self.sensor.read(take_snapshot(self._world, epoch=0))

    def __repr__(self) -> str:
        return f"<{type(self.sensor).__name__} '{self.sensor.name}' on '{self.sensor.link}'>"


class WorldSensors:
    """The sensors of a world by name, in the order of the scene."""

    def __init__(self, sensors: Mapping[str, Sensor], world: World) -> None:
        self._sensors = sensors
        self._world = world

    def __getitem__(self, name: str) -> WorldSensor:
        """A sensor by name.

        Raises:
            InputError: There is none.
        """
        if name not in self._sensors:
            mend = did_you_mean(str(name), self._sensors)
            raise InputError("sensors", f"'{shortened(str(name))}'", "is not in the scene", mend)
        return WorldSensor(self._sensors[name], self._world)

    def __contains__(self, name: object) -> bool:
        return name in self._sensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    def __repr__(self) -> str:
        return f"<WorldSensors: {', '.join(self) or 'none'}>"
