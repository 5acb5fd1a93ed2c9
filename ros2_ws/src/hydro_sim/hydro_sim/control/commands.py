"""Command messages become commands of the World: checked here, brought to the stepping thread by the link."""

from __future__ import annotations

from functools import partial

import numpy as np
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim.control.motion import TrajectoryFollower, check_between_knots, position_limits
from hydro_sim.control.trajectory import parse_trajectory
from hydro_sim.hil.link import Action, CommandLink
from hydro_sim.rejections import Rejections
from hydro_sim_core.simulation import FixedRateRunner, World

_MODES = ("position", "velocity", "effort")


class JointCommands:
    """Position, velocity and effort arrays, and trajectories.

    Args:
        world: Asked only for names and to check commands.
        runner: The ``FixedRateRunner`` that steps the World.
        link: Brings the commands.
        joints: Joints that arrays address, in their order.
        rejections: Where bad messages are counted.
        as_controllers: Also listen where the controllers of ros2_control would; false leaves that to them.
    """

    def __init__(
        self,
        world: World,
        runner: FixedRateRunner,
        link: CommandLink,
        joints: tuple[str, ...],
        rejections: Rejections,
        as_controllers: bool = True,
    ) -> None:
        self._world = world
        self._runner = runner
        self._joints = joints
        self._limits = position_limits(world)
        refuse = partial(rejections.count, "~/joint_trajectory")
        self._follower = TrajectoryFollower(world.joint_names, self._limits, refuse)
        runner.add_command_source(self._follower)

        places = 2 if as_controllers else 1
        for mode in _MODES:
            for topic in (f"~/{mode}_commands", f"forward_{mode}_controller/commands")[:places]:
                link.subscribe(Float64MultiArray, topic, mode, partial(self._check_array, mode))
        for topic in ("~/joint_trajectory", "joint_trajectory_controller/joint_trajectory")[:places]:
            link.subscribe(JointTrajectory, topic, "trajectory", self._check_trajectory, stamped=False)

    def stop_trajectory(self) -> None:
        """Forget the trajectory under way."""
        self._runner.submit(lambda world: self._follower.stop())

    def _check_array(self, mode: str, message: Float64MultiArray) -> Action:
        values = np.array(message.data, dtype=float)
        self._world.check_command(values, mode=mode, joints=self._joints)

        def apply(world: World) -> None:
            self._follower.stop()
            world.set_command(values, mode=mode, joints=self._joints)

        return apply

    def _check_trajectory(self, message: JointTrajectory) -> Action:
        trajectory = parse_trajectory(message, self._runner.snapshot().time)
        for knot in trajectory.knots:
            self._world.check_command(knot.positions, mode="position", joints=trajectory.joints)
        check_between_knots(trajectory, self._limits)
        return lambda world: self._follower.follow(trajectory)


class GripperCommands:
    """Closing force (N a finger) or opening (m) of one gripper.

    Args:
        world: Asked only to check commands.
        link: Brings the commands.
        gripper: Name of the gripper in the scene.
        prefix: Namespace of its topics.
    """

    def __init__(self, world: World, link: CommandLink, gripper: str, prefix: str) -> None:
        self._world = world
        self._gripper = gripper
        for quantity in ("force", "position"):
            link.subscribe(
                Float64, f"{prefix}/{quantity}_command", prefix, partial(self._check_command, quantity)
            )

    def _check_command(self, quantity: str, message: Float64) -> Action:
        command = {quantity: message.data}
        self._world.check_gripper(self._gripper, **command)
        return lambda world: world.set_gripper(self._gripper, **command)
