"""Subscribers that turn command messages into commands of the World.

A callback only checks and hands over; the stepping thread applies the command before its next step.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim.control.motion import TrajectoryFollower, check_between_knots, position_limits
from hydro_sim.control.trajectory import parse_trajectory
from hydro_sim.rejections import Rejections
from hydro_sim_core.simulation import FixedRateRunner, World

_DEPTH = 10
_MODES = ("position", "velocity", "effort")


class JointCommands:
    """Position, velocity and effort arrays, and trajectories.

    Args:
        node: Owner of the subscriptions.
        world: Asked only for names and to check commands; changed only through ``runner``.
        runner: The ``FixedRateRunner`` that steps the World.
        joints: Joints that arrays address, in their order.
        rejections: Where bad messages are counted.
        as_controllers: Also listen where the controllers of ros2_control would; false leaves that to them.
    """

    def __init__(
        self,
        node: Node,
        world: World,
        runner: FixedRateRunner,
        joints: tuple[str, ...],
        rejections: Rejections,
        as_controllers: bool = True,
    ) -> None:
        self._world = world
        self._runner = runner
        self._joints = joints
        self._rejections = rejections
        self._limits = position_limits(world)
        refuse = partial(rejections.count, "~/joint_trajectory")
        self._follower = TrajectoryFollower(world.joint_names, self._limits, refuse)
        runner.add_command_source(self._follower)

        places = 2 if as_controllers else 1
        for mode in _MODES:
            for topic in (f"~/{mode}_commands", f"forward_{mode}_controller/commands")[:places]:
                callback = partial(self._on_array, mode, topic)
                node.create_subscription(Float64MultiArray, topic, callback, _DEPTH)
        for topic in ("~/joint_trajectory", "joint_trajectory_controller/joint_trajectory")[:places]:
            callback = partial(self._on_trajectory, topic)
            node.create_subscription(JointTrajectory, topic, callback, _DEPTH)

    def stop_trajectory(self) -> None:
        """Forget the trajectory under way."""
        self._runner.submit(lambda world: self._follower.stop())

    def _on_array(self, mode: str, topic: str, message: Float64MultiArray) -> None:
        with self._rejections.guard(topic):
            values = np.array(message.data, dtype=float)
            self._world.check_command(values, mode=mode, joints=self._joints)

            def apply(world: World) -> None:
                self._follower.stop()
                world.set_command(values, mode=mode, joints=self._joints)

            self._runner.submit(apply)

    def _on_trajectory(self, topic: str, message: JointTrajectory) -> None:
        with self._rejections.guard(topic):
            trajectory = parse_trajectory(message, self._runner.snapshot().time)
            for knot in trajectory.knots:
                self._world.check_command(knot.positions, mode="position", joints=trajectory.joints)
            check_between_knots(trajectory, self._limits)
            self._runner.submit(lambda world: self._follower.follow(trajectory))


class GripperCommands:
    """Closing force (N a finger) or opening (m) of one gripper.

    Args:
        node: Owner of the subscriptions.
        world: Asked only to check commands.
        runner: The ``FixedRateRunner`` that steps the World.
        gripper: Name of the gripper in the scene.
        prefix: Namespace of its topics.
        rejections: Where bad messages are counted.
    """

    def __init__(
        self,
        node: Node,
        world: World,
        runner: FixedRateRunner,
        gripper: str,
        prefix: str,
        rejections: Rejections,
    ) -> None:
        self._world = world
        self._runner = runner
        self._gripper = gripper
        self._rejections = rejections

        for quantity in ("force", "position"):
            topic = f"{prefix}/{quantity}_command"
            node.create_subscription(Float64, topic, partial(self._on_command, quantity, topic), _DEPTH)

    def _on_command(self, quantity: str, topic: str, message: Float64) -> None:
        command = {quantity: message.data}
        with self._rejections.guard(topic):
            self._world.check_gripper(self._gripper, **command)
            self._runner.submit(lambda world: world.set_gripper(self._gripper, **command))
