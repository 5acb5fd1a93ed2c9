"""Progress of long work, reported to observers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Work(NamedTuple):
    """State of a piece of work.

    Attributes:
        what: Product of the whole work.
        done: Parts done.
        total: Parts in all.
        part: Name of the part in work.
        detail: Current stage of that part, if the part alone takes long; else empty.
    """

    what: str
    done: int
    total: int
    part: str = ""
    detail: str = ""


Observer = Callable[[Work | None], None]

_observers: list[Observer] = []
_current: Work | None = None


class Parts:
    """Counter of the parts of work that was begun with ``working``."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, -1

    def begin(self, part: str) -> None:
        """Report that the next part is begun."""
        self._done += 1
        _tell(Work(self._what, self._done, self._total, part))


@contextmanager
def working(what: str, total: int) -> Iterator[Parts]:
    """Report work of ``total`` parts within the context."""
    try:
        yield Parts(what, total)
    finally:
        _tell(None)


def tell_detail(detail: str) -> None:
    """Report the stage of the part in work; without work in progress, do nothing."""
    if _current is not None:
        _tell(_current._replace(detail=detail))


@contextmanager
def watched_by(observer: Observer) -> Iterator[None]:
    """Call an observer for all work within the context, in any thread; with None when the work ends.

    An exception raised by the observer ends the work.
    """
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def _tell(work: Work | None) -> None:
    global _current
    _current = work
    for observer in tuple(_observers):
        observer(work)
