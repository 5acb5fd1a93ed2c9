"""Description files become plain data: URDF and xacro into ``RobotSpec``."""

from hydro_sim_core.description.urdf import load_robot

__all__ = ["load_robot"]
