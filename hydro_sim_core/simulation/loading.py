"""Loading of worlds from files or by the names of shipped scenes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description import LoadedScene, SceneSpec, load_robot
from hydro_sim_core.description import load_scene as read_scene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import absolute, as_path
from hydro_sim_core.description.repair import Policy
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.scene_loader import start_positions_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.world import World

_SCENE_SUFFIXES = (".yaml", ".yml")


def load_scene(scene: str | os.PathLike[str]) -> World:
    """Load a scene file, or a shipped scene by its name.

    Raises:
        InputError: There is no such file or scene, or it, or a file that it names, is invalid.
    """
    return World(find_scene(scene))


def find_scene(scene: str | os.PathLike[str]) -> LoadedScene:
    """The scene of which ``load_scene`` makes a world; its ``with_`` changes values.

    Raises:
        InputError: As for ``load_scene``.
    """
    path = as_path(scene, "load_scene")
    if path.suffix in _SCENE_SUFFIXES or os.path.isfile(path):
        return read_scene(path)
    name, shipped = str(scene), shipped_scenes()
    if name not in shipped:
        raise InputError(name, "scene", "is neither a file nor a shipped scene", did_you_mean(name, shipped))
    return read_scene(shipped[name])


def load_urdf(
    path: str | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    fixed_base: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    srdf: str | os.PathLike[str] | None = None,
    drives: Literal["described", "all", "none"] = "described",
    repair: Policy = "warn",
    ignore: Sequence[str] = (),
) -> World:
    """Load one robot into an otherwise empty world, at the origin.

    Args:
        path: URDF or xacro file.
        package_dirs: ROS packages, or folders of packages, for ``package://`` and ``$(find …)``.
        fixed_base: Whether to weld the root link to the world; otherwise it floats.
        xacro_args: Values for the file's ``<xacro:arg>`` declarations.
        srdf: SRDF file, or xacro of one, whose disabled pairs of links do not touch.
        drives: Joints that are driven: ``described``, as its ``<ros2_control>`` says, and none of a file without one;
            ``all``, in a file without one every joint with an effort limit, as ``hydro-sim run`` has it; or ``none``.
        repair: Whether what cannot be in the file is refused, or repaired with one warning or silently.
        ignore: Words of what is to be ignored although it changes the physics, as the error that refuses it gives them.

    Raises:
        InputError: The file is invalid.
    """
    return World(scene_of_robot(path, package_dirs, fixed_base, xacro_args, srdf, drives, repair, ignore))


def scene_of_robot(
    path: str | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    fixed_base: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    srdf: str | os.PathLike[str] | None = None,
    drives: Literal["described", "all", "none"] = "described",
    repair: Policy = "warn",
    ignore: Sequence[str] = (),
) -> LoadedScene:
    """The scene of which ``load_urdf`` makes a world; same arguments and errors."""
    robot = load_robot(path, package_dirs, xacro_args, srdf=srdf, repair=repair, ignore=ignore)
    source = absolute(Path(path))
    # Everything that the file was read with, as a scene beside it would say it: ``with_`` may read it again.
    model = ModelSpec(
        name=robot.name,
        urdf=source.name,
        package_dirs=tuple(_beside(source, folder) for folder in package_dirs),
        xacro_args={name: _as_written(value) for name, value in (xacro_args or {}).items()},
        base="fixed" if fixed_base else "floating",
        drives=drives,
        repair=repair,
        ignore=tuple(ignore),
        srdf=None if srdf is None else _beside(source, srdf),
    )
    spec = SceneSpec(name=robot.name, models=(model,))
    start = start_positions_of(model, robot, "models.0.positions", source)
    return LoadedScene(spec, (robot,), (start,), (), source)


def _beside(source: Path, path: str | os.PathLike[str]) -> str:
    """A path as a scene file in the folder of ``source`` names it."""
    return os.path.relpath(absolute(Path(path)), source.parent)


def _as_written(value: object) -> str | bool | int | float:
    return value if isinstance(value, str | bool | int | float) else str(value)
