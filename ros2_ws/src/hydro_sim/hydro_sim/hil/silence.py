"""Tells of a controller manager that sleeps by the clock of another simulation."""

from __future__ import annotations

import time
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim_core.simulation import FixedRateRunner

#: Wall time between two looks, s.
_LOOK_PERIOD = 1.0
#: Silence of a publisher in a running simulation that is worth a warning, s of wall time.
_LONG_SILENCE = 10.0
_TOPIC, _INTERFACE = "joint_commands", "joint"


class SilenceWatch:
    """Warns where ``joint_commands`` has a publisher that never commands, though time passes.

    A controller manager sends commands in every cycle, but one that has followed another simulation, such as the one
    before a restart of this node, sleeps until ``/clock`` is again where that ended. Nothing else shows it: it answers
    services, and its controllers are active.

    Args:
        node: Owner of the timer.
        runner: Runner of the World.
        link: Link with the commands.
        parameters: ``builtin_controllers``, without which a manager is expected.
    """

    def __init__(
        self, node: Node, runner: FixedRateRunner, link: CommandLink, parameters: Parameters
    ) -> None:
        self._node = node
        self._runner = runner
        self._link = link
        self._topic = node.resolve_topic_name(_TOPIC)
        self._time = runner.snapshot().time
        self._since = time.monotonic()
        self._done = parameters.builtin_controllers
        node.create_timer(_LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        if self._done:
            return
        report: Any = self._link.reports().get(_INTERFACE)
        if report is None or report.received:
            self._done = True
            return
        before, self._time = self._time, self._runner.snapshot().time
        now = time.monotonic()
        if self._time == before or not self._node.count_publishers(self._topic):
            self._since = now
        elif now - self._since > _LONG_SILENCE:
            self._done = True
            self._node.get_logger().warning(
                f"{self._topic}: {', '.join(self._publishers())} has commanded nothing for {_LONG_SILENCE:g} s: a "
                "controller_manager that has followed another simulation sleeps until /clock is again where that "
                "ended, and then leads the joints to where they were; start it anew, or use the launch file's respawn"
            )

    def _publishers(self) -> list[str]:
        found = self._node.get_publishers_info_by_topic(self._topic)
        return sorted({f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in found})
