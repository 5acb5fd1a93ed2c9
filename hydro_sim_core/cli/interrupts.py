"""Ctrl-C as an event, for commands that go on until then."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Event]:
    """Turn the first Ctrl-C into an event, so that a command ends where it is whole; the second one kills.

    An exception would be raised anywhere, and libraries that try what they can import catch all exceptions there.
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
