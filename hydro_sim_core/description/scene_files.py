"""Reading of scene files."""

from __future__ import annotations

import os
from pathlib import Path

from hydro_sim_core.description.foreign import refuse_what_is_no_scene
from hydro_sim_core.description.paths import absolute
from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.scene_builder import SceneBuilder
from hydro_sim_core.description.scene_loader import LoadedScene, RobotFiles
from hydro_sim_core.description.yaml_source import load_yaml


def load_scene_spec(path: str | os.PathLike[str]) -> SceneSpec:
    """Read a scene file without its robots.

    Raises:
        InputError: The file is missing, is not YAML or does not fit :class:`SceneSpec`.
    """
    source = absolute(Path(path))
    refuse_what_is_no_scene(source)
    return load_yaml(source, SceneSpec)


def load_scene(path: str | os.PathLike[str]) -> LoadedScene:
    """Read a scene file and its robots, and check every name in it.

    Raises:
        InputError: As :func:`load_scene_spec` and ``load_robot``; or a name occurs twice or is unknown, or a start
            position is outside the limits of its joint.
    """
    source = absolute(Path(path))
    spec = load_scene_spec(source)
    files = RobotFiles(source)
    robots = [files.load(model, f"models.{i}") for i, model in enumerate(spec.models)]
    return SceneBuilder.of(spec, robots, source).build()
