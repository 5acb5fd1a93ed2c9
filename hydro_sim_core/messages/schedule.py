"""Schedule of a topic with a rate in simulated time."""

from __future__ import annotations


class Schedule:
    """Decides when a topic with a rate in simulated time is due."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def due(self, time: float, rate: float) -> bool:
        """Whether to publish the state at simulated ``time`` (s); ``rate`` in Hz, 0 for every step."""
        period = 1.0 / rate if rate > 0.0 else 0.0
        if time < self._last:  # the simulation was reset
            self._last = float("-inf")
        # A millionth of a period absorbs rounding where the period is a multiple of the step.
        if time - self._last < period * (1.0 - 1e-6):
            return False
        # Counting on from the due time, not from now, keeps the rate where steps do not divide the period.
        late = time - self._last - period
        self._last = time if late > period else self._last + period
        return True
