"""``/clock``: every step once and in order."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.newcomers import Newcomers
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.state import clock_template, split_time

#: Reliable, so that a recorder gets every step; as ROS's own clock subscribers are best effort they never hold it up.
#: The depth is how far, in steps, a reliable reader may lag before it misses some.
_QOS = QoSProfile(depth=1000)


class ClockPublisher:
    """Publishes the time of every step exactly once, in order, however late the publishing thread is.

    During a pause no step is taken and nothing is published, until someone new subscribes: then the present time is
    repeated for some seconds, as a late subscriber would have no time at all until the simulation goes on.

    Args:
        node: Owner of the publisher.
        parameters: ``clock_rate``, followed live, and ``publish_clock``, without which nothing is published.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._parameters = parameters
        self._newcomers = Newcomers()
        self._publisher = (
            node.create_publisher(Clock, "/clock", _QOS, event_callbacks=self._newcomers.events)
            if parameters.publish_clock
            else None
        )
        self._template = clock_template()
        self._schedule = Schedule()
        self._now = (0, 0)

    def publish(self, simulated_time: float) -> None:
        """Publish the time after a step, s."""
        self._now = split_time(simulated_time)
        if self._publisher is not None and self._schedule.due(simulated_time, self._parameters.clock_rate):
            self._publisher.publish(self._template.fill(self._now))

    def served(self) -> None:
        """Remember who is there: called after steps, so that a pause finds out who is new."""
        self._newcomers.served()

    def repeat_for_newcomers(self) -> None:
        """During a pause: publish the present time again if someone has subscribed since the last step."""
        if self._publisher is not None and self._newcomers.waiting():
            self._publisher.publish(self._template.fill(self._now))
