"""Deadlines at 1 kHz with a busy Python thread beside: the compiled loop, steps by Python, a loop in C, and cyclictest.

All take turns on one core with the same priority, as the machine that they share changes from minute to minute. The
thread is beside all of them: where both processors of a virtual machine have something to do, it is interrupted more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write

import hydro_sim_core as hs
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running.realtime import make_realtime

SCENE = "spatula_slip"
PERIOD_NS = 1_000_000
BARE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static int ascending(const void *a, const void *b) { long x = *(long *)a, y = *(long *)b; return (x > y) - (x < y); }
#define NUMBERS 32768
static double numbers[NUMBERS];
/* As much arithmetic on as much memory however long it is interrupted: an interruption makes a step longer. */
static double pass(long count, double sum) {
    for (long i = 0; i < count; i++) {
        long at = i % NUMBERS;
        numbers[at] = 0.5 * numbers[at] + 1.0;
        sum = 0.999 * sum + numbers[at];
    }
    return sum;
}
int main(int argc, char **argv) {
    long steps = atol(argv[1]), work = atol(argv[2]), misses = 0, row = 0, most = 0;
    long *late = calloc(steps, sizeof(long)), *took = calloc(steps, sizeof(long)), tries[101];
    volatile double sum = 0.0;
    (void)argc;
    for (int k = 0; k < 101; k++) {
        long began = now();
        sum = pass(100000, sum);
        tries[k] = now() - began;
    }
    qsort(tries, 101, sizeof(long), ascending);
    long count = 100000 * (double)work / tries[50], deadline = now();
    for (long k = 0; k < steps; k++) {
        struct timespec until = {deadline / 1000000000L, deadline % 1000000000L};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        long began = now();
        late[k] = began > deadline ? began - deadline : 0;
        sum = pass(count, sum);
        took[k] = now() - began;
        deadline += 1000000L;
        if (now() > deadline) {
            misses++;
            if (++row > most) most = row;
            while (deadline < now()) deadline += 1000000L;
        } else row = 0;
    }
    qsort(late, steps, sizeof(long), ascending);
    qsort(took, steps, sizeof(long), ascending);
    printf("%ld %ld %ld %ld %ld\n", misses, most, late[steps * 99 / 100], took[steps / 2], took[steps * 99 / 100]);
    return 0;
}
"""


