"""Checks of numbers from users of the motion kit."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError, excerpt

#: Largest number that is taken: products of a few larger ones leave the range of floating-point numbers.
LARGEST = 1e30


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
