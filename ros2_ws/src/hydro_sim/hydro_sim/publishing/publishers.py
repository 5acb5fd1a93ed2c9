"""Publishing threads for state and contact; they only read snapshots."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Set
from threading import Event

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from hydro_sim.hil.lock_step import period_steps
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.publishing.clock import ClockPublisher
from hydro_sim.publishing.late_joiners import LateJoiners
from hydro_sim.publishing.steps import Step, Steps
from hydro_sim.publishing.streams import (
    PUBLISHED_OTHERWISE,
    StreamPublishers,
    check_bubbles,
    rate_parameter,
    view_of,
)
from hydro_sim.publishing.thread import PublisherThread
from hydro_sim.publishing.transforms import LATCHED, inner_links, make_transform_publisher
from hydro_sim_core.description.scene_for_rviz import scene_for_rviz
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.state import (
    joint_state_template,
    joint_state_values,
    split_time,
    wrench_topics,
)
from hydro_sim_core.messages.streams import stream_kinds
from hydro_sim_core.messages.wrench_pairs import check_wrench_topics, pairs_with_topics
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World

_PAUSED_PERIOD = 0.1  # s of wall time between two messages of the same state


class StatePublisher:
    """Publishes the scene once, and clock, joint states, transforms and other streams at rates in simulated time.

    States are published in the order of the steps, however late the publishing thread is; if it is too late, states are
    left out and counted, but never clock messages. While paused, the present joint states are repeated slowly, for late
    joiners.

    Args:
        node: Owner of the publishers.
        world: World with the names.
        runner: Source of snapshots.
        parameters: Parameters with the rates (followed live), the world frame and the external models.
        scale: Colour scale of pressure.

    Attributes:
        thread: The publishing thread, not started; it first publishes the present state.
        unsent: Messages that were due and not sent, by topic or kind of stream.

    Raises:
        InputError: There is no such model or no such pair of bodies, or two pairs would share a topic.
    """

    def __init__(
        self,
        node: Node,
        world: World,
        runner: FixedRateRunner,
        parameters: Parameters,
        scale: PressureScale | None = None,
    ) -> None:
        self._node = node
        self._runner = runner
        self._parameters = parameters
        self.thread = PublisherThread("state-publisher", self._run, node.get_logger())

        self._external = [name for name in parameters.external_models if name]
        self._transforms = make_transform_publisher(node, parameters.world_frame)
        self._scene_description = node.create_publisher(String, "~/scene_description", LATCHED)
        self._robot_description = None
        if not self._external:
            self._robot_description = node.create_publisher(String, "robot_description", LATCHED)
        self._clock = ClockPublisher(node, parameters)
        self._late_joiners = LateJoiners()
        self._joint_states = node.create_publisher(
            JointState, "joint_states", 10, event_callbacks=self._late_joiners.events
        )
        self._joint_state = _JointStates()
        # Whoever sleeps by the clock wakes up at its first time past a period, which must be that of the wait.
        self._period = period_steps(parameters, world.time_step)
        if parameters.mode == LOCK_STEP:
            # The controller waits for joint states, so the stepping thread publishes them at every wait. The publishing
            # thread repeats states during pauses, and a template belongs to one thread.
            question = _JointStates()

            def ask(snapshot: Snapshot) -> None:
                if snapshot.step % self._period:
                    return
                self._joint_states.publish(question.encode(snapshot))
                self._late_joiners.served()

            runner.add_listener(ask)
        self._view = view_of(parameters, scale)
        check_wrench_topics(self._view, world)
        self._by_simulated_time = {
            kind.name: StreamPublishers(node, self._view, {kind.name})
            for kind in stream_kinds().values()
            if rate_parameter(kind, parameters)[1] == "simulated" and kind.name not in PUBLISHED_OTHERWISE
        }
        self._describe(world, inner_links(world.scene, self._external))
        self.unsent: Counter[str] = Counter()
        self._steps = Steps()
        # The follower is added first: a step in between is then seen twice, and recognised by its number.
        runner.add_follower(self._steps.put)
        self._steps.put(runner.snapshot())

    def close(self) -> None:
        """Destroy the publishers of the present World."""
        for streams in self._by_simulated_time.values():
            streams.close()

    def world_changed(self, world: World) -> None:
        """Publish another World from now on; the thread must be stopped."""
        models = {model.name for model in world.scene.spec.models}
        external = [name for name in self._external if name in models]
        self._describe(world, inner_links(world.scene, external))

    def _describe(self, world: World, left_out: Set[str]) -> None:
        """Publish the scene, and prepare the messages that depend on its names."""
        self._world = world
        wrench_topics(
            pairs_with_topics(world, self._view)
        )  # raises before anything of this World is published
        frame = self._parameters.world_frame
        if self._transforms is not None:
            self._transforms.describe(world, self._runner.snapshot(), left_out)
        self._scene_description.publish(String(data=scene_urdf(scene_for_rviz(world.scene), frame)))
        if self._robot_description is not None:
            self._robot_description.publish(String(data=scene_urdf(world.scene, frame, collisions=True)))
        for streams in self._by_simulated_time.values():
            streams.describe(world)

    def _run(self, stop: Event) -> None:
        schedules = {name: Schedule() for name in ("joint_states", "/tf", *self._by_simulated_time)}
        while not stop.is_set():
            if not self._publish_steps(schedules, _PAUSED_PERIOD):
                self._repeat()
        self._publish_steps(schedules, 0.0)

    def _publish_steps(self, schedules: dict[str, Schedule], timeout: float) -> bool:
        """Publish what is due of all steps since the last call; False if there is none within ``timeout`` (s)."""
        steps = self._steps.take(timeout)
        for step in steps:
            if step.number[1] % self._period == 0:
                self._clock.publish(step.time)
            self._publish_what_is_due(step, schedules)
        if steps:
            self._clock.served()
        return bool(steps)

    def _publish_what_is_due(self, step: Step, schedules: dict[str, Schedule]) -> None:
        parameters = self._parameters
        if parameters.mode != LOCK_STEP and schedules["joint_states"].due(
            step.time, parameters.joint_state_rate
        ):
            self._publish_or_count("joint_states", step, self._publish_joint_states)
        for name, streams in self._by_simulated_time.items():
            if schedules[name].due(step.time, self._rate_of(name)):
                self._publish_or_count(name, step, streams.publish)
        if self._transforms is not None and schedules["/tf"].due(step.time, parameters.tf_rate):
            self._publish_or_count("/tf", step, self._transforms.publish)

    def _publish_or_count(self, name: str, step: Step, publish: Callable[[Snapshot], None]) -> None:
        # Steps of a World that has been exchanged since do not fit the messages of the present one.
        if step.snapshot is None or not step.snapshot.is_of(self._world):
            self.unsent[name] += 1
        else:
            publish(step.snapshot)

    def _rate_of(self, name: str) -> float:
        kind = stream_kinds()[name]
        parameter, _ = rate_parameter(kind, self._parameters)
        rate = getattr(self._parameters, parameter) if parameter else kind.rate
        return float(rate or 0.0)

    def _repeat(self) -> None:
        """Without new steps, repeat the state for late joiners."""
        waiting = self._runner.waiting_for_permit
        if self._runner.paused or waiting:
            self._clock.repeat_for_late_joiners()
        # A lock-step controller answers every message, so states are repeated only while there are late joiners; what
        # else it needs of that instant comes before them.
        late = waiting and self._late_joiners.waiting()
        snapshot = self._runner.snapshot()
        if late:
            for streams in self._by_simulated_time.values():
                streams.publish(snapshot)
        if late or self._runner.paused:
            self._publish_joint_states(snapshot)

    def _publish_joint_states(self, snapshot: Snapshot) -> None:
        self._joint_states.publish(self._joint_state.encode(snapshot))


class _JointStates:
    """Encodes ``joint_states`` for one thread, of snapshots of any World."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None

    def encode(self, snapshot: Snapshot) -> bytes:
        """The state of the joints as a message."""
        if snapshot.joint_names is not self._names:
            self._names = snapshot.joint_names
            self._template = joint_state_template(self._names)
        return self._template.fill(split_time(snapshot.time), joint_state_values(snapshot))


