"""Checks of the values that a program passes to a builder."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.scene import ProximityChoice
from hydro_sim_core.description.scene_shapes import SHAPE_SECTIONS, ShapeChoice, shape_spec
from hydro_sim_core.description.spec import Array, ProximitySpec, ShapeSpec
from hydro_sim_core.description.yaml_source import Section, checked
from hydro_sim_core.errors import InputError, excerpt

SectionT = TypeVar("SectionT", bound=Section)
#: Fields of the contact properties by their short names.
CONTACT_KEYS = {name: (name,) for name in ProximityChoice.model_fields} | {
    "friction": ("mu_static", "mu_dynamic")
}


def is_finite(value: object) -> bool:
    """Whether a value is a number, and finite as a float."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:  # an integer may be too large for a float
        return False


def text(value: object, name: str, place: CallSite) -> str:
    """Check a line of text; returns it without surrounding spaces.

    Raises:
        InputError: The value is not a single line of text, or is empty.
    """
    if isinstance(value, str):
        given = str(value).strip()
        if given and given.isprintable():
            return given
    raise place.error(f"{name}: {excerpt(value)} does not fit", "give one line of text")


def flag(value: object, name: str, place: CallSite) -> bool:
    """Check a boolean.

    Raises:
        InputError: The value is not a boolean.
    """
    if not isinstance(value, bool | np.bool_):
        raise place.error(f"{name}: {excerpt(value)} does not fit", "give True or False")
    return bool(value)


def finite_number(
    value: object, name: str, place: CallSite, *, least: float = -math.inf, above: float = -math.inf
) -> float:
    """Check a finite number.

    Raises:
        InputError: The value is not a finite number, is below ``least`` or not above ``above``.
    """
    if not is_finite(value) or float(value) < least or float(value) <= above:  # type: ignore[arg-type]
        bound = (
            f" of at least {least:g}"
            if least > -math.inf
            else f" above {above:g}"
            if above > -math.inf
            else ""
        )
        raise place.error(f"{name}: {excerpt(value)} does not fit", f"give a finite number{bound}")
    return float(value)  # type: ignore[arg-type]


def vector(values: ArrayLike, count: int, name: str, place: CallSite) -> Array:
    """Check a vector (count,) of finite numbers.

    Raises:
        InputError: The vector has another length, or a component is not finite.
    """
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise place.error(f"{name}: {excerpt(values)} does not fit", f"give {count} finite numbers")
    return array


def section(data: Mapping[str, Any], kind: type[SectionT], place: CallSite) -> SectionT:
    """Convert keywords to the corresponding section of a scene file.

    Raises:
        InputError: A keyword or value does not fit.
    """
    try:
        return checked(plain(data), kind, place.source)
    except InputError as error:
        where = f"{place.element}, {error.element}" if error.element else place.element
        raise InputError(place.source, where, error.problem, error.mend) from None


def plain(value: Any) -> Any:
    """Convert a value to types of a YAML file: arrays and tuples to lists."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def contact_keys(values: Mapping[str, Any], place: CallSite) -> dict[str, Any]:
    """Contact properties with short names replaced by the names in a scene file.

    Raises:
        InputError: A name is not that of a contact property.
    """
    if not isinstance(values, Mapping):
        mend = "give a mapping of contact properties to their values"
        raise place.error(f"contact: {excerpt(values)} does not fit", mend)
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in CONTACT_KEYS:
            raise place.error(
                f"{excerpt(name)} is no contact property", did_you_mean(str(name), CONTACT_KEYS)
            )
        given |= dict.fromkeys(CONTACT_KEYS[name], value)
    return given


def proximity_of(values: Mapping[str, Any], place: CallSite) -> ProximitySpec:
    """Contact properties.

    Raises:
        InputError: A name is unknown or a value does not fit.
    """
    return section(contact_keys(values, place), ProximityChoice, place).spec


def shape_of(
    kind: str, values: Mapping[str, Any], place: CallSite, resolver: PackageResolver
) -> tuple[ShapeSpec, dict[str, Any]]:
    """A shape from its keywords, and the remaining keywords.

    Raises:
        InputError: The kind is unknown, a length is missing or does not fit, or a mesh file is missing.
    """
    choice, rest = shape_choice(kind, values, place)
    try:
        return shape_spec(choice, f"{place.element}, path", resolver), rest
    except InputError as error:
        raise type(error)(place.source, error.element, error.problem, error.mend) from None


def shape_choice(kind: str, values: Mapping[str, Any], place: CallSite) -> tuple[ShapeChoice, dict[str, Any]]:
    """A shape from its keywords as the section of a scene file, and the remaining keywords.

    Raises:
        InputError: The kind is unknown, or a length is missing or does not fit.
    """
    if not isinstance(kind, str) or kind not in SHAPE_SECTIONS:
        raise place.error(f"{excerpt(kind)} is no shape", did_you_mean(str(kind), SHAPE_SECTIONS))
    own = SHAPE_SECTIONS[kind].model_fields
    for name in values:
        if name not in own and name not in CONTACT_KEYS:
            mend = did_you_mean(name, [*own, *CONTACT_KEYS])
            raise place.error(f"'{name}' is neither a length nor a contact property", mend)
    mine = {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in values.items() if k in own}
    return section({kind: mine}, ShapeChoice, place), {k: v for k, v in values.items() if k not in own}
