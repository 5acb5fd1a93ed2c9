"""Publishers of the engine's streams, each active while it has subscribers."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from threading import Lock
from typing import Any

from rclpy.node import Node

from hydro_sim.parameters import Parameters
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.bubbles import make_camera
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.streams import StreamKind, stream_kinds, streams_of
from hydro_sim_core.messages.view import Bubble, View
from hydro_sim_core.simulation import Snapshot, World

#: Kinds with publishers of their own, because of late joiners, lock-step or robot_state_publisher.
PUBLISHED_OTHERWISE = frozenset({"description", "fixed_transforms", "clock", "joint_states", "transforms"})


def scale_of(parameters: Parameters, world: World) -> PressureScale:
    """The colour scale of the parameters, or else the one chosen from a World that nothing steps yet."""
    full_scale = parameters.pressure_full_scale
    return PressureScale(1e3 * full_scale) if full_scale else scale_of_world(world)


def view_of(parameters: Parameters, scale: PressureScale | None = None) -> View:
    """The ``View`` that the parameters describe.

    Args:
        parameters: The parameters.
        scale: Colour scale of pressure, as from ``scale_of``.

    Raises:
        InputError: The parameters do not name a camera for every bubble.
    """
    bubbles = [name for name in parameters.bubbles if name]
    cameras = [name for name in parameters.bubble_cameras if name]
    if len(bubbles) != len(cameras):
        problem = f"{len(cameras)} cameras for {len(bubbles)} bubbles"
        raise InputError("parameters", "bubble_cameras", problem, "name one camera frame for every bubble")
    corner = parameters.legend_position
    return View(
        parameters.world_frame,
        scale or PressureScale(),
        None if len(corner) < 3 else (corner[0], corner[1], corner[2]),
        tuple(
            Bubble(
                link,
                frame,
                parameters.bubble_cap_height,
                parameters.bubble_image_size,
                parameters.bubble_field_of_view,
                parameters.bubble_depth_encoding,
                parameters.bubble_depth_noise,
                parameters.bubble_noise_seed,
            )
            for link, frame in zip(bubbles, cameras, strict=True)
        ),
        tuple(name for name in parameters.wrench_topics if name),
    )


def check_bubbles(view: View, world: World) -> None:
    """Check that a scene has all bubbles at its start; one that is deleted later is silent until it is back.

    Raises:
        InputError: A bubble's link or frame is not in the scene, or its camera does not see it.
    """
    for bubble in view.bubbles:
        make_camera(bubble, world)


def rate_parameter(kind: StreamKind, parameters: Parameters) -> tuple[str, str]:
    """Parameter that is the rate of a kind ('' for none), and its clock: ``simulated`` or ``real``."""
    if kind.simulated_parameter and getattr(parameters, kind.simulated_parameter) > 0.0:
        return kind.simulated_parameter, "simulated"
    return kind.parameter, kind.clock


class StreamPublishers:
    """Publishes the streams of some kinds. A stream that fails to encode is logged once and does not affect others.

    Args:
        node: Owner of the publishers.
        view: How the world is shown.
        kinds: Names of the kinds.
    """

    def __init__(
        self,
        node: Node,
        view: View,
        kinds: Collection[str],
    ) -> None:
        self._node = node
        self._view = view
        self._kinds = [kind for name, kind in stream_kinds().items() if name in kinds]
        self._told: set[str] = set()
        self._lock = Lock()  # a topic may be taken away by one thread and published by another
        self._publishers: dict[tuple[str, str], Any] = {}
        self._streams: list[tuple[Stream, Any, Schedule]] = []

    def describe(self, world: World) -> None:
        """Publish another World from now on; topics that both have keep their publishers.

        Raises:
            InputError: The streams of the World cannot be made.
        """
        streams = [(stream, kind) for kind in self._kinds for stream in streams_of(kind, world, self._view)]
        before, self._publishers = self._publishers, {}
        published = []
        for stream, kind in streams:
            key = (stream.topic, stream.type_name)
            publisher = before.pop(key, None) or self._create(stream, kind)
            if publisher is not None:
                self._publishers[key] = publisher
                published.append((stream, publisher, Schedule()))
        with self._lock:
            self._streams = published
        for publisher in before.values():
            self._node.destroy_publisher(publisher)

    def _create(self, stream: Stream, kind: StreamKind) -> Any:
        """Create a publisher; None if the package of its messages is not installed."""
        package, _, name = stream.type_name.partition("/msg/")
        try:
            message_type = getattr(import_module(f"{package}.msg"), name)
        except ModuleNotFoundError:
            return None
        return self._node.create_publisher(message_type, stream.topic, kind.depth)

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the streams that have subscribers and, with a rate of their own, are due."""
        with self._lock:
            for stream, publisher, schedule in self._streams:
                if stream.rate is not None and not schedule.due(snapshot.time, stream.rate):
                    continue
                if publisher.get_subscription_count():
                    message = self._encoded(stream, snapshot)
                    if message is not None:
                        publisher.publish(message)

    def _encoded(self, stream: Stream, snapshot: Snapshot) -> bytes | None:
        try:
            return stream.encode(snapshot)
        except Exception as error:  # a plug-in may raise anything
            if stream.topic not in self._told:
                self._told.add(stream.topic)
                known = f"{type(error).__name__}: " if not isinstance(error, InputError) else ""
                self._node.get_logger().error(f"{stream.topic}: cannot be encoded: {known}{error}")
            return None

    def close(self) -> None:
        """Destroy the publishers."""
        with self._lock:
            publishers, self._publishers, self._streams = self._publishers, {}, []
        for publisher in publishers.values():
            self._node.destroy_publisher(publisher)
