"""From a command to its effect in free-running mode, beside the round trip of a bare rclpy echo in the same run.

A command and an echo request leave at the same instants. The effect is the first joint state that shows the commanded
effort; it comes back over the same hops as the echo, so what the node adds is the difference. A step may begin up to a
period after the command has arrived, and its effect is published when it has been taken.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", "77")

import numpy as np
import rclpy
from measure import make_parser, write
from rclpy.executors import SingleThreadedExecutor
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

SCENE = "spatula_slip"
#: Heavy enough that efforts of alternating sign hardly move it.
JOINT = "joint_1"
STEP = 1e-3
PAUSE = 0.02  # s between two commands
LOST_AFTER = 1.0  # s
_SAME = 1e-6  # N m


def echo() -> None:
    """Send back every number, until killed."""
    rclpy.init()
    node = rclpy.create_node("echo")
    publisher = node.create_publisher(Float64, "pong", 10)
    node.create_subscription(Float64, "ping", publisher.publish, 10)
    rclpy.spin(node)


class Probe:
    """Sends numbered commands and pings, and waits for what comes back."""

    def __init__(self) -> None:
        self._node = rclpy.create_node("latency_probe")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._commands = self._node.create_publisher(
            Float64MultiArray, "forward_effort_controller/commands", 10
        )
        self._pings = self._node.create_publisher(Float64, "ping", 10)
        self._node.create_subscription(JointState, "joint_states", self._on_state, 100)
        self._node.create_subscription(Float64, "pong", self._on_pong, 10)
        self._effort = 0.0
        self.felt_at = self.echoed_at = 0.0

    def _on_state(self, state: JointState) -> None:
        if not self.felt_at and abs(state.effort[state.name.index(JOINT)] - self._effort) < _SAME:
            self.felt_at = time.perf_counter()

    def _on_pong(self, message: Float64) -> None:
        if message.data == self._effort:
            self.echoed_at = time.perf_counter()

    def wait_for_others(self) -> None:
        """Until node and echo are there."""
        while not (self._commands.get_subscription_count() and self._pings.get_subscription_count()):
            self._executor.spin_once(timeout_sec=0.1)
        self.spin(2.0)

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def send(self, effort: float, ping: bool) -> float | None:
        """Send a command or a ping; time until it comes back, s, None if it did not."""
        self._effort, self.felt_at, self.echoed_at = effort, 0.0, 0.0
        began = time.perf_counter()
        if ping:
            self._pings.publish(Float64(data=effort))
        else:
            self._commands.publish(Float64MultiArray(data=[effort, *[0.0] * 6]))
        while time.perf_counter() < began + LOST_AFTER:
            self._executor.spin_once(timeout_sec=LOST_AFTER)
            back = self.echoed_at if ping else self.felt_at
            if back:
                return back - began
        return None


def measure(count: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Round trips of both, in turns, s; and the node's own report."""
    parameters: dict[str, Any] = {"scene": SCENE, "joint_state_rate": 1000.0, "status_line": "false"}
    with tempfile.TemporaryDirectory() as folder:
        parameters["report_file"] = str(Path(folder, "report.json"))
        settings = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
        command = [sys.executable, "-m", "hydro_sim", "--ros-args", *settings]
        node = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        mirror = multiprocessing.get_context("spawn").Process(target=echo, daemon=True)
        mirror.start()
        rclpy.init()
        probe = Probe()
        probe.wait_for_others()
        found: dict[str, list[float]] = {"echo": [], "command": []}
        for i in track(range(count), description="commands and echoes"):
            for kind in found:
                took = probe.send((-1) ** i * 1e-3 * (1 + i), kind == "echo")
                if took is not None:
                    found[kind].append(took)
                probe.spin(PAUSE)
        node.terminate()
        node.wait(30)
        mirror.kill()
        rclpy.shutdown()
        return found, json.loads(Path(parameters["report_file"]).read_text())


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "command_latency")
    parser.add_argument("--count", type=int, default=1000, help="commands")
    arguments = parser.parse_args()
    found, report = measure(arguments.count)
    table = Table(
        "round trip", "came back", "p50 [ms]", "p90", "p99", title="command to effect, and a bare echo"
    )
    percentiles = {kind: np.percentile(times, (50, 90, 99)).tolist() for kind, times in found.items()}
    for kind, values in percentiles.items():
        table.add_row(kind, f"{len(found[kind])} of {arguments.count}", *(f"{1e3 * v:.3f}" for v in values))
    added = [c - e for c, e in zip(percentiles["command"], percentiles["echo"], strict=True)]
    table.add_row("added by the node", "", *(f"{1e3 * value:.3f}" for value in added))
    console = Console(width=110)
    console.print(table)
    latency = report["commands"]["effort"]["latency"]
    waits = [f"{name} {1e3 * latency[name]:.3f}" for name in ("p50", "p99", "max")]
    console.print(f"of it, from receipt to the step that obeys: {', '.join(waits)} ms (a step is 1 ms)")
    write(
        arguments.out,
        {
            "count": arguments.count,
            "round_trip_percentiles_50_90_99": percentiles,
            "receipt_to_step": latency,
        },
    )


if __name__ == "__main__":
    main()
