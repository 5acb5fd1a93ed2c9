"""What of a running world is recorded: topics, their rates, and the messages made of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hydro_sim_core.description.scene_urdf import fixed_links, scene_urdf
from hydro_sim_core.recording import messages
from hydro_sim_core.simulation import Snapshot, World

_AT_WORLD = np.eye(4)


@dataclass(frozen=True)
class RecordedRates:
    """Messages a second of simulated time; 0 records every step.

    Attributes:
        clock: ``/clock``.
        joint_states: ``joint_states``.
        wrenches: ``~/wrench/A_on_B``.
        transforms: ``/tf``.
        patches: ``~/contact_patches``.
    """

    clock: float = 0.0
    joint_states: float = 0.0
    wrenches: float = 100.0
    transforms: float = 60.0
    patches: float = 30.0


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


def scene_streams(world: World, rates: RecordedRates, world_frame: str) -> tuple[Stream, ...]:
    """What the node publishes.

    Args:
        world: Asked for names and the scene.
        rates: How often.
        world_frame: Frame id of the world.
    """
    description = scene_urdf(world.scene, world_frame)
    stays = fixed_links(world.scene)
    fixed = [link for link in world.link_tree if link[1] in stays]
    moving = [link for link in world.link_tree if link[1] not in stays]
    joints = list(world.joint_names)
    return (
        Stream("robot_description", messages.STRING, lambda _: messages.text(description), None),
        Stream("/tf_static", messages.TRANSFORMS, lambda s: messages.transforms(s, fixed, world_frame), None),
        Stream("/clock", messages.CLOCK, messages.clock, rates.clock),
        Stream(
            "joint_states",
            messages.JOINT_STATE,
            lambda s: messages.joint_state(s, joints),
            rates.joint_states,
        ),
        Stream(
            "/tf",
            messages.TRANSFORMS,
            lambda s: messages.transforms(s, moving, world_frame),
            rates.transforms,
        ),
        *(_wrench_stream(pair, world, rates.wrenches, world_frame) for pair in world.contact_pairs),
    )


def _wrench_stream(pair: tuple[str, str], world: World, rate: float, world_frame: str) -> Stream:
    a, b = pair
    frame = b if b in world.frame_names else world_frame

    def encode(snapshot: Snapshot) -> bytes:
        return messages.wrench(snapshot, pair, snapshot.frames.get(b, _AT_WORLD), frame)

    return Stream(f"~/wrench/{topic_token(a)}_on_{topic_token(b)}", messages.WRENCH, encode, rate)


def topic_token(name: str) -> str:
    """``name`` with everything replaced that a topic name may not hold."""
    token = re.sub(r"\W+", "_", name, flags=re.ASCII)
    return f"_{token}" if token[:1].isdigit() else token
