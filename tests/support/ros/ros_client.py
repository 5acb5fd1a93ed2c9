"""A program that uses the node as any other would: topics, services and parameters through plain rclpy."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

TIMEOUT = 30.0  # s; discovery alone may take 4
PATIENCE = 0.5  # s, after which a question that changes nothing is asked again
LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=1000)
TOPICS = {
    "/joint_states": (JointState, RELIABLE),
    "/clock": (Clock, BEST_EFFORT),
    "/robot_description": (String, LATCHED),
    "/diagnostics": (DiagnosticArray, RELIABLE),
    "/hydro_sim/wrench/left_finger_on_spatula": (WrenchStamped, RELIABLE),
    "/hydro_sim/wrench/right_finger_on_spatula": (WrenchStamped, RELIABLE),
}

#: Thousands of points a message: who hears them all the time has time for nothing else.
MARKERS = "/hydro_sim/contact_markers"


def wait_until_answers_arrive(node: Node, executor: Executor) -> None:
    """Wait until hydro_sim has found the clients of its services that a node has made so far.

    That we have found a service does not mean that it has found us, and the middleware drops answers to those whom it
    has not. It finds clients in the order in which they were made: when the answer to a new one arrives, those to older
    ones will.
    """
    probe = node.create_client(GetParameters, "/hydro_sim/get_parameters")
    deadline = time.monotonic() + TIMEOUT
    answers: list[Any] = []
    while not any(answer.done() for answer in answers):
        assert time.monotonic() < deadline, f"waited {TIMEOUT} s for hydro_sim to find {node.get_name()}"
        if probe.service_is_ready():
            answers.append(probe.call_async(GetParameters.Request()))
        again = time.monotonic() + PATIENCE
        while time.monotonic() < again and not any(answer.done() for answer in answers):
            executor.spin_once(timeout_sec=0.05)
    node.destroy_client(probe)


class Client:
    """Keeps what arrives on ``topics`` of the node and sends what a test asks for."""

    def __init__(self, domain: int, topics: Iterable[str] = TOPICS) -> None:
        self._context = rclpy.Context()
        self._context.init(domain_id=domain)
        self._node = rclpy.create_node("test_client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.received: dict[str, list[Any]] = defaultdict(list)
        self._publishers: dict[str, Any] = {}
        self._found = False
        self._services = {
            "pause": self._node.create_client(SetBool, "/hydro_sim/pause"),
            "step": self._node.create_client(Trigger, "/hydro_sim/step"),
            "reset": self._node.create_client(Trigger, "/hydro_sim/reset"),
            "set_parameters": self._node.create_client(SetParameters, "/hydro_sim/set_parameters"),
        }
        for topic in topics:
            # The same topic in a namespace is of the same type.
            message_type, qos = TOPICS[topic] if topic in TOPICS else TOPICS["/" + topic.rpartition("/")[2]]
            self.listen(topic, message_type, qos)

    def listen(self, topic: str, message_type: type, qos: QoSProfile, raw: bool = False) -> None:
        """Keep what arrives on a topic from now on; ``raw`` keeps bytes, which spares the time to decode them."""
        self._node.create_subscription(message_type, topic, self.received[topic].append, qos, raw=raw)

    @contextmanager
    def markers(self, raw: bool = False) -> Iterator[list[Any]]:
        """What arrives on the markers' topic meanwhile; ``raw`` as for ``listen``: large ones take 0.7 s to decode."""
        received = self.received[MARKERS]
        subscription = self._node.create_subscription(
            MarkerArray, MARKERS, received.append, RELIABLE, raw=raw
        )
        try:
            yield received
        finally:
            self._node.destroy_subscription(subscription)
            received.clear()

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    # --- waiting

    def wait_until(self, condition: Callable[[], Any], what: str, timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
            self._executor.spin_once(timeout_sec=0.05)

    def wait_for_node(self) -> None:
        for name, service in self._services.items():
            self.wait_until(service.service_is_ready, f"service {name}")
        wait_until_answers_arrive(self._node, self._executor)
        self._found = True
        self.wait_until(lambda: self.received["/clock"], "/clock")

    def next(self, topic: str) -> Any:
        """The next message on ``topic`` that arrives from now on."""
        count = len(self.received[topic])
        self.wait_until(lambda: len(self.received[topic]) > count, topic)
        return self.received[topic][-1]

    def wait_for_time(self, simulated: float) -> None:
        self.wait_until(lambda: self.time >= simulated, f"simulated time {simulated}")

    # --- reading

    @property
    def time(self) -> float:
        """Simulated time of the newest joint state, s."""
        return stamp_of(self.received["/joint_states"][-1]) if self.received["/joint_states"] else 0.0

    def joint(self, name: str) -> float:
        """Position of a joint in the newest joint state."""
        state = self.received["/joint_states"][-1]
        return state.position[list(state.name).index(name)]

    def force(self, finger: str) -> np.ndarray:
        """Force of a finger on the spatula at ``time``, in the spatula's frame, N."""
        # Topics arrive each at their own pace when the machine is busy.
        wrenches = self.received[f"/hydro_sim/wrench/{finger}_on_spatula"]
        known = [wrench for wrench in wrenches if stamp_of(wrench) <= self.time]
        force = (known or wrenches)[-1].wrench.force
        return np.array([force.x, force.y, force.z])

    def refused(self) -> int:
        """Refused messages so far, by the next /diagnostics."""
        return int(self.diagnostics("commands")["refused since start"])

    def diagnostics(self, part: str) -> dict[str, str]:
        """Values of the next status of that part."""
        return {pair.key: pair.value for pair in self.status(part).values}

    def status(self, part: str) -> DiagnosticStatus:
        """The next status of that part."""
        found = [s for s in self.next("/diagnostics").status if s.name == f"hydro_sim: {part}"]
        assert len(found) == 1, f"{len(found)} statuses for {part}"
        return found[0]

    # --- sending

    def connect(self, topic: str, message_type: type) -> Any:
        """Find the subscriber of a topic, which takes a moment the first time; the publisher."""
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(message_type, topic, 10)
        publisher = self._publishers[topic]
        self.wait_until(publisher.get_subscription_count, f"a subscriber of {topic}")
        return publisher

    def send(self, topic: str, message: Any) -> None:
        self.connect(topic, type(message)).publish(message)

    def send_array(self, topic: str, values: list[float]) -> None:
        self.send(topic, Float64MultiArray(data=values))

    def send_number(self, topic: str, value: float) -> None:
        self.send(topic, Float64(data=value))

    def send_trajectory(
        self, joints: list[str], points: list[tuple[float, *tuple[list[float], ...]]], stamp: float = 0.0
    ) -> None:
        """Points are (time, positions, velocities, accelerations), the last two where given."""
        message = JointTrajectory(joint_names=joints)
        message.header.stamp = Time(sec=int(stamp), nanosec=int(stamp % 1.0 * 1e9))
        for at, *columns in points:
            point = JointTrajectoryPoint(
                time_from_start=Duration(sec=int(at), nanosec=round(at % 1.0 * 1e9)),
                **dict(zip(("positions", "velocities", "accelerations"), columns, strict=False)),
            )
            message.points.append(point)
        self.send("/joint_trajectory_controller/joint_trajectory", message)

    def _call(self, name: str, request: Any, timeout: float = TIMEOUT) -> Any:
        service = self._services[name]
        self.wait_until(service.service_is_ready, f"service {name}")
        if not self._found:
            wait_until_answers_arrive(self._node, self._executor)
            self._found = True
        future = service.call_async(request)
        self.wait_until(future.done, f"an answer of {name}", timeout)
        return future.result()

    def call(self, service_type: type, name: str, request: Any, timeout: float = TIMEOUT) -> Any:
        """The answer of any service of the node."""
        if name not in self._services:
            self._services[name] = self._node.create_client(service_type, name)
            self._found = False
        return self._call(name, request, timeout)

    def pause(self, paused: bool) -> Any:
        return self._call("pause", SetBool.Request(data=paused))

    def step(self) -> Any:
        return self._call("step", Trigger.Request())

    def begin_step(self) -> Any:
        """Ask for steps without waiting; the future of the answer."""
        return self._services["step"].call_async(Trigger.Request())

    def call_reset(self) -> None:
        """Call the service, no more: a paused node repeats its state but sends no wrenches."""
        answer = self._call("reset", Trigger.Request())
        assert answer.success, answer.message

    def reset(self) -> None:
        """Go back to the start and forget what came before."""
        self.next("/joint_states")
        states = self.received["/joint_states"]
        # Right after another reset nobody could tell that time went back; a paused simulation has to do as it is.
        deadline = time.monotonic() + 1.0
        while stamp_of(states[-1]) < 0.2 and time.monotonic() < deadline:
            self.next("/joint_states")
        del states[:-1]
        self.call_reset()

        def beginning() -> int:
            """Index of the first state after time went back; 0 until it has."""
            times = [stamp_of(state) for state in states]
            return next((i for i in range(1, len(times)) if times[i] < times[i - 1]), 0)

        # States of the time before may still be under way.
        self.wait_until(beginning, "a state after the reset")
        del states[: beginning()]
        for topic in TOPICS:
            if "wrench" in topic:
                self.received[topic].clear()
                self.next(topic)

    def set_parameter(self, name: str, value: Any) -> SetParametersResult:
        message = Parameter(name, value=value).to_parameter_msg()
        return self._call("set_parameters", SetParameters.Request(parameters=[message])).results[0]


def stamp_of(message: Any) -> float:
    """Time in a message's header (or of a clock), s."""
    stamp = message.clock if isinstance(message, Clock) else message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec
