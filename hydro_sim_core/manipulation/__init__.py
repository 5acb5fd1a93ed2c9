"""The motion kit: from poses of a tool to motions and efforts of joints, for controllers and for Python alike."""

from hydro_sim_core.manipulation.admittance import Admittance, AdmittanceControl
from hydro_sim_core.manipulation.cartesian_motion import CartesianMotion, MotionLimits
from hydro_sim_core.manipulation.contact_state import ContactState, contact_state
from hydro_sim_core.manipulation.grasp import Grasp
from hydro_sim_core.manipulation.guards import ForceGuard
from hydro_sim_core.manipulation.impedance import Impedance, ImpedanceControl
from hydro_sim_core.manipulation.inverse_kinematics import inverse_kinematics
from hydro_sim_core.manipulation.joint_trajectory import JointTrajectory, follow
from hydro_sim_core.manipulation.spiral_search import SpiralSearch

__all__ = [
    "Admittance",
    "AdmittanceControl",
    "CartesianMotion",
    "ContactState",
    "ForceGuard",
    "Grasp",
    "Impedance",
    "ImpedanceControl",
    "JointTrajectory",
    "MotionLimits",
    "SpiralSearch",
    "contact_state",
    "follow",
    "inverse_kinematics",
]
