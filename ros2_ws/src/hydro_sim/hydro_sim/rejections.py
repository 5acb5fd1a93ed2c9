"""Rejections of bad messages, and positions moved to their limits: counted by kind, the first of a kind logged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from hydro_sim_core.errors import InputError

#: Distance beyond a limit at which a joint may be found that presses against its compliant stop, rad or m.
STOP_COMPLIANCE = 1e-3
#: Quoted names and numbers, which differ between messages with the same kind of error.
_DETAILS = re.compile(r"'[^']*'|[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")
#: Largest number of kinds, so that hostile messages cannot fill memory, log and diagnostics; others count as one kind.
_MOST_KINDS = 100
_OTHERS = "other reasons"


class Rejections:
    """Counts rejected messages, from any thread; ``logger`` gets one warning per kind."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._clamped = 0
        self._moved_far: set[tuple[str, str]] = set()  # topic and joint

    @property
    def clamped(self) -> int:
        """Number of commanded positions that were moved to a limit."""
        return self._clamped

    def count_clamped(self, topic: str, joint: str, position: float, limit: float) -> None:
        """Count a position (rad or m) on ``topic`` that was moved to the ``limit`` of a joint of the scene.

        Those of joints that press against their stops are not logged: nobody could do anything about them.
        """
        is_far = abs(position - limit) > STOP_COMPLIANCE
        with self._lock:
            self._clamped += 1
            is_first = is_far and (topic, joint) not in self._moved_far
            if is_first:
                self._moved_far.add((topic, joint))
        if is_first:
            self._logger.warning(
                f"{topic}: joint '{joint}': {position:g} is outside its limits; moved to {limit:g} "
                "(further ones are only counted, in /diagnostics)"
            )

    @property
    def counts(self) -> dict[str, int]:
        """Number of rejected messages of each kind."""
        with self._lock:
            return dict(self._counts)

    @property
    def total(self) -> int:
        """Number of rejected messages."""
        return sum(self.counts.values())

    @contextmanager
    def guard(self, topic: str) -> Iterator[None]:
        """Turn an ``InputError`` raised inside into a counted rejection of a message on ``topic``."""
        try:
            yield
        except InputError as error:
            self.count(topic, error)

    def count(self, topic: str, error: InputError) -> None:
        """Count a rejection of a message on ``topic`` because of ``error``."""
        kind = f"{topic}: {_DETAILS.sub('…', error.problem)}"
        with self._lock:
            if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
                kind = _OTHERS
            self._counts[kind] += 1
            first = self._counts[kind] == 1
        if first:
            self._logger.warning(
                f"{topic}: rejected: {error.element}: {error.problem}; {error.mend} "
                "(further ones of this kind are only counted, in /diagnostics)"
            )
