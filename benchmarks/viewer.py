"""What the viewer costs at 30 frames a second, 2000 patch faces and a 9-joint robot.

- Bytes a frame, and the share of a core that the viewer takes in the simulation's process and in its server's, with
  0, 1 and 3 viewers, and with one more that is stalled.
- What three viewers do to the stepping thread: seconds with and without them take turns, so that both see the same
  machine.
- How long the page takes to load in headless Chromium, how much it weighs, and how many frames it draws.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from measure import make_parser, write
from rich.console import Console
from rich.table import Table
from scipy.stats import wilcoxon
from viewer_clients import Clients

from hydro_sim_core import World, load_scene
from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.drawing.patch_surface import patch_faces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.pictures.browser import open_browser
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import encode_frame, frame_of_snapshot
from hydro_sim_core.viewer.live import LiveView
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Bubbles so fine, held so tightly, have 2000 faces.
BUBBLE_HINT, GRIP_FORCE = 0.003, 1.6  # m, N
#: After viewers have come or gone, s.
SETTLING = 1.0
PAGE_LOADS = 3
FRAMES_BUILT = 200
#: Viewers, and stalled ones among them.
AUDIENCES = ((0, 0), (1, 0), (3, 0), (3, 1))
SIGNIFICANT = 0.05


def fine_scene() -> World:
    """The shipped slip scene with finer bubbles and a constant grip."""
    source = shipped_scenes()["spatula_slip"]
    scene = yaml.safe_load(source.read_text())
    for model in scene["models"]:
        model["urdf"] = str((source.parent / model["urdf"]).resolve())
        if model["name"] == "arm":
            model["xacro_args"] = {"bubble_hint": BUBBLE_HINT}
    scene["commands"] = [{"gripper": "gripper", "mode": "force", "signal": {"constant": GRIP_FORCE}}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fine_bubbles.yaml"
        path.write_text(yaml.safe_dump(scene))
        return load_scene(path)


class Probe:
    """Looks at the stepping thread before every step: periods between steps, s."""

    def __init__(self) -> None:
        self.periods: list[float] = []
        self._last = time.perf_counter()

    def __call__(self, world: World) -> None:
        now = time.perf_counter()
        self.periods.append(now - self._last)
        self._last = now


@dataclass(frozen=True)
class Show:
    """A running simulation that is shown."""

    runner: FixedRateRunner
    viewer: Viewer
    probe: Probe

    @property
    def faces(self) -> int:
        """Faces that press at present."""
        return sum(len(patch_faces(patch.faces).counts) for patch in self.runner.snapshot().contacts)

    @property
    def address(self) -> str:
        """Of the WebSocket."""
        return self.viewer.url.replace("http:", "ws:").replace("/?", "/ws?")


@contextmanager
def running_show(world: World) -> Iterator[Show]:
    """Step a scene at its rate, and show it."""
    runner, probe, viewer = FixedRateRunner(world), Probe(), Viewer(ViewerOptions(port=0))
    viewer.start()
    live = LiveView(runner, viewer, PressureScale())
    runner.add_command_source(probe)
    runner.start()
    live.start()
    try:
        yield Show(runner, viewer, probe)
    finally:
        live.stop()
        runner.stop()
        viewer.close()


def server_pid() -> int:
    """Process id of the viewer's server: the child of this process that runs it."""
    children = (
        pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()
    )
    (server,) = (pid for pid in children if b"viewer.server" in Path(f"/proc/{pid}/cmdline").read_bytes())
    return int(server)


# --- cost


