"""Where a step spends its time: the welded spatula, and the grasp of a cylinder at several resolutions.

At points along the run every stage is repeated many times from the same state in one compiled loop, which a clock
inside the step could not resolve. One call a step is compared with one call for many steps: the difference is what a
call from Python costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core import World
from hydro_sim_core.compilation import Handle, entry
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.simulation.stepping import step as stages
from hydro_sim_core.simulation.stepping.collision import find_patches
from hydro_sim_core.simulation.stepping.coriolis import solve_with_coriolis_forces
from hydro_sim_core.simulation.stepping.false_faces import leave_out_false_faces
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.patch_loading import load_patches
from hydro_sim_core.simulation.stepping.placement import place_geometries
from hydro_sim_core.simulation.stepping.point_contacts import find_points, load_points
from hydro_sim_core.simulation.stepping.pulls import stiffen_by_pulls
from hydro_sim_core.solvers.islands import find_islands
from hydro_sim_core.solvers.solve import SolverEntry

SPATULA = "spatula_slip_welded"
#: Contact faces of the grasps.
GRASPS = (200, 1190, 2000)
#: Simulated time between profiles, s.
INTERVAL = 0.1
PROFILES = 12
REPEATS = 300

# A profile looks inside the step, so it needs the step's private stages.
_guess, _take_solution = stages._guess, stages._take_solution
_judge_guesses = stages._judge_guesses


@entry
def _dynamics(machine: MachineData, solve: SolverEntry, dt: float, times: int) -> None:
    for _ in range(times):
        stages.evaluate_dynamics(machine.model, machine.state, machine.scratch)


@entry
def _geometry(machine: MachineData, solve: SolverEntry, dt: float, times: int) -> int:
    """The number of faces is given back: where they do not fit, nothing may follow."""
    model, state, scratch = machine.model, machine.state, machine.scratch
    found = 0
    for _ in range(times):
        place_geometries(model, scratch)
        found = find_patches(model, state, scratch) + model.points.most_faces[0]
        if found > scratch.faces.num_vertices.shape[0]:
            return found
        leave_out_false_faces(model, scratch, dt)
        scratch.points.num_faced[0] = scratch.patches.num[0]
    return found


@entry
def _load(machine: MachineData, solve: SolverEntry, dt: float, times: int) -> None:
    model, state, scratch = machine.model, machine.state, machine.scratch
    for _ in range(times):
        find_points(model, scratch)
        find_islands(model.forest, scratch.patches.num[0], scratch.problem.islands)
        stages.load_inertia(model, state, scratch, dt)
        stiffen_by_pulls(model, machine.loads, scratch, dt)
        stages.load_joints(model, state, machine.drives, scratch, dt, stages.RETURN_SPEED)
        _guess(model, state, machine.drives, scratch, dt)
        load_patches(model, state, scratch, dt)
        load_points(model, state, scratch, dt)


@entry
def _solve(machine: MachineData, solve: SolverEntry, dt: float, times: int) -> None:
    for _ in range(times):
        _guess(machine.model, machine.state, machine.drives, machine.scratch, dt)
        solve_with_coriolis_forces(machine, solve, dt, True)


@entry
def _store(machine: MachineData, solve: SolverEntry, dt: float, times: int) -> None:
    model, state, scratch = machine.model, machine.state, machine.scratch
    for _ in range(times):
        _take_solution(model, state, scratch, dt)
        _judge_guesses(model, state, scratch, dt)
        stages.store_wrenches(scratch, dt)
        stages.store_efforts(model, scratch, dt)


STAGES: dict[str, Callable[..., int | None]] = {
    "dynamics": _dynamics,
    "geometry": _geometry,
    "load": _load,
    "solve": _solve,
    "store": _store,
}


def profile_stages(world: World, repeats: int = REPEATS) -> dict[str, float]:
    """CPU time (s) of every stage of the next step, in the order of the step."""
    return profile_machine(world.copy()._machine, world.time_step, repeats)


def profile_machine(machine: Machine, dt: float, repeats: int) -> dict[str, float]:
    """As ``profile_stages``; the machine's memory is used, and grows if the next step has more faces than fit."""
    handle = _handle(machine)
    _dynamics(handle, machine.solve, dt, 1)
    found = _geometry(handle, machine.solve, dt, 1)
    if found > len(machine.scratch.faces.num_vertices):
        machine.make_room(found)
        handle = _handle(machine)
    arguments = (handle, machine.solve, dt)
    times = {}
    for name, stage in STAGES.items():
        calls = [_cpu_time(partial(stage, *arguments, n)) for n in (0, repeats)]
        times[name] = (calls[1] - calls[0]) / repeats
    return times


def _handle(machine: Machine) -> Handle:
    """The machine's data, with a copy of its state, which stays."""
    state = machine.copy_state()
    return Handle(MachineData(machine.model, state, machine.drives, machine.loads, machine.scratch))


def _cpu_time(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def _one_by_one(world: World, steps: int) -> None:
    for _ in range(steps):
        world.step()


def profile(scene: LoadedScene) -> dict[str, float]:
    """Mean CPU time (s) of the parts of a step along a run, and the mean number of faces and Newton iterations."""
    world = World(scene)
    world.step()
    profile_stages(world)  # compiles
    world.reset()
    samples: list[dict[str, float]] = []
    steps = round(INTERVAL / world.time_step) // 2
    for _ in range(PROFILES):
        sample = {
            "whole step, many a call": _cpu_time(lambda: world.step(steps)) / steps,
            "whole step, one a call": _cpu_time(partial(_one_by_one, world, steps)) / steps,
        }
        report = world.diagnostics()
        counts = {name: float(report[name]) for name in ("faces", "iterations")}
        samples.append(profile_stages(world) | sample | counts)
    means = {name: float(np.mean([sample[name] for sample in samples])) for name in samples[0]}
    means["call from Python"] = means["whole step, one a call"] - means["whole step, many a call"]
    return means


def main() -> None:
    """Profile all scenes, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "step_profile")
    profiles = {SPATULA: profile(published_scene(SPATULA))}
    profiles |= {f"cylinder grasp, {faces} faces": profile(grasp_scene(faces)) for faces in GRASPS}
    table = Table(title="CPU time of the parts of a step, µs")
    table.add_column("part of a step")
    for name in profiles:
        table.add_column(name, justify="right")
    for part in (*STAGES, "whole step, many a call", "call from Python"):
        table.add_row(part, *(_with_share(means, part) for means in profiles.values()))
    for count in ("faces", "iterations"):
        table.add_row(count, *(f"{means[count]:.1f}" for means in profiles.values()))
    Console(width=130).print(table)
    write(output, {"seconds_and_counts": profiles})


def _with_share(means: dict[str, float], part: str) -> str:
    return f"{1e6 * means[part]:.2f} ({means[part] / means['whole step, many a call']:.0%})"


if __name__ == "__main__":
    main()
