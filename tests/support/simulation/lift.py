"""A lift: a carriage with a load, from one of which gravity is taken off, on a vertical rail."""

from __future__ import annotations

from pathlib import Path

import hydro_sim_core as hs
from hydro_sim_core.description import LoadedScene

_INERTIAL = (
    '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def lift_scene(folder: Path, lifted: str) -> LoadedScene:
    """The lift, whose joint ``up`` has no drive.

    Args:
        folder: Where its description is written.
        lifted: Which link gravity does not pull: ``carriage``, of 2 kg, or ``load``, of 1 kg.
    """
    path = folder / "lift.urdf"
    path.write_text(
        f'<robot name="lift"><link name="rail"/><link name="carriage">{_INERTIAL.format(2)}</link>'
        f'<link name="load">{_INERTIAL.format(1)}</link><joint name="up" type="prismatic"><parent link="rail"/>'
        '<child link="carriage"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="0" velocity="9"/></joint>'
        '<joint name="grip" type="fixed"><parent link="carriage"/><child link="load"/><origin xyz="0 0.2 0"/></joint>'
        f'<gazebo reference="{lifted}"><gravity>0</gravity></gazebo></robot>'
    )
    builder = hs.SceneBuilder("lift")
    builder.add_urdf(path, "lift", repair="silent")
    builder.add_sensor("ft", "force_torque", "carriage")
    builder.add_sensor("load_ft", "force_torque", "load")
    return builder.build()
