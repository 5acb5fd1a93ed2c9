"""Rigid bodies with sharp tips, edges and narrow valleys on each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

#: Energy that two bodies in free fall may gain by round-off, as a share of what they start with.
ROUND_OFF = 1e-9


def scene_of(time_step: float = 1e-3, **settings) -> hs.SceneBuilder:
    contact = {"compliance": "rigid", "friction": 0.5, **settings.pop("contact", {})}
    return hs.SceneBuilder("spikes", time_step=time_step, contact=contact, **settings)


def spiky(folder: Path, seed: int, noise: float = 0.15) -> str:
    """A star-shaped body whose radius is noisy: sharp tips and narrow valleys."""
    mesh = trimesh.creation.uv_sphere(radius=0.05, count=[12, 24])
    mesh.merge_vertices()
    mesh.vertices *= 1.0 + np.random.default_rng(seed).uniform(-noise, noise, (len(mesh.vertices), 1))
    assert mesh.is_watertight
    path = folder / f"spiky{seed}.obj"
    mesh.export(path)
    return str(path)


@pytest.mark.heavy(6)
@pytest.mark.parametrize(("seed", "time_step"), [(seed, step) for step in (1e-2, 1e-3) for seed in range(3)])
def test_spiky_bodies_that_fall_on_each_other_gain_no_energy(
    tmp_path: Path, seed: int, time_step: float
) -> None:
    scene = scene_of(time_step, contact={"dissipation": 0.0})
    scene.add_ground()
    for i, x in enumerate(([0.0, 0.0, 0.08], [0.01, 0.0, 0.21])):
        body = scene.add_body(f"body{i}", 1.0, inertia=3 * (0.001,), xyz=x)
        body.add_shape("mesh", path=spiky(tmp_path, 2 * seed + i))
    world = hs.World(scene.build())
    start = world.energies().total
    for _ in range(round(0.2 / time_step)):
        world.step()
        assert world.energies().total <= start * (1.0 + ROUND_OFF)


def wedge(folder: Path, angle: float) -> str:
    """A prism whose lower edge, along y, has some angle."""
    half = 0.06 * np.tan(0.5 * angle)
    points = [[x, y, 0.03] for x in (-half, half) for y in (-0.04, 0.04)] + [
        [0, -0.04, -0.03],
        [0, 0.04, -0.03],
    ]
    path = folder / f"wedge{angle}.obj"
    trimesh.Trimesh(points, hs.geometry.convex_mesh(points).elements).export(path)
    return str(path)


@pytest.mark.parametrize(("turn", "lean"), [(0.2, 0.0), (0.2, 0.3), (0.2, 0.6), (1.2, 0.0)])
def test_sharp_edges_that_cross_gain_no_energy(tmp_path: Path, turn: float, lean: float) -> None:
    """Of 0.4 and 0.6 rad; a face falls along the normals of the sides of the other."""
    scene = scene_of(contact={"dissipation": 0.0, "friction": 0.0}, gravity=(0, 0, 0))
    lower = scene.add_body("lower", 1.0, inertia=3 * (0.001,), rpy=(np.pi, 0, 0))
    lower.add_shape("mesh", path=wedge(tmp_path, 0.4))
    upper = scene.add_body("upper", 1.0, inertia=3 * (0.001,), xyz=(0.002, 0.001, 0.0615))
    upper.add_shape("mesh", path=wedge(tmp_path, 0.6))
    world = hs.World(scene.build())
    X = np.eye(4)
    X[:3, :3] = Rotation.from_euler("zyx", [turn, lean, 0.1]).as_matrix()
    X[:3, 3] = [0.0, 0.0, 0.031] + X[:3, :3] @ [0.0, 0.0, 0.03]
    world.place("upper", X, [0, 0, 0, 0, 0, -0.5])
    start = world.energies().total
    touched = False
    for _ in range(100):
        world.step()
        touched = touched or bool(world.contacts)
        assert world.energies().total <= start * (1.0 + 1e-6)
    assert touched


@pytest.mark.parametrize("lean", [0.0, 0.6])
@pytest.mark.parametrize("turn", [0.2, 1.2])
def test_the_force_on_crossing_sharp_edges_is_the_slope_of_the_energy(
    tmp_path: Path, turn: float, lean: float
) -> None:
    """With all that presses, also where a face of one falls away from the other."""
    geometry = hs.geometry
    points = [trimesh.load(wedge(tmp_path, angle)).vertices for angle in (0.4, 0.6)]
    skin = replace(geometry.convex_mesh(points[0], modulus=1e11, margin=1e-4), is_skin=True)
    other = geometry.convex_mesh(points[1])
    X_WA, X_WB = np.eye(4), np.eye(4)
    X_WA[:3, :3] = np.diag([1.0, -1.0, -1.0])
    X_WB[:3, :3] = Rotation.from_euler("zyx", [turn, lean, 0.1]).as_matrix()
    X_WB[:3, 3] = [0.0, 0.0, 0.0298] + X_WB[:3, :3] @ [0.0, 0.0, 0.03]
    step = 1e-7

    def energy(shift: np.ndarray) -> float:
        moved = X_WB.copy()
        moved[:3, 3] += shift
        return hs.contact.compute_patch(skin, X_WA, other, moved).energy

    patch = hs.contact.compute_patch(skin, X_WA, other, X_WB)
    slope = [(energy(-step * axis) - energy(step * axis)) / (2.0 * step) for axis in np.eye(3)]
    size = np.linalg.norm(slope)
    assert size > 0.0
    np.testing.assert_allclose(patch.force_on_b, slope, rtol=0, atol=1e-4 * size)
