"""The engine's log, which is Python's, in the log of the node: one format, and /rosout."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.node import Node


@contextmanager
def engine_log(node: Node) -> Iterator[None]:
    """Pass what the engine warns of on to the log of ``node``, so that nothing else prints it too."""
    source = logging.getLogger("hydro_sim_core")
    handler, propagate = _NodeLog(node), source.propagate
    source.addHandler(handler)
    source.propagate = False
    try:
        yield
    finally:
        source.removeHandler(handler)
        source.propagate = propagate


class _NodeLog(logging.Handler):
    """Logs warnings and errors as the node does."""

    def __init__(self, node: Node) -> None:
        super().__init__(logging.WARNING)
        self._node_logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Log it; rclpy wants a line of code to have one severity."""
        if record.levelno >= logging.ERROR:
            self._node_logger.error(self.format(record))
        else:
            self._node_logger.warning(self.format(record))
