"""Templates of small, frequent messages: clock, joint states, wrenches and transforms.

Building a JointState or a TFMessage from Python objects takes several times as long as publishing it, and holds the
interpreter lock that the stepping thread needs after every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import topic_token
from hydro_sim_core.description.scene_urdf import fixed_links
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.cdr import MessageTemplate, TemplateWriter
from hydro_sim_core.rotations import quaternions_of
from hydro_sim_core.simulation import Snapshot

Array = NDArray[np.float64]
_WORLD_POSE = np.eye(4)


def split_time(time: float) -> tuple[int, int]:
    """Simulated time in s as (seconds, nanoseconds)."""
    nanoseconds = round(time * 1e9)
    return nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000


def stamped_time(stamp: tuple[int, int]) -> float:
    """Time in s of (seconds, nanoseconds), as whoever reads a stamp has it."""
    seconds, nanoseconds = stamp
    return seconds + 1e-9 * nanoseconds


def wrench_topics(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Topic of the wrench of each pair of bodies.

    Raises:
        InputError: Two pairs would share a topic, such as ``a/b`` and ``a-b`` on the same body.
    """
    owners: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        a, b = pair
        topic = f"~/wrench/{topic_token(a)}_on_{topic_token(b)}"
        other = owners.setdefault(topic, pair)
        if other != pair:
            first, second = next((x, y) for x, y in zip(other, pair, strict=True) if x != y)
            mend = "rename one with other letters, digits or _, or leave one out of report.wrenches"
            raise InputError(
                "scene", f"links '{first}' and '{second}'", f"would share the topic {topic}", mend
            )
    return {pair: topic for topic, pair in owners.items()}


def clock_template() -> MessageTemplate:
    """Template of ``rosgraph_msgs/Clock``."""
    writer = TemplateWriter()
    writer.time((0, 0))
    return writer.template()


def joint_state_template(joints: Sequence[str]) -> MessageTemplate:
    """Template of ``sensor_msgs/JointState``, to be filled with ``joint_state_values``."""
    writer = TemplateWriter()
    writer.header("", (0, 0))
    writer.uint32(len(joints))
    for joint in joints:
        writer.string(joint)
    for _ in ("position", "velocity", "effort"):
        writer.doubles(len(joints))
    return writer.template()


def joint_state_values(snapshot: Snapshot) -> Array:
    """Concatenated positions, velocities and efforts of the joints."""
    return np.concatenate([snapshot.joint_positions, snapshot.joint_velocities, snapshot.joint_efforts])


def floating_joint_template(joints: Sequence[str], world_frame: str) -> MessageTemplate:
    """Template of ``sensor_msgs/MultiDOFJointState``, to be filled with ``floating_joint_values``."""
    writer = TemplateWriter()
    writer.header(world_frame, (0, 0))
    writer.uint32(len(joints))
    for joint in joints:
        writer.string(joint)
    writer.uint32(len(joints))
    for _ in joints:
        writer.float64(*[0.0] * 7)
    writer.uint32(0, 0)  # neither twists nor wrenches
    return writer.template()


def floating_joint_values(snapshot: Snapshot, coordinates: Iterable[int]) -> Array:
    """Position, m, and quaternion (x, y, z, w) of each floating joint: (joints, 7), the numbers of the state itself.

    Args:
        snapshot: The state.
        coordinates: Where in ``q`` each joint begins; see ``World.floating_coordinates``.
    """
    begins = np.fromiter(coordinates, dtype=np.int64)
    return np.asarray(snapshot.q[begins[:, None] + [4, 5, 6, 1, 2, 3, 0]])


def wrench_template(frame_id: str) -> MessageTemplate:
    """Template of ``geometry_msgs/WrenchStamped``, to be filled with force and moment."""
    writer = TemplateWriter()
    writer.header(frame_id, (0, 0))
    writer.float64(*[0.0] * 6)
    return writer.template()


def pair_wrench(contacts: Sequence[ContactPatch], pair: tuple[str, str], X_WB: Array) -> Array:
    """Force and moment that the first body of ``pair`` applies to the second, B, about and along B's frame.

    Args:
        contacts: Contact patches of one instant.
        pair: Names of the two bodies.
        X_WB: (4, 4) pose of B.

    Returns:
        Force, N, then moment, N m: (6,), zero without contact.
    """
    R_WB, p_WB = X_WB[:3, :3], X_WB[:3, 3]
    force, moment = np.zeros(3), np.zeros(3)
    for patch in contacts:
        if (patch.name_a, patch.name_b) == pair:
            force += patch.force_on_b
            moment += patch.moment_on_b(p_WB)
    return np.concatenate([R_WB.T @ force, R_WB.T @ moment])


def fixed_frames(scene: LoadedScene, links: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(parent, child) of the frames that never move in their parent, of links and of sensors."""
    stays = fixed_links(scene)
    sensors = [(sensor.link, sensor.name) for sensor in scene.sensors if sensor.has_frame]
    return [link for link in links if link[1] in stays] + sensors


def frames_of(scene: LoadedScene, links: Mapping[str, Array]) -> dict[str, Array]:
    """Pose (4, 4) of every link and of every sensor's own frame in the world, given those of the links."""
    own = (sensor for sensor in scene.sensors if sensor.has_frame)
    return {**links, **{sensor.name: links[sensor.link] @ sensor.X_LS for sensor in own}}


def transforms_template(links: Sequence[tuple[str, str]], world_frame: str) -> MessageTemplate:
    """Template of ``tf2_msgs/TFMessage`` with the pose of every child in its parent; see ``transform_values``.

    Args:
        links: (parent, child) of each transform; ``world`` is the world.
        world_frame: Frame id of the world.
    """
    writer = TemplateWriter()
    writer.uint32(len(links))
    for parent, child in links:
        writer.header(world_frame if parent == "world" else parent, (0, 0))
        writer.string(child)
        writer.float64(*[0.0] * 7)
    return writer.template()


def transform_values(links: Sequence[tuple[str, str]], poses: Mapping[str, Array]) -> Array:
    """Position, m, and quaternion (x, y, z, w) of every child in its parent: (links, 7).

    Args:
        links: (parent, child) of each.
        poses: Pose (4, 4) of each frame in the world; a parent without a pose is the world.
    """
    if not links:
        return np.zeros((0, 7))
    X_WP = np.array([poses.get(parent, _WORLD_POSE) for parent, _ in links])
    X_WC = np.array([poses[child] for _, child in links])
    R_PW = np.swapaxes(X_WP[:, :3, :3], 1, 2)
    p_PC = np.einsum("nij,nj->ni", R_PW, X_WC[:, :3, 3] - X_WP[:, :3, 3])
    return np.hstack([p_PC, quaternions_of(R_PW @ X_WC[:, :3, :3])])
