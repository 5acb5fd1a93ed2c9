"""The motion kit: from poses of a tool to motions and efforts of joints, for controllers and for Python alike."""

from hydro_sim_core.manipulation.cartesian_motion import CartesianMotion, MotionLimits
from hydro_sim_core.manipulation.grasp import Grasp
from hydro_sim_core.manipulation.guards import ForceGuard
from hydro_sim_core.manipulation.impedance import Impedance, ImpedanceControl
from hydro_sim_core.manipulation.inverse_kinematics import inverse_kinematics
from hydro_sim_core.manipulation.joint_trajectory import JointTrajectory, follow

__all__ = [
    "CartesianMotion",
    "ForceGuard",
    "Grasp",
    "Impedance",
    "ImpedanceControl",
    "JointTrajectory",
    "MotionLimits",
    "follow",
    "inverse_kinematics",
]
