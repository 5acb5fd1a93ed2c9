"""Parts of random scenes: ranges, properties, shapes and arms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.description.joint_types import joint_type
from hydro_sim_core.description.model_builder import ModelBuilder

Generator = np.random.Generator
Array = NDArray[np.float64]
Solver = Literal["lagged", "similar", "sap", "tamsi"]

#: Joints of an arm; most are revolute, as most are.
_JOINTS = ("revolute", "revolute", "continuous", "prismatic", "planar", "fixed")


@dataclass(frozen=True)
class Ranges:
    """Ranges from which random scenes are drawn.

    Attributes:
        kinds: Kinds of scenes, in turn: one body is dropped on the ground (``drop``), several bodies are (``pile``),
            one is grasped (``grasp``) or meets an arm (``arm``).
        solvers: Models of ``solver``.
        masses: Mass, kg; this and the next three are drawn log-uniformly.
        moduli: Hydroelastic modulus, Pa.
        time_steps: Time step, s.
        sizes: Radius of a sphere around a body, m.
        frictions: Coefficient of friction; a fifth of the bodies has none.
        dissipations: Hunt-Crossley dissipation, s/m.
        relaxation_times: Relaxation time of linear damping, s; not drawn if None.
        soft_ground: Share of scenes with compliant ground.
        speed: Largest initial speed, m/s.
        spin: Largest initial angular velocity about each axis, rad/s.
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


#: Ranges of usual simulations.
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
#: Ranges of extreme scenes, which must not fail either. With five kinds and four solvers in turn, all pairs occur.
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
    """Draw a number log-uniformly."""
    return float(np.exp(rng.uniform(*np.log(bounds))))


def random_contact(rng: Generator, ranges: Ranges, is_compliant: bool = True) -> dict[str, Any]:
    """Draw contact properties, as arguments of a builder."""
    friction = float(rng.choice([0.0, rng.uniform(*ranges.frictions)], p=[0.2, 0.8]))
    contact: dict[str, Any] = {"compliance": "rigid", "resolution_hint": 0.02, "friction": friction}
    if is_compliant:
        contact |= {"compliance": "compliant", "modulus": log_uniform(rng, ranges.moduli)}
    contact["dissipation"] = float(rng.choice(ranges.dissipations))
    if ranges.relaxation_times:
        contact["relaxation_time"] = float(rng.choice(ranges.relaxation_times))
    return contact


def random_lengths(rng: Generator, kind: str, radius: float) -> dict[str, Any]:
    """Draw lengths of a shape within a sphere of ``radius``, as arguments of a builder."""
    x, y, z = rng.uniform(0.2, 1.0, 3)
    if kind == "box":
        half = radius * np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return {"size": 2.0 * half}
    if kind == "sphere":
        return {"radius": radius}
    if kind == "cylinder":
        norm = np.hypot(x, z)
        return {"radius": radius * x / norm, "length": 2.0 * radius * z / norm}
    if kind == "capsule":
        return {"radius": radius * x / (x + z), "length": 2.0 * radius * z / (x + z)}
    return {"semi_axes": (radius * x, radius * y, radius * z)}


def add_random_arm(rng: Generator, ranges: Ranges, radius: float, height: float, scene: SceneBuilder) -> None:
    """Add an arm above the ground with two to seven joints of all types, some of them driven.

    Links do not overlap with all joints at zero; later they may.

    Args:
        rng: Random number generator.
        ranges: Ranges to draw from.
        radius: Radius of spheres around the links, m.
        height: Height of its base, m.
        scene: Builder to which the arm is added.
    """
    mass = log_uniform(rng, ranges.masses)
    arm = scene.add_model("arm", xyz=(-3.0 * radius, 0.0, height))
    parent = arm.add_link("arm_base").name
    masters: list[_Joint] = []
    for i in range(int(rng.integers(2, 8))):
        _add_arm_link(rng, ranges, f"arm_link{i}", radius, mass, arm)
        joint = _add_arm_joint(rng, i, parent, radius, mass, masters, arm)
        if joint is not None:
            masters.append(joint)
        parent = f"arm_link{i}"
        mass *= rng.uniform(0.3, 1.0)
    driven = [joint.name for joint in masters if rng.random() < 0.5]
    if driven:
        # Gains for the drive's time constant, or softer, or much stiffer ones.
        kp = mass * radius * 9.81 * log_uniform(rng, (0.1, 1e4))
        scene.add_actuators(driven, kp=kp, kd=0.1 * kp, effort_limit=10.0 * kp)


@dataclass(frozen=True)
class _Joint:
    """A joint with one coordinate of its own, which others may mimic."""

    name: str
    type: str
    lower: float | None
    upper: float | None


def _add_arm_link(
    rng: Generator, ranges: Ranges, name: str, radius: float, mass: float, arm: ModelBuilder
) -> None:
    kind = ("box", "sphere", "cylinder", "capsule", "ellipsoid")[rng.integers(5)]
    shape = random_lengths(rng, kind, radius) | random_contact(rng, ranges)
    moments = 0.4 * mass * (radius * rng.uniform(0.7, 1.0, 3)) ** 2
    # About one such draw in 26 000 is impossible: one moment exceeds the sum of the other two.
    moments = np.minimum(moments, moments.sum() - moments)
    centre = rng.uniform(-0.3, 0.3, 3) * radius
    arm.add_link(name, mass, center_of_mass=centre, inertia=moments).add_shape(kind, name=kind, **shape)


def _add_arm_joint(
    rng: Generator,
    i: int,
    parent: str,
    radius: float,
    mass: float,
    masters: list[_Joint],
    arm: ModelBuilder,
) -> _Joint | None:
    """Add a joint between ``parent`` and link ``i``; return it if it has one coordinate of its own."""
    name, kind = f"arm_joint{i}", _JOINTS[rng.integers(len(_JOINTS))]
    axis = rng.normal(size=3)
    reach = np.pi if kind == "revolute" else 2.0 * radius
    lower, upper = -reach * rng.random(), reach * rng.random()
    has_limits = kind in ("revolute", "prismatic")
    torque = mass * radius * 9.81
    joint = _Joint(name, kind, lower if has_limits else None, upper if has_limits else None)
    alike = [master for master in masters if master.type == kind]
    follows = kind in ("continuous", "prismatic") and alike and rng.random() < 0.3
    losses: dict[str, Any] = {
        "damping": float(rng.choice([0.0, 0.1 * torque])),
        "friction": float(rng.choice([0.0, 0.1 * torque])),
        "rotor_inertia": float(rng.choice([0.0, 0.1 * mass * radius**2])),
    }
    mimic: dict[str, Any] = {}
    if follows:
        multiplier = float(rng.choice([-1.0, 0.5]))
        mimic = {"mimic": alike[0].name, "multiplier": multiplier}
        joint = _following(joint, alike[0], multiplier)
    arm.add_joint(
        name,
        kind,
        parent,
        f"arm_link{i}",
        xyz=(2.1 * radius, 0.0, 0.0),
        axis=axis,
        lower=joint.lower,
        upper=joint.upper,
        **({} if kind == "fixed" else {"effort": 1e9} | losses),
        **mimic,
    )
    return joint if joint_type(kind).is_scalar and not follows else None


def _following(joint: _Joint, master: _Joint, multiplier: float) -> _Joint:
    """The mimic joint with the limits that follow from its master's."""
    if master.lower is None or master.upper is None:
        return joint
    lower, upper = sorted((multiplier * master.lower, multiplier * master.upper))
    return replace(joint, lower=lower, upper=upper)
