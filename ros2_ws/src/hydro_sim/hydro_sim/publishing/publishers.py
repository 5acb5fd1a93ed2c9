"""Threads that publish what the simulation does; they only read snapshots."""

from __future__ import annotations

import time
from collections.abc import Set
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from hydro_sim import optional
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.publishing.bubbles import bubble_views
from hydro_sim.publishing.clock import ClockPublisher
from hydro_sim.publishing.newcomers import Newcomers
from hydro_sim.publishing.thread import PublisherThread
from hydro_sim.publishing.transforms import LATCHED, inner_links, make_transform_publisher
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.contact_markers import ContactMarkers
from hydro_sim_core.messages.contact_patches import encode_contact_patches
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.state import (
    joint_state_template,
    joint_state_values,
    pair_wrench,
    split_time,
    wrench_template,
    wrench_topics,
)
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World

_PAUSED_PERIOD = 0.1  # s of wall time between two messages of the same state
_AT_WORLD = np.eye(4)


class StatePublisher:
    """Publishes the scene once, and clock, joint states, wrenches and transforms as the simulation advances.

    When publishing is slower than stepping, states in between are left out; the clock leaves out none. While paused,
    the joint states of that instant are repeated slowly, for those who join late.

    Args:
        node: Owner of the publishers.
        world: Asked only for names.
        runner: Source of snapshots.
        parameters: Rates, followed live, the world frame and the external models.

    Attributes:
        thread: Publishes once it is started, first of all the present state.

    Raises:
        InputError: There is no such model, or two pairs of bodies would share a topic.
    """

    def __init__(self, node: Node, world: World, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._node = node
        self._runner = runner
        self._parameters = parameters
        self.thread = PublisherThread("state-publisher", self._run, node.get_logger())

        self._external = [name for name in parameters.external_models if name]
        self._transforms = make_transform_publisher(node, parameters.world_frame)
        self._descriptions = [node.create_publisher(String, "~/scene_description", LATCHED)]
        if not self._external:
            self._descriptions.append(node.create_publisher(String, "robot_description", LATCHED))
        self._clock = ClockPublisher(node, parameters)
        self._newcomers = Newcomers()
        self._joint_states = node.create_publisher(
            JointState, "joint_states", 10, event_callbacks=self._newcomers.events
        )
        self._joint_state = _JointStates()
        if parameters.mode == LOCK_STEP:
            # The controller waits for it, so it goes out by the shortest way, and with every step. The publishing
            # thread repeats states meanwhile, and a template is one thread's.
            question = _JointStates()

            def ask(snapshot: Snapshot) -> None:
                self._joint_states.publish(question.encode(snapshot))
                self._newcomers.served()

            runner.add_listener(ask)
        self._wrenches: dict[tuple[str, str], _WrenchPublisher] = {}
        self._describe(world, inner_links(world.scene, self._external))
        self._steps: SimpleQueue[tuple[tuple[int, int], float]] = SimpleQueue()  # ((epoch, step), time)
        self._last_step = (-1, -1)
        # The listener first: a step taken in between comes twice, and is told by its number.
        runner.add_listener(self._note)
        self._note(runner.snapshot())

    def close(self) -> None:
        """Take the topics of the present World off the node."""
        for wrench in self._wrenches.values():
            wrench.close()

    def world_changed(self, world: World) -> None:
        """Publish another World from here on; the thread must stand still."""
        models = {model.name for model in world.scene.spec.models}
        external = [name for name in self._external if name in models]
        self._describe(world, inner_links(world.scene, external))

    def _describe(self, world: World, left_out: Set[str]) -> None:
        """Publish the scene, and make what the other messages need of its names."""
        topics = wrench_topics(world.contact_pairs)
        frame = self._parameters.world_frame
        if self._transforms is not None:
            self._transforms.describe(world, self._runner.snapshot(), left_out)
        description = String(data=scene_urdf(world.scene, frame))
        for publisher in self._descriptions:
            publisher.publish(description)
        for pair in self._wrenches.keys() - topics.keys():
            self._wrenches.pop(pair).close()
        for pair, topic in topics.items():
            if pair not in self._wrenches:
                self._wrenches[pair] = _WrenchPublisher(self._node, topic, pair, world, frame)

    def _run(self, stop: Event) -> None:
        joints, wrenches, transforms = (Schedule() for _ in range(3))
        seen: Snapshot | None = None
        while not stop.is_set():
            if not self._publish_clock(_PAUSED_PERIOD):
                self._repeat()
                continue
            snapshot = self._runner.snapshot()
            if snapshot is seen:  # it was ahead of the clock
                continue
            seen, now = snapshot, snapshot.time
            if self._parameters.mode != LOCK_STEP and joints.due(now, self._parameters.joint_state_rate):
                self._publish_joint_states(snapshot)
            if wrenches.due(now, self._parameters.wrench_rate):
                for wrench in self._wrenches.values():
                    wrench.publish(snapshot)
            if self._transforms is not None and transforms.due(now, self._parameters.tf_rate):
                self._transforms.publish(snapshot)
        self._publish_clock(0.0)

    def _repeat(self) -> None:
        """Nothing new is to be told: tell the state again to who came too late for it."""
        waiting = self._runner.waiting_for_permit
        if self._runner.paused or waiting:
            self._clock.repeat_for_newcomers()
        # A controller in lock-step answers what it hears, so it hears a state twice only while it joins.
        if self._runner.paused or (waiting and self._newcomers.waiting()):
            self._publish_joint_states(self._runner.snapshot())

    def _note(self, snapshot: Snapshot) -> None:
        """Called by the stepping thread; a queue written in C wakes a thread faster than a condition."""
        self._steps.put(((snapshot.epoch, snapshot.step), snapshot.time))

    def _publish_clock(self, timeout: float) -> bool:
        """Publish every step taken since the last call; False if there is none within ``timeout`` (s)."""
        try:
            taken = [self._steps.get(timeout=timeout)]
        except Empty:
            return False
        taken += (self._steps.get_nowait() for _ in range(self._steps.qsize()))
        for number, simulated_time in taken:
            if number > self._last_step:
                self._last_step = number
                self._clock.publish(simulated_time)
        self._clock.served()
        return True

    def _publish_joint_states(self, snapshot: Snapshot) -> None:
        self._joint_states.publish(self._joint_state.encode(snapshot))


class _JointStates:
    """Encodes ``joint_states`` for one thread, of whatever World the snapshot is."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None

    def encode(self, snapshot: Snapshot) -> bytes:
        """The state of the joints as a message."""
        if snapshot.joint_names is not self._names:
            self._names = snapshot.joint_names
            self._template = joint_state_template(self._names)
        return self._template.fill(split_time(snapshot.time), joint_state_values(snapshot))


class _WrenchPublisher:
    """``~/wrench/A_on_B`` of one pair of bodies; only while someone listens."""

    def __init__(self, node: Node, topic: str, pair: tuple[str, str], world: World, world_frame: str) -> None:
        self._node = node
        _, b = self._pair = pair
        self._template = wrench_template(b if b in world.frame_names else world_frame)
        self._publisher = node.create_publisher(WrenchStamped, topic, 10)

    def close(self) -> None:
        self._node.destroy_publisher(self._publisher)

    def publish(self, snapshot: Snapshot) -> None:
        if self._publisher.get_subscription_count():
            X_WB = snapshot.frames.get(self._pair[1], _AT_WORLD)
            wrench = pair_wrench(snapshot.contacts, self._pair, X_WB)
            self._publisher.publish(self._template.fill(split_time(snapshot.time), wrench))


class ContactView(Protocol):
    """One or more topics that show the contacts of an instant."""

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the contacts of ``snapshot``, if someone listens."""


class MarkerView:
    """``~/contact_markers``."""

    def __init__(self, node: Node, parameters: Parameters) -> None:
        scale = PressureScale(1e3 * parameters.pressure_full_scale)
        x, y, z = parameters.legend_position
        self._encoder = ContactMarkers(scale, parameters.world_frame, (x, y, z))
        self._publisher = node.create_publisher(MarkerArray, "~/contact_markers", 5)

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the markers, if someone listens."""
        if self._publisher.get_subscription_count():
            self._publisher.publish(self._encoder.encode(snapshot.contacts, split_time(snapshot.time)))


class PatchView:
    """``~/contact_patches``.

    Args:
        node: Owner of the publisher.
        message_type: ``hydro_sim_msgs.msg.ContactPatchArray``.
        world_frame: Frame id of the world.
    """

    def __init__(self, node: Node, message_type: type, world_frame: str) -> None:
        self._world_frame = world_frame
        self._publisher = node.create_publisher(message_type, "~/contact_patches", 5)

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the patches, if someone listens."""
        if self._publisher.get_subscription_count():
            stamp = split_time(snapshot.time)
            patches = encode_contact_patches(
                snapshot.contact_summary, snapshot.twists, self._world_frame, stamp
            )
            self._publisher.publish(patches)


class ContactPublisher:
    """Publishes what contact looks like, at a rate in wall time.

    Args:
        node: Owner of the publishers.
        runner: Source of snapshots.
        parameters: Rate, followed live; colour scale, legend and world frame.

    Attributes:
        thread: Publishes once it is started.
    """

    def __init__(self, node: Node, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._views = _contact_views(node, runner, parameters)
        self._runner = runner
        self._parameters = parameters
        self._logger = node.get_logger()
        self._failed: set[ContactView] = set()
        self.thread = PublisherThread("contact-publisher", self._run, self._logger)

    def _run(self, stop: Event) -> None:
        due = time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            # Deadlines that follow each other keep the rate; one that was missed is dropped.
            due = max(due + 1.0 / self._parameters.marker_rate, time.monotonic())
            snapshot = self._runner.snapshot()
            for view in self._views:
                self._publish(view, snapshot)

    def _publish(self, view: ContactView, snapshot: Snapshot) -> None:
        """Publish a view; one that fails is told of once and holds up no other."""
        try:
            view.publish(snapshot)
        except Exception as error:
            if view not in self._failed:
                self._failed.add(view)
                self._logger.error(f"{type(view).__name__} failed: {type(error).__name__}: {error}")


def _contact_views(node: Node, runner: FixedRateRunner, parameters: Parameters) -> list[ContactView]:
    """Every view of contact that the parameters and the installed packages allow.

    Raises:
        InputError: The parameters' bubbles are not in the scene.
    """
    views: list[ContactView] = [MarkerView(node, parameters), *bubble_views(node, runner.world, parameters)]
    if optional.hydro_sim_msgs is not None:
        message_type = optional.hydro_sim_msgs.ContactPatchArray
        views.append(PatchView(node, message_type, parameters.world_frame))
        _ = runner.snapshot().twists  # what it compiles must not be compiled beside the stepping thread
    return views
