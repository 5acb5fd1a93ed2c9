"""Log of the time that a runner gives up because it is too late to catch up."""

from __future__ import annotations

import logging
import math
import threading

logger = logging.getLogger(__name__)

#: Wall-clock time between two lines, s; what happens in between is told in the next one.
_LINE_PERIOD = 10.0
#: Lateness that is told at once, s.
_LONG = 1.0


class GivenUpLog:
    """Tells when a backlog is dropped: the first time at once, then at most every ten seconds, with the sum since.

    A second or more at once is told at once, too, and at the end what is not told yet.
    """

    def __init__(self) -> None:
        self._next_line = -math.inf
        self._times = 0
        self._simulated = 0.0
        self._late = 0.0
        self._most = math.inf
        self._dropped = 0
        self._lock = threading.Lock()

    def follow(
        self,
        now: float,
        dropped: int,
        period: float,
        time_step: float,
        most: float,
        late: float | None = None,
    ) -> None:
        """Note what was dropped since the last call, from any thread.

        Args:
            now: Time of a monotonic clock, s.
            dropped: Periods that were dropped so far.
            period: A period, s of wall-clock time.
            time_step: Simulated time of a period, s.
            most: The largest backlog that is worked off, s of wall-clock time; infinite where all of it is dropped as
                a matter of policy, which is not told.
            late: How late the runner is, s; None if all that is known is what was dropped.
        """
        with self._lock:
            new, self._dropped = dropped - self._dropped, dropped
            if new > 0 and most < math.inf:
                self.note(now, new * period if late is None else late, most, new * time_step)

    def note(self, now: float, late: float, most: float, simulated: float) -> None:
        """Note that a backlog is dropped.

        Args:
            now: Time of a monotonic clock, s.
            late: How late the runner is, s of wall-clock time.
            most: The largest backlog that it works off, s of wall-clock time.
            simulated: Simulated time that is given up, s.
        """
        self._times += 1
        self._simulated += simulated
        self._late, self._most = max(self._late, late), most
        if now < self._next_line and late < _LONG:
            return
        self.tell()
        self._next_line = now + _LINE_PERIOD

    def tell(self) -> None:
        """Tell what was given up since the last line, if anything was."""
        if not self._times:
            return
        often = f", {self._times} times" if self._times > 1 else ""
        logger.warning(
            "runner: %.3g s late, more than the largest backlog of %g s: %.3g s of simulated time given up%s; "
            "leave it more processor time, or ask for a lower real-time factor",
            self._late,
            self._most,
            self._simulated,
            often,
        )
        self._times, self._simulated, self._late = 0, 0.0, 0.0
