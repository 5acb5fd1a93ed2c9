"""Reproducible injected faults of the link between a controller and the robot."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator

from hydro_sim.parameters import Parameters


class LinkFaults:
    """Delays and loses commands in simulated time, so that runs are reproducible.

    Only the stepping thread calls it.

    Args:
        parameters: ``link_*``, followed live.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._waiting: list[tuple[float, int, Callable[[], None], Callable[[], None]]] = []
        self._number = itertools.count()
        self._random = random.Random(parameters.link_seed)

    def restart(self) -> None:
        """Drop delayed commands, and restart the random numbers."""
        waiting, self._waiting = self._waiting, []
        for *_, forget in waiting:
            forget()
        self._random = random.Random(self._parameters.link_seed)

    def loses(self, time: float) -> bool:
        """Whether a command sent at simulated ``time`` (s) is lost."""
        p = self._parameters
        # Times are sums of steps, which may miss the begin and the end of an outage by a little.
        if p.link_outage_period and math.fmod(time + 1e-9, p.link_outage_period) < p.link_outage_length:
            return True
        return bool(p.link_loss) and self._random.random() < p.link_loss

    def send(self, time: float, arrive: Callable[[], None], forget: Callable[[], None]) -> None:
        """Call ``arrive`` after the delay of the link; ``forget`` if a restart comes first."""
        p = self._parameters
        delay = p.link_delay + (p.link_jitter * self._random.random() if p.link_jitter else 0.0)
        if delay:
            heapq.heappush(self._waiting, (time + delay, next(self._number), arrive, forget))
        else:
            arrive()

    def left(self, time: float) -> float:
        """Simulated time from ``time`` (s) until a command arrives, s; infinite if none is on its way."""
        return self._waiting[0][0] - time if self._waiting else math.inf

    def arrivals(self, time: float) -> Iterator[Callable[[], None]]:
        """Deliver the commands that have arrived by simulated ``time`` (s), in the order of arrival."""
        while self._waiting and self._waiting[0][0] <= time + 1e-9:  # times are sums of steps
            yield heapq.heappop(self._waiting)[2]
