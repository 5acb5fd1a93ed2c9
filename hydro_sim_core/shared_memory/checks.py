"""What callers of a client may give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError, excerpt, whole_number
from hydro_sim_core.shared_memory.names import SOURCE

#: Steps that may be asked for, or permitted, at a time: counts are compared by their low 32 bits.
MOST_STEPS = 1 << 30


def check_steps(number: int) -> int:
    """Check a number of steps.

    Raises:
        InputError: It is not a whole number from 1 to 2^30.
    """
    count = whole_number(SOURCE, "steps", number, 1)
    if count > MOST_STEPS:
        raise InputError(SOURCE, "steps", f"is {excerpt(count)}", f"give at most {MOST_STEPS} at a time")
    return count


def check_number(element: str, value: Any, most: float, problem: str, mend: str) -> float:
    """Check a number from 0 to ``most``.

    Raises:
        InputError: It is something else; says ``problem`` of it.
    """
    if isinstance(value, bool | str | bytes) or not _is_between(value, most):
        raise InputError(SOURCE, element, f"{excerpt(value)} {problem}", mend)
    return float(value)


def _is_between(value: Any, most: float) -> bool:
    try:
        return bool(0.0 <= float(value) <= most)
    except (TypeError, ValueError, OverflowError):
        return False


def check_limit(limit: float) -> float:
    """Check how long somebody would wait, s.

    Raises:
        InputError: It is negative or no number.
    """
    return check_number("limit", limit, math.inf, "is no time to wait", "give 0 s or more")


def check_flag(element: str, value: Any) -> bool:
    """Check a truth value.

    Raises:
        InputError: It is something else, such as a text.
    """
    if not isinstance(value, bool | int | np.bool_) or value not in (0, 1):
        raise InputError(SOURCE, element, f"{excerpt(value)} is neither true nor false", "give True or False")
    return bool(value)
