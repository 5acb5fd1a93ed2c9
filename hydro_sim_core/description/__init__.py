"""Readers of description files: URDF to ``RobotSpec``, scene files to ``LoadedScene``, all plain data.

Modules are imported on first use, because of circular imports: plug-ins import the table of shapes, and scenes import
plug-ins.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hydro_sim_core.description.scene import SceneSpec
    from hydro_sim_core.description.scene_builder import SceneBuilder
    from hydro_sim_core.description.scene_files import load_scene, load_scene_spec
    from hydro_sim_core.description.scene_loader import LoadedScene
    from hydro_sim_core.description.urdf import load_robot, parse_robot, with_prefix

__all__ = [
    "LoadedScene",
    "SceneBuilder",
    "SceneSpec",
    "load_robot",
    "load_scene",
    "load_scene_spec",
    "parse_robot",
    "with_prefix",
]

_MODULE_OF = {
    "LoadedScene": "scene_loader",
    "SceneBuilder": "scene_builder",
    "SceneSpec": "scene",
    "load_robot": "urdf",
    "load_scene": "scene_files",
    "load_scene_spec": "scene_files",
    "parse_robot": "urdf",
    "with_prefix": "urdf",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hydro_sim_core.description' has no attribute {name!r}")
    value = getattr(import_module(f"hydro_sim_core.description.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
