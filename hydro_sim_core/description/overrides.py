"""Overrides of values of a scene by paths such as ``models.ball.friction`` or ``contact.defaults.modulus``.

A path consists of keys of the scene file, joined by dots. Items of lists are given by name, actuators by one of their
joints, commands by their target; an index works for all. Below a model, paths also lead to ``links`` and ``joints`` of
its description (``model_overrides``). Contact properties may be given without ``proximity``, and ``friction`` sets
both coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hydro_sim_core.description.model_overrides import with_joint_value, with_link_value
from hydro_sim_core.description.names import did_you_mean, mend_of_absent
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.scene import ContactDefaults, EnvironmentSpec, ModelSpec, SceneSpec
from hydro_sim_core.description.spec import DescriptionValue, RobotSpec
from hydro_sim_core.description.values import CONTACT_KEYS, plain
from hydro_sim_core.description.yaml_source import checked
from hydro_sim_core.errors import InputError, excerpt

#: Names of the items of each list.
_NAMES: dict[str, Callable[[Any], Sequence[str]]] = {
    "models": lambda item: [item["name"]],
    "environment": lambda item: [item["name"]],
    "grippers": lambda item: [item["name"]],
    "sensors": lambda item: [item["name"]],
    "actuators": lambda item: item["joints"],
    "commands": lambda item: [item.get("gripper") or item.get("joint") or item.get("model") or ""],
}
#: What paths may go on with below an item of each list of things that touch, beside contact properties.
_TOUCHING: dict[str, tuple[str, ...]] = {
    "models": (*ModelSpec.model_fields, "links", "joints"),
    "environment": tuple(EnvironmentSpec.model_fields),
}


def overridden_spec(
    spec: SceneSpec, values: Mapping[str, Any]
) -> tuple[SceneSpec, tuple[DescriptionValue, ...]]:
    """Contents of the scene file with other values, and those values that are of descriptions of models.

    Each path finds its way among the names that the values before it have left.

    Raises:
        InputError: A path leads nowhere, or a value does not fit there.
    """
    if not isinstance(values, Mapping):
        mend = "give a mapping of paths to values"
        raise InputError("override", "", f"{excerpt(values)} does not fit", mend)
    data = spec.model_dump(mode="json", exclude_unset=True)
    typed: dict[tuple[int | str, ...], str] = {}
    described: list[DescriptionValue] = []
    for path, value in values.items():
        if not isinstance(path, str) or not path.isprintable():
            raise InputError("override", excerpt(path), "is no path", "give text like 'solver.tolerance'")
        into = _into_description(data, path)
        if into is None:
            typed |= dict.fromkeys(_set(data, path, plain(value), spec), path)
        else:
            described.append(DescriptionValue(path, *into, value))
    return checked(data, SceneSpec, "override", typed), tuple(described)


def overridden_robots(
    robots: Sequence[RobotSpec], values: Iterable[DescriptionValue]
) -> tuple[RobotSpec, ...]:
    """Robots with other values of their links and joints.

    Raises:
        InputError: A path leads nowhere, or a value does not fit there.
    """
    changed = list(robots)
    for one in values:
        if one.model >= len(changed):
            place = CallSite("override", one.path)
            raise place.error("another value takes the model away", "leave one of the two out")
        changed[one.model] = _overridden(changed[one.model], one, one.path)
    return tuple(changed)


def overridden_as_before(robot: RobotSpec, before: RobotSpec, old_prefix: str, prefix: str) -> RobotSpec:
    """A robot whose file was read anew, with the values that its links and joints had been given before.

    Args:
        robot: The robot as its file says now, prefix applied.
        before: The robot that it stands for.
        old_prefix: Prefix of that one.
        prefix: Prefix of the robot.

    Raises:
        InputError: The robot has no such link, joint or value.
    """
    for one in before.overrides:
        named = prefix + ".".join(one.rest).removeprefix(old_prefix)
        robot = _overridden(robot, one._replace(rest=named.split(".")), f"{one.path}, given before")
    return robot


def _overridden(robot: RobotSpec, one: DescriptionValue, where: str) -> RobotSpec:
    change = with_link_value if one.what == "links" else with_joint_value
    changed = change(robot, one.rest, CallSite("override", where), one.value)
    return replace(changed, overrides=_what_counts((*robot.overrides, one)))


def _what_counts(values: Sequence[DescriptionValue]) -> tuple[DescriptionValue, ...]:
    """Values without those that later ones of the same place replace, so that their number does not grow.

    A mass counts until the next one unless an inertia comes between, which the next one scales.
    """
    kept: list[DescriptionValue] = []
    for one in reversed(values):
        ends = [one.rest, [*one.rest[:-1], "inertia"]] if one.rest[-1] == "mass" else [one.rest]
        after = (later for later in reversed(kept) if later.what == one.what and later.rest in ends)
        if (found := next(after, None)) is None or found.rest != one.rest:
            kept.append(one)
    return tuple(reversed(kept))


def without_effect(spec: SceneSpec, earlier: str, later: Iterable[str]) -> bool:
    """Whether values at some paths leave nothing of what a value at a path before them sets.

    Contact properties of a model come before those of its links.

    Args:
        spec: Contents of the scene file.
        earlier: The path; of a list of numbers, which is replaced as one.
        later: The others.

    Raises:
        InputError: A path leads nowhere.
    """
    set_later = [place for path in later for place in _places(spec, path)]
    return all(
        any(
            _begins(place, other) or _begins(other, place) or _comes_before(other, place)
            for other in set_later
        )
        for place in _places(spec, earlier)
    )


def _places(spec: SceneSpec, path: str) -> list[tuple[int | str, ...]]:
    """All that a path sets, as keys and indices from the scene file down."""
    data = spec.model_dump(mode="json", exclude_unset=True)
    into = _into_description(data, path)
    if into is None:
        return _set(data, path, None, spec)
    index, what, rest = into
    return [("models", index, what, *rest[:-1], key) for key in CONTACT_KEYS.get(rest[-1], [rest[-1]])]


def _begins(place: tuple[int | str, ...], other: tuple[int | str, ...]) -> bool:
    return other[: len(place)] == place


def _comes_before(other: tuple[int | str, ...], place: tuple[int | str, ...]) -> bool:
    """Whether a place is a contact property of all links of a model, and the second one that of a link of it."""
    return place[2:3] == ("links",) and other == (*place[:2], "proximity", place[-1])


# --- Values of the scene file ----------------------------------------------------------------------------------------


def _set(data: dict[str, Any], path: str, value: Any, spec: SceneSpec) -> list[tuple[int | str, ...]]:
    """Set the value at a path, and tell at which places; missing sections on the way are created.

    A list that the file leaves out, of which one number is set, has those of ``spec`` besides: its defaults.
    """
    node: Any = data
    place: list[int | str] = []
    parts = path.split(".")
    within = ""
    while len(parts) > 1:
        if isinstance(node, list):
            index, parts = _item(node, within, parts, path)
            place.append(index)
            if not parts:
                node[index] = value
                return [tuple(place)]
            node = node[index]
            if within in _TOUCHING:
                _check_key(parts, _TOUCHING[within], path)
                if len(parts) == 1 and parts[0] in CONTACT_KEYS:
                    return _set_all(node, place, "proximity", parts[0], value)
            continue
        if within == "contact" and parts[0] == "defaults" and len(parts) == 2:
            _check_key(parts[1:], ContactDefaults.model_fields, path)
            if parts[1] in CONTACT_KEYS:
                return _set_all(node, place, "defaults", parts[1], value)
        within = parts.pop(0)
        place.append(within)
        if not isinstance(node.get(within), dict | list):
            left_out = _value_at(spec.model_dump(mode="json"), place) if parts[0].isdecimal() else None
            node[within] = [] if within in _NAMES else left_out if isinstance(left_out, list) else {}
        node = node[within]
    if isinstance(node, list):
        index, _ = _item(node, within, parts, path)
        node[index] = value
        return [(*place, index)]
    node[parts[0]] = value
    return [(*place, parts[0])]


def _value_at(data: Any, place: Sequence[int | str]) -> Any:
    """What stands at a place; None if there is none."""
    for step in place:
        try:
            data = data[step]
        except (IndexError, KeyError, TypeError):
            return None
    return data


def _check_key(parts: Sequence[str], own: Iterable[str], path: str) -> None:
    """See that the first of some parts is a key, or alone a contact property by its short name.

    Raises:
        InputError: It is neither; what it may be instead is told with the short names, which files do not know.
    """
    known = {*own, *(CONTACT_KEYS if len(parts) == 1 else ())}
    if parts[0] not in known:
        mend = mend_of_absent(parts[0]) or did_you_mean(parts[0], known)
        raise InputError("override", path, f"unknown key '{parts[0]}'", mend)


def _set_all(
    node: dict[str, Any], place: Sequence[int | str], section: str, name: str, value: Any
) -> list[tuple[int | str, ...]]:
    """Set all that a contact property stands for in a section of a node, and tell at which places."""
    keys = CONTACT_KEYS[name]
    node.setdefault(section, {}).update(dict.fromkeys(keys, value))
    return [(*place, section, key) for key in keys]


def _item(items: list[Any], within: str, parts: list[str], path: str) -> tuple[int, list[str]]:
    """Index of the item that the first parts of a path name, and the remaining parts; names may contain dots."""
    if parts[0].isdecimal() and int(parts[0]) < len(items):
        return int(parts[0]), parts[1:]
    names = {name: i for i, item in enumerate(items) for name in _NAMES.get(within, lambda _: [])(item)}
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in names:
            return names[name], parts[count:]
    raise InputError("override", path, f"'{parts[0]}' is none of {within}", did_you_mean(parts[0], names))


def _into_description(data: dict[str, Any], path: str) -> tuple[int, str, list[str]] | None:
    """Index of the model, ``links`` or ``joints``, and the rest of a path into a description; else None."""
    parts = path.split(".")
    if parts[0] != "models" or len(parts) < 3:
        return None
    index, rest = _item(data.get("models", []), "models", parts[1:], path)
    return (index, rest[0], rest[1:]) if rest and rest[0] in ("links", "joints") else None
