"""An arm that is told where to go, without a node."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.joint_trajectory import JointTrajectoryController
from hydro_sim.controllers.tolerances import JointTolerance, Tolerances
from support.ros.arms import JOINTS, Bench

NEAR = {joint: JointTolerance(2e-3, 0.02) for joint in JOINTS}


class Goal:
    """Somebody who waits for the end of a trajectory."""

    def __init__(self):
        self.progress, self.ends = [], []

    def tell(self, progress):
        self.progress.append(progress)

    def finish(self, outcome, code, reason):
        self.ends.append((outcome, code, reason))

    @property
    def end(self):
        (end,) = self.ends
        return end


class ArmBench(Bench):
    """An arm, its trajectory controller, and arrays for any of its joints."""

    def __init__(self, world):
        super().__init__(world)
        self.refused, self.published = [], []
        self.trajectories = self.add(
            JointTrajectoryController(
                world, self.arbiter, lambda: world.time, self.refused.append, self.published.append
            )
        )

    def go(self, seconds=0.3, goal=None, tolerances=None, stamp=0.0, **positions):
        message = trajectory(seconds, stamp, **positions)
        self.trajectories.follow(self.trajectories.checked(message), goal, tolerances)
        return goal

    def aim(self, seconds=0.3, path=None, goal=NEAR, goal_time=0.0, stamp=0.0, **positions):
        return self.go(seconds, Goal(), Tolerances(path or {}, goal, goal_time), stamp, **positions)

    def command(self, mode, **values):
        controller = self.add(ForwardController(mode, tuple(values), self.world, self.arbiter))
        controller.check(Float64MultiArray(data=[float(value) for value in values.values()]))(self.world)


def trajectory(seconds, stamp=0.0, **positions):
    point = JointTrajectoryPoint(
        positions=list(positions.values()),
        velocities=[0.0] * len(positions),
        time_from_start=Duration(sec=int(seconds), nanosec=round(seconds % 1.0 * 1e9)),
    )
    message = JointTrajectory(joint_names=list(positions), points=[point])
    message.header.stamp = Time(sec=int(stamp), nanosec=round(stamp % 1.0 * 1e9))
    return message
