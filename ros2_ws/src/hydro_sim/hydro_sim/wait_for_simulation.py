"""Program ``wait_for_simulation``: ends when the simulation runs, for launch files and scripts.

The first start compiles for minutes, and a paused simulation may wait for longer, while programs such as spawners of
controllers give up within seconds.
"""

from __future__ import annotations

import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState


def main() -> int:
    """Wait for a state that is later than the start; return 0, or 1 if interrupted before."""
    rclpy.init(args=sys.argv)
    node = rclpy.create_node("wait_for_simulation")
    runs = False

    def hear(state: JointState) -> None:
        nonlocal runs
        # A paused simulation repeats its start.
        runs = runs or state.header.stamp.sec > 0 or state.header.stamp.nanosec > 0

    node.create_subscription(JointState, "joint_states", hear, qos_profile_sensor_data)
    node.get_logger().info("waiting until the simulation runs")
    try:
        while not runs:
            rclpy.spin_once(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
