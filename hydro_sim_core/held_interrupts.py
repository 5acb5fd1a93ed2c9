"""Ctrl-C that waits until something is whole."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let a Ctrl-C of the main thread come when the block ends.

    For importing libraries that try what they can do without and catch all exceptions there: Trimesh would lose it.
    """
    if current_thread() is not main_thread():
        yield
        return
    pressed = []

    def handle(signum: int, frame: FrameType | None) -> None:
        pressed.append(signum)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
