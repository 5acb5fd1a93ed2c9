"""Optional message packages, available with ROS from apt but not with the PyPI wheels."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


def _import(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        return None


tf2_msgs = _import("tf2_msgs.msg")
hydro_sim_msgs = _import("hydro_sim_msgs.msg")
control_msgs: Any = _import("control_msgs.msg")
control_actions: Any = _import("control_msgs.action") if control_msgs else None
hydro_sim_srvs = _import("hydro_sim_msgs.srv") if hydro_sim_msgs else None
simulation_interfaces = _import("simulation_interfaces")
if simulation_interfaces:
    for part in ("msg", "srv", "action"):
        import_module(f"simulation_interfaces.{part}")


def summary() -> str:
    """One line with the available optional interfaces."""
    found = {
        "tf2_msgs (/tf, /tf_static)": tf2_msgs,
        "control_msgs (follow_joint_trajectory, controller_state, gripper_cmd)": control_msgs,
        "hydro_sim_msgs (~/contact_patches, ~/step_many, ~/spawn, ~/delete, ~/place)": hydro_sim_msgs,
        "simulation_interfaces (~/get_simulator_features, …)": simulation_interfaces,
    }
    return "optional interfaces: " + "; ".join(f"{n} {'on' if m else 'off'}" for n, m in found.items())