class PythonLoad(threading.Thread):
    """A thread that works with the interpreter lock and sleeps 4 ms, again and again, as publishers do."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = False

    def run(self) -> None:
        """Work and sleep until it is over."""
        while not self.over:
            sum(i * i for i in range(20_000))
            time.sleep(0.004)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self.over = True
        self.join()


def stepped(steps: int, cpu: int, priority: int, *, by_python: bool) -> dict[str, float]:
    """Run the scene for some steps; its misses, lateness and step time."""
    runner = FixedRateRunner(
        hs.load_scene(SCENE), 1.0, "skip", thread_setup=lambda: refuse(make_realtime(priority, [cpu]))
    )
    if by_python:
        runner.add_command_source(lambda world: None)
    with PythonLoad():
        runner.start()
        while runner.report().steps < steps:
            time.sleep(0.1)
        runner.stop()
    report, pace = runner.report(), runner.pace
    # Where Python takes the steps, only the distance from one begin to the next is recorded.
    lateness = {} if by_python else {"lateness_p99": pace.lateness.distribution().p99}
    return {
        "misses": report.overruns / report.steps,
        "most_in_a_row": report.longest_overrun,
        "jitter_p99": report.jitter.p99,
        **lateness,
        "step_p50": report.step_time.p50,
        "step_p99": report.step_time.p99,
    }


def refuse(sentences: list[str]) -> None:
    """Say what was not permitted."""
    for sentence in sentences:
        print(sentence)


def with_priority(command: list[str], cpu: int, priority: int) -> str:
    """Output of a command on the core with the priority, beside the same Python thread as the steps."""
    prefix = ["taskset", "-c", str(cpu), *(["chrt", "-f", str(priority)] if priority else [])]
    with PythonLoad():
        return subprocess.run([*prefix, *command], check=True, capture_output=True, text=True).stdout


def bare(program: Path, steps: int, work: float, cpu: int, priority: int) -> dict[str, float]:
    """The loop in C, with arithmetic that takes ``work`` (s) in the median of a quiet moment."""
    out = with_priority([str(program), str(steps), str(int(1e9 * work))], cpu, priority)
    misses, most, late, median, p99 = map(int, out.split())
    return {
        "misses": misses / steps,
        "most_in_a_row": most,
        "lateness_p99": 1e-9 * late,
        "step_p50": 1e-9 * median,
        "step_p99": 1e-9 * p99,
    }


def cyclictest(steps: int, cpu: int, priority: int) -> dict[str, float]:
    """The lateness that cyclictest (rt-tests) sees; nothing without it."""
    if shutil.which("cyclictest") is None:
        return {}
    command = [
        "cyclictest",
        "-q",
        "-m",
        f"-a{cpu}",
        "-t1",
        f"-p{priority}",
        "-i1000",
        f"-l{steps}",
        "-h100000",
    ]
    with PythonLoad():
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = [
        (int(parts[0]), int(parts[1]))
        for line in told.splitlines()
        if len(parts := line.split()) == 2 and parts[0].isdigit()
    ]
    below = np.cumsum([count for _, count in counts])
    return {"lateness_p99": 1e-6 * counts[int(np.searchsorted(below, 0.99 * below[-1]))][0]}


def cost_of_one_by_one(steps: int) -> dict[str, float]:
    """Seconds of a call of some steps, and of as many steps of the loop, in turns; medians."""
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(5):
        world = hs.load_scene(SCENE)
        began = time.perf_counter()
        world.step(steps)
        times["call"].append(time.perf_counter() - began)
        world = hs.load_scene(SCENE)
        runner = FixedRateRunner(world, float("inf"))
        pause = partial(_pause_before, runner, steps - 1)
        runner.add_command_source(pause, lambda world: steps - 1 - world.step_count)
        runner.start()
        while not runner.paused:
            time.sleep(1e-3)
        runner.stop()
        step_time = runner.pace.step_time.distribution()
        times["loop"].append(step_time.mean * step_time.count)
    return {name: float(np.median(values)) for name, values in times.items()}


def _pause_before(runner: FixedRateRunner, last: int, world: hs.World) -> None:
    if world.step_count >= last:
        runner.pause()


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "realtime_core")
    parser.add_argument("--steps", type=int, default=6000, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--priority", type=int, default=80, help="SCHED_FIFO, 0 for none")
    arguments = parser.parse_args()
    rounds = measure(arguments)
    for name in rounds[0]:
        rows = [one[name] for one in rounds]
        print(f"{name:10}", *(f"{key} {[float(f'{row[key]:.3g}') for row in rows]}" for key in rows[0]))
    costs = cost_of_one_by_one(1000)
    print(
        f"1000 steps: {1e3 * costs['call']:.1f} ms in a call, {1e3 * costs['loop']:.1f} ms one by one in the loop"
    )
    write(arguments.out, {"priority": arguments.priority, "rounds": rounds, "costs": costs})


def measure(arguments: argparse.Namespace) -> list[dict[str, dict[str, Any]]]:
    """All in turns, as often as asked."""
    steps, cpu, priority = arguments.steps, arguments.cpu, arguments.priority
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "bare.c"), Path(folder, "bare")
        source.write_text(BARE)
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
        rounds = []
        for _ in range(arguments.rounds):
            loop = stepped(steps, cpu, priority, by_python=False)
            rounds.append(
                {
                    "loop": loop,
                    "python": stepped(steps, cpu, priority, by_python=True),
                    "c": bare(program, steps, loop["step_p50"], cpu, priority),
                    "cyclictest": cyclictest(steps, cpu, priority),
                }
            )
        return rounds


if __name__ == "__main__":
    main()
