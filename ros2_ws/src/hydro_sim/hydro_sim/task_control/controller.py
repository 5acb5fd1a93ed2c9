"""The controller of a task as a node: what it measures comes by topics, and every answer is one ``joint_commands``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Event
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image, JointState, MultiDOFJointState

from hydro_sim.task_control.instants import FLOATING, JOINTS, Instants, Stamp
from hydro_sim.task_control.scene_check import SceneCheck
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks.attempt import (
    INTERRUPTED,
    Attempt,
    Ending,
    Refused,
    attempt,
    controller_of,
    refuse_wrong,
)
from hydro_sim_core.tasks.own_code import phase_of
from hydro_sim_core.tasks.robot import Measurement
from hydro_sim_core.tasks.task import Outcome, Task
from hydro_sim_core.tasks.trial import steps_of_a_period

_COMMANDS = "joint_commands"
#: Deep enough that nothing is lost while the controller plans, with joint states a thousand times a second.
_QOS = QoSProfile(depth=1000)
#: Longest wait within one look at the clock, s, and the most that a look adds to a silence: one that took longer was
#: no wait, as the process was stopped, or planned.
_LOOK_PERIOD, _MOST_OF_A_LOOK = 0.1, 0.3
#: Silence before the first answer after which it is told what is waited for, and from one time to the next, s.
_TOLD_EVERY = 5.0


class TaskController:
    """Tries a task once.

    Args:
        node: Node of the topics.
        task: The task.
        simulator: Name of the simulation's node.
        watch: Called with every measurement that is answered.
        tell: Told every few seconds what the start waits for, and once that another controller has come.
        scene: What is simulated, by which the task is judged; None for the task's own, in which its controller plans.

    Attributes:
        ending: How it ended; None as long as it has not.
    """

    def __init__(
        self,
        node: Node,
        task: Task,
        simulator: str,
        watch: Callable[[Measurement], None] = lambda measured: None,
        tell: Callable[[str], None] = lambda line: None,
        scene: LoadedScene | None = None,
    ) -> None:
        self._node, self._task, self._watch, self._tell = node, task, watch, tell
        # The controller knows the scene as it is meant to be; its judge the one that is simulated.
        self._model = World(find_scene(task.scene))
        steps_of_a_period(task, self._model.time_step)
        self._controller = controller_of(task, self._model)
        simulated = scene or self._model.scene
        self._check = SceneCheck(node, simulator, self._model.scene, simulated)
        self._simulated = World(simulated, like=self._model)
        self._instants = Instants(self._simulated, simulator, task.bubbles)
        self._period = round(1e9 * task.period)
        self._attempt: Attempt | None = None
        self._measured = -math.inf  # simulated time of the last measurement, ns
        self._newest: Stamp | None = None  # of joint states
        self._silent = 0.0  # s in which nothing was said though this program listened
        self._others = 0  # that publish commands too, at the last look
        self.ending: Ending | None = None
        self._commands = node.create_publisher(JointState, _COMMANDS, 10)
        self._listen_to_all(node)

    def _listen_to_all(self, node: Node) -> None:
        self._listen(node, JointState, JOINTS)
        for topic in self._instants.wrenches.values():
            self._listen(node, WrenchStamped, topic)
        for topic in self._instants.images.values():
            self._listen(node, Image, topic)
        if self._instants.has_floating:
            self._listen(node, MultiDOFJointState, FLOATING)

    def _listen(self, node: Node, message_type: type, topic: str) -> None:
        node.create_subscription(message_type, topic, lambda message: self._receive(topic, message), _QOS)

    def run(
        self, executor: SingleThreadedExecutor, stop: Event, start_timeout: float, timeout: float
    ) -> Ending:
        """Try the task.

        Args:
            executor: Executor of the node.
            stop: Ends it when set.
            start_timeout: Longest wait for the first joint states, s of wall time: the first start ever compiles.
            timeout: Longest wait for the next measurement, s of wall time; a pause is no silence, nor is time in which
                this process was stopped.

        Returns:
            How it ended; a simulation that falls silent is a failure with its reason.

        Raises:
            InputError: The simulation is of another scene, or of other values.
        """
        told, before = 0.0, time.monotonic()
        while self.ending is None:
            executor.spin_once(timeout_sec=_LOOK_PERIOD)
            now = time.monotonic()
            took, before = min(now - before, _MOST_OF_A_LOOK), now
            self._silent += took
            told += took
            if stop.is_set():
                self._give_up(INTERRUPTED)
            elif self.ending is None and self._silent > self._patience(start_timeout, timeout):
                self._give_up(self._silence())
            elif told >= _TOLD_EVERY:
                told = 0.0
                self._tell_what_is_odd()
        return self.ending

    def _tell_what_is_odd(self) -> None:
        """Tell what the start waits for, and later once that another controller has come."""
        if self._attempt is None:
            self._tell(f"waiting: {self._silence()}")
        elif not self._others and self._is_led_by_another():
            self._tell(f"warning: {self._told_of_others()}")

    def _patience(self, start_timeout: float, timeout: float) -> float:
        """Longest silence now, s."""
        if self._attempt is not None:
            return timeout
        return start_timeout if self._newest is None else min(start_timeout, timeout)

    def _receive(self, topic: str, message: Any) -> None:
        if self.ending is not None:
            return
        stamp = message.header.stamp.sec, message.header.stamp.nanosec
        nanoseconds = 1_000_000_000 * stamp[0] + stamp[1]
        if topic == JOINTS:
            # The first sign of life, or the next of a simulation that is paused.
            if self._newest in (None, stamp):
                self._silent = 0.0
            self._newest = stamp
        if nanoseconds < self._measured:
            self._give_up("simulated time went back: the simulation was reset or started anew")
            return
        measured = self._instants.take(topic, message)
        if measured is None or nanoseconds < self._measured + self._period:
            return
        if not self._commands.get_subscription_count():
            return  # nobody would hear the answer; a simulation that waits repeats what it has said
        if self._attempt is None and (self._is_led_by_another() or not self._check.passed()):
            return
        self._answer(measured, stamp)
        self._measured, self._silent = nanoseconds, 0.0

    def _is_led_by_another(self) -> bool:
        """Whether others publish commands: two controllers would each take what the other does for theirs."""
        self._others = self._node.count_publishers(self._node.resolve_topic_name(_COMMANDS)) - 1
        return self._others > 0

    def _answer(self, measured: Measurement, stamp: Stamp) -> None:
        self._watch(measured)
        try:
            if self._attempt is None:
                self._attempt = attempt(self._task, self._controller, measured)
                commands = next(self._attempt)
            else:
                commands = self._attempt.send(measured)
            # As in one process: of what the message makes of NaN, none or too far, the node would tell nobody.
            refuse_wrong(self._attempt, self._simulated, commands)
        except StopIteration as end:
            self.ending = end.value
        else:
            self._commands.publish(joint_commands(commands, stamp))

    def _silence(self) -> str:
        if self._attempt is None and self._others:
            return self._told_of_others()
        since = 0 if self._attempt is None else int(self._measured) + 1
        missing = self._instants.missing(divmod(since, 1_000_000_000))
        lacks = ", ".join(missing) or "a whole instant"
        line = f"the simulation has been silent for {self._silent:.1f} s: it lacks {lacks}"
        if self._newest is None or set(missing) == self._instants.needed:
            return line
        rate = 1e9 / self._period
        return (
            f"{line}, while others come; check that its node is named as the parameter simulator says, and that "
            f"joint_state_rate and wrench_rate are {rate:g}, or multiples, so that all tell of the same instants"
        )

    def _told_of_others(self) -> str:
        return (
            f"{_COMMANDS} has {self._others} other publisher{'s'[: self._others > 1]}, as of another controller: "
            "end that first, as a simulation follows one"
        )

    def _give_up(self, reason: str) -> None:
        """End the attempt as a trial in one process is ended, with its course; or what has not begun."""
        if self._attempt is None:
            self.ending = Ending(Outcome(False, reason), phase_of(self._controller), 0.0)
            return
        try:
            self._attempt.throw(Refused(reason))
        except StopIteration as end:
            self.ending = end.value


def joint_commands(commands: dict[str, JointCommand], stamp: Stamp) -> JointState:
    """The message of commands that answers an instant; NaN where nothing is commanded."""

    def column(values: list[float | None]) -> list[float]:
        return [math.nan if value is None else value for value in values]

    told = list(commands.values())
    message = JointState(
        name=list(commands),
        position=column([command.position for command in told]),
        velocity=column([command.velocity for command in told]),
        effort=column([command.effort for command in told]),
    )
    message.header.stamp = Time(sec=stamp[0], nanosec=stamp[1])
    return message
