# mypy: allow-untyped-defs
"""Dispatch to the kernels of a joint's type by the number of the type.

Importing this module imports the kernels of all joint types, including those of plug-ins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from typing import Any

from hydro_sim_core.compilation import kernel
from hydro_sim_core.description.joint_types import JointType, joint_types
from hydro_sim_core.dynamics.joint_kernels import JointKernels
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import MEND_PACKAGE, referred

#: Number of parameters of each kernel in ``JointKernels``.
_NUM_PARAMETERS = {"place": 7, "accelerate": 4, "rates": 3, "integrate": 4}


def _numbered() -> tuple[dict[str, int], list[JointKernels]]:
    """Number of every movable type, and kernels by number; types with the same kernels share a number."""
    numbers: dict[str, int] = {}
    rows: dict[str, int] = {}
    found: list[JointKernels] = []
    for row in joint_types().values():
        if row.num_v:
            kernels = _found_kernels(row)
            if row.kernels not in rows:
                rows[row.kernels] = len(found)
                found.append(kernels)
            numbers[row.name] = rows[row.kernels]
    return numbers, found


def _found_kernels(row: JointType) -> JointKernels:
    """Import the kernels of a row.

    Raises:
        InputError: The kernels cannot be found, or are not the required ones.
    """

    def error(problem: str) -> InputError:
        return InputError(row.kernels, f"joint '{row.name}'", problem, MEND_PACKAGE)

    kernels = referred(row.kernels, f"joint '{row.name}'")
    if not isinstance(kernels, JointKernels):
        raise error("is no JointKernels")
    has_own = not row.coordinates
    needed = {"place": True, "accelerate": None, "rates": has_own, "integrate": has_own}
    for field in fields(JointKernels):
        one, is_needed = getattr(kernels, field.name), needed[field.name]
        if is_needed is not None and (one is not None) != is_needed:
            raise error(f"{'lacks' if is_needed else 'has no use for'} {field.name}")
        if one is not None and not _takes(one, _NUM_PARAMETERS[field.name]):
            raise error(f"{field.name} is no kernel of {_NUM_PARAMETERS[field.name]} parameters")
    return kernels


def _takes(one: Any, count: int) -> bool:
    """Whether an object is a kernel with ``count`` parameters."""
    # Without compilation, kernels are plain functions.
    return (
        isinstance(one, type(_nothing)) and len(signature(getattr(one, "function", one)).parameters) == count
    )


@kernel
def _nothing(number, *arguments):
    pass


def _told_apart(name: str) -> Any:
    """Make a kernel ``(number, *arguments)`` that calls the kernel ``name`` of that joint type, if the type has one."""
    chosen: Any = _nothing
    for number, kernels in reversed(list(enumerate(_KERNELS))):
        own = getattr(kernels, name)
        if own is not None:
            chosen = _chained(number, own, chosen)
    return chosen


def _chained(number: int, own: Callable[..., None], others: Callable[..., None]) -> Any:
    @kernel
    def choose(joint, *arguments):
        if joint == number:
            own(*arguments)
        else:
            others(joint, *arguments)

    return choose


_NUMBERS, _KERNELS = _numbered()


def joint_number(name: str) -> int:
    """Number of a movable type in ``KinematicTree.joint_type``."""
    return _NUMBERS[name]


FLOATING = joint_number("floating")
place_joint = _told_apart("place")
accelerate_joint = _told_apart("accelerate")
joint_rates = _told_apart("rates")
integrate_joint = _told_apart("integrate")
