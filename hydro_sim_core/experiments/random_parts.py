"""What random scenes are put together from: ranges, properties, shapes and arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.scene import ActuatorSpec
from hydro_sim_core.description.scene_fields import PoseSpec
from hydro_sim_core.description.spec import (
    CollisionSpec,
    InertialSpec,
    JointSpec,
    LimitSpec,
    LinkSpec,
    MimicSpec,
    ProximitySpec,
    RobotSpec,
    ShapeSpec,
)

Generator = np.random.Generator
Array = NDArray[np.float64]
Solver = Literal["lagged", "similar", "sap", "tamsi"]

#: Joints of an arm; most are revolute, as most are.
_JOINTS = ("revolute", "revolute", "continuous", "prismatic", "planar", "fixed")
_SCALAR = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Ranges:
    """What scenes are drawn from.

    Attributes:
        kinds: Of scenes, in turn: a body is dropped on the ground (``drop``), several are (``pile``), one is grasped
            (``grasp``) or meets an arm (``arm``).
        solvers: Models of ``solver``.
        masses: kg; this and the next three are drawn evenly on a logarithmic scale.
        moduli: Pa.
        time_steps: s.
        sizes: Radius of a sphere around a body, m.
        frictions: Coefficient; a fifth of the bodies has none.
        dissipations: Those of Hunt and Crossley, s/m.
        relaxation_times: Those of linear damping, s; with none it is not drawn.
        soft_ground: Share of scenes with compliant ground.
        speed: Largest at the start, m/s.
        spin: Largest at the start about each axis, rad/s.
    """

    kinds: tuple[str, ...]
    solvers: tuple[Solver, ...]
    masses: tuple[float, float]
    moduli: tuple[float, float]
    time_steps: tuple[float, float]
    sizes: tuple[float, float]
    frictions: tuple[float, float]
    dissipations: tuple[float, ...]
    relaxation_times: tuple[float, ...]
    soft_ground: float
    speed: float
    spin: float


#: What people simulate.
USUAL = Ranges(
    kinds=("drop", "pile", "grasp"),
    solvers=("lagged",),
    masses=(1e-3, 100.0),
    moduli=(1e4, 1e9),
    time_steps=(1e-4, 2e-2),
    sizes=(0.02, 0.15),
    frictions=(0.05, 1.0),
    dissipations=(0.0, 1.0, 50.0),
    relaxation_times=(),
    soft_ground=0.0,
    speed=5.0,
    spin=20.0,
)
#: What must not break, however little sense it makes. Five kinds for four solvers: in turn every kind meets each.
WIDE = Ranges(
    kinds=("drop", "pile", "grasp", "arm", "arm"),
    solvers=("lagged", "similar", "sap", "tamsi"),
    masses=(1e-4, 1e4),
    moduli=(1e3, 1e11),
    time_steps=(1e-5, 5e-2),
    sizes=(3e-3, 0.5),
    frictions=(0.01, 10.0),
    dissipations=(0.0, 1.0, 50.0, 1000.0),
    relaxation_times=(0.0, 1e-3, 0.1),
    soft_ground=0.5,
    speed=30.0,
    spin=200.0,
)


def log_uniform(rng: Generator, bounds: tuple[float, float]) -> float:
    """A number, evenly on a logarithmic scale."""
    return float(np.exp(rng.uniform(*np.log(bounds))))


def pose_spec(xyz: tuple[float, ...] | Array, rpy: Array) -> PoseSpec:
    """A pose as a scene file has it."""
    x, y, z = (float(value) for value in xyz)
    roll, pitch, yaw = (float(value) for value in rpy)
    return PoseSpec(xyz=(x, y, z), rpy=(roll, pitch, yaw))


def random_proximity(rng: Generator, ranges: Ranges, is_compliant: bool = True) -> ProximitySpec:
    """Contact properties."""
    friction = float(rng.choice([0.0, rng.uniform(*ranges.frictions)], p=[0.2, 0.8]))
    return ProximitySpec(
        compliance="compliant" if is_compliant else "rigid",
        modulus=log_uniform(rng, ranges.moduli) if is_compliant else None,
        resolution_hint=0.02,
        dissipation=float(rng.choice(ranges.dissipations)),
        relaxation_time=float(rng.choice(ranges.relaxation_times)) if ranges.relaxation_times else None,
        mu_static=friction,
        mu_dynamic=friction,
    )


def primitive(rng: Generator, kind: str, radius: float) -> ShapeSpec:
    """A shape within a sphere of ``radius``."""
    x, y, z = rng.uniform(0.2, 1.0, 3)
    if kind == "box":
        half = radius * np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return ShapeSpec("box", tuple(2.0 * half))
    if kind == "sphere":
        return ShapeSpec("sphere", (radius,))
    if kind == "cylinder":
        norm = np.hypot(x, z)
        return ShapeSpec("cylinder", (radius * x / norm, 2.0 * radius * z / norm))
    if kind == "capsule":
        return ShapeSpec("capsule", (radius * x / (x + z), 2.0 * radius * z / (x + z)))
    return ShapeSpec("ellipsoid", (radius * x, radius * y, radius * z))


def random_arm(
    rng: Generator, ranges: Ranges, radius: float, height: float
) -> tuple[RobotSpec, Array, tuple[ActuatorSpec, ...]]:
    """An arm that hangs sideways over the ground: two to seven joints of all types, some of them driven.

    Links do not overlap when all joints are at zero; later they may.

    Args:
        rng: Draws.
        ranges: What from.
        radius: Links fit into spheres of this radius, m.
        height: Of its base, m.

    Returns:
        The arm, the position (3,) of its base, m, and its drives.
    """
    mass = log_uniform(rng, ranges.masses)
    links: list[LinkSpec] = [LinkSpec("arm_base", None)]
    joints: list[JointSpec] = []
    for i in range(int(rng.integers(2, 8))):
        links.append(_arm_link(rng, ranges, f"arm_link{i}", radius, mass))
        joints.append(_arm_joint(rng, i, links[i].name, radius, mass, joints))
        mass *= rng.uniform(0.3, 1.0)
    driven = tuple(j.name for j in joints if j.type in _SCALAR and j.mimic is None and rng.random() < 0.5)
    actuators: tuple[ActuatorSpec, ...] = ()
    if driven:
        # Stiff enough to hold it with its time constant, or softer, or far stiffer.
        kp = mass * radius * 9.81 * log_uniform(rng, (0.1, 1e4))
        drives = ActuatorSpec(joints=driven, kp=kp, kd=0.1 * kp, effort_limit=10.0 * kp)
        actuators = (drives,)
    robot = RobotSpec("arm", tuple(links), tuple(joints), source="arm")
    return robot, np.array([-3.0 * radius, 0.0, height]), actuators


def _arm_link(rng: Generator, ranges: Ranges, name: str, radius: float, mass: float) -> LinkSpec:
    kind = ("box", "sphere", "cylinder", "capsule", "ellipsoid")[rng.integers(5)]
    shape = CollisionSpec(kind, primitive(rng, kind, radius), np.eye(4), random_proximity(rng, ranges))
    moments = 0.4 * mass * (radius * rng.uniform(0.7, 1.0, 3)) ** 2
    centre = rng.uniform(-0.3, 0.3, 3) * radius
    return LinkSpec(name, InertialSpec(mass, centre, np.diag(moments)), (shape,))


def _arm_joint(
    rng: Generator, i: int, parent: str, radius: float, mass: float, others: list[JointSpec]
) -> JointSpec:
    kind = _JOINTS[rng.integers(len(_JOINTS))]
    X_PJ = np.eye(4)
    X_PJ[0, 3] = 2.1 * radius
    axis = rng.normal(size=3)
    reach = np.pi if kind == "revolute" else 2.0 * radius
    lower, upper = -reach * rng.random(), reach * rng.random()
    has_limits = kind in ("revolute", "prismatic")
    torque = mass * radius * 9.81
    masters = [joint for joint in others if joint.type == kind and joint.mimic is None]
    follows = kind in ("continuous", "prismatic") and masters and rng.random() < 0.3
    return JointSpec(
        f"arm_joint{i}",
        kind,
        parent,
        f"arm_link{i}",
        X_PJ,
        axis / np.linalg.norm(axis),
        LimitSpec(lower, upper, effort=1e9) if has_limits and not follows else LimitSpec(effort=1e9),
        damping=float(rng.choice([0.0, 0.1 * torque])),
        friction=float(rng.choice([0.0, 0.1 * torque])),
        rotor_inertia=float(rng.choice([0.0, 0.1 * mass * radius**2])),
        mimic=MimicSpec(masters[0].name, float(rng.choice([-1.0, 0.5]))) if follows else None,
    )
