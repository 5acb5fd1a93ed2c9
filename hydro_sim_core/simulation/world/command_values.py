"""Checks of single values of commands to joints and grippers."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from hydro_sim_core.errors import InputError, excerpt

CommandMode = Literal["position", "velocity", "effort"]
#: What errors name as their source.
SOURCE = "command"


def checked_mode(mode: str) -> CommandMode:
    """A mode of commands; an ``InputError`` of what is none."""
    if not isinstance(mode, str) or mode not in ("position", "velocity", "effort"):
        raise InputError(SOURCE, f"mode {excerpt(mode)}", "is unknown", "use position, velocity or effort")
    return cast(CommandMode, mode)


def finite_value(value: Any, element: str) -> float:
    """A finite number, of whatever library; an ``InputError`` of what is none."""
    if type(value) is float and math.isfinite(value):
        return value  # the checks below are noticeable at 1 kHz
    if getattr(value, "ndim", None) == 0 and getattr(value, "dtype", None) is not None:
        value = np.asarray(value)[()]  # an entry of an array of JAX or PyTorch is itself an array
    # Text that could be converted to a number is a mistake of the caller.
    if not isinstance(value, Real):
        raise InputError(SOURCE, element, f"{excerpt(value)} is not a number", "give a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise InputError(SOURCE, element, f"{number} is not finite", "give a finite number")
    return number


def listed(values: Any, element: str, mend: str) -> tuple[Any, ...]:
    """Entries of a list; an ``InputError`` of what is none."""
    try:
        if not isinstance(values, str | bytes):
            return tuple(values)
    except TypeError:
        pass
    raise InputError(SOURCE, element, f"{excerpt(values)} is not a list", mend)
