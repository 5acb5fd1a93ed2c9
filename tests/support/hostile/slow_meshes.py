"""Mesh files of 2 kB that take long to read, and robots that name many of them."""

from __future__ import annotations

from pathlib import Path

from support.hostile.inputs.scene_meshes import dae

_INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def slow_dae(instances: int, number: int = 0) -> str:
    """A DAE file that places a tetrahedron ``instances`` cubed times, a third of a millisecond each.

    Args:
        instances: Instances in each of three levels of nodes.
        number: Number in a comment, so that no two files are the same.
    """
    levels = "".join(
        f'<node id="k{i}">{f"<instance_node url=%sk{i + 1}%s/>" % (chr(34) + "#", chr(34)) * instances}</node>'
        for i in range(3)
    )
    leaf = '<node id="k3"><instance_geometry url="#g"/></node>'
    library = f"<library_nodes>{leaf}{levels}</library_nodes><!-- {number} -->"
    return dae(node='<instance_node url="#k0"/>', more=library)


def robot_of_meshes(names: list[str], element: str = "collision", scales: list[str] | None = None) -> str:
    """A robot of one link with these mesh files."""
    parts = "".join(
        f'<{element} name="p{i}"><geometry><mesh filename="{name}" scale="{scale}"/></geometry></{element}>'
        for i, (name, scale) in enumerate(zip(names, scales or ["1 1 1"] * len(names), strict=True))
    )
    return f'<robot name="r"><link name="a">{_INERTIAL}{parts}</link></robot>'


def write_slow_robot(folder: Path, count: int, instances: int, element: str = "collision") -> Path:
    """Write a robot with ``count`` slow mesh files into a folder."""
    names = [f"m{i}.dae" for i in range(count)]
    for i, name in enumerate(names):
        (folder / name).write_text(slow_dae(instances, i))
    (folder / "robot.urdf").write_text(robot_of_meshes(names, element))
    return folder / "robot.urdf"
