"""Plausible ranges of the numbers in descriptions: far outside of them a simulation overflows or loses its digits.

They are wide: what is refused here is a wrong unit, a slip, or a file that is meant to do harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hydro_sim_core.description.places import CallSite, Place
from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.spec import (
    CollisionSpec,
    JointSpec,
    LinkSpec,
    ProximitySpec,
    RobotSpec,
    ShapeSpec,
    VisualSpec,
)


class Range(NamedTuple):
    """Magnitudes that a quantity may have; 0 is judged elsewhere."""

    least: float
    most: float
    unit: str

    def problem(self, value: float | None) -> str | None:
        """Description of a value outside, or None if it is inside or absent."""
        if value is None or value == 0.0 or self.least <= abs(value) <= self.most:
            return None
        unit = f" {self.unit}" if self.unit else ""
        return f"{value:g}{unit} is absurd; write one of {self.least:g} to {self.most:g}{unit}"


_POSITION = Range(0.0, 1e5, "m")
_LENGTH = Range(1e-7, 1e4, "m")
_SCALE = Range(1e-7, 1e6, "")
_SECONDS = Range(0.0, 1e6, "s")
#: Ranges by quantity. From 1e5 m on, positions have less than a tenth of a nanometre to their digits.
RANGES = {
    "position": _POSITION,
    "length": _LENGTH,
    "scale": _SCALE,
    "mass": Range(1e-9, 1e9, "kg"),
    "inertia": Range(0.0, 1e12, "kg m^2"),
    "damping": Range(0.0, 1e9, "N m s/rad or N s/m"),
    "friction": Range(0.0, 1e9, "N m or N"),
    "rotor_inertia": Range(0.0, 1e9, "kg m^2 or kg"),
    "stiffness": Range(0.0, 1e15, "N m/rad or N/m"),
    "spring_stiffness": Range(0.0, 1e15, "N m/rad or N/m"),
    "spring_reference": Range(0.0, 1e6, "rad or m"),
    "multiplier": Range(1e-6, 1e6, ""),
    "offset": Range(0.0, 1e6, "rad or m"),
    "modulus": Range(1e-3, 1e15, "Pa"),
    "resolution_hint": Range(1e-7, 1e6, "m"),
    "margin": Range(0.0, 1.0, "m"),
    "dissipation": Range(0.0, 1e6, "s/m"),
    "relaxation_time": _SECONDS,
    "mu_static": Range(0.0, 1e6, ""),
    "mu_dynamic": Range(0.0, 1e6, ""),
    "point_stiffness": Range(1e-3, 1e15, "N/m"),
    "slab_thickness": _LENGTH,
    "surface_velocity": Range(0.0, 1e6, "m/s"),
}


def check_value(quantity: str, values: float | Iterable[float] | None, place: Place, what: str = "") -> None:
    """Check a number, or several, of a quantity.

    Raises:
        InputError: One is outside of the quantity's range.
    """
    each = [values] if values is None or isinstance(values, float | int) else list(values)
    for value in each:
        problem = RANGES[quantity].problem(value)
        if problem is not None:
            told, _, mend = problem.partition("; ")
            raise place.error(f"{what or quantity.replace('_', ' ')} {told}", mend)


def check_link(link: LinkSpec, place: Place) -> None:
    """Check the numbers of a link.

    Raises:
        InputError: One is absurd.
    """
    if link.inertial is not None:
        check_value("mass", link.inertial.mass, place)
        check_value("position", link.inertial.p_LCo.tolist(), place, "centre of mass")
    parts: tuple[CollisionSpec | VisualSpec, ...] = (*link.collisions, *link.visuals)
    for part in parts:
        check_value("position", part.X_LG[:3, 3].tolist(), place, f"'{part.name}': origin")
        check_shape(part.shape, place, f"'{part.name}': ")
    for collision in link.collisions:
        check_proximity(collision.proximity, place, f"'{collision.name}': ")


def check_shape(shape: ShapeSpec, place: Place, what: str = "") -> None:
    """Check the lengths of a shape.

    Raises:
        InputError: One is absurd.
    """
    check_value("length", shape.size, place, f"{what}{shape.kind} length")
    check_value("scale", shape.scale, place, f"{what}scale")


def check_proximity(proximity: ProximitySpec, place: Place, what: str = "") -> None:
    """Check contact properties.

    Raises:
        InputError: One is absurd.
    """
    for name, value in vars(proximity).items():
        if name in RANGES:
            check_value(name, value, place, f"{what}{name.replace('_', ' ')}")


def check_joint(joint: JointSpec, place: Place) -> None:
    """Check the numbers of a joint.

    Raises:
        InputError: One is absurd.
    """
    check_value("position", joint.X_PJ[:3, 3].tolist(), place, "origin")
    for name in ("damping", "friction", "rotor_inertia", "spring_stiffness", "spring_reference"):
        check_value(name, getattr(joint, name), place)
    check_value("stiffness", joint.limits.stiffness, place)
    if joint.spring_stiffness and joint.traits.num_v and not joint.traits.coordinates:
        raise place.error(
            f"a {joint.type} joint has no coordinate that a spring could pull", "leave its spring out"
        )
    if joint.mimic is not None:
        check_value("multiplier", joint.mimic.multiplier, place, "mimic multiplier")
        check_value("offset", joint.mimic.offset, place, "mimic offset")


def check_that_it_moves(joint: JointSpec, place: Place) -> None:
    """Check that losses, springs and limits are of a joint that moves; of files, whose exporters write them, one warns.

    Raises:
        InputError: The joint does not move, and has one of them.
    """
    if joint.traits.num_v:
        return
    limits = joint.limits
    values = {
        "damping": joint.damping,
        "friction": joint.friction,
        "rotor inertia": joint.rotor_inertia,
        "spring": joint.spring_stiffness,
        "ends": math.isfinite(limits.lower) or math.isfinite(limits.upper),
        "velocity limit": math.isfinite(limits.velocity),
        "effort limit": math.isfinite(limits.effort),
        "stiffness of its stops": limits.stiffness,
    }
    idle = [name for name, value in values.items() if value]
    if idle:
        problem = f"a {joint.type} joint does not move, so {', '.join(idle)} would do nothing"
        raise place.error(problem, f"leave {'it' if len(idle) == 1 else 'them'} out, or correct its type")


def check_scene(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    """Check the numbers of a scene; those of URDF files were checked where they were read, with their lines.

    Raises:
        InputError: One is absurd.
    """
    check_proximity(
        spec.contact.defaults.complete(ProximitySpec()), CallSite(str(source), "contact.defaults")
    )
    for i, (model, robot) in enumerate(zip(spec.models, robots, strict=True)):
        place = CallSite(str(source), f"models.{i}")
        check_value("position", model.pose.xyz, place, "pose")
        check_value("offset", model.positions.values(), place, "start position")
        check_proximity(model.proximity.spec, place)
        for link in robot.links:
            check_link(link, CallSite(str(source), f"models.{i}, link '{link.name}'"))
        for joint in robot.joints:
            check_joint(joint, CallSite(str(source), f"models.{i}, joint '{joint.name}'"))
    for i, item in enumerate(spec.environment):
        place = CallSite(str(source), f"environment.{i}")
        check_value("position", item.pose.xyz, place, "pose")
        check_proximity(item.proximity.spec, place)
