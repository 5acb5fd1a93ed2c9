"""The way of a command from its message to the step that obeys it.

A message is checked in the thread that receives it; the stepping thread applies it before its next step. On the way it
may be lost or delayed on purpose (``faults``), and it is dropped and counted where it is too old, comes twice or out
of order. In lock-step a command is also what permits the next step.
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
from hydro_sim.hil.receiver import Receiver
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import CommandReport, FixedRateRunner, World
from hydro_sim_core.simulation.running.timing import Durations

#: What a checked message does to the World, in the stepping thread. It raises ``InputError``, having changed nothing,
#: where the World cannot do it any more.
Action = Callable[[World], None]
#: Turns a message into an action, or raises ``InputError``; changes nothing.
Check = Callable[[Any], Action]

_QOS = QoSProfile(depth=10)
#: What the middleware calls a node whose name has not been discovered yet.
_NAMELESS = "_UNKNOWN_"
#: Order is judged beside a message that arrived at most this long ago, s of wall time: a controller that starts anew,
#: with another clock perhaps, takes longer.
_ORDER_MEMORY = 1.0
#: A stamp this far ahead of simulated time (s) is one of the wall clock.
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
    """A checked message under way; ``stamp`` s or None, ``received_at`` s of the monotonic clock.

    Who waits for its effect is told by ``dropped`` why there is none.
    """

    interface: str
    topic: str
    message: Any
    action: Action
    stamp: float | None
    received_at: float
    dropped: Callable[[str], None] = lambda reason: None


class CommandLink:
    """Every command of the node comes through here.

    Args:
        node: Resolves topics and knows their publishers.
        receiver: Receives the messages.
        runner: Steps the World.
        parameters: ``link_*``, ``max_command_age``, ``mode`` and ``lock_step_*``.
        rejections: Where messages are counted that cannot be carried out.
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
        self._interfaces: dict[str, _Interface] = {}
        self._checks: dict[str, tuple[str, Check]] = {}
        self._types: dict[str, type] = {}
        self._newest: dict[str, tuple[float, Any, float]] = {}  # stamp, message, arrival of each topic
        self._epoch = 0
        self._unheard: dict[str, str] = {}  # topic, and what keeps a publisher on it from being heard
        self._told: set[str] = set()
        #: Called in the stepping thread with topic, message and simulated time of every command that is applied.
        self.observers: list[Callable[[str, Any, float], None]] = []
        runner.add_command_source(self._before_step)

    # --- connecting, and what the rest of the node does with commands

    def subscribe(
        self, message_type: type, topic: str, interface: str, check: Check, *, stamped: bool = True
    ) -> None:
        """Take commands from a topic.

        Args:
            message_type: Its type.
            topic: Its name, relative to the node's namespace.
            interface: What the command commands; time-outs and reports go by it.
            check: Turns a message into an action; called in the executor's thread.
            stamped: Whether a header's stamp, where there is one, says when the message was made.
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

        events = SubscriptionEventCallbacks(incompatible_qos=refuse)
        self._receiver.subscribe(message_type, resolved, receive, _QOS, events)

    def send(self, interface: str, name: str, action: Action, dropped: Callable[[str], None]) -> None:
        """Take a command that no topic brings; it travels the same link.

        Args:
            interface: What the command commands.
            name: Where it comes from, for what is said of it.
            action: What it does.
            dropped: Called with the reason, in the stepping thread, if it never does so.
        """
        self._interfaces.setdefault(interface, _Interface())
        self._send(_Packet(interface, name, None, action, None, time.monotonic(), dropped))

    def deliver(self, topic: str, message: Any) -> None:
        """Take a message that came by another way than its topic; it travels the same link, and is recorded.

        Raises:
            InputError: The message cannot be carried out.
        """
        resolved = self._node.resolve_topic_name(topic)
        interface, check = self._checks[resolved]
        action = check(message)
        self._send(_Packet(interface, resolved, message, action, None, time.monotonic()))

    def obey(self, topic: str, message: Any, world: World) -> None:
        """Apply a message of a command topic at once, past all faults; for replays, in the stepping thread.

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
        """Note that an interface fell silent while it was in command."""
        self._interfaces[interface].timeouts += 1

    def reports(self) -> dict[str, CommandReport]:
        """What became of the commands on every interface."""
        return {name: interface.report() for name, interface in self._interfaces.items()}

    def latency_histograms(self) -> dict[str, list[tuple[float, int]]]:
        """(Latency in s, count) on every interface that was used."""
        used = {name: i for name, i in self._interfaces.items() if i.received}
        return {name: interface.latency.histogram() for name, interface in used.items()}

    # --- the way of a command

    def _send(self, packet: _Packet) -> None:
        self._interfaces[packet.interface].received += 1
        self._runner.submit(lambda world: self._depart(packet, world))

    def _depart(self, packet: _Packet, world: World) -> None:
        """In the stepping thread, as soon as it looks."""
        self._notice_reset()
        interface = self._interfaces[packet.interface]
        if self._parameters.mode == LOCK_STEP and packet.interface == self._parameters.lock_step_interface:
            if not self._runner.waiting_for_permit:
                interface.duplicate += 1
                packet.dropped("in lock-step, no step waits for a command")
                return
            if packet.stamp is not None and packet.stamp < world.time - 0.5 * world.time_step:
                interface.stale += 1
                return
            # The answer is there, whatever the link makes of it.
            self._runner.permit(self._parameters.lock_step_steps)
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

    def _arrive(self, packet: _Packet, world: World) -> None:
        interface = self._interfaces[packet.interface]
        if packet.stamp is not None and not self._is_news(packet, interface, world):
            return
        try:
            packet.action(world)
        except InputError as error:
            # It was right when it was checked, but the scene has changed since.
            self._rejections.count(packet.topic, error)
            packet.dropped(f"{error.element}: {error.problem}; {error.mend}")
            return
        interface.applied += 1
        interface.latency.add(time.monotonic() - packet.received_at)
        if packet.message is not None:
            for observe in self.observers:
                observe(packet.topic, packet.message, world.time)

    def _is_news(self, packet: _Packet, interface: _Interface, world: World) -> bool:
        """Whether a stamped command is the newest on its topic, and not too old."""
        assert packet.stamp is not None
        now = time.monotonic()
        newest, message, arrived = self._newest.get(packet.topic, (float("-inf"), None, now))
        if now - arrived < _ORDER_MEMORY:
            if packet.stamp < newest:
                interface.out_of_order += 1
                return False
            if packet.stamp == newest and packet.message == message:
                interface.duplicate += 1
                return False
        self._newest[packet.topic] = (packet.stamp, packet.message, now)

        wall = packet.stamp > world.time + OTHER_CLOCK
        age = (time.time() if wall else world.time) - packet.stamp
        if 0.0 < self._parameters.max_command_age < age:
            interface.stale += 1
            return False
        interface.age.add(max(0.0, age))
        return True

    def _notice_reset(self) -> None:
        """After a reset, simulated time begins anew: nothing of before is under way or in order."""
        epoch = self._runner.snapshot().epoch
        if epoch != self._epoch:
            self._epoch = epoch
            self._faults.restart()
            self._newest.clear()

    # --- publishers that cannot be heard

    def unheard_publishers(self) -> list[str]:
        """Publishers on command topics whose messages the middleware withholds, one sentence each; logged once."""
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
    """Time in a message's header, s; None where there is none, or zero."""
    header = getattr(message, "header", None)
    if header is None:
        return None
    return header.stamp.sec + 1e-9 * header.stamp.nanosec or None
