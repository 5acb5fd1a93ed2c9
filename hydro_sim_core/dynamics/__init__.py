"""From links and joints to the equations of motion: kinematic tree, mass matrix, bias forces, Jacobians."""

from hydro_sim_core.dynamics.assembly import Assembly, ScalarJoint, build_tree
from hydro_sim_core.dynamics.bodies import PlacedRobot
from hydro_sim_core.dynamics.evaluate import TreeEvaluator
from hydro_sim_core.dynamics.forest import Forest, find_forest
from hydro_sim_core.dynamics.tree import KinematicTree, TreeScratch, frozen, make_scratch

__all__ = [
    "Assembly",
    "Forest",
    "KinematicTree",
    "PlacedRobot",
    "ScalarJoint",
    "TreeEvaluator",
    "TreeScratch",
    "build_tree",
    "find_forest",
    "frozen",
    "make_scratch",
]