class ContactPublisher:
    """Publishes contact markers and other streams at rates in wall time.

    Args:
        node: Owner of the publishers.
        runner: Source of snapshots.
        parameters: Parameters with the rates (followed live), legend, world frame and bubbles.
        scale: Colour scale of pressure.

    Attributes:
        thread: The publishing thread, not started.

    Raises:
        InputError: The parameters' bubbles are not in the scene.
    """

    def __init__(
        self, node: Node, runner: FixedRateRunner, parameters: Parameters, scale: PressureScale | None = None
    ) -> None:
        logger, view = node.get_logger(), view_of(parameters, scale)
        check_bubbles(view, runner.world)

        kinds = [kind for kind in stream_kinds().values() if rate_parameter(kind, parameters)[1] == "real"]
        self._rates = {
            rate: StreamPublishers(node, view, {kind.name for kind in kinds if kind.parameter == rate})
            for rate in sorted({kind.parameter for kind in kinds})
        }
        self._runner = runner
        self._parameters = parameters
        self.world_changed(runner.world)
        _ = (
            runner.snapshot().twists,
            runner.snapshot().energies,
        )  # compiled now, not beside the stepping thread
        self.thread = PublisherThread("contact-publisher", self._run, logger)

    def world_changed(self, world: World) -> None:
        """Publish another World from now on."""
        for streams in self._rates.values():
            streams.describe(world)

    def _run(self, stop: Event) -> None:
        due = dict.fromkeys(self._rates, time.monotonic())
        while not stop.wait(max(0.0, min(due.values()) - time.monotonic())):
            snapshot, now = self._runner.snapshot(), time.monotonic()
            for rate, streams in self._rates.items():
                if due[rate] <= now:
                    # Consecutive deadlines keep the rate; a missed one is dropped.
                    due[rate] = max(due[rate] + 1.0 / getattr(self._parameters, rate), now)
                    streams.publish(snapshot)
