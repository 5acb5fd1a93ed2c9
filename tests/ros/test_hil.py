"""Hardware in the loop: lock-step, the report, faults of the process and of the graph around it."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from support.ros.node_process import NodeProcess
from support.ros.ros_client import Client

SCENE = ["-p", "scene:=spatula_slip", "-p", "status_line:=false"]
#: Starts sooner, for what has nothing to do with the scene.
BOX = ["-p", "scene:=drop_box", "-p", "status_line:=false"]
LOCK_STEP = ["-p", "mode:=lock_step", "-p", "lock_step_interface:=effort", "-p", "real_time_factor:=0.0"]
EFFORTS = "forward_effort_controller/commands"
STARTED = "scene 'spatula_slip'"
#: The first start on a machine compiles, and this one may be the first.
COMPILED = 400.0


@pytest.fixture
def make_client():
    """Clients of a node, by its domain, that hear joint states and the clock."""
    clients = []

    def make(node, topics=("/joint_states", "/clock")):
        clients.append(Client(node.domain, topics))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


class Controller:
    """Answers every new joint state with one effort command, as docs/ros_hil.md tells controllers to."""

    def __init__(self, domain):
        self._context = rclpy.Context()
        self._context.init(domain_id=domain)
        self._node = rclpy.create_node("controller", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(Float64MultiArray, EFFORTS, 10)
        self._node.create_subscription(JointState, "joint_states", self._answer, 10)
        self.stamps = []
        self.states = hashlib.sha256()
        self.heard = []
        self.silent = False

    def _answer(self, state):
        stamp = round(state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec, 9)
        self.heard.append(stamp)
        self._last = state
        if self.silent or (self.stamps and stamp <= self.stamps[-1]):
            return
        # Nobody would hear the answer, and the state comes again.
        if not self._publisher.get_subscription_count():
            return
        self.stamps.append(stamp)
        self.states.update(np.array([*state.position, *state.velocity, *state.effort]).tobytes())
        self._publisher.publish(Float64MultiArray(data=[float(np.sin(10.0 * stamp)), *[0.0] * 6]))

    def speak(self):
        """Answer again, beginning with the last state heard."""
        self.silent = False
        self._answer(self._last)

    def run(self, until, timeout=60.0):
        deadline = time.monotonic() + timeout
        while not until():
            assert time.monotonic() < deadline
            self._executor.spin_once(timeout_sec=0.1)

    def run_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)

    def close(self):
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()


def _lock_step_run(node, steps):
    controller = Controller(node.domain)
    try:
        controller.run(lambda: len(controller.stamps) >= steps, timeout=COMPILED)
        return controller.stamps, controller.states.hexdigest()
    finally:
        controller.close()


@pytest.fixture(scope="module")
def lock_step_node(tmp_path_factory):
    """A node that waits for commands, and what its first controller has made of it."""
    process = NodeProcess(tmp_path_factory.mktemp("lock_step") / "log.txt", *SCENE, *LOCK_STEP)
    yield process, _lock_step_run(process, 400)
    process.stop()


def test_lock_step_gives_the_same_bits_twice(lock_step_node, start_node):
    """Every step answers one state, none is left out, and two runs cannot be told apart."""
    _, first = lock_step_node
    assert _lock_step_run(start_node(*SCENE, *LOCK_STEP), 400) == first
    assert first[0] == pytest.approx(1e-3 * np.arange(400), abs=1e-9)


def test_lock_step_waits_for_a_silent_controller(lock_step_node, make_client):
    """Time stands, the node says that it waits, and the next answer makes it go on."""
    node, _ = lock_step_node
    controller = Controller(node.domain)
    try:
        controller.run(lambda: len(controller.stamps) >= 50)
        controller.silent = True
        client = make_client(node, ("/joint_states", "/clock", "/diagnostics"))
        client.wait_until(
            lambda: client.status("timing").message == "waiting for a command", "the node to wait"
        )
        client.wait_until(lambda: client.received["/joint_states"], "the state, told again to who joins")
        stood_at = client.time
        client.next("/diagnostics")
        assert client.time == stood_at
        controller.speak()
        controller.run(lambda: len(controller.stamps) >= 100)
        assert controller.stamps[-1] > stood_at
    finally:
        controller.close()


def test_lock_step_tells_a_state_again_only_to_who_joins(lock_step_node, make_client):
    """A controller that is slow to answer hears a state once; one that comes later hears it too."""
    node, _ = lock_step_node
    controller = Controller(node.domain)
    try:
        controller.run(lambda: len(controller.stamps) >= 20)
        controller.silent = True
        diagnostics = make_client(node, ("/diagnostics",))
        diagnostics.wait_until(
            lambda: diagnostics.status("timing").message == "waiting for a command", "the node to wait"
        )
        controller.run(lambda: controller.heard[-1] > controller.stamps[-1])
        before = len(controller.heard)
        diagnostics.next("/diagnostics")
        diagnostics.next("/diagnostics")
        controller.run_for(0.5)
        assert len(controller.heard) == before
        late = make_client(node, ("/joint_states",))
        late.next("/joint_states")
        assert late.time == pytest.approx(controller.heard[-1], abs=1e-9)
    finally:
        controller.close()


def test_lock_step_hears_controllers_that_take_over_from_each_other(lock_step_node):
    """One that is restarted at once hears the state that the last one has left unanswered, however often."""
    node, _ = lock_step_node
    before = Controller(node.domain)
    for _ in range(4):
        before.run(lambda before=before: len(before.stamps) >= 20)
        after = Controller(node.domain)
        before.close()
        before = after
    try:
        after.run(lambda: len(after.stamps) >= 20)
    finally:
        after.close()


@pytest.mark.realtime
def test_report_tells_rate_and_commands(start_node, make_client, tmp_path):
    """At the end, in a file: periods, deadline misses, and what became of the commands."""
    report = tmp_path / "report.json"
    before_start = time.monotonic()
    node = start_node(*SCENE, "-p", f"report_file:={report}", "-p", "link_loss:=0.5")
    node.wait_for_output(STARTED, COMPILED)
    client = make_client(node)
    client.next("/joint_states")
    client.wait_for_time(client.time + 0.01)  # the first message may be of the state before the first period
    stepping = time.monotonic()
    for _ in range(40):
        client.send_array("/forward_effort_controller/commands", [0.0] * 7)
        client.next("/joint_states")
    client.wait_for_time(client.time + 0.5)
    still_stepping = time.monotonic()
    client.wait_for_time(client.time + 0.05)  # the period that is under way now has ended
    assert node.stop() == 0
    after_end = time.monotonic()
    found = json.loads(report.read_text())
    pace, effort = found["pace"], found["commands"]["effort"]
    assert pace["period"]["count"] == sum(count for _, count in found["histograms"]["period"])
    assert pace["steps"] - 1 <= pace["period"]["count"] + 1
    # A busy machine falls behind; but periods, together, are the time that the node has stepped.
    stepped = pace["period"]["mean"] * pace["period"]["count"]
    assert still_stepping - stepping < stepped < after_end - before_start
    # The publisher may find the subscription before the subscription finds it: the first may be heard by nobody.
    assert 38 <= effort["received"] <= 40
    assert effort["received"] == effort["applied"] + effort["lost"]
    assert 0 < effort["lost"] < effort["received"]


def test_report_that_cannot_be_written_is_one_error(run_here):
    status, output = run_here(*SCENE, "-p", "duration:=0.05", "-p", "report_file:=/proc/nowhere/report.json")
    assert status == 1, output
    assert output.count("report_file: /proc/nowhere/report.json: there is no folder /proc/nowhere") == 1
    assert "Traceback" not in output


def test_interrupt_while_compiling_ends_it_at_once(start_node, tmp_path, monkeypatch):
    """Status 0, a report of nothing, no traceback; the compiler need not finish."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    report = tmp_path / "report.json"
    node = start_node(*SCENE, "-p", f"report_file:={report}", fresh=True)
    node.wait_for_output("compiling kernels", 120.0)
    assert node.stop() == 0
    assert "interrupted while loading" in node.output
    assert "Traceback" not in node.output
    assert json.loads(report.read_text()) == {"scene": None}


