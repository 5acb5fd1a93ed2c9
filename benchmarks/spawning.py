"""Periods that spawning costs the node at 1 kHz, where it skips what it is late for.

Simulated time falls behind by the periods that are skipped, so what a while costs is its length less what simulated
time went on meanwhile. Whiles of the same length without spawning show what the machine costs. The node runs in this
process, so that no package of services is needed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from threading import Event

import numpy as np
import rclpy
from measure import make_parser, write
from rclpy.executors import SingleThreadedExecutor
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim.node import SimulationNode
from hydro_sim.simulation_control.spawning import SpawnRequest
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL

ROBOTS = ("mug", "spatula", "gen3_7dof_soft_bubble")
#: After a spawn, s: what is left of it, such as garbage, may cost something too.
AFTER = 0.3


class RunningNode:
    """The node in this process, and a clock of what it skips.

    Args:
        arguments: ROS arguments beside the scene.
    """

    def __init__(self, arguments: list[str]) -> None:
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        os.environ.setdefault("ROS_DOMAIN_ID", "77")
        settings = ["-p", "scene:=spatula_slip", "-p", "status_line:=false", "-p", "overrun:=skip"]
        rclpy.init(args=["hydro_sim", "--ros-args", *settings, *arguments])
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._node = SimulationNode(Console(), Event())
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.trigger_configure()
        self._node.trigger_activate()
        assert self._node.simulation is not None
        self._simulation = self._node.simulation

    def spin_for(self, duration: float) -> None:
        """Serve for a time, s."""
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def spawn(self, robot: str, distance: float) -> None:
        """Spawn a shipped robot and wait until it is there."""
        X_FE = np.eye(4)
        X_FE[:3, 3] = distance, 0.0, 3.0
        request = SpawnRequest(allow_renaming=True, uri=robot, X_FE=X_FE)
        done = self._executor.create_task(self._simulation.operations.spawn(request))
        while not done.done():
            self._executor.spin_once(timeout_sec=0.02)
        done.result()

    def cost(self, doing: Callable[[], None]) -> tuple[float, float]:
        """Seconds that something takes, with ``AFTER``, and those that simulated time stands still meanwhile."""
        simulated, began = self._simulation.runner.snapshot().time, time.monotonic()
        doing()
        self.spin_for(AFTER)
        taken = time.monotonic() - began
        return taken, taken - (self._simulation.runner.snapshot().time - simulated)

    def close(self) -> None:
        """End the node."""
        self._node.trigger_deactivate()
        self._node.trigger_cleanup()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()


def measure(rounds: int, arguments: list[str]) -> dict[str, dict[str, list[float]]]:
    """Seconds taken and lost, by what was spawned, and as long without."""
    node = RunningNode(arguments)
    found: dict[str, dict[str, list[float]]] = {
        robot: {"taken": [], "lost": [], "lost without": []} for robot in ROBOTS
    }
    for robot in ROBOTS:  # what is spawned first may have to be compiled
        node.spawn(robot, 1.0)
    for number in track(range(rounds), "spawning"):
        for k, robot in enumerate(ROBOTS):
            distance = 2.0 + len(ROBOTS) * number + k
            taken, lost = node.cost(partial(node.spawn, robot, distance))
            _, without = node.cost(partial(node.spin_for, taken - AFTER))
            for values, value in zip(found[robot].values(), (taken, lost, without), strict=True):
                values.append(value)
    node.close()
    return found


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "spawning")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("parameters", nargs="*", help="further ROS arguments of the node, after --")
    arguments = parser.parse_args()
    found = measure(arguments.rounds, arguments.parameters)
    table = Table(title=f"periods of 1 ms that a spawn costs, {arguments.rounds} of each: median (largest)")
    for name in ("robot", "takes, s", "lost", "lost in as long without"):
        table.add_column(name)
    for robot, row in found.items():
        lost, without = ([1e3 * value for value in row[name]] for name in ("lost", "lost without"))
        cells = (f"{statistics.median(values):.0f} ({max(values):.0f})" for values in (lost, without))
        table.add_row(robot, f"{statistics.median(row['taken']):.2f}", *cells)
    Console(width=130).print(table)
    write(arguments.out, {"rounds": arguments.rounds, "found": found})


if __name__ == "__main__":
    main()
