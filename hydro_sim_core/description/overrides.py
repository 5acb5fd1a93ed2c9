"""A scene with other values at some paths, like ``models.ball.friction`` or ``contact.defaults.modulus``.

A path goes down the scene file, keys joined by dots. An item of a list is named by its name, an actuator by one of its
joints, a command by what it commands; the number of its place does as well. Below a model stand, beside its entry in
the file, what its description says of ``links`` and ``joints``; contact properties may be named without ``proximity``,
and ``friction`` is both coefficients of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.spec import JointSpec, LimitSpec, LinkSpec, RobotSpec
from hydro_sim_core.description.values import CONTACT_KEYS, is_finite, plain
from hydro_sim_core.description.yaml_source import checked
from hydro_sim_core.errors import InputError, excerpt

#: Names by which an item of a list may be called.
_NAMES: dict[str, Callable[[Any], Sequence[str]]] = {
    "models": lambda item: [item["name"]],
    "environment": lambda item: [item["name"]],
    "grippers": lambda item: [item["name"]],
    "sensors": lambda item: [item["name"]],
    "actuators": lambda item: item["joints"],
    "commands": lambda item: [item.get("gripper") or item.get("joint") or item.get("model") or ""],
}
_JOINT_VALUES = ("damping", "friction", "rotor_inertia")
_LIMITS = tuple(field.name for field in fields(LimitSpec))


def overridden_spec(spec: SceneSpec, values: Mapping[str, Any]) -> SceneSpec:
    """The scene file with other values; paths into descriptions of models are left out.

    Raises:
        InputError: A path leads nowhere, or a value does not fit there.
    """
    if not isinstance(values, Mapping):
        mend = "give a mapping of paths to values"
        raise InputError("override", "", f"{excerpt(values)} does not fit", mend)
    data = spec.model_dump(mode="json", exclude_unset=True)
    for path, value in values.items():
        if not isinstance(path, str) or not path.isprintable():
            raise InputError("override", excerpt(path), "is no path", "give text like 'solver.tolerance'")
        if _into_description(data, path) is None:
            _set(data, path, plain(value))
    return checked(data, SceneSpec, "override")


def overridden_robots(
    spec: SceneSpec, robots: tuple[RobotSpec, ...], values: Mapping[str, Any]
) -> tuple[RobotSpec, ...]:
    """The models with other values of their links and joints.

    Raises:
        InputError: A path leads nowhere, or a value does not fit there.
    """
    data = {"models": [{"name": model.name} for model in spec.models]}
    changed = list(robots)
    for path, value in values.items():
        into = _into_description(data, path)
        if into is not None:
            index, what, rest = into
            change = _with_link_value if what == "links" else _with_joint_value
            changed[index] = change(changed[index], rest, path, value)
    return tuple(changed)


# --- Values of the scene file ----------------------------------------------------------------------------------------


def _set(data: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; what is not given in the file yet is begun on the way."""
    node: Any = data
    parts = path.split(".")
    within = ""
    while len(parts) > 1:
        if isinstance(node, list):
            index, parts = _item(node, within, parts, path)
            if not parts:
                node[index] = value
                return
            node = node[index]
            if within in ("models", "environment") and len(parts) == 1 and parts[0] in CONTACT_KEYS:
                node = node.setdefault("proximity", {})
                for name in CONTACT_KEYS[parts[0]]:
                    node[name] = value
                return
            continue
        within = parts.pop(0)
        if not isinstance(node.get(within), dict | list):
            node[within] = [] if within in _NAMES else {}
        node = node[within]
    if isinstance(node, list):
        index, _ = _item(node, within, parts, path)
        node[index] = value
    else:
        node[parts[0]] = value


def _item(items: list[Any], within: str, parts: list[str], path: str) -> tuple[int, list[str]]:
    """Place of the item that the first parts name, and the parts after it; names may hold dots."""
    if parts[0].isdecimal() and int(parts[0]) < len(items):
        return int(parts[0]), parts[1:]
    names = {name: i for i, item in enumerate(items) for name in _NAMES.get(within, lambda _: [])(item)}
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in names:
            return names[name], parts[count:]
    raise InputError("override", path, f"'{parts[0]}' is none of {within}", did_you_mean(parts[0], names))


# --- Values of descriptions ------------------------------------------------------------------------------------------


def _into_description(data: dict[str, Any], path: str) -> tuple[int, str, list[str]] | None:
    """Place of the model, ``links`` or ``joints``, and the rest of a path that leads into its description."""
    parts = path.split(".")
    if parts[0] != "models" or len(parts) < 3:
        return None
    index, rest = _item(data.get("models", []), "models", parts[1:], path)
    return (index, rest[0], rest[1:]) if rest and rest[0] in ("links", "joints") else None


def _with_link_value(robot: RobotSpec, rest: list[str], path: str, value: Any) -> RobotSpec:
    index, names = _named([link.name for link in robot.links], rest, path)
    link = robot.links[index]
    if names != ["mass"]:
        raise InputError("override", path, "leads to no value of a link", "override mass")
    mass = _number(path, value, least=0.0)
    inertial = link.inertial
    if inertial is None or not inertial.mass > 0.0 or mass == 0.0:
        raise InputError("override", path, "the link has no mass, or would have none", "give one above 0")
    # The same shape of another density.
    heavier = replace(inertial, mass=mass, I_LCo=inertial.I_LCo * (mass / inertial.mass))
    links: Iterator[LinkSpec] = (
        replace(link, inertial=heavier) if one is link else one for one in robot.links
    )
    return replace(robot, links=tuple(links))


def _with_joint_value(robot: RobotSpec, rest: list[str], path: str, value: Any) -> RobotSpec:
    index, names = _named([joint.name for joint in robot.joints], rest, path)
    joint = robot.joints[index]
    changed: JointSpec
    if len(names) == 1 and names[0] in _JOINT_VALUES:
        given: dict[str, Any] = {names[0]: _number(path, value, least=0.0)}
        changed = replace(joint, **given)
    elif len(names) == 2 and names[0] == "limits" and names[1] in _LIMITS:
        least = -math.inf if names[1] in ("lower", "upper") else 0.0
        limits = replace(joint.limits, **{names[1]: _number(path, value, least)})
        if limits.lower > limits.upper:
            raise InputError("override", path, "the lower limit is above the upper one", "correct one")
        changed = replace(joint, limits=limits)
    else:
        known = [*_JOINT_VALUES, *(f"limits.{name}" for name in _LIMITS)]
        mend = did_you_mean(".".join(names), known)
        raise InputError("override", path, "leads to no value of a joint", mend)
    joints = (changed if one is joint else one for one in robot.joints)
    return replace(robot, joints=tuple(joints))


def _named(known: list[str], rest: list[str], path: str) -> tuple[int, list[str]]:
    for count in range(len(rest), 0, -1):
        if (name := ".".join(rest[:count])) in known:
            return known.index(name), rest[count:]
    asked = rest[0] if rest else ""
    raise InputError("override", path, f"'{asked}' is not in the model", did_you_mean(asked, known))


def _number(path: str, value: Any, least: float) -> float:
    if not is_finite(value) or float(value) < least:
        mend = "give a finite number" if least == -math.inf else f"give a finite number of at least {least:g}"
        raise InputError("override", path, f"{excerpt(value)} does not fit there", mend)
    return float(value)
