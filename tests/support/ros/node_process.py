"""The node in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.ros_domains import take_domain

ROOT = Path(__file__).parents[3]
SCENE = ROOT / "config" / "scenes" / "spatula_slip.yaml"
#: A process that has imported what the node imports, and from which nodes are forked: half of a start is imports.
_IMPORTED = multiprocessing.get_context("forkserver")
_IMPORTED.set_forkserver_preload(["hydro_sim.node"])


def _run_node(log: Path, arguments: list[str], environment: dict[str, str]) -> None:
    """What ``python -m hydro_sim`` does."""
    output = os.open(log, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    sys.argv = ["hydro_sim", *arguments]
    runpy.run_module("hydro_sim", run_name="__main__", alter_sys=True)


class _Forked:
    """What ``subprocess.Popen`` offers, for a process that is forked from the one with the imports."""

    def __init__(self, log: Path, arguments: list[str], environment: dict[str, str]) -> None:
        self._process = _IMPORTED.Process(target=_run_node, args=(log, arguments, environment))
        self._process.start()
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("hydro_sim", timeout)
        return self._process.exitcode


class NodeProcess:
    """The node, running.

    Args:
        log: Where its output goes.
        arguments: What follows ``--ros-args``.
        domain: Its domain; None takes a free one.
        fresh: Start the program as people do, for tests of how it starts; otherwise it is forked.
    """

    def __init__(self, log: Path, *arguments: str, domain: int | None = None, fresh: bool = False) -> None:
        self.domain = domain or take_domain(lambda: self.alive)
        self._log = log
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "PYTHONUNBUFFERED": "1"}
        # On a machine that runs other tests, a real-time thread would hold them up; a later value counts.
        all_arguments = ["--ros-args", "-p", "realtime_priority:=0", *arguments]
        self._process: Any
        with log.open("w") as output:
            if fresh:
                command = [sys.executable, "-m", "hydro_sim", *all_arguments]
                self._process = subprocess.Popen(
                    command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
                )
            else:
                self._process = _Forked(log, all_arguments, environment)

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
