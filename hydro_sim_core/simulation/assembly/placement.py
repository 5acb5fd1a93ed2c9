"""Placement of a scene's robots, their start coordinates, and the reported pairs of links."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.spec import ProximitySpec, RobotSpec
from hydro_sim_core.dynamics import PlacedRobot
from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.assembly.pairs import linked_pairs

Array = NDArray[np.float64]


def place_robots(scene: LoadedScene) -> list[PlacedRobot]:
    """The robots of a scene at their places."""
    return [
        PlacedRobot(
            robot=_with_proximity(robot, model.proximity.spec),
            X_WR=model.pose.X,
            floating=model.base != "fixed",
            prescribed=model.base == "kinematic",
            attach_to=model.attach_to,
            base_joint_name=model.base_joint_name,
        )
        for model, robot in zip(scene.spec.models, scene.robots, strict=True)
    ]


def _with_proximity(robot: RobotSpec, proximity: ProximitySpec) -> RobotSpec:
    """The robot with these contact properties on all its collision geometries."""
    given = {name: value for name, value in vars(proximity).items() if value is not None}
    if not given:
        return robot
    if "modulus" in given:
        given.setdefault("point_stiffness", None)  # of the file: the modulus takes its place
    links = tuple(
        replace(
            link,
            collisions=tuple(
                replace(collision, proximity=replace(collision.proximity, **given))
                for collision in link.collisions
            ),
        )
        for link in robot.links
    )
    return replace(robot, links=links)


def reported_pairs(
    built: BuiltModel, wrenches: Literal["all"] | tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Of the pairs of links that can touch those in ``wrenches``, each in the order in which its patches come."""
    names, pairs, _ = linked_pairs(built.colliders, built.model.pairs)
    if wrenches != "all":
        number = {name: i for i, name in enumerate(names)}
        wanted = [[number[name] for name in pair] for pair in wrenches if {*pair} <= {*number}]
        codes = _code(np.array(wanted, dtype=np.int64).reshape(-1, 2), len(names))
        pairs = pairs[np.isin(_code(pairs, len(names)), codes)]
    return tuple((names[a], names[b]) for a, b in pairs.tolist())


def _code(pairs: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """A key for every pair (P, 2) of numbers below ``size``, independent of their order."""
    return pairs.min(axis=1, initial=size) * size + pairs.max(axis=1, initial=-1)
