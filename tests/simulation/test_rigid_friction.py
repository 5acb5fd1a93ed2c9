"""Friction between rigid bodies holds what it should wherever they touch: on faces, edges, corners and crossings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

G, MU = 9.81, 0.5
CORNER = (math.atan(math.sqrt(0.5)), math.pi / 4, 0.0)
ON_EDGE = (math.pi / 4, 0.0, 0.0)


class Case(NamedTuple):
    """A shape that stands on something, and how both are turned."""

    kind: str
    rpy: tuple[float, float, float]
    ground: str


def lowest_height(case: Case) -> float:
    """Height of the origin over the lowest point of the shape, m."""
    turn = Rotation.from_euler("xyz", case.rpy)
    ends = np.array([-0.05, 0.05])
    if case.kind == "box":
        points = np.array(np.meshgrid(ends, ends, ends)).reshape(3, -1).T
    else:
        angle = np.linspace(0.0, 2.0 * math.pi, 721)
        rim = 0.05 * np.column_stack([np.cos(angle), np.sin(angle)])
        points = np.vstack([np.column_stack([rim, np.full(len(rim), end)]) for end in ends])
    return -float(turn.apply(points)[:, 2].min())


def way_when_pushed(case: Case, direction: tuple[float, float], share: float) -> float:
    """How far a body of 1 kg that does not turn moves in 0.2 s if it is pushed by a share of its friction, m."""
    scene = hs.SceneBuilder("pushed", contact={"compliance": "rigid", "friction": MU})
    if case.ground == "half_space":
        scene.add_ground()
    elif case.ground == "box":
        scene.add_static("table", "box", size=(1.0, 1.0, 0.2), xyz=(0, 0, -0.1))
    else:
        top = -0.1 * math.sqrt(2.0)
        scene.add_static("ridge", "box", size=(0.2, 0.4, 0.2), xyz=(0, 0, top), rpy=(0, math.pi / 4, 0))
    # Nothing turns so heavy a body.
    body = scene.add_body(
        "body", 1.0, inertia=(1e6, 1e6, 1e6), xyz=(0, 0, lowest_height(case) + 5e-5), rpy=case.rpy
    )
    lengths = {"box": {"size": (0.1, 0.1, 0.1)}, "cylinder": {"radius": 0.05, "length": 0.1}}
    body.add_shape(case.kind, **lengths[case.kind])
    world = hs.World(scene.build())
    world.step(200)
    start: NDArray[np.float64] = world.frame_pose("body")[:2, 3].copy()
    force = share * MU * G * np.array(direction) / np.linalg.norm(direction)
    world.apply_wrench("body", (0, 0, 0, *force, 0))
    world.step(200)
    return float(np.linalg.norm(world.frame_pose("body")[:2, 3] - start))


@pytest.mark.heavy(4)
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, 1.0), (-0.6, 0.8)])
@pytest.mark.parametrize(
    "case",
    [
        Case("box", (0.0, 0.0, 0.0), "half_space"),
        Case("box", ON_EDGE, "half_space"),
        Case("box", ON_EDGE, "box"),
        Case("box", CORNER, "half_space"),
        Case("box", CORNER, "box"),
        Case("box", (0.3, 0.2, 0.0), "half_space"),
        Case("cylinder", (0.5, 0.0, 0.0), "box"),
        Case("cylinder", (math.pi / 2, 0.0, 0.0), "box"),
        Case("box", ON_EDGE, "ridge"),
        Case("cylinder", (0.0, math.pi / 2, 0.0), "ridge"),
    ],
)
def test_friction_is_that_of_the_weight(case: Case, direction: tuple[float, float]) -> None:
    """Held at 98 %, not at 102 %: were each face to rub by itself, an edge would hold 1.4 times as much."""
    assert way_when_pushed(case, direction, 0.98) < 2e-5
    slid = way_when_pushed(case, direction, 1.02)
    assert slid == pytest.approx(0.5 * 0.02 * MU * G * 0.2**2, rel=0.05)
