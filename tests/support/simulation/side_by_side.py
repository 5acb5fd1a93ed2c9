"""Batches in the memory of a GPU that the processor steps, world by world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.compilation.side_by_side import LANES
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.compiling import HERE, compiled
from hydro_sim_core.simulation.batches.last_step import scratch_in_lane
from hydro_sim_core.simulation.batches.memory import Placed, Plan, as_words
from hydro_sim_core.simulation.batches.programs import THREADS, HostProgram, Program, present_cupy
from hydro_sim_core.simulation.batches.side_by_side import SideBySideWorlds
from hydro_sim_core.simulation.batches.stepping import Begin
from hydro_sim_core.simulation.stepping.model import State
from hydro_sim_core.simulation.stepping.step import DONE, advance
from hydro_sim_core.solvers.solve import solver_entry


class StepByStep:
    """Program that steps each world of a memory by the entry point of single worlds."""

    def __init__(self) -> None:
        self.worlds: SideBySideWorlds | None = None
        self.launches = 0

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds as ``batches.stepping.advance_world`` does."""
        self.launches += 1
        rows, plan = memory.rows, memory.plan
        for i in range(memory.n):
            remaining = int(rows["order.until"][i, 0] - rows["machine.state.step"][i, 0])
            if remaining <= 0 or rows["order.status"][i, 0] != DONE:
                continue
            machine = self.worlds.copy_of(i).machine
            lane = memory.lane_of(i)
            machine.use_scratch(scratch_in_lane(memory, i, machine.scratch))
            for _ in range(remaining):
                for name in Begin._fields:
                    rows[f"begin.{name}"][i] = getattr(machine.state, name)
                rows["order.status"][i] = advanced(machine, dt, 1)
                if rows["order.status"][i, 0] != DONE:
                    break
            for name in State._fields:
                rows[f"machine.state.{name}"][i] = getattr(machine.state, name)
            for path, field in plan.fields.items():
                if field.place == LANES and path.startswith("machine.scratch."):
                    words = words_at(machine.scratch, path.split(".")[2:])
                    lane[field.offset : field.offset + field.values.size] = words


def advanced(machine: Any, dt: float, steps: int) -> int:
    """One call of the compiled step, without the help that ``Machine.advance`` gives."""
    return advance(machine.handle, machine.solve, dt, steps, False, False)


def words_at(struct: Any, names: list[str]) -> np.ndarray:
    """An array of a struct, as it lies in a lane."""
    for name in names:
        struct = getattr(struct, name)
    return as_words(struct)


def made_side_by_side(
    scene: Any, n: int, program_for: Callable[[Plan], Program] | None = None
) -> hs.BatchWorld:
    """A batch in the memory of a GPU, on the processor; of a scene, or of a list of them."""
    batch, program = hs.BatchWorld(scene, n, "cpu"), StepByStep()
    scenes = [hs.World(one) for one in (scene if isinstance(scene, list) else [scene])]
    program_for = program_for or (lambda plan: program)
    worlds = SideBySideWorlds(scenes, batch.scene_of, 2, np, program_for, lambda array: array.ctypes.data)
    program.worlds = worlds
    batch._worlds = worlds
    return batch


def host_program(plan: Plan) -> HostProgram:
    """The code that becomes PTX, with a GPU's options, compiled for this processor instead; takes a minute."""
    from hydro_sim_core.compilation import ptx

    module = compiled(plan, solver_entry("newton", "lagged"), HERE, THREADS)
    return HostProgram(ptx.object_of_module(module.decode()))


def has_gpu() -> bool:
    """Whether batches can run on a GPU here."""
    try:
        present_cupy("cuda")
    except InputError:
        return False
    return True


def host(array: Any) -> np.ndarray:
    """A copy of an array of a batch, where tests compare it."""
    return array.get() if hasattr(array, "get") else np.array(array)


#: How batches are made, by where they run: of a scene or a list of them, with so many worlds.
Maker = Callable[[Any, int], hs.BatchWorld]
MAKERS: dict[str, Maker] = {
    "cpu": lambda of, n: hs.BatchWorld(of, n, "cpu"),
    "side by side": made_side_by_side,
}
if has_gpu():
    MAKERS["cuda"] = lambda of, n: hs.BatchWorld(of, n, "cuda")
