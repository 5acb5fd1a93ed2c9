"""A subscriber that stops reading holds up neither the simulation nor those who go on reading."""

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from support.ros.ros_client import MARKERS, RELIABLE, Client

STUBBORN = Path(__file__).parents[1] / "support" / "ros" / "stubborn_subscriber.py"
TIME_STEP_NS = 1_000_000


@pytest.fixture
def stubborn(node):
    """A process that subscribes to everything, reliable and keep-all; it has received from every topic."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(node.domain)}
    process = subprocess.Popen([sys.executable, STUBBORN], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "listening\n"
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait(20)


@pytest.mark.realtime
def test_stopped_subscriber_holds_up_nobody(node, stubborn):
    """While it does not move, another client gets every step in order, joint states and markers; so it does after."""
    client = Client(node.domain, topics=())
    for topic, kind in (("/clock", Clock), ("/joint_states", JointState), (MARKERS, MarkerArray)):
        client.listen(topic, kind, RELIABLE, raw=True)
    clock = client.received["/clock"]
    try:
        client.wait_for_node()
        # What is measured is the node: a client in Python on two slow cores cannot take 1000 steps a second itself.
        assert client.set_parameter("real_time_factor", 0.4).successful
        client.pause(False)
        # More steps than a writer that keeps all would hold back (5000) before it waits, 0.1 s a message.
        for stop_or_go, least in ((signal.SIGSTOP, 6000), (signal.SIGCONT, 1000)):
            stubborn.send_signal(stop_or_go)
            wanted = {topic: len(messages) for topic, messages in client.received.items()}
            last = len(clock) + least
            client.wait_until(lambda last=last: len(clock) > last, f"{least} steps", timeout=60.0)
            client.wait_until(
                lambda wanted=wanted: all(len(client.received[t]) > n + 20 for t, n in wanted.items()),
                "20 messages of every other topic",
            )
    finally:
        client.close()
    clocks = [deserialize_message(data, Clock).clock for data in clock]
    steps = [(c.sec * 1_000_000_000 + c.nanosec) // TIME_STEP_NS for c in clocks]
    assert all(later == earlier + 1 for earlier, later in pairwise(steps))
    assert stubborn.poll() is None
