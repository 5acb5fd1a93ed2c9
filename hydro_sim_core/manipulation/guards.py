"""Guards: conditions on measured forces that end a motion."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError

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
        for name, value in (("threshold", threshold), ("hold", hold)):
            if not 0.0 <= value < math.inf:
                raise InputError("ForceGuard", name, f"is {value}", "give a number, 0 or more")
        self._threshold, self._hold = threshold, hold
        self._along: Array | None = None
        if along is not None:
            direction = np.asarray(along, dtype=float)
            length = float(np.linalg.norm(direction)) if direction.shape == (3,) else 0.0
            if not 0.0 < length < math.inf:
                raise InputError("ForceGuard", "along", f"is {along}", "give three numbers, not all 0")
            self._along = direction / length
        self._since: float | None = None

    def update(self, time: float, force: ArrayLike) -> bool:
        """Take a measured force.

        Args:
            time: When it was measured, s; not before that of the last call.
            force: (3,) N.

        Returns:
            Whether it has been beyond the threshold for ``hold``.

        Raises:
            InputError: The force is not three finite numbers: a broken sensor must not pass for no force.
        """
        measured = np.asarray(force, dtype=float)
        if measured.shape != (3,) or not np.all(np.isfinite(measured)):
            raise InputError("ForceGuard", "force", f"is {measured}", "give three finite numbers, N")
        size = float(np.linalg.norm(measured) if self._along is None else self._along @ measured)
        if size <= self._threshold:
            self._since = None
            return False
        if self._since is None:
            self._since = time
        return time - self._since >= self._hold

    def reset(self) -> None:
        """Forget what was measured."""
        self._since = None
