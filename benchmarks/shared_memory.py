"""Lock-step through the shared memory on the arm with the spatula: steps a second, and whether runs give the same bits.

A controller in C++ (``docs/examples/swing.cpp``) and one in Python (``swing.py``) swing a joint, asleep between
states or awake; the simulation is in a process of its own and goes as fast as its controller, or by itself with
nothing that moves. What lock-step costs is the time from the end of a step to the begin of the next.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import multiprocessing
import os
import runpy
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from measure import make_parser, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core.shared_memory.c_header import INCLUDE
from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.simulation.running.runner import FixedRateRunner
from hydro_sim_core.simulation.scenes import open_world

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
JOINT = "joint_7"
WANTED = 20_000.0  # steps a second
SPIN = 1e-3  # s for which a controller waits awake, longer than a step


def simulate(scene: str, name: str, pipe: Connection) -> None:
    """Run a scene as fast as possible until the pipe says so."""
    runner = FixedRateRunner(open_world(scene), math.inf, start_paused=True, shared_name=name)
    runner.start()
    pipe.send("runs")
    pipe.recv()
    runner.close()


def compiled(folder: Path) -> Path:
    """The controller in C++."""
    program = folder / "swing"
    source = EXAMPLES / "swing.cpp"
    subprocess.run(["c++", "-std=c++17", "-O2", f"-I{INCLUDE}", str(source), "-o", str(program)], check=True)
    return program


def round_of(name: str, steps: int, control: Callable[[], object]) -> tuple[float, float, float, str]:
    """Steps a second from a reset on, by the begin of the first one and of the last; medians of a step and of the time
    between two, s; and what the last state was.
    """
    with connect(name) as simulation:
        simulation.pause()
        begin = simulation.reset().serial
        simulation.set_lock_step(True)
        simulation.resume()
        control()
        simulation.pause()
        serials = range(begin + 1, begin + steps + 1)
        told_of = [(serial, simulation.wait(serial, limit=60.0)) for serial in serials]
        # Who runs by itself may have gone round the ring meanwhile.
        states = [state for serial, state in told_of if state.serial == serial]
        told = hashlib.sha256(states[-1].q.tobytes() + states[-1].v.tobytes()).hexdigest()[:16]
        # A state that tells of a change from outside, such as a pause, has no begin.
        states = [state for state in states if state.began_ns > 0]
        assert len(states) > steps // 4
        begins = [1e-9 * state.began_ns for state in states]
        took = [state.step_time for state in states]
        between = [b - a - step for (a, b), step in zip(itertools.pairwise(begins), took, strict=False)]
        rate = (len(begins) - 1) / (begins[-1] - begins[0])
        return rate, statistics.median(took), statistics.median(between), told


def run_alone(name: str, steps: int) -> None:
    """Let the simulation take these steps without a controller."""
    with connect(name) as simulation:
        simulation.set_lock_step(False)
        simulation.wait(simulation.newest().serial + steps, limit=60.0)


Rounds = dict[str, list[tuple[float, float, float, str]]]


def measure(scene: str, steps: int, rounds: int) -> Rounds:
    """Rounds of a scene, as ``round_of`` tells them, by the controller."""
    name = f"bench_{os.getpid()}"
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=simulate, args=(scene, name, there), daemon=True)
    process.start()
    here.recv()
    swing = runpy.run_path(str(EXAMPLES / "swing.py"))["swing"]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(compiled(Path(folder))), name, JOINT, str(steps)]

        def swing_in_cpp(spin: float) -> None:
            subprocess.run([*command, str(spin)], check=True, capture_output=True)

        ways: dict[str, Callable[[], object]] = {
            "none": lambda: run_alone(name, steps),
            "C++": lambda: swing_in_cpp(0.0),
            "C++, awake": lambda: swing_in_cpp(SPIN),
            "Python": lambda: swing(name, JOINT, steps),
            "Python, awake": lambda: swing(name, JOINT, steps, SPIN),
        }
        found = {
            way: [round_of(name, steps, control) for _ in range(rounds)] for way, control in ways.items()
        }
    here.send("end")
    process.join()
    return found


def show(title: str, found: Rounds) -> dict[str, dict[str, object]]:
    """Print a table of rounds; returns what it tells."""
    table = Table(
        "controller", "steps a second, median", "worst", "best", "step, µs", "between, µs", "same bits"
    )
    table.title = title
    results: dict[str, dict[str, object]] = {}
    for controller, rounds in found.items():
        rates, took, between, told = (list(column) for column in zip(*rounds, strict=True))
        median = statistics.median(rates)
        step, gap = statistics.median(took), statistics.median(between)
        same_bits = len(set(told)) == 1
        results[controller] = {
            "rates": rates,
            "median": median,
            "step": step,
            "between": gap,
            "same_bits": same_bits,
        }
        numbers = (median, min(rates), max(rates), 1e6 * step, 1e6 * gap)
        table.add_row(controller, *(f"{value:.0f}" for value in numbers), str(same_bits))
    Console(width=110).print(table)
    return results


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "shared_memory")
    parser.add_argument("--scene", default="spatula_slip", help="one with a joint_7")
    parser.add_argument("--steps", type=int, default=1000, help="fewer than the ring holds")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    scene, steps = arguments.scene, arguments.steps
    found = measure(scene, steps, arguments.rounds)
    results = show(f"Lock-step through shared memory, {scene}, {steps} steps", found)
    write(arguments.out, {"scene": scene, "steps": steps, "wanted": WANTED, "found": results})


if __name__ == "__main__":
    main()
