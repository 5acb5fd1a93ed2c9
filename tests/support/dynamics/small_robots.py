"""Robots written down link by link, as the dynamics takes them."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.description.spec import JointSpec, LinkSpec, RobotSpec
from support.dynamics.random_robots import random_link

_RNG = np.random.default_rng(3)
Z = np.array([0.0, 0.0, 1.0])


def link(name: str) -> LinkSpec:
    return random_link(_RNG, name)


def massless(name: str) -> LinkSpec:
    return LinkSpec(name, None)


def joint(name: str, parent: str, child: str, type: str = "revolute", **fields: object) -> JointSpec:
    X_PJ = fields.pop("X_PJ", np.eye(4))
    return JointSpec(name, type, parent, child, X_PJ, fields.pop("axis", Z), **fields)


def robot(links: list[LinkSpec], joints: list[JointSpec]) -> RobotSpec:
    return RobotSpec("robot", tuple(links), tuple(joints), "robot.urdf")
