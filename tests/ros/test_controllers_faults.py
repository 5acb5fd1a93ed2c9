"""Controllers that die, come back, and talk too much; what else comes over topics that no other test sends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from support.ros.ros_client import Client, stamp_of

#: Publishes joint commands as a program of its own: arguments are the rate (Hz) and positions of joint_7 (rad).
CONTROLLER = """
import itertools, sys, time
import rclpy
from sensor_msgs.msg import JointState

rate, *targets = map(float, sys.argv[1:])
rclpy.init()
node = rclpy.create_node("controller")
publisher = node.create_publisher(JointState, "joint_commands", 1)
while not publisher.get_subscription_count():
    time.sleep(0.01)
message = JointState(name=["joint_7"])
began = time.monotonic()
for count, target in enumerate(itertools.cycle(targets)):
    message.position = [target]
    publisher.publish(message)
    time.sleep(max(0.0, began + (count + 1) / rate - time.monotonic()))
"""


class Controller:
    """A program that commands joint_7, in a process that can be killed."""

    def __init__(self, domain, rate, *targets):
        arguments = [sys.executable, "-c", CONTROLLER, str(rate), *map(str, targets)]
        self._process = subprocess.Popen(arguments, env={**os.environ, "ROS_DOMAIN_ID": str(domain)})

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(20)


class Observer(Client):
    """A client that calls the services of this file too."""

    def __init__(self, domain):
        super().__init__(domain)
        self._services["hold"] = self._node.create_client(Trigger, "/hydro_sim/hold")

    def hold(self):
        return self._call("hold", Trigger.Request())


@pytest.fixture(scope="module")
def shared_client(node):
    observer = Observer(node.domain)
    yield observer
    observer.close()


@pytest.fixture
def start_controller(node):
    started = []

    def start(rate, *targets):
        started.append(Controller(node.domain, rate, *targets))
        return started[-1]

    yield start
    for controller in started:
        controller.kill()


def test_controller_that_is_killed_and_restarted(client, node, start_controller):
    """Its silence is noticed once, the joint stays, and the next controller is obeyed."""
    assert client.set_parameter("command_timeout_joint", 1.0).successful
    start = client.joint("joint_7")
    client.wait_for_time(0.05)

    first = start_controller(200.0, start + 0.2)
    client.wait_until(
        lambda: abs(client.joint("joint_7") - start - 0.2) < 0.01, "the first controller's target"
    )
    first.kill()
    said = "no joint command for more than 1 s"
    node.wait_for_output(said, timeout=30)
    there = client.joint("joint_7")
    start_controller(200.0, start - 0.2)
    client.wait_until(lambda: abs(client.joint("joint_7") - start + 0.2) < 0.01, "the second one's target")
    assert there == pytest.approx(start + 0.2, abs=0.01)
    assert node.output.count(said) == 1
    assert client.set_parameter("command_timeout_joint", 0.0).successful


def test_flood_of_commands(client, node, start_controller):
    """As many as a process can send: states keep coming at their rate, and the last command wins."""
    start = client.joint("joint_7")
    flood = start_controller(10_000.0, start + 0.1, start - 0.1)
    client.wait_until(lambda: abs(client.joint("joint_7") - start) > 1e-3, "an effect of the flood")
    states = client.received["/joint_states"]
    del states[:-1]
    client.wait_until(lambda: len(states) > 250, "a second of states")
    times = [stamp_of(state) for state in states]
    assert times == sorted(times)
    flood.kill()
    client.send("/joint_commands", JointState(name=["joint_7"], position=[start + 0.3]))
    client.wait_until(lambda: abs(client.joint("joint_7") - start - 0.3) < 0.01, "the last command's effect")
    assert node.alive


def test_twist_ends_with_its_messages(client, node):
    """No second one comes: the arm stops by itself."""
    message = TwistStamped()
    message.header.frame_id = "world"
    message.twist.linear.z = 0.05
    said = node.output.count("no twist command")
    start = client.joint("joint_2")
    client.send("/twist_controller/commands_stamped", message)
    client.wait_until(lambda: node.output.count("no twist command") == said + 1, "the time-out")
    moved = client.joint("joint_2")
    assert moved != pytest.approx(start, abs=1e-4)
    client.wait_for_time(client.time + 0.5)
    assert client.joint("joint_2") == pytest.approx(moved, abs=5e-3)


def test_a_target_pose_moves_the_arm_until_another_command(client):
    """Its own frame names the way: 30 mm back along the tool."""
    start = client.joint("joint_4")
    message = PoseStamped()
    message.header.frame_id = "end_effector_link"
    message.pose.position.z, message.pose.orientation.w = -0.03, 1.0
    client.send("/cartesian_compliance_controller/target_frame", message)
    client.wait_until(lambda: abs(client.joint("joint_4") - start) > 5e-3, "a motion")
    answer = client.hold()
    assert "joint_4" in answer.message
    client.wait_for_time(client.time + 0.2)
    there = client.joint("joint_4")
    client.wait_for_time(client.time + 0.3)
    assert client.joint("joint_4") == pytest.approx(there, abs=2e-3)


def test_hold_takes_the_arm_from_who_moves_it(client):
    """Also where the link loses every command: whoever calls a service has its answer."""
    start = client.joint("joint_7")
    client.send_trajectory(["joint_7"], [(20.0, [start + 2.0])])
    client.wait_until(lambda: client.joint("joint_7") > start + 0.01, "a motion")
    assert client.set_parameter("link_loss", 1.0).successful
    answer = client.hold()
    assert client.set_parameter("link_loss", 0.0).successful
    assert answer.success
    assert "joint_7" in answer.message
    client.wait_for_time(client.time + 0.2)
    there = client.joint("joint_7")
    client.wait_for_time(client.time + 0.5)
    assert client.joint("joint_7") == pytest.approx(there, abs=2e-3)
