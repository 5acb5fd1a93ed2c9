"""Shipped scenes and robots, and worlds by a path or name that a user typed."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import is_robot_file, xacro_arguments
from hydro_sim_core.description.repair import Policy
from hydro_sim_core.description.scene import EnvironmentSpec, PoseSpec
from hydro_sim_core.description.scene_loader import complete_scene
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene, scene_of_robot
from hydro_sim_core.simulation.world import World

logger = logging.getLogger(__name__)

#: Room between the lowest point and the ground, m: an object falls through it, a robot's base stays clear of it.
_DROP, _GAP = 0.02, 0.001


def shipped_scene(name: str) -> Path:
    """Path of one shipped scene, for an experiment that needs it.

    Raises:
        InputError: None has this name.
    """
    shipped = shipped_scenes()
    if name not in shipped:
        raise InputError(name, "scene", "is not a shipped scene", did_you_mean(name, shipped))
    return shipped[name]


@dataclass(frozen=True)
class RobotOptions:
    """What is told of a robot file that is simulated alone.

    Attributes:
        package_dirs: ROS packages, or folders of packages.
        xacro_args: Arguments of a xacro file, each of the form ``name:=value``.
        srdf: Its SRDF; None for the one that it names, or none.
        ground: Whether it stands on a ground, or falls to it.
        repair: What is done about what cannot be in its file.
        ignore: Words of what in it is ignored although it changes the physics.
    """

    package_dirs: Sequence[Path] = ()
    xacro_args: Sequence[str] = ()
    srdf: Path | None = None
    ground: bool = False
    repair: Policy = "warn"
    ignore: Sequence[str] = ()


def open_world(
    scene: str, robot: RobotOptions = RobotOptions(), values: Mapping[str, Any] | None = None
) -> World:
    """Load a scene file, a robot file or a shipped scene.

    Args:
        scene: Path, or name of a shipped scene.
        robot: Options of a robot file.
        values: Values that replace those of the scene, by path; see ``LoadedScene.with_``.

    Raises:
        InputError: There is no such file or scene, it is invalid, or options for robots are given for a scene.
    """
    path = Path(scene)
    if is_robot_file(path):
        return _lone_robot(path, robot, values or {})
    if robot != RobotOptions():
        usual = vars(RobotOptions())
        given = [
            f"--{name.replace('_', '-').removesuffix('s')}"
            for name, value in vars(robot).items()
            if value != usual[name]
        ]
        mend = "write it to the models of the scene, and a ground to its environment"
        raise InputError(scene, ", ".join(given), "for robot files only", mend)
    found = find_scene(scene)
    return World(found.with_(values) if values else found)


def _lone_robot(path: Path, options: RobotOptions, values: Mapping[str, Any]) -> World:
    """A robot stands and holds its place, an object falls."""
    arguments = xacro_arguments(options.xacro_args)
    scene = scene_of_robot(
        path,
        options.package_dirs,
        xacro_args=arguments,
        srdf=options.srdf,
        drives="all",
        repair=options.repair,
        ignore=options.ignore,
    )
    if values:
        scene = scene.with_(values)
    is_object = is_free_object(scene)
    if is_object:
        to_ground = "" if options.ground else "; --ground gives it something to fall on"
        logger.warning("%s: one body without joints: it falls freely%s", path, to_ground)
    if not options.ground:
        return World(_on_ground(scene, is_object, None) if is_object else scene)
    alone = World(scene)
    return World(_on_ground(alone.scene, is_object, lowest_point(alone)), like=alone)


def _on_ground(scene: LoadedScene, is_object: bool, lowest: float | None) -> LoadedScene:
    """A lone robot's scene with a ground under its lowest point, m; an object floats, a little above the ground.

    Without a lowest point there is no ground, and an object floats where it is.
    """
    (model,) = scene.spec.models
    changes: dict[str, Any] = {}
    if is_object:
        height = 0.0 if lowest is None else height_of_object(lowest)
        place = PoseSpec(xyz=(0.0, 0.0, height))
        changes["models"] = (model.model_copy(update={"base": "floating", "pose": place}),)
    if lowest is not None:
        height = 0.0 if is_object else height_of_ground(lowest)
        ground = EnvironmentSpec(
            name=_free_name("ground", scene),
            shape={"half_space": {}},
            pose=PoseSpec(xyz=(0.0, 0.0, height)),
            proximity={"compliance": "rigid"},
        )
        changes["environment"] = (ground,)
    return complete_scene(scene.spec.model_copy(update=changes), scene.robots, scene.source)


def is_free_object(scene: LoadedScene) -> bool:
    """Whether a scene of one robot file is an object: one body that has a mass and neither joints nor a world."""
    (robot,) = scene.robots
    moves = any(joint.type != "fixed" for joint in robot.joints)
    return not moves and robot.root != "world" and any(link.inertial is not None for link in robot.links)


def height_of_object(lowest: float) -> float:
    """Where an object whose lowest point is at a height begins, to fall a little to a ground at 0: in whole mm, m."""
    return math.ceil(1e3 * (_DROP - lowest)) / 1e3


def height_of_ground(lowest: float) -> float:
    """The ground under a robot at 0 whose lowest point is at a height: in whole mm, m."""
    return math.floor(1e3 * min(lowest - _GAP, 0.0)) / 1e3


def lowest_point(world: World) -> float:
    """Least z of all collision geometries at the start, m; 0 without any."""
    poses = world.frame_poses()
    heights = []
    for collider in world.built.colliders:
        X_WG = poses[world.frame_names.index(collider.link)] @ collider.collision.X_LG
        heights.append(float((collider.geometry.body_points @ X_WG[2, :3]).min() + X_WG[2, 3]))
    return min(heights, default=0.0)


def _free_name(name: str, scene: LoadedScene) -> str:
    taken = {link.name for robot in scene.robots for link in robot.links} | {
        m.name for m in scene.spec.models
    }
    while name in taken:
        name += "_"
    return name
