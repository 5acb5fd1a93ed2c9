"""The node in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ros_domains import take_domain

ROOT = Path(__file__).parents[2]
SCENE = ROOT / "config" / "scenes" / "spatula_slip.yaml"


class NodeProcess:
    """The node, running."""

    def __init__(self, log: Path, *arguments: str, domain: int | None = None) -> None:
        self.domain = domain or take_domain(lambda: self.alive)
        self._log = log
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "hydro_sim", "--ros-args", *arguments]
        with log.open("w") as output:
            self._process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        return self._log.read_text()

    def wait_for_output(self, text: str, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while text not in self.output:
            assert self.alive, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self._process.kill()
        self._process.wait(20)

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)

    def stop(self) -> int:
        """Interrupt as Ctrl-C does; the exit status."""
        if self.alive:
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
