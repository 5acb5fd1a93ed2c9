"""How far work is that may take long: whoever does it tells, whoever watches hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Work(NamedTuple):
    """How far some work is.

    Attributes:
        what: What is made, all of it.
        done: Parts done.
        total: Parts in all.
        part: Which part is being worked at.
        detail: What is being done to it, if that alone takes long; else empty.
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
    """Counts the parts of a work that was begun with ``working``."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, -1

    def begin(self, part: str) -> None:
        """Tell that the next part is being worked at."""
        self._done += 1
        _tell(Work(self._what, self._done, self._total, part))


@contextmanager
def working(what: str, total: int) -> Iterator[Parts]:
    """Tell of a work of ``total`` parts while it lasts."""
    try:
        yield Parts(what, total)
    finally:
        _tell(None)


def tell_detail(detail: str) -> None:
    """Tell what is being done to the part that is worked at, if somebody works at one."""
    if _current is not None:
        _tell(_current._replace(detail=detail))


@contextmanager
def watched_by(observer: Observer) -> Iterator[None]:
    """Have an observer told of all work within the context, in whatever thread that is; of its end with None.

    What it raises ends the work.
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
