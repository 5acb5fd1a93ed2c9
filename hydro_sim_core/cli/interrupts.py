"""Ctrl-C as an event, for commands that run until then."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

#: Exit status after Ctrl-C, as shells have it.
CTRL_C_STATUS = 130
#: Time after which what was told to stop and does not is broken off by another Ctrl-C, s.
_PATIENCE = 2.0


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


class CtrlC:
    """Ends a command at the first Ctrl-C, in one piece, however often it is pressed.

    The first raises ``KeyboardInterrupt``, or is only noted where the command looks at ``pressed``. What follows is of
    no effect, so that what is ended then ends. Usable as a context manager, for the rest of a program: once it was
    pressed, it stays without effect after that, too.

    Attributes:
        pressed: Whether it was pressed.
        is_looked_at: Whether the command looks at ``pressed``; from two seconds after the first on, another one raises
            all the same.
    """

    def __init__(self) -> None:
        self.pressed = self.is_looked_at = False
        self._raised = False
        self._since = 0.0

    def __enter__(self) -> CtrlC:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.pressed:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.pressed:
            self.pressed, self._since = True, now
            if self.is_looked_at:
                return
        elif self._raised or not self.is_looked_at or now - self._since < _PATIENCE:
            return
        self._raised = True
        raise KeyboardInterrupt
