"""Description files become plain data: URDF into ``RobotSpec``, scene files into ``LoadedScene``."""

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
