"""What a GPU would make of a step of many worlds, found out without one: where threads part, and what they wait for.

Worlds of a grasp as in ``gpu.py`` are stepped by the code that becomes a GPU's program, compiled for this processor and
made to write down what it runs and reads. The worlds of each warp are then laid over each other as its threads run
them (``warp_run``), and timed by a model (``warp_timing``). It tells what to look at, and whether a change helps; what
a step takes on a GPU is told by ``gpu.py`` there.

    python benchmarks/gpu_warps.py --parts 20
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import gpu
import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from warp_code import Code, TracedProgram, split_by_world, traced
from warp_run import Warp
from warp_timing import Model

from hydro_sim_core import World
from hydro_sim_core.compilation import ptx
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.simulation import BatchWorld
from hydro_sim_core.simulation.batches.compiling import HERE, compiled
from hydro_sim_core.simulation.batches.memory import Placed, Plan
from hydro_sim_core.simulation.batches.programs import THREADS, HostProgram
from hydro_sim_core.simulation.batches.side_by_side import LANES, SideBySideWorlds

#: Steps before the one that is looked at: as many as before the profile of ``results/gpu_variants.json``.
STEPS = 60
#: Functions to be told.
FUNCTIONS = 12
MOST_WARPS = 8


class Stepper:
    """Steps worlds in the memory of a GPU, and writes down what runs once it is told to."""

    def __init__(self, plan: Plan, solve: Any, room: int) -> None:
        module = compiled(plan, solve, HERE, THREADS).decode()
        self._plain = HostProgram(ptx.object_of_module(module))
        self.code = traced(module)
        self.traced = TracedProgram(self.code, room)
        self.writes = False

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds; see ``Program``."""
        self.memory = memory
        (self.traced if self.writes else self._plain).run(memory, dt)


