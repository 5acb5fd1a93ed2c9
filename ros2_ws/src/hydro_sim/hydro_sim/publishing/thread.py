"""A thread that publishes until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from rclpy.impl.rcutils_logger import RcutilsLogger


class PublisherThread:
    """Runs a loop beside the stepping thread; what ends it other than ``stop`` is logged and kept.

    Args:
        name: Of the thread.
        loop: Returns soon after the event that it is given is set.
        logger: Told of what ended the thread.
    """

    def __init__(self, name: str, loop: Callable[[Event], None], logger: RcutilsLogger) -> None:
        self._name = name
        self._loop = loop
        self._logger = logger
        self._stop = Event()
        self._thread: Thread | None = None
        #: What ended the thread, if it was not ``stop``.
        self.error: Exception | None = None

    def start(self) -> None:
        """Start the thread."""
        self._stop.clear()
        self._thread = Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it may be started again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._loop(self._stop)
        except Exception as error:
            # A thread that ends silently looks like a simulation in which nothing happens.
            self.error = error
            self._logger.error(f"{self._name} has ended: {type(error).__name__}: {error}")
