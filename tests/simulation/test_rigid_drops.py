"""Rigid bodies that land awkwardly gain no energy: thin ones, and those that are caught in a groove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs

Points = Sequence[tuple[float, float]]
Triangles = Sequence[tuple[int, int, int]]
#: Cross-section (x, z) of an L, m, and its triangles.
L_POINTS: Points = (
    (-0.035, -0.035),
    (0.065, -0.035),
    (0.065, -0.005),
    (-0.005, -0.005),
    (-0.005, 0.065),
    (-0.035, 0.065),
)
L_TRIANGLES: Triangles = ((0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5))
BOXES = {"box": (0.1, 0.06, 0.03), "sheet": (0.1, 0.1, 0.0005), "needle": (0.2, 0.004, 0.002)}


def write_prism(path: Path, points: Points, triangles: Triangles, length: float) -> str:
    """Write a prism of a cross-section along y, m."""
    n = len(points)
    vertices = [(x, y, z) for y in (-0.5 * length, 0.5 * length) for x, z in points]
    faces: list[tuple[int, ...]] = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, n + j), (i, n + j, n + i)]
    faces += [triangle[::-1] for triangle in triangles]
    faces += [tuple(n + i for i in triangle) for triangle in triangles]
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if mesh.volume < 0.0:
        mesh.invert()
    mesh.export(path)
    return str(path)


def groove(path: Path) -> str:
    """Write a V groove along y whose sides stand at 50 degrees to the vertical."""
    h, base = 0.1, -0.05
    t = h * math.tan(math.radians(50))
    points = [
        (-t - 0.05, h),
        (-t - 0.05, base),
        (0, base),
        (t + 0.05, base),
        (t + 0.05, h),
        (t, h),
        (0, 0),
        (-t, h),
    ]
    return write_prism(path, points, [(0, 1, 7), (7, 1, 6), (1, 2, 6), (2, 3, 6), (6, 3, 5), (5, 3, 4)], 0.6)


@pytest.mark.heavy(2)
@pytest.mark.parametrize(
    ("shape", "ground", "seed", "time_step"),
    [
        ("box", "groove", 1, 1e-2),
        ("L", "groove", 0, 1e-2),
        ("L", "groove", 0, 1e-3),
        ("sheet", "half_space", 0, 1e-2),
        ("sheet", "half_space", 0, 1e-3),
        ("needle", "groove", 0, 1e-2),
        ("needle", "groove", 0, 1e-3),
    ],
)
def test_drops_gain_no_energy(shape: str, ground: str, seed: int, time_step: float, tmp_path: Path) -> None:
    """Without friction and dissipation. At 10 ms they had up to 11 times their energy; a needle left with 1.7 times."""
    scene = hs.SceneBuilder(
        "drop", time_step=time_step, contact={"compliance": "rigid", "friction": 0.0, "dissipation": 0.0}
    )
    if ground == "groove":
        scene.add_static("ground", "mesh", path=groove(tmp_path / "groove.obj"))
    else:
        scene.add_ground()
    angles = np.random.default_rng(seed).uniform(-3, 3, 3)
    body = scene.add_body("body", 0.5, xyz=(0, 0, 0.2), rpy=tuple(angles))
    if shape == "L":
        body.add_shape("mesh", path=write_prism(tmp_path / "L.obj", L_POINTS, L_TRIANGLES, 0.05))
    else:
        body.add_shape("box", size=BOXES[shape])
    world = hs.World(scene.build())
    start = world.energies().total
    for _ in range(round(0.8 / time_step)):
        world.step()
        assert world.energies().total < start * (1 + 1e-6)
    assert world.diagnostics()["unconverged_steps"] == 0
