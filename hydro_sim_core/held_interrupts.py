"""Deferral of Ctrl-C until a block of code is complete."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Defer a Ctrl-C in the main thread to the end of the block.

    For imports of libraries that try optional parts and catch all exceptions there, as Trimesh does: they would swallow
    the KeyboardInterrupt.
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