class CpuClock:
    """Processor time of the viewer's threads in this process and of its server, s."""

    def __init__(self, server: int) -> None:
        self._stat = Path(f"/proc/{server}/stat")
        self._threads = [t for t in threading.enumerate() if t.name.startswith(("viewer", "live view"))]

    def simulation_side(self) -> float:
        """Of this process's threads that only the viewer needs."""
        clocks = (time.pthread_getcpuclockid(t.ident) for t in self._threads if t.ident is not None)
        return sum(map(time.clock_gettime, clocks))

    def server_side(self) -> float:
        """Of the server's process."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_building(world: World) -> dict[str, float]:
    """Time that a frame takes while nothing else happens, and the size of what pages get once."""
    scene = scene_of_world(world, PressureScale())
    build, encode = [], []
    for seq in range(FRAMES_BUILT):
        snapshot = take_snapshot(world, epoch=0)  # a new one: it keeps what was computed from it
        began = time.perf_counter()
        frame = frame_of_snapshot(snapshot, scene)
        built = time.perf_counter()
        encode_frame(frame, seq)
        build.append(built - began)
        encode.append(time.perf_counter() - built)
    return {
        "build_s": median(build),
        "encode_s": median(encode),
        "bytes_of_scene": len(json.dumps(scene.as_json())),
        "bytes_of_meshes": sum(map(len, scene.meshes.values())),
    }


def measure_cost(clients: Clients, server: int, seconds: float) -> list[dict[str, Any]]:
    """Bytes and processor time for every audience."""
    clock, rows = CpuClock(server), []
    for viewers, stalled in AUDIENCES:
        clients.come(viewers, stalled)
        time.sleep(SETTLING)
        began, here, there = time.perf_counter(), clock.simulation_side(), clock.server_side()
        time.sleep(seconds)
        elapsed = time.perf_counter() - began
        here, there = clock.simulation_side() - here, clock.server_side() - there
        received = clients.go()
        watched = time.perf_counter() - began + SETTLING
        frames = sum(one.frames for one in received)
        rows.append(
            {
                "viewers": viewers,
                "stalled": stalled,
                "frames_per_second_each": frames / watched / viewers if viewers else 0.0,
                "bytes_per_frame": sum(one.bytes for one in received) / frames if frames else 0.0,
                "share_of_core_simulation": here / elapsed,
                "share_of_core_server": there / elapsed,
            }
        )
    return rows


# --- the stepping thread


def measure_stepping(show: Show, clients: Clients, pairs: int, block: float) -> dict[str, Any]:
    """Periods of the stepping thread in blocks without and with three viewers, by turns."""
    blocks: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for pair in range(pairs):
        for watched in (False, True) if pair % 2 else (True, False):
            if watched:
                clients.come(3)
            time.sleep(SETTLING)
            show.probe.periods.clear()
            time.sleep(block)
            blocks[watched].append(_describe(np.array(show.probe.periods), show.runner.world.time_step))
            if watched:
                clients.go()
    names = blocks[False][0]
    return {
        "pairs": pairs,
        "block_s": block,
        **{
            name: _compare([b[name] for b in blocks[False]], [b[name] for b in blocks[True]])
            for name in names
        },
    }


def _describe(periods: np.ndarray, nominal: float) -> dict[str, float]:
    lateness = np.maximum(periods - nominal, 0.0)
    return {
        f"{name}_{label}": float(np.percentile(values, percentile))
        for name, values in (("period", periods), ("lateness", lateness))
        for label, percentile in (("p50", 50.0), ("p99", 99.0))
    }


def _compare(without: list[float], with_viewers: list[float]) -> dict[str, Any]:
    """Wilcoxon's signed-rank test: do blocks with viewers differ from their neighbours without?"""
    differences = np.array(with_viewers) - np.array(without)
    p = float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0
    return {
        "without": median(without),
        "with": median(with_viewers),
        "median_difference": float(np.median(differences)),
        "p_value": p,
        "differs_measurably": p < SIGNIFICANT,
        "blocks_without": without,
        "blocks_with": with_viewers,
    }


# --- the page


def measure_page(url: str, seconds: float) -> dict[str, Any]:
    """Medians over several loads of the page in headless Chromium, without cache."""
    with open_browser() as browser:
        loads = [_load_page(browser, url, seconds) for _ in range(PAGE_LOADS)]
    return {name: median(load[name] for load in loads) for name in loads[0]}


