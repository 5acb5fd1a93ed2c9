"""Lock-step with an external controller in Python: steps a second, and whether two runs give the same bits."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
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
from rich.table import Table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

SCENE = "spatula_slip"
ARM = [f"joint_{i}" for i in range(1, 8)]


class Controller:
    """Answers every joint state once with efforts that hold the arm and swing its last joint."""

    def __init__(self) -> None:
        self._node = rclpy.create_node("lock_step_controller")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(
            Float64MultiArray, "forward_effort_controller/commands", 10
        )
        self._node.create_subscription(JointState, "joint_states", self._answer, 10)
        self._last_stamp = -1.0
        self.answers = 0
        self.states = hashlib.sha256()
        self._home: np.ndarray[Any, Any] | None = None

    def _answer(self, state: JointState) -> None:
        stamp = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
        # A repetition for those who join late; or nobody would hear the answer, and the state comes again.
        if stamp <= self._last_stamp or not self._publisher.get_subscription_count():
            return
        self._last_stamp = stamp
        index = [state.name.index(name) for name in ARM]
        q, v = np.array(state.position)[index], np.array(state.velocity)[index]
        self._home = q if self._home is None else self._home
        wanted = self._home.copy()
        wanted[6] += 0.2 * np.sin(2.0 * np.pi * stamp)
        efforts = 100.0 * (wanted - q) - 5.0 * v
        self.states.update(np.array([stamp, *state.position, *state.velocity]).tobytes())
        self.answers += 1
        self._publisher.publish(Float64MultiArray(data=efforts.tolist()))

    def run(self, steps: int) -> float:
        """Answer so many states; wall time from the first to the last, s."""
        began = 0.0
        while self.answers < steps:
            self._executor.spin_once(timeout_sec=1.0)
            if self.answers == 1:
                began = time.perf_counter()
        return time.perf_counter() - began

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()


def run_once(steps: int) -> tuple[float, str]:
    """A fresh node and a fresh controller: steps a second, and a hash of every state that was seen."""
    parameters = {
        "scene": SCENE,
        "mode": "lock_step",
        "lock_step_interface": "effort",
        "real_time_factor": 0.0,
        "status_line": "false",
    }
    settings = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    command = [sys.executable, "-m", "hydro_sim", "--ros-args", *settings]
    rclpy.init()
    controller = Controller()
    node = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wall = controller.run(steps)
    finally:
        node.terminate()
        node.wait(30)
        controller.close()
        rclpy.shutdown()
    return (steps - 1) / wall, controller.states.hexdigest()


def main() -> None:
    """Run twice, print the table, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "lock_step")
    parser.add_argument("--steps", type=int, default=5000)
    arguments = parser.parse_args()
    runs = [run_once(arguments.steps) for _ in range(2)]
    table = Table("run", "steps a second", "hash of all states", title=f"lock-step, {arguments.steps} steps")
    for number, (rate, digest) in enumerate(runs, start=1):
        table.add_row(str(number), f"{rate:.0f}", digest[:16])
    console = Console(width=110)
    console.print(table)
    same = runs[0][1] == runs[1][1]
    console.print("bit-identical" if same else "NOT bit-identical")
    rates = [rate for rate, _ in runs]
    write(Path(arguments.out), {"steps": arguments.steps, "steps_a_second": rates, "identical": same})


if __name__ == "__main__":
    main()
