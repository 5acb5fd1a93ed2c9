"""Reliability of equivalent contact points: bodies dropped, pushed and tipped at random, every step checked.

Boxes, cylinders, capsules and balls on the ground, and boxes on a table and on each other, with time steps of 1 to 20
ms, friction of 0 to 1 and e_r given or from the patch, are pushed in every step. A step must converge, leave no corner
of a box or end of a capsule below the ground and no two boxes in each other, and change the momentum of each body by
the impulses of weight, push and reported contacts. The scene of any number can be run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.experiments.reliability import STEPS_A_SCENE, Case, ReliabilityReport
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY = 9.81
#: Depth (m) below the ground and imbalance of momentum (N s, per N s involved) that break a promise.
DEPTH_BOUND, MOMENTUM_BOUND = 1e-12, 1e-9
#: Size (m) of the table; it stands on the ground.
TABLE = np.array([0.6, 0.6, 0.1])
#: Sine of the angle below which two edges are parallel.
PARALLEL = 1e-6
KINDS = ("box", "cylinder", "capsule", "sphere", "pile")


@dataclass(frozen=True)
class Body:
    """A body of a scene.

    Attributes:
        name: Its name.
        mass: Mass, kg.
        ends: (N, 3) points that its size is known by, in its frame, m.
        radius: Radius about these points, m.
        corners: (N, 3) points of which one is its lowest, in its frame, with the radius about them, m.
    """

    name: str
    mass: float
    ends: Array
    radius: float
    corners: Array


def run_scenes(seed: int, steps: int, first: int = 0) -> Iterator[ReliabilityReport]:
    """Run scenes until they have some number of steps; yield the report, which grows, after each.

    Args:
        seed: Of the series.
        steps: Least number of steps.
        first: Number of the first scene.
    """
    report = ReliabilityReport()
    while report.steps < steps:
        run_scene(seed, first + report.scenes, report)
        yield report


def run_scene(seed: int, number: int, report: ReliabilityReport, steps: int = STEPS_A_SCENE) -> None:
    """Run so many steps of one scene of a series, and add them to a report."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    world, bodies = _make_scene(rng, kind)
    report.scenes += 1
    report.counts[kind] += 1
    pushes = rng.choice([0.0, 1.0, 10.0])
    for step in range(steps):
        loads = [_push(rng, body, pushes) for body in bodies]
        for body, load in zip(bodies, loads, strict=True):
            world.apply_wrench(body.name, load)
        before = _velocities(world)
        world.step()
        after = _velocities(world)
        at = Case(seed, number, step, 0.0, "")
        for row in zip(bodies, loads, before, after, strict=True):
            _check(world, *row, report, at)
        if kind == "pile":
            overlap = _deepest_overlap(world, bodies)
            _look(report, replace(at, value=overlap, detail="overlap of boxes"), DEPTH_BOUND)
        report.steps += 1
    diagnostics = world.diagnostics()
    for name in ("unconverged_steps", "cut_steps", "fast_steps"):
        report.counts[name] += int(diagnostics[name])
    if unconverged := int(diagnostics["unconverged_steps"]):
        _look(report, Case(seed, number, steps, float(unconverged), "unconverged steps"), 0.0)