def _load_page(browser: Browser, url: str, seconds: float) -> dict[str, float]:
    """Time to the first frame, weight, and frames that are drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    weights: dict[str, int] = {}
    page.on("response", lambda response: weights.update({response.url: len(response.body())}))
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_function("window.hydroSim && window.hydroSim.frames > 0", timeout=60_000)
    loaded = time.perf_counter() - began
    drawn, at = page.evaluate("window.hydroSim.frames"), time.perf_counter()
    page.wait_for_timeout(1e3 * seconds)
    drawn, elapsed = page.evaluate("window.hydroSim.frames") - drawn, time.perf_counter() - at
    faces = page.evaluate("window.hydroSim.faces")
    context.close()
    meshes = sum(size for address, size in weights.items() if "/mesh/" in address)
    return {
        "seconds_to_first_frame": loaded,
        "bytes_of_page": sum(weights.values()) - meshes,
        "bytes_of_meshes": meshes,
        "requests": len(weights),
        "frames_drawn_per_second": drawn / elapsed,
        "faces": faces,
    }


# --- report


def print_results(result: dict[str, Any], console: Console) -> None:
    """Tables of what was measured."""
    for name, scene in result["scenes"].items():
        building = scene["building"]
        console.print(
            f"{name}: {scene['faces']} faces, {scene['joints']} joints, {scene['links']} links; a frame is built in "
            f"{1e3 * building['build_s']:.2f} ms and encoded in {1e3 * building['encode_s']:.2f} ms"
        )
        console.print(_cost_table(scene["cost"]), _stepping_table(scene["stepping"]))
    page = result["page"]
    console.print(
        f"page: first frame after {page['seconds_to_first_frame']:.2f} s, {page['bytes_of_page'] / 1e6:.2f} MB and "
        f"{page['bytes_of_meshes'] / 1e6:.2f} MB of meshes in {page['requests']} requests, "
        f"{page['frames_drawn_per_second']:.1f} frames a second drawn with {page['faces']} faces"
    )


def _cost_table(rows: list[dict[str, Any]]) -> Table:
    table = Table("viewers", "stalled", "frames/s each", "kB a frame", "simulation, % core", "server, % core")
    for row in rows:
        table.add_row(
            str(row["viewers"]),
            str(row["stalled"]),
            f"{row['frames_per_second_each']:.1f}",
            f"{row['bytes_per_frame'] / 1e3:.1f}",
            f"{100 * row['share_of_core_simulation']:.1f}",
            f"{100 * row['share_of_core_server']:.1f}",
        )
    return table


def _stepping_table(stepping: dict[str, Any]) -> Table:
    table = Table("stepping, ms", "without", "3 viewers", "difference", "p", "differs measurably")
    for name, row in stepping.items():
        if isinstance(row, dict):
            figures = [f"{1e3 * row[key]:.3f}" for key in ("without", "with", "median_difference")]
            table.add_row(
                name, *figures, f"{row['p_value']:.2g}", "yes" if row["differs_measurably"] else "no"
            )
    return table


def main() -> None:
    """Measure, print and write."""
    parser = make_parser((__doc__ or "").splitlines()[0], "viewer")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each audience is measured")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of blocks without and with viewers")
    parser.add_argument("--block", type=float, default=2.0, help="length of a block, s")
    arguments = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL)
    result: dict[str, Any] = {"scenes": {}}
    coarse = World(published_scene("spatula_slip"))
    for name, world in (("fine bubbles", fine_scene()), ("spatula_slip", coarse)):
        world.step(500)  # compiled, and at rest
        building = measure_building(world)
        with running_show(world) as show:
            server = server_pid()
            with Clients(show.address) as clients:
                result["scenes"][name] = {
                    "faces": show.faces,
                    "joints": len(world.joint_names),
                    "links": len(world.frame_names),
                    "building": building,
                    "cost": measure_cost(clients, server, arguments.seconds),
                    "stepping": measure_stepping(show, clients, arguments.pairs, arguments.block),
                }
            if name == "fine bubbles":
                result["page"] = measure_page(show.viewer.url, arguments.seconds)
    print_results(result, Console())
    write(arguments.out, result)


if __name__ == "__main__":
    main()
