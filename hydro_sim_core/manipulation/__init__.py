"""The motion kit: from poses of a tool to positions of joints, for controllers and for Python alike."""

from hydro_sim_core.manipulation.inverse_kinematics import inverse_kinematics

__all__ = ["inverse_kinematics"]
