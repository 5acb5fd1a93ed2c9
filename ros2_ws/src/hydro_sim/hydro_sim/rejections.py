"""Rejections of bad messages: counted by kind, and logged when a kind occurs first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from hydro_sim_core.errors import InputError

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
