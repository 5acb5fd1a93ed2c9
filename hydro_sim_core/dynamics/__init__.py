"""Multibody dynamics: kinematic tree, Jacobians, mass matrix, bias forces.

Modules are imported on first use, because of circular imports: plug-ins import ``joint_kernels``, and trees import
plug-ins.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hydro_sim_core.dynamics.assembly import Assembly, NoInertia, ScalarJoint, build_tree
    from hydro_sim_core.dynamics.bodies import PlacedRobot
    from hydro_sim_core.dynamics.evaluate import TreeEvaluator
    from hydro_sim_core.dynamics.forest import Forest, find_forest
    from hydro_sim_core.dynamics.tree import KinematicTree, TreeScratch, frozen, make_scratch

__all__ = [
    "Assembly",
    "Forest",
    "KinematicTree",
    "NoInertia",
    "PlacedRobot",
    "ScalarJoint",
    "TreeEvaluator",
    "TreeScratch",
    "build_tree",
    "find_forest",
    "frozen",
    "make_scratch",
]

_MODULE_OF = {
    "Assembly": "assembly",
    "Forest": "forest",
    "KinematicTree": "tree",
    "PlacedRobot": "bodies",
    "NoInertia": "assembly",
    "ScalarJoint": "assembly",
    "TreeEvaluator": "evaluate",
    "TreeScratch": "tree",
    "build_tree": "assembly",
    "find_forest": "forest",
    "frozen": "tree",
    "make_scratch": "tree",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hydro_sim_core.dynamics' has no attribute {name!r}")
    value = getattr(import_module(f"hydro_sim_core.dynamics.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
