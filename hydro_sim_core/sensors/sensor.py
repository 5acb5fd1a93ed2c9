"""Base class of sensors: a frame on a link, readings of snapshots, and the topics that publish them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hydro_sim_core.description.sensor_spec import SensorSpec
    from hydro_sim_core.messages.cdr import CdrWriter
    from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SensorTopic:
    """A topic of a sensor.

    Attributes:
        name: Name of the topic below that of the sensor.
        type_name: Message type, such as ``sensor_msgs/msg/Imu``.
        write: Writes the fields of a message in their order, given a ``CdrWriter`` and the reading.
        has_header: Whether the message begins with a header (sensor frame and time of the snapshot), which is written
            before the other fields.
    """

    name: str
    type_name: str
    write: Callable[[CdrWriter, Any], None]
    has_header: bool = True


class Sensor(ABC):
    """Reads snapshots of a world. It keeps no state, so copies of a world and threads may share it.

    Attributes:
        topics: Topics that publish its readings.
        name: Name of the sensor.
        frame: Name of its frame, that of the sensor unless it is that of the link.
        link: Name of the link that carries it.
        X_LS: (4, 4) pose of its frame in the link.
        rate: Messages a second of simulated time; 0 for one every step.

    Args:
        spec: Description of the sensor in the scene, with its own settings.
        world: World that has the sensor; used by the constructor only.

    Raises:
        InputError: Its settings do not fit the world.
    """

    topics: ClassVar[tuple[SensorTopic, ...]]

    def __init__(self, spec: SensorSpec, world: World) -> None:
        self.name, self.frame, self.link, self.rate = spec.name, spec.frame, spec.link, spec.rate
        self.X_LS = spec.X_LS
        self.X_LS.flags.writeable = False

    @abstractmethod
    def read(self, snapshot: Snapshot) -> Any:
        """Read a snapshot. The result, a NamedTuple, is the same for every call with the same snapshot.

        Args:
            snapshot: State of a world that has the link; other threads may use it too.
        """

    def pose_in(self, frames: Mapping[str, Array]) -> Array:
        """Pose (4, 4) of the sensor's frame in the world, given the poses ``frames`` of the links."""
        return frames[self.link] @ self.X_LS
