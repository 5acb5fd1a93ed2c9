"""What three pages cost a run with 2000 contact faces: seconds with and without them take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.table import Table
from websockets.sync.client import connect

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import encode_frame, frame_of_snapshot
from hydro_sim_core.viewer.live import LiveView
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

FACES = 2000
PAGES = 3
BLOCK = 1.0  # s
SETTLING = 0.5  # s of simulated time until the grip is firm
#: As in the node and in ``hydro-sim run``, s.
SWITCH_INTERVAL = 5e-4
SCALE = PressureScale()


class Probe:
    """Looks at the stepping thread before every step."""

    def __init__(self) -> None:
        self.watched: bool | None = None
        self.cpu: dict[bool, list[float]] = {False: [], True: []}
        self.periods: dict[bool, list[float]] = {False: [], True: []}
        self._last: tuple[bool | None, float, float] | None = None

    def __call__(self, world: World) -> None:
        now = (self.watched, time.thread_time(), time.perf_counter())
        if self._last is not None and self._last[0] is now[0] is not None:
            self.cpu[now[0]].append(now[1] - self._last[1])
            self.periods[now[0]].append(now[2] - self._last[2])
        self._last = now


def building(world: World) -> dict[str, Any]:
    """Time that a frame takes to build and to encode, with the interpreter held most of it."""
    scene = scene_of_world(world, SCALE)
    build, encode = [], []
    for seq in range(100):
        snapshot = take_snapshot(world, epoch=0)
        began = time.perf_counter()
        frame = frame_of_snapshot(snapshot, scene)
        built = time.perf_counter()
        data = encode_frame(frame, seq)
        build.append(built - began)
        encode.append(time.perf_counter() - built)
    return {
        "faces": sum(len(patch.faces.counts) for patch in frame.patches),
        "vertices": sum(len(patch.faces.vertices) for patch in frame.patches),
        "bytes_per_frame": len(data),
        "bytes_of_scene": len(json.dumps(scene.as_json())),
        "bytes_of_meshes": sum(map(len, scene.meshes.values())),
        "build_p50": float(np.median(build)),
        "encode_p50": float(np.median(encode)),
    }


def watching(world: World, blocks: int) -> dict[str, Any]:
    """Seconds in turn, half of ``blocks`` watched."""
    runner = FixedRateRunner(world)
    probe = Probe()
    runner.add_command_source(probe)
    viewer = Viewer(ViewerOptions(port=0))
    url = viewer.start()
    assert viewer._process is not None
    server = viewer._process.pid
    view = LiveView(runner, viewer, SCALE)
    view.start()
    runner.start()
    process, served, frames = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}, 0
    for block in range(blocks):
        watched = bool(block % 2)
        pages = _open_pages(url) if watched else None
        _wait_for_pages(viewer, PAGES if watched else 0)
        probe.watched = watched
        began, server_began = time.process_time(), _cpu_time(server)
        threading.Event().wait(BLOCK)
        process[watched] += time.process_time() - began
        served[watched] += _cpu_time(server) - server_began
        probe.watched = None
        if pages is not None:
            frames += int(pages.communicate("\n")[0])
    runner.stop()
    view.stop()
    viewer.close()
    return {
        "blocks": blocks,
        "without": _summary(probe, process, served, blocks, watched=False),
        "with": _summary(probe, process, served, blocks, watched=True),
        "frames_a_page_and_second": frames / PAGES / (0.5 * blocks * BLOCK),
    }


def _summary(
    probe: Probe, process: dict[bool, float], served: dict[bool, float], blocks: int, watched: bool
) -> dict[str, float]:
    cpu, periods = np.array(probe.cpu[watched]), np.array(probe.periods[watched])
    seconds = 0.5 * blocks * BLOCK
    return {
        "steps": len(cpu),
        "stepping_thread_cpu_p50": float(np.percentile(cpu, 50.0)),
        "period_p50": float(np.percentile(periods, 50.0)),
        "period_p99": float(np.percentile(periods, 99.0)),
        "simulation_cores": process[watched] / seconds,
        "server_cores": served[watched] / seconds,
    }


def _cpu_time(pid: int) -> float:
    """Processor time of another process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for_pages(viewer: Viewer, number: int) -> None:
    while viewer.watching != number:
        time.sleep(0.01)


def _open_pages(url: str) -> subprocess.Popen[str]:
    """Pages in a process of their own, which says how many frames they got once it is told to end."""
    command = [sys.executable, __file__, "--pages", url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def be_pages(url: str) -> None:
    """Take frames and acknowledge them until a line comes in."""
    counts = [0] * PAGES
    done = threading.Event()

    def watch(page: int) -> None:
        with connect(url.replace("http", "ws", 1) + "ws", max_size=None, compression=None) as socket:
            while not done.is_set():
                message = socket.recv()
                if isinstance(message, bytes):
                    length = int.from_bytes(message[:4], "little")
                    socket.send(
                        json.dumps({"type": "shown", "seq": json.loads(message[4 : 4 + length])["seq"]})
                    )
                    counts[page] += 1

    threads = [threading.Thread(target=watch, args=(page,)) for page in range(PAGES)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    done.set()
    for thread in threads:
        thread.join()
    print(sum(counts))


def main() -> None:
    """Measure, print and write."""
    parser = make_parser(__doc__ or "", "viewer")
    parser.add_argument("--seconds", type=int, default=40, help="how long, half of it watched")
    parser.add_argument("--pages", metavar="URL", help="be the pages that watch")
    arguments = parser.parse_args()
    if arguments.pages:
        be_pages(arguments.pages)
        return
    sys.setswitchinterval(SWITCH_INTERVAL)
    world = World(grasp_scene(FACES))
    world.step(round(SETTLING / world.time_step))
    result = {"building": building(world), **watching(world, arguments.seconds)}
    console = Console()
    console.print(result["building"])
    table = Table("", "without", "with", "ratio")
    for name, without in result["without"].items():
        with_pages = result["with"][name]
        ratio = f"{with_pages / without:.2f}" if without else ""
        table.add_row(name, f"{without:.4g}", f"{with_pages:.4g}", ratio)
    console.print(table)
    console.print(f"{result['frames_a_page_and_second']:.1f} frames a page and second")
    write(arguments.output, result)


if __name__ == "__main__":
    main()
