"""Bounds of processor time, which an environment variable may change."""

from __future__ import annotations

import math
import os

from hydro_sim_core.errors import InputError, excerpt


def allowed_seconds(variable: str, default: float) -> float:
    """Seconds that an environment variable states, or a default without it.

    Raises:
        InputError: The variable is no positive number.
    """
    value = os.environ.get(variable)
    if value is None:
        return default
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not seconds > 0.0:
        raise InputError(variable, "", f"is {excerpt(value)}", "give a positive number of seconds")
    return seconds
