"""Overrides of values of links and joints in a model's description.

A link has ``mass``, ``center_of_mass``, ``inertia`` and the contact properties of all its geometries; a joint has
``damping``, ``friction``, ``rotor_inertia``, ``spring_stiffness``, ``spring_reference``, ``axis``, ``xyz``, ``rpy`` and
``limits``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from hydro_sim_core.description.inertia import check_inertia, check_mass
from hydro_sim_core.description.joints import unit_axis
from hydro_sim_core.description.limits import check_joint
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.spec import InertialSpec, JointSpec, LimitSpec, LinkSpec, RobotSpec
from hydro_sim_core.description.values import CONTACT_KEYS, finite_number, proximity_of, vector
from hydro_sim_core.errors import excerpt
from hydro_sim_core.rotations import roll_pitch_yaw

_INERTIAL = ("mass", "center_of_mass", "inertia")
#: Numbers of a joint, and the least that each may be.
_NUMBERS = {
    "damping": 0.0,
    "friction": 0.0,
    "rotor_inertia": 0.0,
    "spring_stiffness": 0.0,
    "spring_reference": -math.inf,
}
_OF_ENDS = ("lower", "upper", "stiffness")
_LIMITS = tuple(field.name for field in fields(LimitSpec))


def with_link_value(robot: RobotSpec, path: Sequence[str], place: CallSite, value: Any) -> RobotSpec:
    """Copy of a model with another value of a link.

    Args:
        robot: The model.
        path: Parts of the path: name of the link, which may contain dots, and name of the value.
        place: Place for error messages.
        value: New value.

    Raises:
        InputError: The path does not exist, or the value does not fit.
    """
    index, names = _named([link.name for link in robot.links], path, place)
    link, name = robot.links[index], ".".join(names)
    changed: LinkSpec
    if name in _INERTIAL:
        changed = replace(link, inertial=_other_inertial(link.inertial, name, place, value))
    elif name in CONTACT_KEYS:
        if not link.collisions:
            raise place.error("the link touches nothing", "give it a collision geometry first")
        given = {key: one for key, one in vars(proximity_of({name: value}, place)).items() if one is not None}
        collisions = (replace(one, proximity=replace(one.proximity, **given)) for one in link.collisions)
        changed = replace(link, collisions=tuple(collisions))
    else:
        raise place.error("leads to no value of a link", did_you_mean(name, [*_INERTIAL, *CONTACT_KEYS]))
    links: Iterator[LinkSpec] = (changed if one is link else one for one in robot.links)
    return replace(robot, links=tuple(links))


def _other_inertial(inertial: InertialSpec | None, name: str, place: CallSite, value: Any) -> InertialSpec:
    if inertial is None or not inertial.mass > 0.0:
        raise place.error("the link has no mass", "give it one in its description")
    if name == "center_of_mass":
        return replace(inertial, p_LCo=vector(value, 3, name, place))
    if name == "inertia":
        I_LCo = (
            np.diag(vector(value, 3, name, place))
            if np.shape(np.array(value, dtype=object)) == (3,)
            else _matrix(value, place)
        )
        check_inertia(I_LCo, place)
        return replace(inertial, I_LCo=I_LCo)
    mass = finite_number(value, name, place)
    check_mass(mass, place)
    # The mass distribution is scaled in density.
    return replace(inertial, mass=mass, I_LCo=inertial.I_LCo * (mass / inertial.mass))


def _matrix(value: Any, place: CallSite) -> np.ndarray:
    mend = "give (3, 3) numbers, or three principal moments"
    if np.shape(np.array(value, dtype=object)) != (3, 3):
        raise place.error(f"inertia: {excerpt(value)} does not fit", mend)
    matrix = vector(np.ravel(np.array(value, dtype=object)), 9, "inertia", place).reshape(3, 3)
    if not np.array_equal(matrix, matrix.T):
        raise place.error("the inertia is not symmetric", mend)
    return matrix


def with_joint_value(robot: RobotSpec, path: Sequence[str], place: CallSite, value: Any) -> RobotSpec:
    """Copy of a model with another value of a joint; arguments and errors as for ``with_link_value``."""
    index, names = _named([joint.name for joint in robot.joints], path, place)
    joint, name = robot.joints[index], ".".join(names)
    changed: JointSpec
    if not joint.traits.num_v and (name in _NUMBERS or names[:1] == ["limits"]):
        raise place.error(f"a {joint.type} joint does not move", "leave it out, or correct its type")
    if name in _NUMBERS:
        given: dict[str, Any] = {name: finite_number(value, name, place, least=_NUMBERS[name])}
        changed = replace(joint, **given)
    elif name == "axis" and joint.traits.axis != "unused":
        changed = replace(joint, axis=unit_axis(vector(value, 3, name, place), place))
    elif name in ("xyz", "rpy"):
        numbers = {"xyz": joint.X_PJ[:3, 3], "rpy": roll_pitch_yaw(joint.X_PJ[:3, :3])}
        changed = replace(joint, X_PJ=pose(**(numbers | {name: vector(value, 3, name, place)})))
    elif names[:1] == ["limits"] and name.removeprefix("limits.") in _LIMITS:
        changed = replace(joint, limits=_other_limits(joint, names[1], place, value))
    elif name == "axis":
        raise place.error(f"a {joint.type} joint has no axis", "leave it out")
    else:
        known = [*_NUMBERS, "axis", "xyz", "rpy", *(f"limits.{limit}" for limit in _LIMITS)]
        raise place.error("leads to no value of a joint", did_you_mean(name, known))
    check_joint(changed, place)
    joints = (changed if one is joint else one for one in robot.joints)
    return replace(robot, joints=tuple(joints))


def _other_limits(joint: JointSpec, name: str, place: CallSite, value: Any) -> LimitSpec:
    limits = joint.limits
    if name in _OF_ENDS and joint.traits.ends == "none":
        raise place.error(f"a {joint.type} joint has no ends", "leave it out")
    least = -math.inf if name in ("lower", "upper") else 0.0
    changed = replace(limits, **{name: finite_number(value, name, place, least=least)})
    if changed.lower > changed.upper:
        raise place.error("the lower limit is above the upper one", "correct one")
    return changed


def _named(known: list[str], path: Sequence[str], place: CallSite) -> tuple[int, list[str]]:
    for count in range(len(path), 0, -1):
        if (name := ".".join(path[:count])) in known:
            return known.index(name), list(path[count:])
    asked = path[0] if path else ""
    raise place.error(f"'{asked}' is not in the model", did_you_mean(asked, known))
