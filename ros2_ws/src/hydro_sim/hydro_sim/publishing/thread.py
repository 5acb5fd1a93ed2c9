"""A publishing thread that can be stopped and restarted."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from rclpy.impl.rcutils_logger import RcutilsLogger


class PublisherThread:
    """Runs a loop beside the stepping thread; an exception that ends it is logged and kept.

    Args:
        name: Name of the thread.
        loop: The loop; it must return soon after the event that it receives is set.
        logger: Logger of the exception that ends the thread.
    """

    def __init__(self, name: str, loop: Callable[[Event], None], logger: RcutilsLogger) -> None:
        self._name = name
        self._loop = loop
        self._logger = logger
        self._stop = Event()
        self._thread: Thread | None = None
        #: Exception that ended the thread, or None.
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
            # A thread that ends silently would look like a simulation without motion.
            self.error = error
            self._logger.error(f"{self._name} has ended: {type(error).__name__}: {error}")
