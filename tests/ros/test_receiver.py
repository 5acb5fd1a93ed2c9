"""The receiver of commands: heard in a thread of its own, deaf to nothing."""

import sys
import time

import pytest
import rclpy
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64

from hydro_sim.hil.receiver import Receiver
from support.ros_domains import take_domain

QOS = QoSProfile(depth=10)


@pytest.fixture
def node():
    context = rclpy.Context()
    context.init(domain_id=take_domain())
    node = Node("robot", namespace="/lab", context=context)
    yield node
    node.destroy_node()
    context.shutdown()


@pytest.fixture(params=["events executor", "without it"])
def rclpy_of_any_age(request, monkeypatch):
    """rclpy as it is, and as the first of Jazzy were: without ``rclpy.experimental``."""
    if request.param == "without it":
        monkeypatch.setitem(sys.modules, "rclpy.experimental", None)
    return request.param


@pytest.fixture
def heard(node, rclpy_of_any_age):
    """What the receiver hears on ``/numbers``; negative numbers are more than its callback can bear."""
    heard = []

    def callback(message):
        if message.data < 0.0:
            raise RuntimeError("negative")
        heard.append(message.data)

    receiver = Receiver(node)
    receiver.subscribe(Float64, "/numbers", callback, QOS, SubscriptionEventCallbacks())
    receiver.start()
    yield heard
    receiver.close()


def _send_until(node, numbers, condition):
    publisher = node.create_publisher(Float64, "/numbers", QOS)
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        for number in numbers:
            publisher.publish(Float64(data=number))
        time.sleep(0.05)


def test_error_in_a_callback_ends_nothing(node, heard):
    """What comes after it is still heard."""
    _send_until(node, (1.0, -1.0, 2.0), lambda: heard.count(2.0) > 3)


def test_its_node_stands_hidden_beside_the_one_it_serves(node, heard):
    deadline = time.monotonic() + 20.0
    while ("_robot_commands", "/lab") not in node.get_node_names_and_namespaces():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_events_executor_serves_where_there_is_one(node, rclpy_of_any_age):
    """Else the single-threaded one: neither an error at start nor a needless wait."""
    receiver = Receiver(node)
    name = type(receiver._executor).__name__
    receiver.close()
    assert name == ("EventsExecutor" if rclpy_of_any_age == "events executor" else "SingleThreadedExecutor")


def test_what_comes_while_it_is_stopped_is_dropped(node, rclpy_of_any_age):
    """Also by the next start."""
    heard = []
    receiver = Receiver(node)
    receiver.subscribe(Float64, "/numbers", lambda m: heard.append(m.data), QOS, SubscriptionEventCallbacks())
    receiver.start()
    _send_until(node, (1.0,), lambda: 1.0 in heard)
    receiver.stop()
    publisher = node.create_publisher(Float64, "/numbers", QOS)
    while not publisher.get_subscription_count():
        time.sleep(0.05)
    for _ in range(5):
        publisher.publish(Float64(data=2.0))
        time.sleep(0.05)
    receiver.start()
    _send_until(node, (3.0,), lambda: 3.0 in heard)
    receiver.close()
    assert 2.0 not in heard
