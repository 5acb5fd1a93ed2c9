"""Robots whose mesh files are each within the limits of a file, and together are not."""

from __future__ import annotations

from pathlib import Path

from support.hostile.cases import case
from support.hostile.inputs.surface_meshes import obj
from support.hostile.slow_meshes import robot_of_meshes, write_slow_robot

GROUP = "slow descriptions"


@case(GROUP, "forty scenes that take a second each")
def _(folder: Path) -> list[str]:
    write_slow_robot(folder, count=40, instances=15)
    return ["check", "robot.urdf"]


@case(GROUP, "a thousand scenes that take a tenth of a second each")
def _(folder: Path) -> list[str]:
    write_slow_robot(folder, count=1000, instances=7)
    return ["check", "robot.urdf"]


@case(GROUP, "twenty lists of materials")
def _(folder: Path) -> list[str]:
    names = [f"m{i}.obj" for i in range(20)]
    for name in names:
        (folder / name).write_text(obj() + "".join(f"usemtl {name}_{i}\nf 1 2 3\n" for i in range(5_000)))
    (folder / "robot.urdf").write_text(robot_of_meshes(names))
    return ["check", "robot.urdf"]


@case(GROUP, "thousands of elements with one mesh")
def _(folder: Path) -> list[str]:
    (folder / "m.obj").write_text(obj())
    (folder / "robot.urdf").write_text(robot_of_meshes(["m.obj"] * 3_000))
    return ["check", "robot.urdf"]


@case(GROUP, "dozens of scales of one slow mesh")
def _(folder: Path) -> list[str]:
    write_slow_robot(folder, count=1, instances=14)
    scales = [f"{1.0 + 0.01 * i} 1 1" for i in range(60)]
    (folder / "robot.urdf").write_text(robot_of_meshes(["m0.dae"] * 60, scales=scales))
    return ["check", "robot.urdf"]
