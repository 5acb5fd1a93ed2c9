"""Whether bystanders touch the stepping thread: three pages, a recorder and hostile messages, by turns with nobody.

The compiled loop steps the arm with the spatula at 1 kHz. In half of the blocks, in random order within each pair,
three pages watch it, every step is recorded, and a process sends the page's server as many malformed messages as it
takes: 1,300 a second on two busy cores, 2,200 on quiet ones. Compared are the 99th percentiles of the step time and of
the lateness, by Wilcoxon's signed-rank test over the pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write
from scipy.stats import wilcoxon
from viewer_clients import Clients
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

import hydro_sim_core as hs
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.recording import Recorder
from hydro_sim_core.shared_memory.layout import BIN_WIDTH, SHORTEST, Histogram, HistogramWords
from hydro_sim_core.simulation import FixedRateRunner, Snapshot
from hydro_sim_core.simulation.running.realtime import USUAL_PRIORITY, make_realtime
from hydro_sim_core.viewer.live import LiveView
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

SCENE = "spatula_slip"
SETTLING, PATIENCE, BURST = 0.5, 60.0, 200
MEASURED = {"step time": Histogram.STEP_TIME, "lateness": Histogram.LATENESS}
#: Messages of a client that means no good, or is broken.
HOSTILE: tuple[str | bytes, ...] = (
    "",
    "{",
    "null",
    "[]",
    "[" * 200,
    '{"type": 1e999}',
    '{"type": "shown", "seq": -1}',
    '{"type": "shown", "seq": 1e300}',
    '{"type": "pull", "link": "spatula", "point": [NaN, 0, 0], "target": [0, 0, 0]}',
    '{"type": "pull", "link": "../../etc/passwd", "point": [0, 0, 0], "target": [1e308, 0, 0]}',
    '{"type": "pause", "paused": "yes"}',
    json.dumps({"type": "x" * 2000, "seq": 0}),
    b"\x00\xff" * 100,
    bytes(range(256)),
)


class Attackers:
    """A process that sends hostile messages while it is told to; use it as a context."""

    def __init__(self, address: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_attack, args=(address, theirs), daemon=True)

    def __enter__(self) -> Attackers:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(PATIENCE)

    def begin(self) -> None:
        """Begin to send."""
        self._pipe.send("begin")

    def end(self) -> int:
        """Send no more; return the number of messages since the begin."""
        self._pipe.send("end")
        if not self._pipe.poll(PATIENCE):
            raise TimeoutError("the attackers do not answer")
        return int(self._pipe.recv())


def _attack(address: str, pipe: Connection) -> None:
    os.nice(19)
    with suppress(EOFError, KeyboardInterrupt):
        while pipe.recv() == "begin":
            pipe.send(asyncio.run(_send_until(address, pipe)))
            assert pipe.recv() == "told"


async def _send_until(address: str, pipe: Connection) -> int:
    """Send until the pipe says something, anew whenever the server has had enough; the number of messages."""
    sent = 0
    # A connection that the server ends in the midst of a message: websockets aborts it once more, without its loop.
    ended = ConnectionClosed, InvalidHandshake, OSError, AttributeError
    while not pipe.poll():
        with suppress(*ended):
            async with connect(address, compression=None, max_size=None) as connection:
                reading = asyncio.create_task(_ignore(connection))
                while not pipe.poll():
                    for i in range(BURST):
                        await connection.send(HOSTILE[(sent + i) % len(HOSTILE)])
                    sent += BURST
                    await asyncio.sleep(0)
                reading.cancel()
        await asyncio.sleep(0.01)
    pipe.recv()
    return sent


async def _ignore(connection: Any) -> None:
    with suppress(ConnectionClosed):
        async for _ in connection:
            pass


class Stage:
    """A running simulation whose bystanders come and go."""

    def __init__(
        self, runner: FixedRateRunner, recorder: Recorder, clients: Clients, attackers: Attackers
    ) -> None:
        self.runner, self._recorder = runner, recorder
        self._clients, self._attackers = clients, attackers
        self._is_recorded = False
        self.messages = 0
        runner.add_follower(self._record)

    def _record(self, snapshot: Snapshot) -> None:
        if self._is_recorded:
            self._recorder.record(snapshot, self.runner.world)

    def block(self, seconds: float, *, with_bystanders: bool) -> dict[str, float]:
        """The 99th percentiles of so many seconds, s."""
        if with_bystanders:
            self._clients.come(3)
            self._attackers.begin()
        self._is_recorded = with_bystanders
        time.sleep(SETTLING)
        before = self._histograms()
        time.sleep(seconds)
        after = self._histograms()
        if with_bystanders:
            self.messages += self._attackers.end()
            self._attackers._pipe.send("told")
            self._clients.go()
        return {name: percentile(after[name] - before[name], 0.99) for name in MEASURED}

    def _histograms(self) -> dict[str, np.ndarray]:
        words = self.runner._core.histograms
        return {name: words[row, HistogramWords.BINS :].copy() for name, row in MEASURED.items()}


def percentile(counts: np.ndarray, share: float) -> float:
    """Upper end (s) of the bin in which a share of what was counted ends."""
    below = np.cumsum(counts)
    return float(SHORTEST * (1.0 + BIN_WIDTH) ** int(np.searchsorted(below, share * below[-1])))


@contextmanager
def stage(folder: Path, priority: int) -> Iterator[Stage]:
    """Start everything."""
    world = hs.load_scene(SCENE)
    world.step()
    world.reset()
    runner = FixedRateRunner(world, thread_setup=lambda: print(*make_realtime(priority), sep="\n"))
    viewer = Viewer(ViewerOptions(port=0))
    viewer.start()
    live = LiveView(runner, viewer, PressureScale())
    recorder = Recorder(folder / "run.mcap")
    recorder.start(runner.snapshot(), world)
    address = viewer.url.replace("http:", "ws:").replace("/?", "/ws?")
    with Clients(address) as clients, Attackers(address) as attackers:
        made = Stage(runner, recorder, clients, attackers)
        runner.start()
        live.start()
        try:
            yield made
        finally:
            live.stop()
            runner.stop()
            viewer.close()
            recorder.stop()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Pairs of blocks, and what comes of them."""
    random = np.random.default_rng(0)
    blocks: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder), arguments.priority) as made:
        for _ in range(arguments.pairs):
            for chosen in random.permutation([False, True]).tolist():
                blocks[chosen].append(made.block(arguments.seconds, with_bystanders=chosen))
        report = made.runner.report()
        told = {
            "messages": made.messages,
            "steps": report.steps,
            "steps_in_loop": made.runner.steps_in_loop,
            "overruns": report.overruns,
        }
    return {**told, **{name: compared(blocks, name) for name in MEASURED}}


