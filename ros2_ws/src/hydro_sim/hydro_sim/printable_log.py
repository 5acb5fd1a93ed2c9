"""A logger of rclpy that escapes control characters."""

from __future__ import annotations

from typing import Any

import rclpy.impl.rcutils_logger as rcutils_logger

from hydro_sim_core.errors import printable

# The logger finds its caller by leaving out files in this list.
rcutils_logger._internal_callers.append(__file__)


class PrintableLogger(rcutils_logger.RcutilsLogger):  # type: ignore[misc]  # rclpy has no types
    """Logs every message on one line and without control characters, which names in it may hold."""

    def log(self, message: Any, severity: Any, **options: Any) -> bool:
        """Log a message; arguments as for ``RcutilsLogger.log``."""
        line = printable(str(message).replace("\n", " "))
        return bool(super().log(line, severity, **options))
