"""cyclictest of rt-tests, which measures how late the operating system wakes a thread: run beside a simulation."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hydro_sim_core.errors import shortened
from hydro_sim_core.simulation.running.timing import Distribution

_PROGRAM = "cyclictest"
_LARGEST = 100_000  # us; what is later is counted beyond the histogram
_SPARE = 30.0  # s that it may need to start and end
_HIGHEST = 99


class CyclictestReport(BaseModel):
    """What cyclictest has measured, s.

    Attributes:
        cpu: Processor that its thread was pinned to, -1 if to none.
        priority: Its priority under SCHED_FIFO, 0 without.
        latency: Distribution of how late its thread woke.
        histogram: Pairs of a latency and how often there was one, in steps of a microsecond.
    """

    model_config = ConfigDict(frozen=True)

    cpu: int
    priority: int
    latency: Distribution
    histogram: list[tuple[float, int]]


def start_cyclictest(
    seconds: float, period: float, cpu: int, priority: int
) -> Callable[[], CyclictestReport | str]:
    """Start cyclictest; what is returned waits for its end and says what it measured, or why there is nothing.

    It does not compute, so it takes little from what runs beside it. With a priority it gets the next higher one: it
    shows what the system does, and not what the simulation does, which it would wait for otherwise.

    Args:
        seconds: How long.
        period: From one waking to the next, s.
        cpu: Processor to pin it to, -1 for none.
        priority: That of the simulation's loop under SCHED_FIFO, 0 without.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        return lambda: "cyclictest is not installed: apt install rt-tests"
    priority = min(priority + 1, _HIGHEST) if priority else 0
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name, "cyclictest.json")
    command = [program, "--quiet", "--threads=1", f"--json={file}", f"--histogram={_LARGEST}"]
    command += [f"--interval={max(1, round(1e6 * period))}", f"--duration={max(1, math.ceil(seconds))}"]
    command += [f"--priority={priority}", "--mlockall"] if priority else ["--policy=other"]
    command += [f"--affinity={cpu}"] if cpu >= 0 else []
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )

    def finish() -> CyclictestReport | str:
        with folder:
            try:
                _, said = process.communicate(timeout=seconds + _SPARE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return f"cyclictest did not end after {seconds:g} s"
            if process.returncode or not file.exists():
                return f"cyclictest failed: {shortened(said) or process.returncode}"
            return read_cyclictest(file.read_text(), cpu, priority)

    return finish


def read_cyclictest(text: str, cpu: int, priority: int) -> CyclictestReport | str:
    """Read what cyclictest has written with ``--json``; if that is something else, say so."""
    try:
        thread = json.loads(text)["thread"]["0"]
        counts = {int(latency): int(count) for latency, count in thread["histogram"].items()}
        cycles, largest = int(thread["cycles"]), 1e-6 * float(thread["max"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return "cyclictest has written what this version cannot read"
    beyond = cycles - sum(counts.values())
    histogram = [(1e-6 * latency, count) for latency, count in sorted(counts.items()) if count]
    if beyond > 0:
        histogram.append((largest, beyond))
    return CyclictestReport(
        cpu=cpu, priority=priority, latency=distribution_of(histogram), histogram=histogram
    )


def distribution_of(histogram: list[tuple[float, int]]) -> Distribution:
    """Statistics of pairs of a duration (s) and how often it was there, shortest first."""
    count = sum(number for _, number in histogram)
    if not count:
        return Distribution()
    mean = sum(value * number for value, number in histogram) / count
    square = sum((value - mean) ** 2 * number for value, number in histogram) / count
    return Distribution(
        count=count,
        mean=mean,
        std=math.sqrt(square),
        p50=_percentile(histogram, 0.5 * count),
        p99=_percentile(histogram, 0.99 * count),
        p999=_percentile(histogram, 0.999 * count),
        max=histogram[-1][0],
    )


def _percentile(histogram: list[tuple[float, int]], wanted: float) -> float:
    below = 0
    for value, number in histogram:
        below += number
        if below >= wanted:
            return value
    return histogram[-1][0]
