"""Checks of numbers from users of the motion kit."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeVar

import numpy as np

from hydro_sim_core.errors import InputError, excerpt

#: Largest number that is taken: products of a few larger ones leave the range of floating-point numbers.
LARGEST = 1e30

_Kind = TypeVar("_Kind")


def of_kind(source: str, element: str, value: Any, kind: type[_Kind], mend: str) -> _Kind:
    """A value, if it is of a kind.

    Args:
        source: Who asks, for the error.
        element: What is asked for.
        value: What was given.
        kind: What it has to be.
        mend: What to give instead.

    Raises:
        InputError: It is of another kind.
    """
    if not isinstance(value, kind):
        raise InputError(source, element, f"is {excerpt(value)}", mend)
    return value


def number_within(
    source: str, element: str, value: Any, least: float, most: float, mend: str, *, above: bool = False
) -> float:
    """A number, as Python or NumPy has them, as a float.

    Args:
        source: Who asks, for the error.
        element: What is asked for.
        value: What was given; a truth value is no number.
        least: Least that it may be.
        most: Most that it may be.
        mend: What to give instead.
        above: Whether it has to be above the least.

    Raises:
        InputError: It is no number, NaN, or out of range.
    """
    plain = value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value
    if isinstance(plain, bool) or not isinstance(plain, Real):
        raise InputError(source, element, f"is {excerpt(value)}", mend)
    try:
        number = float(plain)
    except OverflowError:  # of a whole number
        number = float("inf")
    if not least <= number <= most or (above and number == least):
        raise InputError(source, element, f"is {number}", mend)
    return number
