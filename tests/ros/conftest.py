"""Starts the node in a process of its own and gives tests a client in this one."""

from __future__ import annotations

import os
import sys
from threading import Event
from typing import Any

import pytest

# Read when the middleware starts, so before the first context. Field checks turn a wrong type into an error.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"

from support.ros.node_process import ROOT, SCENE, NodeProcess
from support.ros.ros_client import Client
from support.ros.simulation_bench import Simulation
from support.ros_domains import take_domain


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

    def start(*arguments: str, **options: Any) -> NodeProcess:
        log = tmp_path / f"log{len(started)}.txt"
        started.append(NodeProcess(log, *arguments, **options))
        return started[-1]

    yield start
    for process in started:
        process.stop()
        print(process.output)  # pytest shows it with a test that has failed


@pytest.fixture
def run_here(monkeypatch, capfd):
    """Run the node to its end in this process, which has imported everything: its exit status and what it printed."""
    from hydro_sim.node import run

    def run_to_its_end(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(ROOT)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(take_domain()))
        interval = sys.getswitchinterval()
        try:
            status = run(["hydro_sim", "--ros-args", *arguments], Event())
        finally:
            sys.setswitchinterval(interval)
        return status, "".join(capfd.readouterr())

    return run_to_its_end


@pytest.fixture
def simulation():
    """Control of a simulation in this process, and no node."""
    simulation = Simulation()
    yield simulation
    simulation.host.runner.stop()
