"""What every sensor of a scene is: something on a link that reads snapshots, and the topics on which it tells them."""

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
        name: Its name below that of the sensor.
        type_name: Such as ``sensor_msgs/msg/Imu``.
        write: Writes the fields of a message in their order, given a ``CdrWriter`` and what ``Sensor.read`` gave.
        has_header: Whether the message begins with a header, which is written before: the sensor's frame, and the
            time of the snapshot.
    """

    name: str
    type_name: str
    write: Callable[[CdrWriter, Any], None]
    has_header: bool = True


class Sensor(ABC):
    """Reads snapshots of a world; it remembers nothing, so copies of a world and threads may share it.

    Attributes:
        topics: Where it tells what it reads.
        name: Of the sensor, and of its frame.
        link: The link that carries it.
        X_LS: (4, 4) pose of its frame in the link.
        rate: Messages a second of simulated time; 0 for one every step.

    Args:
        spec: What the scene says of it, its own settings too.
        world: That has it, to be asked and not to be kept.

    Raises:
        InputError: Its settings do not fit the world.
    """

    topics: ClassVar[tuple[SensorTopic, ...]]

    def __init__(self, spec: SensorSpec, world: World) -> None:
        self.name, self.link, self.rate = spec.name, spec.link, spec.rate
        self.X_LS = spec.X_LS
        self.X_LS.flags.writeable = False

    @abstractmethod
    def read(self, snapshot: Snapshot) -> Any:
        """What it reads, as a NamedTuple: the same whenever it is asked about the same snapshot.

        Args:
            snapshot: A state of a world that has the link; another thread may have asked it before.
        """

    def pose_in(self, frames: Mapping[str, Array]) -> Array:
        """(4, 4) pose of the sensor's frame in the world, where these are the poses of the links."""
        return frames[self.link] @ self.X_LS
