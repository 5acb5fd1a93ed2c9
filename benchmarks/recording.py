"""What recording costs a run at 1 kHz: seconds with and without it take turns, so that both see the same machine."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core.recording import Recorder
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL
from hydro_sim_core.simulation.scenes import open_world

SCENE = "spatula_slip"
BLOCK = 1.0  # s


class Probe:
    """Looks at the stepping thread before every step."""

    def __init__(self) -> None:
        self.recording = False
        self.cpu: dict[bool, list[float]] = {False: [], True: []}
        self.periods: dict[bool, list[float]] = {False: [], True: []}
        self._last: tuple[bool, float, float] | None = None

    def __call__(self, world: World) -> None:
        now = (self.recording, time.thread_time(), time.perf_counter())
        if self._last is not None and self._last[0] == now[0]:
            self.cpu[now[0]].append(now[1] - self._last[1])
            self.periods[now[0]].append(now[2] - self._last[2])
        self._last = now


def run(blocks: int) -> dict[str, Any]:
    """Seconds in turn, half of ``blocks`` of each kind."""
    world = open_world(SCENE)
    world.step()
    world.reset()
    runner = FixedRateRunner(world)
    probe = Probe()
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "run.mcap", drives=True)
        recorder.start(runner.snapshot(), world)

        def record(snapshot: Snapshot) -> None:
            if probe.recording:
                recorder.record(snapshot, world)

        runner.add_command_source(probe)
        runner.add_listener(record)
        runner.start()
        process = {False: 0.0, True: 0.0}
        for block in range(blocks):
            probe.recording = bool(block % 2)
            began = time.process_time()
            threading.Event().wait(BLOCK)
            process[probe.recording] += time.process_time() - began
        runner.stop()
        report = recorder.stop()
    seconds = len(probe.cpu[True]) * world.time_step
    return {
        "scene": SCENE,
        "blocks": blocks,
        "without": _summary(probe, process, blocks, recording=False),
        "with": _summary(probe, process, blocks, recording=True),
        "bytes_per_simulated_second": report.size / seconds,
        "messages_per_simulated_second": report.messages / seconds,
        "lost_steps": report.lost_steps,
    }


def _summary(probe: Probe, process: dict[bool, float], blocks: int, recording: bool) -> dict[str, float]:
    cpu, periods = np.array(probe.cpu[recording]), np.array(probe.periods[recording])
    return {
        "steps": len(cpu),
        "stepping_thread_cpu_mean": float(cpu.mean()),
        "stepping_thread_cpu_p50": float(np.percentile(cpu, 50.0)),
        "period_p50": float(np.percentile(periods, 50.0)),
        "period_p99": float(np.percentile(periods, 99.0)),
        "process_cores": 2.0 * process[recording] / (blocks * BLOCK),
    }


def main() -> None:
    """Measure, print and write."""
    parser = make_parser(__doc__ or "", "recording")
    parser.add_argument("--seconds", type=int, default=40, help="how long, half of it recorded")
    arguments = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL)
    result = run(arguments.seconds)
    table = Table("", "without", "with", "ratio")
    for name, without in result["without"].items():
        recorded = result["with"][name]
        table.add_row(name, f"{without:.4g}", f"{recorded:.4g}", f"{recorded / without:.2f}")
    console = Console()
    console.print(table)
    console.print(
        f"{result['bytes_per_simulated_second'] / 1e6:.2f} MB and {result['messages_per_simulated_second']:.0f} "
        f"messages a second of simulated time, {result['lost_steps']} steps lost"
    )
    write(arguments.out, result)


if __name__ == "__main__":
    main()
