"""``/tf`` and ``/tf_static``, if tf2_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence, Set

from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile

from hydro_sim import optional
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene_for_rviz import added_links
from hydro_sim_core.description.scene_urdf import fixed_links
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.contact_frames import ContactFrames
from hydro_sim_core.messages.state import (
    fixed_frames,
    frames_of,
    split_time,
    transform_values,
    transforms_template,
)
from hydro_sim_core.simulation import Snapshot, World

LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


class TransformPublisher:
    """Publishes the pose of every link in its parent: once for fixed links, on every call for moving ones and contacts.

    Args:
        node: Owner of the publishers.
        message_type: ``tf2_msgs.msg.TFMessage``.
        world_frame: Frame id of the world.
    """

    def __init__(self, node: Node, message_type: type, world_frame: str) -> None:
        self._world_frame = world_frame
        self._publisher = node.create_publisher(message_type, "/tf", 100)
        self._static_publisher = node.create_publisher(message_type, "/tf_static", LATCHED)

    def describe(self, world: World, snapshot: Snapshot, left_out: Set[str]) -> None:
        """Publish the fixed links, sensors and the links that RViz alone has, and store the list of moving links.

        Args:
            world: World with the tree of links.
            snapshot: The present state, for the fixed links.
            left_out: Links whose transforms another node publishes.
        """
        stays = fixed_links(world.scene)
        tree = [link for link in world.link_tree if link[1] not in left_out]
        drawn = added_links(world.scene)
        fixed = fixed_frames(world.scene, tree) + drawn
        self._contacts = ContactFrames(world)
        self._links = [link for link in tree if link[1] not in stays] + self._contacts.links
        self._template = transforms_template(self._links, self._world_frame)
        static = transforms_template(fixed, self._world_frame)
        poses = frames_of(world.scene, snapshot.frames)
        values = transform_values(fixed, {**poses, **{child: poses[parent] for parent, child in drawn}})
        self._static_publisher.publish(static.fill(split_time(snapshot.time), values))

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the moving links and the centres of contacts at the snapshot's time."""
        poses = {**snapshot.frames, **self._contacts.poses(snapshot)}
        values = transform_values(self._links, poses)
        self._publisher.publish(self._template.fill(split_time(snapshot.time), values))


def make_transform_publisher(node: Node, world_frame: str) -> TransformPublisher | None:
    """Make the publisher; None without tf2_msgs."""
    if optional.tf2_msgs is None:
        return None
    return TransformPublisher(node, optional.tf2_msgs.TFMessage, world_frame)


def inner_links(scene: LoadedScene, models: Sequence[str]) -> frozenset[str]:
    """Names of the links below the roots of ``models``, those that robot_state_publisher derives from joint states.

    Raises:
        InputError: The scene has no such model.
    """
    robots = {model.name: robot for model, robot in zip(scene.spec.models, scene.robots, strict=True)}
    for name in models:
        if name not in robots:
            problem = f"the scene has no model '{name}'"
            raise InputError("parameters", "external_models", problem, did_you_mean(name, robots))
    return frozenset(joint.child for name in models for joint in robots[name].joints)
