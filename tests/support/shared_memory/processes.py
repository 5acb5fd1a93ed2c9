"""Processes under test: a simulation, and what they need to import this checkout."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hydro_sim_core.shared_memory.client import Client, connect

_ROOT = Path(__file__).parents[3]


@dataclass
class Running:
    """A simulation in a process of its own.

    Attributes:
        name: Its name.
        process: The process.
    """

    name: str
    process: subprocess.Popen[str]

    def connect(self) -> Client:
        """A client of it."""
        return connect(self.name)

    def signal(self, number: signal.Signals) -> None:
        """Send its process a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill its process, which has no time to end in order."""
        self.process.kill()
        self.process.wait()


def environment() -> dict[str, str]:
    """That of processes under test, which import this checkout."""
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path}
