"""Scenes at random, for trials of reliability: bodies that drop, pile up, are grasped or meet arms that swing.

A scene is made from a seed and its number alone, so that any one of them can be run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import meshio
import numpy as np
import trimesh

from hydro_sim_core.description import LoadedScene, SceneSpec
from hydro_sim_core.description.scene import (
    ActuatorSpec,
    ContactDefaults,
    ContactSettings,
    GripperSpec,
    ModelSpec,
)
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.spec import (
    CollisionSpec,
    InertialSpec,
    JointSpec,
    LimitSpec,
    LinkSpec,
    RobotSpec,
    ShapeSpec,
)
from hydro_sim_core.experiments.random_parts import (
    USUAL,
    Array,
    Generator,
    Ranges,
    log_uniform,
    pose_spec,
    primitive,
    random_arm,
    random_proximity,
)
from hydro_sim_core.simulation import World

SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "hull", "star", "dented")


@dataclass(frozen=True, eq=False)
class RandomScene:
    """A scene that is ready to run.

    Attributes:
        seed: Of the series.
        number: In the series.
        kind: One of ``Ranges.kinds``.
        world: The scene, with the bodies' first velocities.
        grip_forces: (n,) forces to be commanded one after the other, N a finger; empty without a gripper.
    """

    seed: int
    number: int
    kind: str
    world: World
    grip_forces: Array


def make_random_scene(seed: int, number: int, folder: Path, ranges: Ranges = USUAL) -> RandomScene:
    """Draw a scene.

    Args:
        seed: Of the series.
        number: In the series.
        folder: Where to write mesh files.
        ranges: What to draw it from.
    """
    rng = np.random.default_rng([seed, number])
    kind = ranges.kinds[number % len(ranges.kinds)]
    dt = float(log_uniform(rng, ranges.time_steps))
    num_bodies = {"drop": 1, "pile": int(rng.integers(2, 6)), "grasp": 1, "arm": 1}[kind]
    robots, models, height = [], [], 0.0
    for i in range(num_bodies):
        size = float(log_uniform(rng, ranges.sizes))
        # The body fits into a sphere of this radius, so that nothing overlaps at the start.
        height += size + (0.0 if kind == "grasp" else float(rng.uniform(0.0, 0.3 / num_bodies)))
        name = f"body{i}"
        robots.append(_free_body(rng, ranges, name, size, folder))
        xyz = (0.0, 0.0, 0.0) if kind == "grasp" else (*rng.uniform(-0.3, 0.3, 2) * size, height)
        rpy = rng.uniform(-np.pi, np.pi, 3)
        models.append(ModelSpec(name=name, urdf="none", base="floating", pose=pose_spec(xyz, rpy)))
        height += size
    grippers: tuple[GripperSpec, ...] = ()
    if kind == "grasp":
        robots.append(_gripper(rng, ranges, 1.05 * size))
        models.append(ModelSpec(name="gripper", urdf="none"))
        force = float(log_uniform(rng, (0.1, 1000.0)))
        grippers = (
            GripperSpec(name="gripper", joints={"left": 1, "right": 1}, max_force=force, kp=1e4, kd=100.0),
        )
    actuators: tuple[ActuatorSpec, ...] = ()
    if kind == "arm":
        arm, X_WR, actuators = random_arm(rng, ranges, size, 2.0 * height)
        robots.append(arm)
        models.append(ModelSpec(name="arm", urdf="none", pose=pose_spec(X_WR, np.zeros(3))))
    defaults = ContactDefaults(margin=float(rng.choice([0.0, 1e-4])))
    solver = ranges.solvers[number % len(ranges.solvers)]
    is_linear = bool(ranges.relaxation_times) and (solver == "sap" or rng.random() < 0.2)
    spec = SceneSpec(
        name=f"random {seed}/{number}",
        time_step=dt,
        models=tuple(models),
        contact=ContactSettings(defaults=defaults, damping="linear" if is_linear else None),
        solver=SolverSettings(model=solver),
        grippers=grippers,
        actuators=actuators,
    )
    is_soft = ranges.soft_ground > 0.0 and rng.random() < ranges.soft_ground
    ground = CollisionSpec(
        "ground", ShapeSpec("half_space"), np.eye(4), random_proximity(rng, ranges, is_soft)
    )
    environment = () if kind == "grasp" else (ground,)
    world = World(
        LoadedScene(spec, tuple(robots), ({},) * len(robots), environment, source=folder / "random")
    )
    _throw(rng, ranges, world, 0.1 if kind == "grasp" else 1.0)
    forces = rng.uniform(0.0, grippers[0].max_force, 10) if grippers else np.zeros(0)
    return RandomScene(seed, number, kind, world, forces)


def _throw(rng: Generator, ranges: Ranges, world: World, share: float) -> None:
    v = world.v
    for i, name in enumerate(world.velocity_names):
        if "_base/" in name:
            v[i] = share * rng.uniform(-1.0, 1.0) * (ranges.spin if int(name[-1]) < 3 else ranges.speed)
        elif name.startswith("arm_"):
            v[i] = 0.1 * rng.uniform(-1.0, 1.0) * ranges.spin
    world.set_state(world.q, v)


def _free_body(rng: Generator, ranges: Ranges, name: str, radius: float, folder: Path) -> RobotSpec:
    kind = SHAPES[rng.integers(len(SHAPES))]
    proximity = random_proximity(rng, ranges, is_compliant=kind != "dented")
    if kind == "dented":
        # Only the ground could hold a rigid body, and it is rigid: give the mesh a compliant core to rest on.
        shell = CollisionSpec(
            "shell", _mesh_shape(rng, kind, radius, folder / f"{name}.obj"), np.eye(4), proximity
        )
        core = CollisionSpec(
            "core", ShapeSpec("sphere", (0.9 * radius,)), np.eye(4), random_proximity(rng, ranges)
        )
        collisions: tuple[CollisionSpec, ...] = (shell, core)
    elif kind in ("hull", "star"):
        path = folder / f"{name}.{'obj' if kind == 'hull' else 'vtk'}"
        collisions = (CollisionSpec(kind, _mesh_shape(rng, kind, radius, path), np.eye(4), proximity),)
    else:
        collisions = (CollisionSpec(kind, primitive(rng, kind, radius), np.eye(4), proximity),)
    mass = log_uniform(rng, ranges.masses)
    # Principal moments of some box within the sphere: any such triple belongs to a real body.
    a, b, c = (0.3 + 0.5 * rng.random(3)) ** 2 * radius**2
    inertia = mass / 3.0 * np.diag([b + c, a + c, a + b])
    link = LinkSpec(name, InertialSpec(mass, np.zeros(3), inertia), collisions)
    return RobotSpec(name, (link,), (), source=name)


def _mesh_shape(rng: Generator, kind: str, radius: float, path: Path) -> ShapeSpec:
    """A mesh within a sphere of ``radius``: a hull of points, a star of tetrahedra or a dented surface."""
    if kind == "hull":
        points = rng.normal(size=(int(rng.integers(8, 40)), 3))
        points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
        trimesh.convex.convex_hull(points).export(path)
        return ShapeSpec("mesh", path=path, declare_convex=True)
    ball = trimesh.creation.icosphere(subdivisions=2, radius=radius)
    ball.vertices *= rng.uniform(0.75, 1.0, (len(ball.vertices), 1))
    if kind == "dented":
        ball.export(path)
        return ShapeSpec("mesh", path=path)
    tetrahedra = np.column_stack((np.full(len(ball.faces), len(ball.vertices)), ball.faces))
    meshio.write_points_cells(path, np.vstack((ball.vertices, np.zeros(3))), [("tetra", tetrahedra)])
    return ShapeSpec("mesh", path=path)


def _gripper(rng: Generator, ranges: Ranges, half_gap: float) -> RobotSpec:
    """Two plates on rails along y that close upon the origin."""
    hand, links, joints = LinkSpec("hand", None), [], []
    size = (2.5 * half_gap, 0.02, 2.5 * half_gap)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        mass = log_uniform(rng, (0.01, 1.0))
        inertial = InertialSpec(mass, np.zeros(3), 1e-3 * mass * np.eye(3))
        plate = CollisionSpec(side, ShapeSpec("box", size), np.eye(4), random_proximity(rng, ranges))
        links.append(LinkSpec(f"{side}_plate", inertial, (plate,)))
        X_PJ = np.eye(4)
        X_PJ[1, 3] = -sign * (half_gap + 0.01)
        joints.append(
            JointSpec(
                side,
                "prismatic",
                "hand",
                f"{side}_plate",
                X_PJ,
                np.array([0.0, sign, 0.0]),
                LimitSpec(-1e4, 1e4, velocity=10.0, effort=1e4),
            )
        )
    return RobotSpec("gripper", (hand, *links), tuple(joints), source="gripper")
