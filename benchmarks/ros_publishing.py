"""What publishing costs: processor time of the process, and what the stepping thread feels of it.

An arm squeezes a cylinder at 1 kHz with about 1500 contact faces. The same runner steps it alone, with the publishers
of the node and nobody listening, and with a process for every topic that listens: clock and joint states at 1 kHz,
wrenches at 100 Hz, markers at 30 Hz. The phases take turns, as the machine is not ours alone.

Processor time is given for a second of simulated time: on a busy machine a second of wall time may hold fewer steps.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from measure import make_parser, write
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console
from rich.table import Table

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.publishers import ContactPublisher, StatePublisher
from hydro_sim.publishing.thread import PublisherThread
from hydro_sim_core import World
from hydro_sim_core.experiments.cylinder_grasp import MESHES, grasp_scene
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL

#: Edges of the bubbles' and of the cylinder's mesh, m, that give about 1500 faces.
FACES, HINTS = 1500, (0.01, 0.0031)
#: Simulated time until the grip is closed, s.
SETTLE = 0.6
PHASES = ("alone", "nobody listens", "all listened to")
TOPICS = {
    "/clock": "rosgraph_msgs.msg.Clock",
    "/joint_states": "sensor_msgs.msg.JointState",
    "/publishing_benchmark/wrench/left_finger_on_cylinder": "geometry_msgs.msg.WrenchStamped",
    "/publishing_benchmark/contact_markers": "visualization_msgs.msg.MarkerArray",
}
#: A process that takes messages without decoding them, to leave the processor to the one that is measured.
_LISTENER = """
import importlib, signal, sys, time
import rclpy
topic, (module, _, name) = sys.argv[1], sys.argv[2].rpartition(".")
rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
node = rclpy.create_node("listener")
times = []
node.create_subscription(
    getattr(importlib.import_module(module), name), topic, lambda _: times.append(time.monotonic()), 10, raw=True
)
stopped = []
signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
executor = rclpy.executors.SingleThreadedExecutor()
executor.add_node(node)
while not stopped:
    executor.spin_once(timeout_sec=0.2)
