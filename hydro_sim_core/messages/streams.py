"""Table of the streams of a running world: topics, rates and encoders.

The node publishes these streams and recordings contain them; replays and the documentation of topics use this table
too. A stream is added by a row, or by a plug-in's entry point in the group ``hydro_sim.streams``, and a function that
encodes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene_urdf import fixed_links, scene_urdf
from hydro_sim_core.drawing.focus import focus_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.bubbles import bubble_streams
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.contact_frames import ContactFrames, contact_wrench, framed_pairs
from hydro_sim_core.messages.contact_list import encode_contacts
from hydro_sim_core.messages.contact_markers import ContactMarkers
from hydro_sim_core.messages.contact_patches import encode_contact_patches
from hydro_sim_core.messages.energies import energy_streams
from hydro_sim_core.messages.sensors import sensor_streams
from hydro_sim_core.messages.state import (
    clock_template,
    fixed_frames,
    floating_joint_template,
    floating_joint_values,
    frames_of,
    joint_state_template,
    joint_state_values,
    pair_wrench,
    split_time,
    transform_values,
    transforms_template,
    wrench_template,
    wrench_topics,
)
from hydro_sim_core.messages.stream import Stream, StreamKind
from hydro_sim_core.messages.view import View
from hydro_sim_core.messages.wrench_pairs import pairs_with_topics
from hydro_sim_core.plugins import load_plugins
from hydro_sim_core.simulation import Snapshot, World

JOINT_STATE = "sensor_msgs/msg/JointState"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"
_AT_WORLD = np.eye(4)


def stream_kinds() -> dict[str, StreamKind]:
    """Every kind of stream by its name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a ``StreamKind``, or has a name that exists already.
    """
    return dict(_all_kinds())


@cache
def _all_kinds() -> dict[str, StreamKind]:
    return {kind.name: kind for kind in (*_KINDS, *load_plugins("hydro_sim.streams", StreamKind, _KINDS))}


def recorded_streams(
    world: World, rates: Mapping[str, float], view: View
) -> list[tuple[Stream, float | None]]:
    """All streams of a world and their rates in a recording.

    Args:
        world: World with the scene and its names.
        rates: Messages per second of simulated time by the name of a kind, 0 for every step; other kinds keep theirs.
        view: How the world is shown.

    Raises:
        InputError: There is no such kind, or two pairs of bodies would share a topic.
    """
    kinds = stream_kinds()
    for name in rates:
        if name not in kinds:
            raise InputError("recording", f"rate '{name}'", "is of no stream", did_you_mean(name, kinds))
    found = [
        (stream, _recorded_rate(stream, kind, rates))
        for kind in kinds.values()
        for stream in streams_of(kind, world, view)
    ]
    topics: set[str] = set()
    for stream, _ in found:
        if stream.topic in topics:
            raise InputError(
                "recording", f"topic '{stream.topic}'", "is that of two streams", "rename one of them"
            )
        topics.add(stream.topic)
    return found


def streams_of(kind: StreamKind, world: World, view: View) -> list[Stream]:
    """The streams of a kind; see ``StreamKind.made``, which those of plug-ins go through."""
    return list(kind.streams(world, view)) if kind in _OWN else kind.made(world, view)


def _recorded_rate(stream: Stream, kind: StreamKind, rates: Mapping[str, float]) -> float | None:
    if kind.rate is None:
        return None
    return rates.get(kind.name, kind.rate if stream.rate is None else stream.rate)


def _descriptions(world: World, view: View) -> Iterable[Stream]:
    writer = CdrWriter()
    writer.string(scene_urdf(world.scene, view.world_frame))
    description = writer.bytes()
    yield Stream("robot_description", "std_msgs/msg/String", lambda _: description)


def _fixed_transforms(world: World, view: View) -> Iterable[Stream]:
    scene = world.scene
    links = fixed_frames(scene, world.link_tree)
    template = transforms_template(links, view.world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        poses = frames_of(scene, snapshot.frames)
        return template.fill(split_time(snapshot.time), transform_values(links, poses))

    yield Stream("/tf_static", _TRANSFORMS, encode)


def _moving_transforms(world: World, view: View) -> Iterable[Stream]:
    stays = fixed_links(world.scene)
    contacts = ContactFrames(world)
    links = [link for link in world.link_tree if link[1] not in stays] + contacts.links
    template = transforms_template(links, view.world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        poses = {**snapshot.frames, **contacts.poses(snapshot)}
        return template.fill(split_time(snapshot.time), transform_values(links, poses))

    yield Stream("/tf", _TRANSFORMS, encode)


def _clock(world: World, view: View) -> Iterable[Stream]:
    template = clock_template()
    yield Stream(
        "/clock", "rosgraph_msgs/msg/Clock", lambda snapshot: template.fill(split_time(snapshot.time))
    )


def _joint_states(world: World, view: View) -> Iterable[Stream]:
    template = joint_state_template(world.joint_names)

    def encode(snapshot: Snapshot) -> bytes:
        return template.fill(split_time(snapshot.time), joint_state_values(snapshot))

    yield Stream("joint_states", JOINT_STATE, encode)


def _floating_joints(world: World, view: View) -> Iterable[Stream]:
    begins = world.floating_coordinates
    if not begins:
        return
    template = floating_joint_template(tuple(begins), view.world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        return template.fill(split_time(snapshot.time), floating_joint_values(snapshot, begins.values()))

    yield Stream("multi_dof_joint_states", "sensor_msgs/msg/MultiDOFJointState", encode)


def _wrenches(world: World, view: View) -> Iterable[Stream]:
    for pair, topic in wrench_topics(pairs_with_topics(world, view)).items():
        yield _wrench(topic, pair, world, view)
    for pair, frame in framed_pairs(world).items():
        yield _contact_wrench(pair, frame)


def _wrench(topic: str, pair: tuple[str, str], world: World, view: View) -> Stream:
    _, b = pair
    template = wrench_template(b if b in world.frame_names else view.world_frame)

    def encode(snapshot: Snapshot) -> bytes:
        wrench = pair_wrench(snapshot.contacts, pair, snapshot.frames.get(b, _AT_WORLD))
        return template.fill(split_time(snapshot.time), wrench)

    return Stream(topic, "geometry_msgs/msg/WrenchStamped", encode)


def _contact_wrench(pair: tuple[str, str], frame: str) -> Stream:
    template = wrench_template(frame)

    def encode(snapshot: Snapshot) -> bytes:
        return template.fill(split_time(snapshot.time), contact_wrench(snapshot, pair))

    return Stream(f"~/contact_wrench/{frame}", "geometry_msgs/msg/WrenchStamped", encode)


def _contact_list(world: World, view: View) -> Iterable[Stream]:
    def encode(snapshot: Snapshot) -> bytes:
        return encode_contacts(snapshot.contact_summary, view.world_frame, split_time(snapshot.time))

    yield Stream("~/contacts", "hydro_sim_msgs/msg/ContactArray", encode)


def _contacts(world: World, view: View) -> Iterable[Stream]:
    markers = ContactMarkers(view.scale, view.world_frame, focus_of(world.scene), view.legend_position)

    def encode_patches(snapshot: Snapshot) -> bytes:
        stamp = split_time(snapshot.time)
        return encode_contact_patches(snapshot.contact_summary, snapshot.twists, view.world_frame, stamp)

    def encode_markers(snapshot: Snapshot) -> bytes:
        return markers.encode(snapshot.contacts, split_time(snapshot.time))

    yield Stream("~/contact_patches", "hydro_sim_msgs/msg/ContactPatchArray", encode_patches)
    yield Stream("~/contact_markers", "visualization_msgs/msg/MarkerArray", encode_markers)


def _bubbles(world: World, view: View) -> Iterable[Stream]:
    for number, bubble in enumerate(view.bubbles, start=1):
        yield from bubble_streams(number, bubble, world)


_KINDS = (
    StreamKind("description", _descriptions, rate=None, depth=1),
    StreamKind("fixed_transforms", _fixed_transforms, rate=None, depth=1),
    StreamKind("clock", _clock, rate=0.0, parameter="clock_rate", depth=1000),
    StreamKind("joint_states", _joint_states, rate=0.0, parameter="joint_state_rate"),
    StreamKind("floating_joints", _floating_joints, rate=60.0, parameter="joint_state_rate"),
    StreamKind("transforms", _moving_transforms, rate=60.0, parameter="tf_rate", depth=100),
    StreamKind("wrenches", _wrenches, rate=100.0, parameter="wrench_rate"),
    StreamKind("contact_list", _contact_list, rate=30.0, parameter="contact_rate"),
    StreamKind("sensors", sensor_streams, rate=0.0),
    StreamKind("energies", energy_streams, rate=10.0, parameter="marker_rate", clock="real"),
    StreamKind("contacts", _contacts, rate=30.0, parameter="marker_rate", clock="real", depth=5),
    StreamKind(
        "bubbles",
        _bubbles,
        rate=30.0,
        parameter="marker_rate",
        clock="real",
        depth=5,
        simulated_parameter="bubble_rate",
    ),
)
#: Those that no stranger's code has a part in: sensors may be of plug-ins.
_OWN = tuple(kind for kind in _KINDS if kind.name != "sensors")
