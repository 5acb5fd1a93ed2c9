"""A force-torque sensor between a link and its parent, as at a wrist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.sensors.sensor import Sensor, SensorTopic

if TYPE_CHECKING:
    from hydro_sim_core.messages.cdr import CdrWriter
    from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]


class ForceTorqueReading(NamedTuple):
    """Mean over the last step of what passes through the sensor, about the origin and along the axes of its frame.

    Attributes:
        time: Simulated time, s.
        force: (3,) N.
        torque: (3,) N m.
    """

    time: float
    force: Array
    torque: Array


def _write_wrench(writer: CdrWriter, reading: ForceTorqueReading) -> None:
    """``geometry_msgs/WrenchStamped`` after its header."""
    writer.float64(*reading.force.tolist(), *reading.torque.tolist())


class ForceTorque(Sensor):
    """Wrench that the sensor's link applies to its parent, or the reaction; arguments as for ``Sensor``.

    Raises:
        InputError: No joint is above the link.
    """

    topics = (SensorTopic("wrench", "geometry_msgs/msg/WrenchStamped", _write_wrench),)

    def __init__(self, spec: Any, world: World) -> None:
        super().__init__(spec, world)
        if spec.link not in world.frame_names:
            problem = f"no joint is above the link '{spec.link}'"
            raise InputError(
                world.scene.source, f"sensor '{spec.name}'", problem, "name the child link of a joint"
            )
        self._sign = 1.0 if spec.measure_direction == "child_to_parent" else -1.0

    def read(self, snapshot: Snapshot) -> ForceTorqueReading:
        """See ``Sensor``."""
        wrench = self._sign * snapshot.wrench_through(self.link, self.X_LS)
        return ForceTorqueReading(snapshot.time, wrench[3:], wrench[:3])
