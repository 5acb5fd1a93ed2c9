"""Steps on their way from the stepping thread to the publishing one."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import NamedTuple

from hydro_sim_core.simulation import Snapshot

#: Most states that wait to be published; of the steps beyond only the times are kept, which take no memory to speak of.
MOST_WAITING = 100


class Step(NamedTuple):
    """A step to be told of.

    Attributes:
        number: Epoch and number in it.
        time: Simulated time, s.
        snapshot: State after it; None if too many were waiting.
    """

    number: tuple[int, int]
    time: float
    snapshot: Snapshot | None


class Steps:
    """Queue of the steps; one in C, which wakes a thread faster than a condition does."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Step] = SimpleQueue()
        self._last = (-1, -1)

    def put(self, snapshot: Snapshot) -> None:
        """Note a step; called by the runner for every one, in order."""
        kept = snapshot if self._queue.qsize() < MOST_WAITING else None
        self._queue.put(Step((snapshot.epoch, snapshot.step), snapshot.time, kept))

    def take(self, timeout: float) -> list[Step]:
        """All steps since the last call, each once and in order; none if there is none within ``timeout``, s."""
        try:
            taken = [self._queue.get(timeout=timeout)]
        except Empty:
            return []
        taken += (self._queue.get_nowait() for _ in range(self._queue.qsize()))
        news = []
        for step in taken:
            if step.number > self._last:
                self._last = step.number
                news.append(step)
        return news
