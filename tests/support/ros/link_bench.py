"""The way of a command without a middleware: whoever sends takes the steps too."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.qos import QoSPolicyKind
from sensor_msgs.msg import JointState

from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError

DT = 0.01


class LinkBench:
    """A link on a World that only counts; whoever sends takes the steps too."""

    def __init__(self, **parameters):
        self.parameters = Parameters(**parameters)
        self.applied = []  # (value, simulated time)
        self.recorded = []
        self.permits = []
        self.warnings = []
        self._receivers = {}
        self._sources = []
        self.world = SimpleNamespace(time=0.0, time_step=DT)
        self.runner = SimpleNamespace(
            add_command_source=lambda source, idle: self._sources.append(source),
            submit=lambda action: action(self.world),
            snapshot=lambda: SimpleNamespace(epoch=self.epoch),
            permit=self.permits.append,
            waiting_for_permit=True,
            world=self.world,
        )
        self.epoch = 0
        self.node = SimpleNamespace(resolve_topic_name=lambda topic: f"/{topic.lstrip('/')}")
        self._events = {}
        self.rejections = Rejections(SimpleNamespace(warning=self.warnings.append))
        self.link = CommandLink(self.node, self, self.runner, self.parameters, self.rejections)
        self.link.observers.append(lambda topic, message, at: self.recorded.append((topic, message, at)))
        self.link.subscribe(JointState, "joint_commands", "joint", self._check)

    def subscribe(self, _, topic, callback, qos, events):
        self._receivers[topic], self._events[topic] = callback, events

    def refuse(self, topic):
        """A publisher appears on a topic that cannot be heard."""
        if topic not in self._events:
            self.link.subscribe(JointState, topic, "joint", self._check)
        self._events[topic].incompatible_qos(SimpleNamespace(last_policy_kind=QoSPolicyKind.RELIABILITY))

    def _check(self, message):
        if not np.all(np.isfinite(message.position)):
            raise InputError("joint_commands", "position", "is not finite", "give finite numbers")
        value = message.position[0]
        return lambda world: self.applied.append((value, round(world.time, 9)))

    def send(self, value, stamp=0.0):
        message = JointState(position=[float(value)])
        message.header.stamp = Time(sec=int(stamp), nanosec=round(stamp % 1.0 * 1e9))
        self._receivers["/joint_commands"](message)

    def step(self, n=1):
        for _ in range(n):
            for source in self._sources:
                source(self.world)
            self.world.time += DT

    @property
    def values(self):
        return [value for value, _ in self.applied]

    @property
    def report(self):
        return self.link.reports()["joint"]
