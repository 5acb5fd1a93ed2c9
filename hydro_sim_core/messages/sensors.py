"""Topics with the readings of a scene's sensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.state import split_time
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.sensors.sensor import Sensor, SensorTopic
from hydro_sim_core.simulation import Snapshot, World

if TYPE_CHECKING:
    from hydro_sim_core.messages.view import View


def sensor_streams(world: World, view: View) -> Iterable[Stream]:
    """Streams ``SENSOR/…`` for every topic of every sensor of the scene."""
    for name in world.sensors:
        yield from _topics(world.sensors[name].sensor)


def _topics(sensor: Sensor) -> Iterable[Stream]:
    latest: tuple[Snapshot, Any] | None = None

    def read(snapshot: Snapshot) -> Any:
        """Read once for all topics of the sensor."""
        nonlocal latest
        if latest is None or latest[0] is not snapshot:
            latest = snapshot, sensor.read(snapshot)
        return latest[1]

    def stream(topic: SensorTopic) -> Stream:
        def encode(snapshot: Snapshot) -> bytes | None:
            if sensor.link not in snapshot.frames:  # the link was deleted from the snapshot's world
                return None
            writer = CdrWriter()
            if topic.has_header:
                writer.header(sensor.frame, split_time(snapshot.time))
            topic.write(writer, read(snapshot))
            return writer.bytes()

        return Stream(f"{sensor.name}/{topic.name}", topic.type_name, encode, sensor.rate)

    for topic in sensor.topics:
        yield stream(topic)
