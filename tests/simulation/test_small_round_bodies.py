"""Small round bodies are round by default, and a hint that makes them crude is told of."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

import hydro_sim_core as hs


def scene_of(shape: str, radius: float, hint: float | None = None, **contact: object) -> hs.SceneBuilder:
    scene = hs.SceneBuilder(
        "round", time_step=1e-3, contact={"compliance": "rigid", "friction": 0.5, **contact}
    )
    scene.add_ground()
    body = scene.add_body("body", 1e3 * radius**3, xyz=(0, 0, radius), rpy=(math.pi / 2, 0, 0))
    size = {"radius": radius} if shape == "sphere" else {"radius": radius, "length": 2 * radius}
    body.add_shape(shape, **size, **({} if hint is None else {"resolution_hint": hint}))
    return scene


def edges_around(world: hs.World) -> int:
    """Vertices on the circle of a cylinder's end, or of a ball's equator."""
    collider = next(c for c in world._built.colliders if c.link == "body")
    points = collider.geometry.body_points
    z = points[:, 2].max() if collider.collision.shape.kind == "cylinder" else 0.0
    radii, radius = np.hypot(points[:, 0], points[:, 1]), points[:, 0].max()
    rim = points[(np.abs(points[:, 2] - z) < 1e-6 * radius) & (radii > 0.9 * radius)]
    return len(np.unique((rim[:, :2] / radius).round(6), axis=0))


@pytest.mark.parametrize("compliance", ["rigid", "compliant"])
@pytest.mark.parametrize("shape", ["cylinder", "sphere"])
@pytest.mark.parametrize("radius", [1e-3, 1e-2, 0.05])
def test_circles_have_sixteen_edges_or_a_few_more(shape: str, radius: float, compliance: str) -> None:
    """A cylinder of 1 mm was a triangular prism, a ball an octahedron."""
    edges = edges_around(hs.World(scene_of(shape, radius, compliance=compliance).build()))
    # A margin is meshed with the body, which then has a larger circle.
    assert edges == 16 or (16 < edges <= 32 and compliance == "compliant" and radius < 2e-3)


def test_large_bodies_keep_the_default() -> None:
    assert edges_around(hs.World(scene_of("cylinder", 0.2).build())) == math.ceil(2 * math.pi * 0.2 / 0.02)


@pytest.mark.parametrize("of_scene", [True, False])
def test_a_given_hint_is_kept_and_told_of(of_scene: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    scene = scene_of("cylinder", 1e-3, resolution_hint=0.02) if of_scene else scene_of("cylinder", 1e-3, 0.02)
    assert edges_around(hs.World(scene.build())) == 3
    told = [record.getMessage() for record in caplog.records if "fewer than 8 edges" in record.getMessage()]
    assert len(told) == 1
    assert "body" in told[0]


@pytest.mark.parametrize("hint", [None, 2e-3])
def test_nothing_is_told_of_the_rest(hint: float | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    hs.World(scene_of("cylinder", 1e-2, hint).build())
    assert "edges" not in caplog.text


def test_a_cylinder_of_a_millimetre_rolls() -> None:
    """Down a slope of 0.2 rad; a sixteen-sided prism loses speed at its edges, a triangular one stood still."""
    scene = hs.SceneBuilder(
        "slope",
        time_step=1e-3,
        contact={"compliance": "rigid", "friction": 0.5},
        gravity=(9.81 * math.sin(0.2), 0, -9.81 * math.cos(0.2)),
    )
    scene.add_ground()
    body = scene.add_body("body", 1e-5, xyz=(0, 0, 1e-3), rpy=(math.pi / 2, 0, 0))
    body.add_shape("cylinder", radius=1e-3, length=2e-3)
    world = hs.World(scene.build())
    world.step(200)
    assert world.frame_pose("body")[0, 3] > 5e-3
    assert world.frame_pose("body")[2, 3] > 0.97e-3
