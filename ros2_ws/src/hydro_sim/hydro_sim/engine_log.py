"""Forwards the engine's Python log to the node's log, for one format and /rosout."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

from rclpy.node import Node


@contextmanager
def engine_log(node: Node) -> Iterator[None]:
    """Forward the engine's warnings to the log of ``node``, so that they are not printed twice."""
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
    """Handler that logs warnings and errors with the node's logger."""

    def __init__(self, node: Node) -> None:
        super().__init__(logging.WARNING)
        self._node_logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record, and each line of its traceback; rclpy requires that a line of code has one severity."""
        lines = [record.getMessage()]
        if record.exc_info is not None:
            lines += "".join(format_exception(*record.exc_info)).splitlines()
        for line in lines:
            if record.levelno >= logging.ERROR:
                self._node_logger.error(line)
            else:
                self._node_logger.warning(line)
