"""How long a task's own code may take: a loop without an end must not keep other trials, or a process, for ever."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Processor time (s) that one call of a task's own code may take: far more than a plan, or compiling one's functions.
LONGEST = 600.0
#: Time between two attempts to end it, s.
_AGAIN = 1.0


class Endless(BaseException):
    """Raised in code that does not come to its end, at the line where it is; no ``except Exception`` there keeps it."""


@contextmanager
def patience() -> Iterator[None]:
    """Let what is called take ``LONGEST`` seconds of the processor, and no more.

    Only the main thread can be broken off so, and only where the system has such timers: elsewhere it may go on.
    What waits or sleeps takes no processor time.

    Raises:
        Endless: It takes longer.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def break_off(number: int, frame: FrameType | None) -> None:
        raise Endless

    handler = signal.signal(signal.SIGVTALRM, break_off)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        # None is one that was not set by Python.
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL if handler is None else handler)
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
