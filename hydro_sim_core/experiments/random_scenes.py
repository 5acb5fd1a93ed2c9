"""Random scenes for reliability tests: bodies that drop, pile up, are grasped or meet swinging arms.

A scene depends only on a seed and its number, so that any scene can be run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import trimesh

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.experiments.random_parts import (
    USUAL,
    Array,
    Generator,
    Ranges,
    add_random_arm,
    log_uniform,
    random_contact,
    random_lengths,
)
from hydro_sim_core.simulation import World

SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "hull", "star", "dented")


@dataclass(frozen=True, eq=False)
class RandomScene:
    """A scene that is ready to run.

    Attributes:
        seed: Seed of the series.
        number: Number in the series.
        kind: One of ``Ranges.kinds``.
        world: World of the scene, with the bodies' initial velocities.
        grip_forces: (n,) forces to command one after the other, N per finger; empty without a gripper.
    """

    seed: int
    number: int
    kind: str
    world: World
    grip_forces: Array


def make_random_scene(seed: int, number: int, folder: Path, ranges: Ranges = USUAL) -> RandomScene:
    """Draw a scene.

    Args:
        seed: Seed of the series.
        number: Number in the series.
        folder: Folder for mesh files.
        ranges: Ranges to draw from.
    """
    rng = np.random.default_rng([seed, number])
    kind = ranges.kinds[number % len(ranges.kinds)]
    dt = float(log_uniform(rng, ranges.time_steps))
    solver = ranges.solvers[number % len(ranges.solvers)]
    scene = SceneBuilder(f"random {seed}/{number}", time_step=dt, solver=solver)
    size, height = _add_bodies(rng, ranges, kind, folder, scene)
    max_force = _add_gripper(rng, ranges, 1.05 * size, scene) if kind == "grasp" else 0.0
    if kind == "arm":
        add_random_arm(rng, ranges, size, 2.0 * height, scene)
    margin = float(rng.choice([0.0, 1e-4]))
    laws: dict[str, Any] = {"contact.defaults.margin": margin} if margin else {}
    if ranges.relaxation_times and (solver == "sap" or rng.random() < 0.2):
        laws["contact.damping"] = "linear"
    is_soft = ranges.soft_ground > 0.0 and rng.random() < ranges.soft_ground
    ground = random_contact(rng, ranges, is_soft)
    if kind != "grasp":
        scene.add_ground(**ground)
    world = World(scene.build().with_(laws))
    _throw(rng, ranges, world, 0.1 if kind == "grasp" else 1.0)
    forces = rng.uniform(0.0, max_force, 10) if kind == "grasp" else np.zeros(0)
    return RandomScene(seed, number, kind, world, forces)


def _add_bodies(
    rng: Generator, ranges: Ranges, kind: str, folder: Path, scene: SceneBuilder
) -> tuple[float, float]:
    """Add free bodies; return the radius of the last sphere around a body and the height of its top, m."""
    in_pile = int(rng.integers(2, 6))  # drawn for all kinds, so that later draws are the same for a seed
    num_bodies = in_pile if kind == "pile" else 1
    size = height = 0.0
    for i in range(num_bodies):
        size = float(log_uniform(rng, ranges.sizes))
        # The body fits into a sphere of this radius, so that nothing overlaps at the start.
        height += size + (0.0 if kind == "grasp" else float(rng.uniform(0.0, 0.3 / num_bodies)))
        name = f"body{i}"
        shapes = _random_shapes(rng, ranges, name, size, folder)
        mass = log_uniform(rng, ranges.masses)
        # Principal moments of a box within the sphere, which are always possible for a body.
        a, b, c = (0.3 + 0.5 * rng.random(3)) ** 2 * size**2
        moments = mass / 3.0 * np.array([b + c, a + c, a + b])
        xyz = (0.0, 0.0, 0.0) if kind == "grasp" else (*rng.uniform(-0.3, 0.3, 2) * size, height)
        rpy = rng.uniform(-np.pi, np.pi, 3)
        body = scene.add_body(name, mass, inertia=moments, xyz=xyz, rpy=rpy)
        for shape in shapes:
            body.add_shape(**shape)
        height += size
    return size, height


def _throw(rng: Generator, ranges: Ranges, world: World, share: float) -> None:
    v = world.v.copy()
    for i, name in enumerate(world.velocity_names):
        if "_base/" in name:
            v[i] = share * rng.uniform(-1.0, 1.0) * (ranges.spin if int(name[-1]) < 3 else ranges.speed)
        elif name.startswith("arm_"):
            v[i] = 0.1 * rng.uniform(-1.0, 1.0) * ranges.spin
    world.set_state(world.q, v)


def _random_shapes(
    rng: Generator, ranges: Ranges, name: str, radius: float, folder: Path
) -> list[dict[str, Any]]:
    """Draw the shapes of a body within a sphere of ``radius``, as arguments of a builder."""
    kind = SHAPES[rng.integers(len(SHAPES))]
    contact = random_contact(rng, ranges, is_compliant=kind != "dented")
    if kind == "dented":
        # A rigid mesh has no contact with rigid ground, so it gets a compliant core to rest on.
        shell = {"name": "shell", **_mesh(rng, kind, radius, folder / f"{name}.obj"), **contact}
        core = {"kind": "sphere", "name": "core", "radius": 0.9 * radius, **random_contact(rng, ranges)}
        return [shell, core]
    if kind in ("hull", "star"):
        path = folder / f"{name}.{'obj' if kind == 'hull' else 'vtk'}"
        return [{"name": kind, **_mesh(rng, kind, radius, path), **contact}]
    return [{"kind": kind, "name": kind, **random_lengths(rng, kind, radius), **contact}]


def _mesh(rng: Generator, kind: str, radius: float, path: Path) -> dict[str, Any]:
    """Write a mesh within a sphere of ``radius``: a hull of points, a star of tetrahedra or a dented surface."""
    shape: dict[str, Any] = {"kind": "mesh", "path": str(path)}
    if kind == "hull":
        points = rng.normal(size=(int(rng.integers(8, 40)), 3))
        points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
        trimesh.convex.convex_hull(points).export(path)
        return {**shape, "declare_convex": True}
    ball = trimesh.creation.icosphere(subdivisions=2, radius=radius)
    ball.vertices *= rng.uniform(0.75, 1.0, (len(ball.vertices), 1))
    if kind == "dented":
        ball.export(path)
        return shape
    tetrahedra = np.column_stack((np.full(len(ball.faces), len(ball.vertices)), ball.faces))
    meshio.write_points_cells(path, np.vstack((ball.vertices, np.zeros(3))), [("tetra", tetrahedra)])
    return shape


def _add_gripper(rng: Generator, ranges: Ranges, half_gap: float, scene: SceneBuilder) -> float:
    """Add two plates on rails along y that close at the origin; return the largest force of a finger, N."""
    gripper = scene.add_model("gripper")
    gripper.add_link("hand")
    size = (2.5 * half_gap, 0.02, 2.5 * half_gap)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        mass = log_uniform(rng, (0.01, 1.0))
        plate = gripper.add_link(f"{side}_plate", mass, inertia=3 * (1e-3 * mass,))
        plate.add_shape("box", name=side, size=size, **random_contact(rng, ranges))
        gripper.add_joint(
            side,
            "prismatic",
            "hand",
            f"{side}_plate",
            xyz=(0.0, -sign * (half_gap + 0.01), 0.0),
            axis=(0.0, sign, 0.0),
            lower=-1e4,
            upper=1e4,
            velocity=10.0,
            effort=1e4,
        )
    force = float(log_uniform(rng, (0.1, 1000.0)))
    scene.add_gripper("gripper", {"left": 1, "right": 1}, max_force=force, kp=1e4, kd=100.0)
    return force
