"""Which velocities inertia couples where some of them are prescribed."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.dynamics import PlacedRobot, build_tree, find_forest
from support.dynamics.small_robots import joint, link, robot


def test_what_a_kinematic_base_carries_is_not_coupled_through_it() -> None:
    """Two arms on one base are two trees; on a floating base they are one, with the base's velocities."""
    arms = robot(
        [link("base"), link("left"), link("left_tip"), link("right")],
        [
            joint("l", "base", "left"),
            joint("r", "base", "right"),
            joint("tip", "left", "left_tip", "prismatic"),
        ],
    )
    for prescribed in (False, True):
        placed = [
            PlacedRobot(arms, np.eye(4), floating=True, prescribed=prescribed, base_joint_name="free"),
            PlacedRobot(robot([link("ball")], []), np.eye(4), floating=True, base_joint_name="ball_free"),
        ]
        assembly = build_tree(placed, np.zeros(3))
        forest, names = find_forest(assembly.tree), assembly.velocity_names
        trees = [
            {names[i] for i in forest.velocities[first:last]}
            for first, last in zip(forest.first[:-1], forest.first[1:], strict=True)
        ]
        base = {f"free/{k}" for k in range(6)}
        ball = {f"ball_free/{k}" for k in range(6)}
        expected = [{"l", "tip"}, {"r"}, ball] if prescribed else [base | {"l", "r", "tip"}, ball]
        assert trees == expected
        assert {names[i] for i in forest.prescribed} == (base if prescribed else set())
        assert sorted([*forest.velocities, *forest.prescribed]) == list(range(len(names)))
        tree_of = dict(zip(assembly.joint_names, forest.tree_of_body, strict=True))
        assert tree_of["free"] == (-1 if prescribed else 0)
        assert tree_of["ball_free"] == (2 if prescribed else 1)
        assert forest.is_free_tree.tolist() == [False] * (len(trees) - 1) + [True]
        assert dict(zip(assembly.joint_names, forest.is_free_body, strict=True)) == {
            **dict.fromkeys(assembly.joint_names, False),
            "ball_free": True,
        }
