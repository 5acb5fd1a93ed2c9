"""Shipped scenes and robots, and worlds by a path or name that a user typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydro_sim_core.assets import folder
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene, scene_of_robot, shipped_scenes
from hydro_sim_core.simulation.world import World

ROBOT_SUFFIXES = (".urdf", ".xacro")


def shipped_robots() -> dict[str, Path]:
    """Path of every shipped robot and object by its name."""
    return {path.name.partition(".")[0]: path for path in sorted(folder("urdf").glob("*.urdf.xacro"))}


def shipped_scene(name: str) -> Path:
    """Path of one shipped scene, for an experiment that needs it.

    Raises:
        InputError: None has this name.
    """
    shipped = shipped_scenes()
    if name not in shipped:
        raise InputError(name, "scene", "is not a shipped scene", did_you_mean(name, shipped))
    return shipped[name]


def open_world(
    scene: str,
    package_dirs: Sequence[Path] = (),
    xacro_args: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    srdf: Path | None = None,
) -> World:
    """Load a scene file, a robot file or a shipped scene.

    Args:
        scene: Path, or name of a shipped scene.
        package_dirs: ROS packages of a robot file, or folders of packages.
        xacro_args: Arguments of a xacro file, each of the form ``name:=value``.
        values: Values that replace those of the scene, by path; see ``LoadedScene.with_``.
        srdf: SRDF of a robot file.

    Raises:
        InputError: There is no such file or scene, it is invalid, or options for robots are given for a scene.
    """
    path = Path(scene)
    if path.suffix in ROBOT_SUFFIXES:
        arguments = dict(argument.split(":=", 1) for argument in xacro_args)
        found = scene_of_robot(path, package_dirs, xacro_args=arguments, srdf=srdf, drives="all")
        return World(found.with_(values) if values else found)
    if package_dirs or xacro_args or srdf:
        raise InputError(
            scene,
            "--package-dir, --xacro-arg, --srdf",
            "are for robot files",
            "write package_dirs, xacro_args and srdf to the models of the scene",
        )
    found = find_scene(scene)
    return World(found.with_(values) if values else found)
