"""A first scene for a robot or object of one's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import IgnoreOption, PackageDirOption, SrdfOption, XacroArgOption, words
from hydro_sim_core.cli.outputs import OverwriteOption, files_to_write, optional
from hydro_sim_core.description import foreign
from hydro_sim_core.description.paths import is_robot_file, xacro_arguments
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import (
    find_scene,
    height_of_ground,
    height_of_object,
    is_free_object,
    lowest_point,
    scene_of_robot,
)

_SCENE = (".yaml", ".yml")


def init(
    robot: Annotated[Path, typer.Argument(metavar="ROBOT", help="URDF or xacro file.", show_default=False)],
    out: Annotated[
        Path | None,
        optional("The scene to write; by default ROBOT's name with .yaml, beside it.", "FILE", "--out"),
    ] = None,
    overwrite: OverwriteOption = False,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
) -> None:
    """Write a first scene for a URDF: the robot or object, a ground, and comments that tell how to drive and grip."""
    if not is_robot_file(robot):
        found = foreign.format_of(robot) if robot.exists() else None
        if found is not None:
            raise InputError(robot, "", f"is {found.what}, which is not read", found.mend)
        raise InputError(robot, "", "is no URDF", "name a .urdf or .xacro file")
    out = out or robot.with_name(f"{re.split(r'[.](?:urdf|xacro)', robot.name)[0]}.yaml")
    files_to_write([out], overwrite, {"scene": _SCENE})
    arguments = xacro_arguments(xacro_arg or ())
    ignored = words(ignore)
    world = World(scene_of_robot(robot, package_dir or (), xacro_args=arguments, srdf=srdf, ignore=ignored))
    text = starter_scene(
        world,
        _relative(robot, out),
        [_relative(one, out) for one in package_dir or ()],
        arguments,
        None if srdf is None else _relative(srdf, out),
        ignored,
    )
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(out, "", error.strerror or "cannot be written", "give another file") from None
    find_scene(out)  # what cannot be read again is told here
    console = output.make_console()
    console.print(
        f"{output.shown(out)} written; to see it: hydro-sim run {output.shown(out)} --view", highlight=False
    )


def starter_scene(
    world: World,
    urdf: str,
    package_dirs: Sequence[str],
    xacro_args: Mapping[str, str],
    srdf: str | None = None,
    ignore: Sequence[str] = (),
) -> str:
    """Text of a scene with a robot or object above a ground.

    Args:
        world: The robot alone, welded at the origin.
        urdf: Its file, as the scene is to name it.
        package_dirs: Folders to look for packages in, as the scene is to name them.
        xacro_args: Arguments of the xacro file.
        srdf: Its SRDF, as the scene is to name it.
        ignore: Words of what in its file is ignored.
    """
    (robot,) = world.scene.robots
    # What has neither joints nor mass, such as a table, can only stand.
    is_object = is_free_object(world.scene)
    lowest = lowest_point(world)
    lines = [
        f"# A first scene for {_in_comment(urdf)}, written by `hydro-sim init`.",
        "# docs/scene_reference.md lists every key; `hydro-sim check` tells what was understood.",
        f"name: {json.dumps(world.name)}",
        "models:",
        f"  - name: {json.dumps(world.name)}",
        f"    urdf: {json.dumps(urdf)}",
        *([f"    package_dirs: {json.dumps(list(package_dirs))}"] if package_dirs else []),
        *([f"    xacro_args: {json.dumps(dict(xacro_args))}"] if xacro_args else []),
        *([] if srdf is None else [f"    srdf: {json.dumps(srdf)}"]),
        *([f"    ignore: {json.dumps(list(ignore))}"] if ignore else []),
        *(
            ["    drives: all  # joints hold their place; none: they hang"]
            if len(world.velocity_names)
            else []
        ),
        *_placed(is_object, lowest),
        *_ground(is_object, lowest),
        *_drives(robot, world.velocity_names),
    ]
    return "\n".join(lines) + "\n"


def _placed(is_object: bool, lowest: float) -> list[str]:
    if not is_object:
        return ["    base: fixed  # welded to the world; floating: free to move"]
    height = height_of_object(lowest)
    return [
        "    base: floating  # free to move; fixed: welded to the world",
        f"    pose: {{xyz: [0, 0, {height:g}]}}  # m, a little above the ground",
    ]


def _ground(is_object: bool, lowest: float) -> list[str]:
    """The ground: under a welded robot's lowest point."""
    height = 0.0 if is_object else height_of_ground(lowest)
    return [
        "environment:",
        "  - name: ground",
        "    shape: {half_space: {}}",
        *([f"    pose: {{xyz: [0, 0, {height:g}]}}"] if height else []),
        "    proximity: {compliance: rigid, mu_static: 0.5, mu_dynamic: 0.5}",
    ]


def _drives(robot: RobotSpec, names: Sequence[str]) -> list[str]:
    """Comments on drives, and on what may be fingers."""
    if not names:
        return []
    sliding = [joint.name for joint in robot.joints if joint.type == "prismatic"]
    lines = [
        "# Joints hold their place, with gains that follow from inertia and effort limits. Other gains:",
        "# actuators:",
        f"#   - {{joints: {json.dumps(list(names))}, mode: position, kp: 100, kd: 10}}",
    ]
    if sliding:
        signs = ", ".join(f"{json.dumps(name)}: 1" for name in sliding)
        lines += [
            "# Prismatic joints may be fingers: leave out those that are not, 1 where + closes, -1 where it opens.",
            "# grippers:",
            f"#   - {{name: gripper, joints: {{{signs}}}, max_force: 20, kp: 2000, kd: 30}}",
        ]
    return lines


def _relative(path: Path, scene: Path) -> str:
    """A path as a scene file names it: from its own folder."""
    return os.path.relpath(path.absolute(), scene.absolute().parent)


def _in_comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
