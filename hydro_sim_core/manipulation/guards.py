"""Guards: conditions on measured forces that end a motion."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.manipulation.checks import LARGEST, number_within

Array = NDArray[np.float64]


class ForceGuard:
    """Tells when a force has been larger than a threshold for some time: a touch, a secure grasp, a jam.

    Args:
        threshold: N.
        along: (3,) direction along which the force counts, with its sign; its size in any direction by default.
        hold: Time for which it must stay beyond the threshold, s, so that the spike of an impact is none.

    Raises:
        InputError: An argument is not finite or out of range.
    """

    def __init__(self, threshold: float, *, along: ArrayLike | None = None, hold: float = 0.0) -> None:
        self._threshold, self._hold = (
            number_within("ForceGuard", name, value, 0.0, LARGEST, "give a number, 0 or more")
            for name, value in (("threshold", threshold), ("hold", hold))
        )
        self._along: Array | None = None
        if along is not None:
            direction = _three_numbers(along)
            length = 0.0 if direction is None else float(np.linalg.norm(direction))
            if direction is None or not 0.0 < length < math.inf:
                mend = "give three numbers, not all 0"
                raise InputError("ForceGuard", "along", f"is {excerpt(along)}", mend)
            self._along = direction / length
        self._since: float | None = None
        self._latest = -math.inf

    def update(self, time: float, force: ArrayLike) -> bool:
        """Take a measured force.

        Args:
            time: When it was measured, s; not before that of the last call since ``reset``.
            force: (3,) N.

        Returns:
            Whether it has been beyond the threshold for ``hold``.

        Raises:
            InputError: The force is not three finite numbers: a broken sensor must not pass for no force. Or the time
                is none, or goes back: the force would seem to stay for ever, or not at all.
        """
        now = number_within("ForceGuard", "time", time, -LARGEST, LARGEST, "give seconds")
        if now < self._latest:
            problem = f"is {now:g} s, after {self._latest:g} s"
            raise InputError("ForceGuard", "time", problem, "call reset() where time begins anew")
        measured = _three_numbers(force)
        if measured is None or not np.all(np.isfinite(measured)):
            raise InputError("ForceGuard", "force", f"is {excerpt(force)}", "give three finite numbers, N")
        self._latest = now
        size = float(np.linalg.norm(measured) if self._along is None else self._along @ measured)
        if size <= self._threshold:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._hold

    def reset(self) -> None:
        """Forget what was measured, and when."""
        self._since = None
        self._latest = -math.inf


def _three_numbers(values: ArrayLike) -> Array | None:
    """Values as (3,) floats; None if they are none."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    return array.astype(float) if array.shape == (3,) and array.dtype.kind in "fiu" else None
