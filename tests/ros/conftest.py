"""Starts the node in a process of its own and gives tests a client in this one."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Read when the middleware starts, so before the first context. Field checks turn a wrong type into an error.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"

from ros_client import Client

ROOT = Path(__file__).parents[2]
SCENE = ROOT / "config" / "scenes" / "spatula_slip.yaml"
# Other runs on this machine must not talk to ours: a number of our own for every node that a run starts.
_domains = itertools.count(1 + os.getpid() % 90)


class NodeProcess:
    """The node, running."""

    def __init__(self, log: Path, *arguments: str, domain: int | None = None) -> None:
        self.domain = domain or next(_domains)
        self._log = log
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "hydro_sim.node", "--ros-args", *arguments]
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


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """The node with the arm, the gripper and the spatula."""
    log = tmp_path_factory.mktemp("node") / "log.txt"
    process = NodeProcess(log, "--params-file", "config/node.yaml", "-p", f"scene:={SCENE}")
    process.wait_for_output("scene 'spatula_slip'", timeout=300)  # the first start ever compiles
    yield process
    process.stop()


@pytest.fixture(scope="module")
def shared_client(node):
    client = Client(node.domain)
    yield client
    client.close()


@pytest.fixture
def client(shared_client):
    """A connected client, the simulation running from its start."""
    shared_client.wait_for_node()
    shared_client.pause(False)
    shared_client.reset()
    return shared_client


@pytest.fixture
def start_node(tmp_path):
    """Start the node with other arguments; it is stopped at the end."""
    started = []

    def start(*arguments: str, domain: int | None = None) -> NodeProcess:
        log = tmp_path / f"log{len(started)}.txt"
        started.append(NodeProcess(log, *arguments, domain=domain))
        return started[-1]

    yield start
    for process in started:
        process.stop()