def test_interrupt_while_importing_ends_it_too(start_node):
    """Before there is a node, a log or a scene: status 0, no traceback."""
    node = start_node(*BOX, fresh=True)
    # Signals are taken as soon as the interpreter has begun with the program.
    status = Path(f"/proc/{node.pid}/status")
    caught = 1 << (signal.SIGTERM - 1)

    def catches_sigterm():
        (mask,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        return int(mask, 16) & caught

    while not catches_sigterm():
        assert node.alive
        time.sleep(0.002)
    assert node.stop() == 0
    assert "Traceback" not in node.output


def test_publisher_that_cannot_be_heard_is_named(node):
    """A best-effort publisher does not reach a reliable subscription; the warning says whose it is."""
    context = rclpy.Context()
    context.init(domain_id=node.domain)
    stranger = rclpy.create_node("quiet_controller", namespace="/lab", context=context)
    try:
        qos = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
        stranger.create_publisher(Float64MultiArray, f"/{EFFORTS}", qos)
        node.wait_for_output("/forward_effort_controller/commands: nothing of publisher", 30.0)
        line = next(line for line in node.output.splitlines() if "nothing of publisher" in line)
        assert "/lab/quiet_controller" in line
        assert "reliability" in line
    finally:
        stranger.destroy_node()
        context.shutdown()


def test_second_node_of_the_same_name_is_warned_of(node, start_node):
    """By both: two nodes that publish the same topics make nonsense of each other.

    The second steps as fast as it can, so that SIGTERM comes during a step: it ends between two, with status 0 and the
    report.
    """
    second = start_node("-p", "scene:=spatula_slip", "-p", "real_time_factor:=0.0", domain=node.domain)
    for either in (node, second):
        either.wait_for_output("another node is called /hydro_sim", 60.0)
        either.wait_for_output("/clock has another publisher", 60.0)
    second.wait_for_output("contact faces", COMPILED)
    os.kill(second.pid, signal.SIGTERM)
    assert second.wait(20) == 0
    assert "simulated time [s]" in second.output
    assert "Traceback" not in second.output


def test_two_nodes_in_their_namespaces_do_not_meet_and_clients_find_one_again_that_was_killed(
    start_node, make_client
):
    """Side by side in one domain, each with its own topics and commands.

    SIGKILL leaves nobody time to say goodbye; the same client hears and moves the next node of that name.
    """
    left = start_node(*SCENE, "-r", "__ns:=/left")
    right = start_node(*SCENE, "-r", "__ns:=/right", "-p", "publish_clock:=false", domain=left.domain)
    for node in (left, right):
        node.wait_for_output(STARTED, COMPILED)
    client = make_client(left, ("/left/joint_states", "/right/joint_states"))
    states = client.received["/left/joint_states"]

    def turn_left():
        client.send_array("/left/forward_velocity_controller/commands", [0.4, *[0.0] * 6])

    def speed(side):
        return abs(client.next(f"/{side}/joint_states").velocity[0])

    def turns_left():
        turn_left()  # again and again, as a controller does: one message may find nobody yet
        return speed("left") > 0.3

    client.wait_until(turns_left, "the left one to turn")
    assert speed("right") < 0.05
    for warning in ("another node is called", "/clock has another publisher"):
        assert warning not in left.output + right.output

    left.kill()
    right.stop()
    states.clear()
    again = start_node(*SCENE, "-r", "__ns:=/left", domain=left.domain)
    again.wait_for_output(STARTED, COMPILED)
    client.wait_until(lambda: speed("left") < 0.05, "the next node, which stands")

    def turned():
        # The first command may only be heard by the subscription that died.
        turn_left()
        return speed("left") > 0.3

    client.wait_until(turned, "the next node to obey")