def main() -> None:
    """Step, lay over each other, time, print, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "gpu_warps")
    warps = range(1, MOST_WARPS + 1)
    parser.add_argument("--warps", type=int, default=2, choices=warps, help=f"warps of {LANES} worlds")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps before the one that is looked at")
    parser.add_argument("--parts", type=int, default=0, help="how many straight parts of the code to print")
    arguments = parser.parse_args()
    with Progress(transient=True) as progress:
        task = progress.add_task("compiling, which takes a minute", total=arguments.warps + 1)
        stepper = traced_step(arguments.warps * LANES, arguments.steps)
        progress.update(task, advance=1, description="warps")
        found, code = [], stepper.code
        for each in of_warps(stepper):
            found.append(each)
            progress.advance(task)
    sums = {name: np.mean([each[name] for each in found], axis=0) for name in found[0]}
    totals, functions = in_all(sums), by_function(code, sums)
    show(totals, functions[:FUNCTIONS])
    for line in largest_parts(code, sums, arguments.parts):
        print(line)
    write(
        arguments.out,
        {"faces": gpu.FACES, "worlds": arguments.warps * LANES, "steps_before": arguments.steps, **totals}
        | {"functions": functions[:FUNCTIONS]},
    )


def traced_step(n: int, steps: int) -> Stepper:
    """Step worlds that differ, the last time so that it is written down."""
    scene, steppers = grasp_scene(gpu.FACES), []

    def program_for(plan: Plan) -> Stepper:
        steppers.append(Stepper(plan, World(scene).machine.solve, n))
        return steppers[-1]

    batch = BatchWorld(scene, n, "cpu")
    batch._worlds = SideBySideWorlds(
        [World(scene)], batch.scene_of, LANES, np, program_for, lambda array: int(array.ctypes.data)
    )
    gpu.varied(batch, gpu.settled(), gpu.VARIANTS)
    batch.step(steps)
    steppers[-1].writes = True
    batch.step(1)
    if batch.failures or len(steppers) != 1:
        raise SystemExit("error: not all worlds took the step whole, so that there is nothing to compare")
    return steppers[-1]


def of_warps(stepper: Stepper) -> Iterator[dict[str, Any]]:
    """What each warp runs, part by part: how often, by how many threads, and the fields of ``Timing``."""
    code, events = stepper.code, stepper.traced.events
    model, warp = Model(code), Warp(code)
    addresses, firsts = (
        model.placed(stepper.traced.addresses, memories(stepper)),
        model.first_addresses(events),
    )
    assert firsts[-1] == len(addresses), "addresses do not fit the parts"
    worlds = list(split_by_world(code, events))
    for first in range(0, len(worlds), LANES):
        begins, ends = zip(*worlds[first : first + LANES], strict=True)
        run = warp.run([events[begin:end].tolist() for begin, end in zip(begins, ends, strict=True)])
        timing = model.time(run.parts, run.threads, addresses, firsts[list(begins)])
        threads = np.array([bits.bit_count() for bits in run.threads])
        times = np.bincount(run.parts, minlength=len(code.parts))
        active = np.bincount(run.parts, threads, minlength=len(code.parts))
        yield {"times": times, "active": active, **vars(timing)}


def memories(stepper: Stepper) -> list[tuple[int, int]]:
    """Address and size of what all worlds share, of the worlds' lanes, and of their rows."""
    memory, plan = stepper.memory, stepper.memory.plan
    lanes, of_group, n, shared, rows = (int(place) for place in memory.places)
    groups = -(-n // plan.lanes)
    return [(shared, plan.sizes["shared"]), (lanes, groups * of_group), (rows, n * plan.sizes["rows"])]


def in_all(sums: dict[str, Any]) -> dict[str, float]:
    """Numbers of a whole step of a warp."""
    weights = _instructions_each(sums)
    answers = sums["answers"].sum(axis=0)
    return {
        "instructions": float(sums["instructions"].sum()),
        "active_threads": float((sums["active"] * weights).sum() / (sums["times"] * weights).sum()),
        "cycles": float(sums["cycles"].sum()),
        "waiting_for_memory": float(sums["waiting"].sum() / sums["cycles"].sum()),
        "loads": float(answers.sum()),
        "loads_from_memory": float(answers[2]),
    }


def _instructions_each(sums: dict[str, Any]) -> Any:
    return sums["instructions"] / np.maximum(sums["times"], 1.0)


def by_function(code: Code, sums: dict[str, Any]) -> list[dict[str, Any]]:
    """The same of each function, the longest first."""
    weights = _instructions_each(sums)
    rows: dict[str, Any] = defaultdict(lambda: np.zeros(5))
    for i, part in enumerate(code.parts):
        rows[part.function] += (
            sums["cycles"][i],
            sums["instructions"][i],
            sums["waiting"][i],
            sums["active"][i] * weights[i],
            sums["times"][i] * weights[i],
        )
    in_order = sorted(rows.items(), key=lambda item: -item[1][0])
    cycles, instructions = sums["cycles"].sum(), sums["instructions"].sum()
    return [
        {
            "name": short(name),
            "share_of_time": row[0] / cycles,
            "share_of_instructions": row[1] / instructions,
            "active_threads": row[3] / row[4],
            "waiting_for_memory": row[2] / row[0],
        }
        for name, row in in_order
        if row[4] > 0.0
    ]


def short(symbol: str) -> str:
    """Module and name of a kernel, out of the symbol that the compiler has made of it."""
    names = re.match(r'"?_ZN((?:\d+[A-Za-z_]\w*?)+?)B\d', symbol)
    if names is None:
        return symbol
    found, rest = [], names.group(1)
    while digits := re.match(r"\d+", rest):
        end = digits.end() + int(digits.group())
        found.append(rest[digits.end() : end])
        rest = rest[end:]
    return ".".join(found[-2:])


def largest_parts(code: Code, sums: dict[str, Any], number: int) -> list[str]:
    """A line about each of the parts that take longest."""
    lines = []
    for i in np.argsort(-sums["cycles"])[:number]:
        times, part = sums["times"][i], code.parts[i]
        each = " ".join(f"{answer / times:.1f}" for answer in sums["answers"][i])
        lines.append(
            f"{sums['cycles'][i] / sums['cycles'].sum():6.1%} {times:7.0f} times"
            f" {sums['active'][i] / times:4.1f} threads {sums['cycles'][i] / times:6.0f} cycles"
            f" loads {each} {short(part.function)}:{part.block[-40:]}"
        )
    return lines


def show(totals: dict[str, float], functions: list[dict[str, Any]]) -> None:
    """Print a table."""
    console = Console()
    table = Table(title=f"A step of {LANES} worlds in a warp, by a model")
    for name in ("function", "time", "instructions", "threads", "waits"):
        table.add_column(name, justify="left" if name == "function" else "right")
    for row in functions:
        table.add_row(
            row["name"],
            f"{row['share_of_time']:.1%}",
            f"{row['share_of_instructions']:.1%}",
            f"{row['active_threads']:.1f}",
            f"{row['waiting_for_memory']:.0%}",
        )
    console.print(table)
    console.print(
        f"{totals['instructions'] / 1e6:.2f} million instructions by {totals['active_threads']:.1f} of {LANES} threads,"
        f" {totals['cycles'] / 1e6:.1f} million cycles, {totals['waiting_for_memory']:.0%} of them waiting for memory"
    )


if __name__ == "__main__":
    main()
