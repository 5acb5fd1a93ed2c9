"""Message packages that not every installation has: there with ROS from apt, not with the PyPI wheels."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def _import(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        return None


tf2_msgs = _import("tf2_msgs.msg")
hydro_sim_msgs = _import("hydro_sim_msgs.msg")
hydro_sim_srvs = _import("hydro_sim_msgs.srv") if hydro_sim_msgs else None


def summary() -> str:
    """One line that says which optional interfaces are on."""
    found = {
        "tf2_msgs (/tf, /tf_static)": tf2_msgs,
        "hydro_sim_msgs (~/contact_patches, ~/step_many)": hydro_sim_msgs,
    }
    return "optional interfaces: " + "; ".join(f"{n} {'on' if m else 'off'}" for n, m in found.items())
