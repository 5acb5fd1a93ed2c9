"""What of a running world is recorded: topics, their rates, and the messages made of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hydro_sim_core.description.scene_urdf import fixed_links, scene_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.contact_markers import ContactMarkers
from hydro_sim_core.messages.contact_patches import encode_contact_patches
from hydro_sim_core.messages.state import (
    clock_template,
    joint_state_template,
    joint_state_values,
    pair_wrench,
    split_time,
    transform_values,
    transforms_template,
    wrench_template,
    wrench_topics,
)
from hydro_sim_core.simulation import Snapshot, World

JOINT_STATE = "sensor_msgs/msg/JointState"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"
_AT_WORLD = np.eye(4)


@dataclass(frozen=True)
class RecordedRates:
    """Messages a second of simulated time; 0 records every step.

    Attributes:
        clock: ``/clock``.
        joint_states: ``joint_states``.
        wrenches: ``~/wrench/A_on_B``.
        transforms: ``/tf``.
        contacts: ``~/contact_patches`` and ``~/contact_markers``.
    """

    clock: float = 0.0
    joint_states: float = 0.0
    wrenches: float = 100.0
    transforms: float = 60.0
    contacts: float = 30.0


@dataclass(frozen=True)
class View:
    """How contact is drawn.

    Attributes:
        world_frame: Frame id of the world, in everything recorded.
        scale: Colours of pressure.
        legend_position: Lower left corner of the legend, m.
    """

    world_frame: str = "world"
    scale: PressureScale = field(default_factory=PressureScale)
    legend_position: tuple[float, float, float] = (0.0, 0.0, 0.6)


@dataclass(frozen=True)
class Stream:
    """A topic of a recording.

    Attributes:
        topic: Its name: absolute, relative, or ``~/`` and below the node.
        type_name: Such as ``std_msgs/msg/String``.
        encode: Turns a snapshot into a serialised message.
        rate: Messages a second of simulated time; 0 for every step, None for a single one at the start.
    """

    topic: str
    type_name: str
    encode: Callable[[Snapshot], bytes]
    rate: float | None

    @property
    def latched(self) -> bool:
        """Whether the one message is for all times."""
        return self.rate is None


def scene_streams(world: World, rates: RecordedRates, view: View) -> tuple[Stream, ...]:
    """What the node publishes.

    Args:
        world: Asked for names and the scene.
        rates: How often.
        view: How it is drawn.

    Raises:
        InputError: Two pairs of bodies would share a topic.
    """
    frame = view.world_frame
    stays = fixed_links(world.scene)
    fixed = [link for link in world.link_tree if link[1] in stays]
    moving = [link for link in world.link_tree if link[1] not in stays]
    description = CdrWriter()
    description.string(scene_urdf(world.scene, frame))
    return (
        Stream("robot_description", "std_msgs/msg/String", lambda _: description.bytes(), None),
        _transform_stream("/tf_static", fixed, None, frame),
        Stream("/clock", "rosgraph_msgs/msg/Clock", _clock_encoder(), rates.clock),
        Stream("joint_states", JOINT_STATE, _joint_state_encoder(world.joint_names), rates.joint_states),
        _transform_stream("/tf", moving, rates.transforms, frame),
        *(
            _wrench_stream(topic, pair, world, rates.wrenches, frame)
            for pair, topic in wrench_topics(world.contact_pairs).items()
        ),
        *_contact_streams(rates.contacts, view),
    )


def _clock_encoder() -> Callable[[Snapshot], bytes]:
    template = clock_template()
    return lambda snapshot: template.fill(split_time(snapshot.time))


def _joint_state_encoder(joints: Sequence[str]) -> Callable[[Snapshot], bytes]:
    template = joint_state_template(joints)
    return lambda snapshot: template.fill(split_time(snapshot.time), joint_state_values(snapshot))


def _transform_stream(
    topic: str, links: Sequence[tuple[str, str]], rate: float | None, world_frame: str
) -> Stream:
    template = transforms_template(links, world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        return template.fill(split_time(snapshot.time), transform_values(links, snapshot.frames))

    return Stream(topic, _TRANSFORMS, encode, rate)


def _wrench_stream(topic: str, pair: tuple[str, str], world: World, rate: float, world_frame: str) -> Stream:
    _, b = pair
    template = wrench_template(b if b in world.frame_names else world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        wrench = pair_wrench(snapshot.contacts, pair, snapshot.frames.get(b, _AT_WORLD))
        return template.fill(split_time(snapshot.time), wrench)

    return Stream(topic, "geometry_msgs/msg/WrenchStamped", encode, rate)


def _contact_streams(rate: float, view: View) -> tuple[Stream, Stream]:
    markers = ContactMarkers(view.scale, view.world_frame, view.legend_position)

    def encode_patches(snapshot: Snapshot) -> bytes:
        stamp = split_time(snapshot.time)
        return encode_contact_patches(snapshot.contact_summary, snapshot.twists, view.world_frame, stamp)

    def encode_markers(snapshot: Snapshot) -> bytes:
        return markers.encode(snapshot.contacts, split_time(snapshot.time))

    return (
        Stream("~/contact_patches", "hydro_sim_msgs/msg/ContactPatchArray", encode_patches, rate),
        Stream("~/contact_markers", "visualization_msgs/msg/MarkerArray", encode_markers, rate),
    )
