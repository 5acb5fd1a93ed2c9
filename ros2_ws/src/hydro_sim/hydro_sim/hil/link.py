"""Command link: the path of a command from its message to the step that applies it.

A message is checked in the thread that receives it; the stepping thread applies it before its next step. On the way it
may be lost or delayed by injected faults (``faults``), and it is dropped and counted if it is too old, a duplicate or
out of order. In lock-step a command also permits the next step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSPolicyKind, QoSProfile, qos_check_compatible

from hydro_sim.hil.faults import LinkFaults
from hydro_sim.hil.lock_step import make_lock_step
from hydro_sim.hil.receiver import Receiver
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import CommandReport, FixedRateRunner, World
from hydro_sim_core.simulation.running.sources import whole_steps
from hydro_sim_core.simulation.running.timing import Durations

#: Effect of a checked message on the World, in the stepping thread. It raises ``InputError``, without any change, if it
#: is no longer possible.
Action = Callable[[World], None]
#: Turns a message into an action, or raises ``InputError``; changes nothing.
Check = Callable[[Any], Action]

_QOS = QoSProfile(depth=10)
#: Name that the middleware gives to a node whose name is not discovered yet.
_NAMELESS = "_UNKNOWN_"
#: Order is checked against messages that arrived within this time, s of wall time; a restarted controller, perhaps with
#: another clock, takes longer.
_ORDER_MEMORY = 1.0
#: A stamp that is ahead of simulated time by more than this (s) is taken for wall-clock time.
OTHER_CLOCK = 1e6


@dataclass(eq=False)
class _Interface:
    received: int = 0
    applied: int = 0
    lost: int = 0
    stale: int = 0
    out_of_order: int = 0
    duplicate: int = 0
    timeouts: int = 0
    age: Durations = field(default_factory=Durations)
    latency: Durations = field(default_factory=Durations)

    def report(self) -> CommandReport:
        counts = (self.received, self.applied, self.lost, self.stale, self.out_of_order, self.duplicate)
        return CommandReport(*counts, self.timeouts, self.age.distribution(), self.latency.distribution())


@dataclass(frozen=True, eq=False)
class _Packet:
    """A checked message on the link; ``stamp`` in s or None, ``received_at`` in s of the monotonic clock.

    ``dropped`` is called with the reason if the message has no effect.
    """

    interface: str
    topic: str
    message: Any
    action: Action
    stamp: float | None
    received_at: float
    dropped: Callable[[str], None] = lambda reason: None


class CommandLink:
    """The link that every command of the node passes.

    Args:
        node: Node that resolves topics and knows their publishers.
        receiver: Receiver of the messages.
        runner: Runner of the World.
        parameters: ``link_*``, ``max_command_age``, ``mode`` and ``lock_step_*``.
        rejections: Counter of messages that cannot be carried out.

    Raises:
        InputError: ``lock_step_period`` does not fit the World.
    """

    def __init__(
        self,
        node: Node,
        receiver: Receiver,
        runner: FixedRateRunner,
        parameters: Parameters,
        rejections: Rejections,
    ) -> None:
        self._node = node
        self._receiver = receiver
        self._runner = runner
        self._parameters = parameters
        self._rejections = rejections
        self._faults = LinkFaults(parameters)
        #: What commands permit in lock-step; None without it.
        self.lock_step = make_lock_step(runner, parameters)
        self._interfaces: dict[str, _Interface] = {}
        self._checks: dict[str, tuple[str, Check]] = {}
        self._types: dict[str, type] = {}
        self._newest: dict[str, tuple[float, Any, float]] = {}  # stamp, message, arrival of each topic
        self._epoch = 0
        self._unheard: dict[
            str, str
        ] = {}  # topic, and QoS policy that is incompatible with a publisher on it
        self._told: set[str] = set()
        #: Called in the stepping thread with topic, message and simulated time of every command that is applied.
        self.observers: list[Callable[[str, Any, float], None]] = []
        runner.add_command_source(self._before_step, self._idle_steps)

    # --- subscriptions, and commands of the rest of the node

    def subscribe(
        self, message_type: type, topic: str, interface: str, check: Check, *, stamped: bool = True
    ) -> None:
        """Take commands from a topic.

        Args:
            message_type: Type of the topic.
            topic: Name of the topic, relative to the node's namespace.
            interface: Command interface, used in timeouts and reports.
            check: Turns a message into an action; called in the executor's thread.
            stamped: Whether the stamp of a header is the time at which the message was made.
        """
        resolved = self._node.resolve_topic_name(topic)
        self._checks[resolved] = (interface, check)
        self._types[resolved] = message_type
        self._interfaces.setdefault(interface, _Interface())

        def receive(message: Any) -> None:
            received_at = time.monotonic()
            with self._rejections.guard(resolved):
                action = check(message)
                stamp = _stamp_of(message) if stamped else None
                self._send(_Packet(interface, resolved, message, action, stamp, received_at))

        def refuse(event: Any) -> None:
            self._unheard[resolved] = QoSPolicyKind(event.last_policy_kind).name.lower()

        def matched(event: Any) -> None:
            if self.lock_step is not None and interface == self._parameters.lock_step_interface:
                lock_step = self.lock_step
                self._runner.submit(lambda world: lock_step.publishers_changed())

        events = SubscriptionEventCallbacks(incompatible_qos=refuse, matched=matched)
        self._receiver.subscribe(message_type, resolved, receive, _QOS, events)

    def send(self, interface: str, name: str, action: Action, dropped: Callable[[str], None]) -> None:
        """Send a command that does not come from a topic over the link.

        Args:
            interface: Command interface.
            name: Source of the command, for messages about it.
            action: Effect of the command.
            dropped: Called with the reason, in the stepping thread, if the command has no effect.
        """
        self._interfaces.setdefault(interface, _Interface())
        self._send(_Packet(interface, name, None, action, None, time.monotonic(), dropped))

    def deliver(self, topic: str, message: Any) -> None:
        """Send a message that did not arrive on its topic over the link; it is recorded too.

        Raises:
            InputError: The message cannot be carried out.
        """
        resolved = self._node.resolve_topic_name(topic)
        interface, check = self._checks[resolved]
        action = check(message)
        self._send(_Packet(interface, resolved, message, action, None, time.monotonic()))

    def obey(self, topic: str, message: Any, world: World) -> None:
        """Apply a message of a command topic at once, without faults; for replays, in the stepping thread.

        Raises:
            InputError: The message cannot be carried out.
        """
        interface, check = self._checks[topic]
        action = check(message)
        self._interfaces[interface].received += 1
        self._arrive(_Packet(interface, topic, message, action, None, time.monotonic()), world)

    @property
    def topics(self) -> dict[str, type]:
        """Type of the messages on every command topic, by its resolved name."""
        return dict(self._types)

    def count_timeout(self, interface: str) -> None:
        """Count a timeout of an interface while it was in control."""
        self._interfaces[interface].timeouts += 1

    def reports(self) -> dict[str, CommandReport]:
        """Statistics of the commands on every interface."""
        return {name: interface.report() for name, interface in self._interfaces.items()}

    def latency_histograms(self) -> dict[str, list[tuple[float, int]]]:
        """(Latency in s, count) on every interface that was used."""
        used = {name: i for name, i in self._interfaces.items() if i.received}
        return {name: interface.latency.histogram() for name, interface in used.items()}

    # --- the path of a command

    def _send(self, packet: _Packet) -> None:
        self._interfaces[packet.interface].received += 1
        self._runner.submit(lambda world: self._depart(packet, world))

    def _depart(self, packet: _Packet, world: World) -> None:
        """Start a packet's way over the link, in the stepping thread."""
        self._notice_reset()
        interface = self._interfaces[packet.interface]
        if self.lock_step is not None and packet.interface == self._parameters.lock_step_interface:
            # Faults of the link do not apply: whatever becomes of the command, its sender waits for the step.
            dropped = self.lock_step.admit(packet.stamp, world)
            if dropped is not None:
                setattr(interface, dropped, getattr(interface, dropped) + 1)
                packet.dropped("in lock-step, no step waits for a command")
                return
        if self._faults.loses(world.time):
            interface.lost += 1
            packet.dropped("lost on the link")
            return
        self._faults.send(
            world.time,
            arrive=lambda: self._arrive(packet, self._runner.world),
            forget=lambda: packet.dropped("the simulation was reset before it arrived"),
        )

    def _before_step(self, world: World) -> None:
        self._notice_reset()
        for arrive in self._faults.arrivals(world.time):
            arrive()

    def _idle_steps(self, world: World) -> float:
        """For how many steps nothing arrives that has departed."""
        is_reset = self._runner.snapshot().epoch != self._epoch
        return 0.0 if is_reset else whole_steps(self._faults.left(world.time), world)

    def _arrive(self, packet: _Packet, world: World) -> None:
        interface = self._interfaces[packet.interface]
        old = self._why_old(packet, interface, world)
        if old is not None:
            packet.dropped(old)
            return
        try:
            packet.action(world)
        except InputError as error:
            # It was valid when it was checked, but the scene has changed since.
            self._rejections.count(packet.topic, error)
            packet.dropped(f"{error.element}: {error.problem}; {error.mend}")
            return
        interface.applied += 1
        interface.latency.add(time.monotonic() - packet.received_at)
        if packet.message is not None:
            for observe in self.observers:
                observe(packet.topic, packet.message, world.time)

    def _why_old(self, packet: _Packet, interface: _Interface, world: World) -> str | None:
        """Why a stamped command is not the newest on its topic, or too old; None if it is news, as one without is."""
        if packet.stamp is None:
            return None
        now = time.monotonic()
        newest, message, arrived = self._newest.get(packet.topic, (float("-inf"), None, now))
        if now - arrived < _ORDER_MEMORY:
            if packet.stamp < newest:
                interface.out_of_order += 1
                return "a newer one came before"
            if packet.stamp == newest and packet.message == message:
                interface.duplicate += 1
                return "it came twice"
        self._newest[packet.topic] = (packet.stamp, packet.message, now)

        wall = packet.stamp > world.time + OTHER_CLOCK
        age = (time.time() if wall else world.time) - packet.stamp
        if 0.0 < self._parameters.max_command_age < age:
            interface.stale += 1
            return "older than max_command_age"
        interface.age.add(max(0.0, age))
        return None

    def _notice_reset(self) -> None:
        """After a reset simulated time restarts: drop earlier packets and forget the order of stamps."""
        epoch = self._runner.snapshot().epoch
        if epoch != self._epoch:
            self._epoch = epoch
            self._faults.restart()
            self._newest.clear()

    # --- publishers with incompatible QoS

    def unheard_publishers(self) -> list[str]:
        """Publishers on command topics with incompatible QoS, one sentence each; logged once."""
        sentences = []
        for topic, policy in dict(self._unheard).items():  # the receiver's thread adds to it
            strangers = [
                f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                for info in self._node.get_publishers_info_by_topic(topic)
                if qos_check_compatible(info.qos_profile, _QOS)[0] == QoSCompatibility.ERROR
            ]
            sentences += [
                f"{topic}: nothing of publisher {name} is received: its {policy} is incompatible; publish reliable "
                "and volatile, as ros2_control does"
                for name in strangers
                if _NAMELESS not in name  # its name is discovered after its publisher
            ]
        for sentence in sentences:
            if sentence not in self._told:
                self._told.add(sentence)
                self._node.get_logger().warning(sentence)
        return sentences


def _stamp_of(message: Any) -> float | None:
    """Stamp in a message's header, s; None if it is missing or zero."""
    header = getattr(message, "header", None)
    if header is None:
        return None
    return header.stamp.sec + 1e-9 * header.stamp.nanosec or None
