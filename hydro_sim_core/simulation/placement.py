"""Where a scene puts its robots, how they stand at first, and which contacts it wants to hear of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene, SceneSpec
from hydro_sim_core.description.spec import ProximitySpec, RobotSpec
from hydro_sim_core.dynamics import PlacedRobot
from hydro_sim_core.simulation.builder import BuiltModel

Array = NDArray[np.float64]


def place_robots(scene: LoadedScene) -> list[PlacedRobot]:
    """The robots of a scene where it puts them."""
    return [
        PlacedRobot(
            robot=_with_proximity(robot, model.proximity.spec),
            X_WR=model.pose.X,
            floating=model.base == "floating",
            attach_to=model.attach_to,
            base_joint_name=f"{model.prefix}{model.name}_base",
        )
        for model, robot in zip(scene.spec.models, scene.robots, strict=True)
    ]


def _with_proximity(robot: RobotSpec, proximity: ProximitySpec) -> RobotSpec:
    """The robot with these contact properties wherever they are given."""
    given = {name: value for name, value in vars(proximity).items() if value is not None}
    if not given:
        return robot
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


def start_coordinates(built: BuiltModel, scene: LoadedScene) -> Array:
    """Coordinates (nq,) at time zero."""
    q = np.array(built.assembly.q0)
    own = {name: i for i, name in enumerate(built.assembly.velocity_names)}
    for positions in scene.start_positions:
        for joint, position in positions.items():
            q[built.model.tree.q_of_v[own[joint]]] = position
    return q


def reported_pairs(built: BuiltModel, spec: SceneSpec) -> tuple[tuple[str, str], ...]:
    """Pairs of links to report, each in the order in which its patches come."""
    pairs: dict[tuple[str, str], None] = {}
    for a, b in built.model.pairs:
        first, second = sorted((int(a), int(b)))
        pairs[(built.colliders[first].link, built.colliders[second].link)] = None
    if spec.report.wrenches == "all":
        return tuple(pairs)
    wanted = {frozenset(pair) for pair in spec.report.wrenches}
    return tuple(pair for pair in pairs if frozenset(pair) in wanted)