def _make_scene(rng: np.random.Generator, kind: str) -> tuple[World, list[Body]]:
    """World and bodies of a scene, thrown."""
    scene = SceneBuilder(
        kind,
        time_step=float(rng.choice([0.001, 0.002, 0.005, 0.01, 0.02])),
        gravity=(0.0, 0.0, -GRAVITY),
        contact={"compliance": "rigid", "friction": float(rng.choice([0.0, 0.2, 0.5, 1.0]))},
    )
    scene.add_ground()
    ellipsoid = (
        None if rng.random() < 0.3 else (1.0, float(rng.choice([0.5, 1.0])), float(rng.uniform(0.005, 0.1)))
    )
    bodies, starts, base = [], [], 0.0
    others = ["ground"]
    if kind == "pile":
        scene.add_static("table", "box", size=tuple(TABLE.tolist()), xyz=(0.0, 0.0, 0.5 * TABLE[2]))
        others.append("table")
        base = float(TABLE[2])
    for i in range(int(rng.integers(1, 4)) if kind == "pile" else 1):
        body, lengths = _random_body(rng, f"body{i}", "box" if kind == "pile" else kind)
        size = float(np.linalg.norm(body.ends, axis=1).max()) + body.radius
        X = np.eye(4)
        X[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        X[:3, 3] = [*rng.uniform(-0.1, 0.1, 2), base + 1.05 * size + rng.uniform(0.0, 0.1)]
        base += 2.2 * size + 0.1
        inertia = body.mass * size**2 * rng.uniform(0.3, 0.4, 3)
        link = scene.add_body(
            body.name, body.mass, inertia=tuple(inertia.tolist()), xyz=tuple(X[:3, 3].tolist())
        )
        link.add_shape("box" if kind == "pile" else kind, **lengths)
        for other in others:
            scene.set_contact_law(body.name, other, "equivalent_point", friction_ellipsoid=ellipsoid)
        others.append(body.name)
        bodies.append(body)
        starts.append(X)
    world = World(scene.build())
    if kind == "cylinder":
        (prism,) = (one for one in world.built.colliders if one.link == bodies[0].name)
        bodies[0] = replace(
            bodies[0], corners=prism.geometry.vertices @ prism.X_BG[:3, :3].T + prism.X_BG[:3, 3]
        )
    for body, X in zip(bodies, starts, strict=True):
        world.place(body.name, X, np.concatenate([rng.normal(size=3) * 3.0, rng.normal(size=3)]))
    return world, bodies


def _random_body(rng: np.random.Generator, name: str, shape: str) -> tuple[Body, dict[str, Any]]:
    mass = float(10.0 ** rng.uniform(-2.0, 2.0))
    if shape == "box":
        size = rng.uniform(0.02, 0.3, 3)
        corners = np.array(list(product(*((-0.5 * s, 0.5 * s) for s in size))))
        return Body(name, mass, corners, 0.0, corners), {"size": tuple(size.tolist())}
    radius, length = rng.uniform(0.02, 0.15, 2).tolist()
    half = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
    if shape == "sphere":
        return Body(name, mass, half[:1] * 0.0, radius, half[:1] * 0.0), {"radius": radius}
    if shape == "capsule":
        return Body(name, mass, half, radius, half), {"radius": radius, "length": length}
    # The simulator's prism, whose number of edges depends on the size: its corners are known with the world.
    rim = half + np.array([radius, 0.0, 0.0])
    return Body(name, mass, rim, 0.0, rim), {"radius": radius, "length": length}


def _push(rng: np.random.Generator, body: Body, size: float) -> Array:
    """A random wrench (6,) of the order of a body's weight."""
    lever = float(np.abs(body.ends).max()) + body.radius
    push = rng.normal(size=6) * size * body.mass
    push[:3] *= lever
    return np.asarray(push)


def _velocities(world: World) -> Array:
    """Velocities (bodies, 3) of the origins, which are the centres of mass, m/s, in the order of the bodies."""
    return np.array(world.v).reshape(-1, 6)[:, 3:]


def _check(
    world: World, body: Body, load: Array, before: Array, after: Array, report: ReliabilityReport, at: Case
) -> None:
    X_WB = world.frame_pose(body.name)
    lowest = float((body.corners @ X_WB[2, :3]).min() + X_WB[2, 3] - body.radius)
    _look(report, replace(at, value=max(-lowest, 0.0), detail="depth in the ground"), DEPTH_BOUND)
    dt = world.time_step
    contact = np.zeros(3)
    involved = body.mass * (np.linalg.norm(before) + GRAVITY * dt)
    for patch in world.contacts:
        sign = {patch.name_b: 1.0, patch.name_a: -1.0}.get(body.name, 0.0)
        contact += sign * patch.force_on_b
        involved += abs(sign) * dt * float(np.linalg.norm(patch.force_on_b))
    impulse = dt * (contact + load[3:] + body.mass * np.array([0.0, 0.0, -GRAVITY]))
    off = float(np.linalg.norm(body.mass * (after - before) - impulse) / involved)
    _look(report, replace(at, value=off, detail="imbalance of momentum"), MOMENTUM_BOUND)


def _deepest_overlap(world: World, bodies: list[Body]) -> float:
    """How far two of the boxes and the table are in each other, m: along none of their 15 axes is there less."""
    boxes = [(np.eye(3), np.array([0.0, 0.0, 0.5 * TABLE[2]]), 0.5 * TABLE)]
    for body in bodies:
        X_WB = world.frame_pose(body.name)
        boxes.append((X_WB[:3, :3], X_WB[:3, 3], body.ends.max(axis=0)))
    deepest = 0.0
    for (R_WA, p_WA, half_a), (R_WB, p_WB, half_b) in combinations(boxes, 2):
        crossed = np.cross(R_WA.T[:, None], R_WB.T[None]).reshape(9, 3)
        lengths = np.linalg.norm(crossed, axis=1)
        crossed = crossed[lengths > PARALLEL] / lengths[lengths > PARALLEL, None]
        axes = np.vstack([R_WA.T, R_WB.T, crossed])
        apart = np.abs(axes @ (p_WB - p_WA)) - np.abs(axes @ R_WA) @ half_a - np.abs(axes @ R_WB) @ half_b
        deepest = max(deepest, -float(apart.max()))
    return deepest


def _look(report: ReliabilityReport, case: Case, bound: float) -> None:
    """Keep a case that is among the worst, and one beyond the bound as a failure."""
    report.note(case.detail, case)
    if not case.value <= bound:
        report.failures.append(case)