def compared(blocks: dict[bool, list[dict[str, float]]], name: str) -> dict[str, Any]:
    """Medians, and whether blocks with bystanders differ from their neighbours without."""
    alone, watched = (np.array([block[name] for block in blocks[which]]) for which in (False, True))
    p = float(wilcoxon(watched - alone).pvalue) if np.any(watched != alone) else 1.0
    return {
        "without": float(np.median(alone)),
        "with": float(np.median(watched)),
        "p_value": p,
        "blocks_without": alone.tolist(),
        "blocks_with": watched.tolist(),
    }


def main() -> None:
    """Measure, print, write."""
    parser = make_parser(__doc__.splitlines()[0], "bystanders")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=14.0, help="of each block")
    parser.add_argument("--priority", type=int, default=USUAL_PRIORITY, help="SCHED_FIFO, 0 for none")
    arguments = parser.parse_args()
    found = measure(arguments)
    if found["messages"] == 0:
        raise SystemExit("error: no hostile message was sent")
    print(
        f"{found['messages']} hostile messages; {found['steps_in_loop']} of {found['steps']} steps in the loop"
    )
    for name in MEASURED:
        row = found[name]
        print(
            f"{name}, p99: {1e3 * row['without']:.3f} ms without, {1e3 * row['with']:.3f} ms with bystanders, "
            f"p = {row['p_value']:.2g} ({arguments.pairs} pairs)"
        )
    write(arguments.out, {"priority": arguments.priority, "seconds": arguments.seconds, **found})


if __name__ == "__main__":
    main()
