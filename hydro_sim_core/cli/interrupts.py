"""Ctrl-C as an event, for commands that run until then."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Event]:
    """Turn the first Ctrl-C into an event, so that a command ends in a consistent state.

    The second Ctrl-C raises ``KeyboardInterrupt``. An exception for the first one could be raised anywhere, and
    libraries with optional imports catch all exceptions around these.
    """
    event = Event()

    def handle(signum: int, frame: FrameType | None) -> None:
        event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
