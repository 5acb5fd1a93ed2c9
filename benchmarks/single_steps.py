"""Steps of a pause: what they cost asked for one by one, over as many asked for at once and those of a world alone.

Asked for in C and in Python by another process, through shared memory, and by a thread of the simulation's own process,
which takes a snapshot each time. All ways take turns, each from the same state on. Beside the time that passes, which
other programs have a share in, it tells the processor time of both sides together.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from measure import make_parser, write

import hydro_sim_core as hs
from hydro_sim_core.shared_memory.c_header import INCLUDE
from hydro_sim_core.shared_memory.client import Client, connect
from hydro_sim_core.simulation import FixedRateRunner

PROGRAM = r"""
#include <hydro_sim.h>
int main(int argc, char **argv) {
    hydro_sim sim;
    long i, calls = argc > 3 ? atol(argv[2]) : 0;
    if (calls == 0 || hydro_sim_open(&sim, argv[1])) return 1;
    for (i = 0; i < calls; ++i)
        if (hydro_sim_take_steps(&sim, atol(argv[3]), 60.0)) return 2;
    return 0;
}
"""


def simulate(scene: str, name: str, pipe: Connection) -> None:
    """Hold a scene paused; answer a number of calls and of steps by the time that they take in this process, s."""
    runner = FixedRateRunner(hs.load_scene(scene), start_paused=True, shared_name=name)
    runner.start()
    pipe.send("stands")
    while asked := pipe.recv():
        calls, number = asked
        for _ in range(calls):
            runner.step(number)
        pipe.send(time.process_time())
    runner.close()


def processor_time(pipe: Connection) -> float:
    """Processor time of this process, of its children that have ended, and of the simulation, s."""
    pipe.send((0, 1))
    own = os.times()
    return float(pipe.recv()) + own.user + own.system + own.children_user + own.children_system


def alone(scene: str, steps: int) -> tuple[float, float]:
    """Time, and processor time, of a call of a world that nobody runs, s."""
    world = hs.load_scene(scene)
    world.step(1)
    began, busy = time.perf_counter(), time.process_time()
    world.step(steps)
    return time.perf_counter() - began, time.process_time() - busy


def from_c(program: Path, name: str, calls: int, number: int) -> None:
    """Calls in C."""
    subprocess.run([str(program), name, str(calls), str(number)], check=True)


def from_python(client: Client, calls: int, number: int) -> None:
    """Calls of a client in Python."""
    for _ in range(calls):
        client.step(number, 60.0)


def in_process(pipe: Connection, calls: int, number: int) -> None:
    """Calls in the simulation's own process."""
    pipe.send((calls, number))
    pipe.recv()


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "single_steps")
    parser.add_argument("--scene", default="spatula_slip")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    scene, steps, name = arguments.scene, arguments.steps, f"bench_{os.getpid()}"
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=simulate, args=(scene, name, there), daemon=True)
    process.start()
    here.recv()
    found: dict[str, list[tuple[float, float]]] = {"world.step(n)": []}
    with tempfile.TemporaryDirectory() as folder, connect(name) as client:
        source, program = Path(folder, "steps.c"), Path(folder, "steps")
        source.write_text(PROGRAM)
        subprocess.run(["cc", "-O2", f"-I{INCLUDE}", str(source), "-o", str(program)], check=True)
        ways: dict[str, Callable[[int, int], None]] = {
            "C": partial(from_c, program, name),
            "Python": partial(from_python, client),
            "own process": partial(in_process, here),
        }
        for _ in range(arguments.rounds):
            found["world.step(n)"].append(alone(scene, steps))
            for way, take in ways.items():
                for calls in (1, steps):
                    client.reset()
                    client.step()
                    busy, began = processor_time(here), time.perf_counter()
                    take(calls, steps // calls)
                    took = time.perf_counter() - began, processor_time(here) - busy
                    found.setdefault(f"{way}, calls: {calls}", []).append(took)
    here.send(None)
    process.join()
    for way, times in found.items():
        passed, busy = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{way:24} {passed:.3f} s, processor {busy:.3f} s")
    write(arguments.out, {"scene": scene, "steps": steps, "seconds": found})


if __name__ == "__main__":
    main()
