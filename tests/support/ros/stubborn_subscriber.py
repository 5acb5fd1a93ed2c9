"""A program that wants every message, reliably and for ever; the test stops it in its tracks."""

import sys

import rclpy
from rclpy.qos import QoSHistoryPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

KEEP_ALL = QoSProfile(history=QoSHistoryPolicy.KEEP_ALL)
TOPICS = {
    "/clock": Clock,
    "/joint_states": JointState,
    "/hydro_sim/contact_markers": MarkerArray,
}

rclpy.init()
node = rclpy.create_node("stubborn_subscriber")
missing = set(TOPICS)


def take(topic: str) -> None:
    if topic in missing:
        missing.remove(topic)
        if not missing:
            print("listening", flush=True)


for topic, kind in TOPICS.items():
    node.create_subscription(kind, topic, lambda _, topic=topic: take(topic), KEEP_ALL)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    sys.exit(0)
