"""``/clock``: the time of every step, once and in order."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.late_joiners import LateJoiners
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.state import clock_template, split_time

#: Reliable, so that a recorder gets every step; ROS's own clock subscribers are best effort and never delay it.
#: The depth is the number of steps that a reliable subscriber may be behind before it misses some.
_QOS = QoSProfile(depth=1000)


class ClockPublisher:
    """Publishes the time of every step exactly once and in order, even if the publishing thread is late.

    During a pause nothing is published until a new subscriber appears. The present time is then repeated for some
    seconds, because a late joiner would otherwise have no time until the simulation resumes.

    Args:
        node: Owner of the publisher.
        parameters: ``clock_rate``, followed live, and ``publish_clock``, without which nothing is published.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._parameters = parameters
        self._late_joiners = LateJoiners()
        self._publisher = (
            node.create_publisher(Clock, "/clock", _QOS, event_callbacks=self._late_joiners.events)
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
        """Mark the present subscribers as served; called after steps, so that later ones count as late joiners."""
        self._late_joiners.served()

    def repeat_for_late_joiners(self) -> None:
        """During a pause: publish the present time again if there are new subscribers since the last step."""
        if self._publisher is not None and self._late_joiners.waiting():
            self._publisher.publish(self._template.fill(self._now))
