"""Shared memory that Fast DDS leaves behind, 35 MB a process, when a test kills a node: taken away at the end.

What running processes hold stays: the tool of Fast DDS looks at the locks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Clean up, once for all workers, where Fast DDS is installed."""
    tool = Path(sys.executable).with_name("fastdds")
    if tool.exists() and not hasattr(session.config, "workerinput"):
        subprocess.run([tool, "shm", "clean"], stdout=subprocess.DEVNULL, check=False, timeout=60)
