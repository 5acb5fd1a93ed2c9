"""Threads that publish what the simulation does; they only read snapshots."""

from __future__ import annotations

import time
from threading import Event, Thread

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim.publishing.contact_markers import ContactMarkers
from hydro_sim.publishing.contact_patches import contact_patch_array
from hydro_sim.publishing.messages import (
    fill_joint_state,
    fill_wrench,
    pair_wrench,
    split_time,
    stamp,
    topic_token,
)
from hydro_sim.publishing.pressure_scale import PressureScale
from hydro_sim.publishing.transforms import LATCHED, inner_links, make_transform_publisher
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World

_CLOCK = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
_PAUSED_PERIOD = 0.1  # s of wall time between two messages of the same state
_AT_WORLD = np.eye(4)


class Schedule:
    """Says when a topic with a rate in simulated time is due."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def due(self, time: float, rate: float) -> bool:
        """Whether to publish the state at simulated ``time`` (s); ``rate`` in Hz, 0 for every state."""
        period = 1.0 / rate if rate > 0.0 else 0.0
        if time < self._last:  # the simulation was reset
            self._last = float("-inf")
        # A millionth of a period absorbs rounding where the period is a multiple of the step.
        if time - self._last < period * (1.0 - 1e-6):
            return False
        # Counting on from the due time, not from now, keeps the rate where steps do not divide the period.
        late = time - self._last - period
        self._last = time if late > period else self._last + period
        return True


class StatePublisher:
    """Publishes the scene once, and clock, joint states, wrenches and transforms as the simulation advances.

    When publishing is slower than stepping, states in between are left out. While paused, the clock and the joint
    states of that instant are repeated slowly, for those who join late.

    Args:
        node: Owner of the publishers.
        world: Asked only for names.
        runner: Source of snapshots.
        parameters: Rates, followed live, the world frame and the external models.

    Raises:
        InputError: There is no such model.
    """

    def __init__(self, node: Node, world: World, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._runner = runner
        self._parameters = parameters
        self._stop = Event()
        self._thread: Thread | None = None

        external = [name for name in parameters.external_models if name]
        left_out = inner_links(world.scene, external)
        self._transforms = make_transform_publisher(
            node, world, runner.snapshot(), parameters.world_frame, left_out
        )
        description = String(data=scene_urdf(world.scene, parameters.world_frame))
        self._descriptions = [node.create_publisher(String, "~/scene_description", LATCHED)]
        if not external:
            self._descriptions.append(node.create_publisher(String, "robot_description", LATCHED))
        for publisher in self._descriptions:
            publisher.publish(description)
        self._clock = node.create_publisher(Clock, "/clock", _CLOCK)
        self._joint_states = node.create_publisher(JointState, "joint_states", 10)
        self._joint_state = JointState(name=list(world.joint_names))

        frames = set(world.frame_names)
        self._wrenches = []
        for a, b in world.contact_pairs:
            message = WrenchStamped()
            message.header.frame_id = b if b in frames else parameters.world_frame
            topic = f"~/wrench/{topic_token(a)}_on_{topic_token(b)}"
            self._wrenches.append(((a, b), message, node.create_publisher(WrenchStamped, topic, 10)))

    def start(self) -> None:
        """Publish the present state and start the thread."""
        self._stop.clear()
        self._thread = Thread(target=self._run, name="state-publisher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it may be started again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        clock, joints, wrenches, transforms = (Schedule() for _ in range(4))
        seen: Snapshot | None = None
        while not self._stop.is_set():
            snapshot = self._runner.wait_for_step(seen, _PAUSED_PERIOD)
            if snapshot is None:
                if seen is not None and self._runner.paused:
                    self._publish_clock(seen)
                    self._publish_joint_states(seen)
                continue
            seen, now = snapshot, snapshot.time
            if clock.due(now, self._parameters.clock_rate):
                self._publish_clock(snapshot)
            if joints.due(now, self._parameters.joint_state_rate):
                self._publish_joint_states(snapshot)
            if wrenches.due(now, self._parameters.wrench_rate):
                self._publish_wrenches(snapshot)
            if self._transforms is not None and transforms.due(now, self._parameters.tf_rate):
                self._transforms.publish(snapshot)

    def _publish_clock(self, snapshot: Snapshot) -> None:
        self._clock.publish(Clock(clock=stamp(snapshot.time)))

    def _publish_joint_states(self, snapshot: Snapshot) -> None:
        fill_joint_state(self._joint_state, snapshot)
        self._joint_states.publish(self._joint_state)

    def _publish_wrenches(self, snapshot: Snapshot) -> None:
        for pair, message, publisher in self._wrenches:
            X_WB = snapshot.frames.get(pair[1], _AT_WORLD)
            fill_wrench(message, snapshot.time, *pair_wrench(snapshot.contacts, pair, X_WB))
            publisher.publish(message)


class ContactPublisher:
    """Publishes contact patches, as markers and as data, at a rate in wall time; only while someone listens.

    Args:
        node: Owner of the publishers.
        runner: Source of snapshots.
        parameters: Rate, followed live; colour scale, legend and world frame.
    """

    def __init__(self, node: Node, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._runner = runner
        self._parameters = parameters
        self._stop = Event()
        self._thread: Thread | None = None
        scale = PressureScale(1e3 * parameters.pressure_full_scale)
        x, y, z = parameters.legend_position
        self._encoder = ContactMarkers(scale, parameters.world_frame, (x, y, z))
        self._markers = node.create_publisher(MarkerArray, "~/contact_markers", 5)
        self._patches = None
        if optional.hydro_sim_msgs is not None:
            message_type = optional.hydro_sim_msgs.ContactPatchArray
            self._patches = node.create_publisher(message_type, "~/contact_patches", 5)

    def start(self) -> None:
        """Start the thread."""
        self._stop.clear()
        self._thread = Thread(target=self._run, name="contact-publisher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it may be started again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            # Deadlines that follow each other keep the rate; one that was missed is dropped.
            due = max(due + 1.0 / self._parameters.marker_rate, time.monotonic())
            snapshot = self._runner.snapshot()
            if self._markers.get_subscription_count():
                encoded = self._encoder.encode(snapshot.contacts, split_time(snapshot.time))
                self._markers.publish(encoded)
            if self._patches is not None and self._patches.get_subscription_count():
                frame = self._parameters.world_frame
                message = contact_patch_array(
                    optional.hydro_sim_msgs, snapshot.contacts, snapshot.time, frame
                )
                self._patches.publish(message)