print((len(times) - 1) / (times[-1] - times[0]))
"""


@dataclass(frozen=True)
class Phase:
    """One phase of one round.

    Attributes:
        name: One of ``PHASES``.
        faces: Contact faces.
        real_time_factor: Simulated over wall time.
        process: Processor time of the whole process, s a simulated second.
        stepping: That of the stepping thread.
        publishing: That of all other threads.
        step_p50: Wall time of a step, s.
        step_p99: s.
        jitter_p50: Distance of the period between steps from 1 ms, s.
        jitter_p99: s.
        missed: Steps that ended after the next one should have begun.
        messages: Received by each listener a second.
    """

    name: str
    faces: int
    real_time_factor: float
    process: float
    stepping: float
    publishing: float
    step_p50: float
    step_p99: float
    jitter_p50: float
    jitter_p99: float
    missed: float
    messages: dict[str, float]


def main() -> int:
    parser = make_parser(__doc__, "ros_publishing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="wall time of a phase")
    arguments = parser.parse_args()

    sys.setswitchinterval(SWITCH_INTERVAL)
    MESHES[FACES] = HINTS
    world = World(grasp_scene(FACES))
    rclpy.init()
    try:
        phases = [
            _measure(world, name, arguments.seconds) for _ in range(arguments.rounds) for name in PHASES
        ]
    finally:
        rclpy.shutdown()
    rows = [_median([phase for phase in phases if phase.name == name]) for name in PHASES]
    Console(width=140).print(_table(rows))
    write(arguments.out, {"medians": rows, "phases": [asdict(phase) for phase in phases]})
    return 0


def _measure(world: World, name: str, seconds: float) -> Phase:
    world.reset()
    world.step(round(SETTLE / world.time_step))
    runner = FixedRateRunner(world, overrun="catch_up")
    node = rclpy.create_node("publishing_benchmark")
    messages: dict[str, float] = {}
    with ExitStack() as running:
        running.callback(node.destroy_node)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        running.callback(executor.shutdown)
        threads: tuple[PublisherThread, ...] = ()
        if name != PHASES[0]:
            parameters = Parameters(joint_state_rate=1000.0, wrench_topics=("left_finger_on_cylinder",))
            threads = (
                StatePublisher(node, world, runner, parameters).thread,
                ContactPublisher(node, runner, parameters).thread,
            )
        if name == PHASES[2]:
            running.enter_context(_listeners(node, messages))
        starts_and_ends: tuple[FixedRateRunner | PublisherThread, ...] = (runner, *threads)
        for part in starts_and_ends:
            part.start()
            running.callback(part.stop)

        process, stepping, wall = time.process_time(), _stepping_time(), time.monotonic()
        while time.monotonic() < wall + seconds:
            executor.spin_once(timeout_sec=0.05)
        process, stepping = time.process_time() - process, _stepping_time() - stepping
        report, faces = runner.report(), int(runner.snapshot().diagnostics["faces"])
    simulated = report.simulated_time
    return Phase(
        name=name,
        faces=faces,
        real_time_factor=report.real_time_factor,
        process=process / simulated,
        stepping=stepping / simulated,
        publishing=(process - stepping) / simulated,
        step_p50=report.step_time.p50,
        step_p99=report.step_time.p99,
        jitter_p50=report.jitter.p50,
        jitter_p99=report.jitter.p99,
        missed=report.overruns / report.steps,
        messages=messages,
    )


@contextmanager
def _listeners(node: Node, rates: dict[str, float]) -> Iterator[None]:
    """A process for every topic; in the end ``rates`` holds how many messages a second each has received."""
    processes = {
        topic: subprocess.Popen(
            [sys.executable, "-c", _LISTENER, topic, kind], stdout=subprocess.PIPE, text=True
        )
        for topic, kind in TOPICS.items()
    }
    try:
        deadline = time.monotonic() + 60.0
        while not all(node.count_subscribers(topic) for topic in TOPICS):
            if time.monotonic() > deadline:
                raise TimeoutError("the listeners did not connect")
            time.sleep(0.1)
        time.sleep(2.0)  # until they are connected in the other direction too
        yield
    finally:
        for topic, process in processes.items():
            process.send_signal(signal.SIGINT)
            rates[topic] = float(process.communicate(timeout=30.0)[0])


def _stepping_time() -> float:
    """Processor time of the stepping thread so far, s."""
    (thread,) = (t for t in threading.enumerate() if t.name == "hydro-sim stepper")
    assert thread.ident is not None
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def _median(phases: list[Phase]) -> dict[str, Any]:
    rows = [asdict(phase) for phase in phases]
    medians: dict[str, Any] = {"name": phases[0].name}
    for key, value in rows[0].items():
        if isinstance(value, int | float):
            medians[key] = float(np.median([row[key] for row in rows]))
    medians["messages"] = {
        topic: float(np.median([row["messages"][topic] for row in rows])) for topic in rows[0]["messages"]
    }
    return medians


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Publishing from a 1 kHz simulation: medians of the rounds, times in ms")
    table.add_column("topics")
    for heading in ("faces", "x real time", "cores", "stepping", "publishing"):
        table.add_column(heading, justify="right")
    for heading in ("step p50", "p99", "jitter p50", "p99", "missed"):
        table.add_column(heading, justify="right")
    for row in rows:
        cores = (f"{row[key]:.3f}" for key in ("real_time_factor", "process", "stepping", "publishing"))
        times = (f"{1e3 * row[key]:.3f}" for key in ("step_p50", "step_p99", "jitter_p50", "jitter_p99"))
        table.add_row(row["name"], f"{row['faces']:.0f}", *cores, *times, f"{100 * row['missed']:.2f} %")
    return table


if __name__ == "__main__":
    sys.exit(main())
