"""Cost of contact faces: time of contact geometry and solver over their number, and triangles against polygons.

Masterjohn 2022 (figures 8 and 9) squeeze an object between two Soft bubbles at several resolutions. Their
geometry takes time proportional to the faces and their solver to the power of about 1.3 of them, so one polygon in
place of a fan of triangles around its centroid saves most of a step. Here the faces of each patch are reduced to one
6 by 6 problem, so the solver too should take no more than proportional time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.compilation import entry
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.cylinder_grasp import MESHES, grasp_scene
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.stepping.collision import find_patches
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.patch_loading import load_patches
from hydro_sim_core.simulation.stepping.placement import place_geometries
from hydro_sim_core.solvers.options import ITERATIONS
from hydro_sim_core.solvers.solve import SolverEntry, forget_solutions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = "Masterjohn 2022, figures 8 and 9"
PAPER_EXPONENTS = {"geometry": 1.0, "solver": 1.3}
#: Values of the paper: ratio of numbers of triangles and polygons, and ratio of the solver's times.
TRIANGLES_A_POLYGON, SOLVER_GAIN = 4.05, 4.09
#: Bounds on the exponents of times over the number of faces, and by how much the solver's differs at least: its time
#: grows less than in proportion here, as a patch has one Hessian for all of its faces.
EXPONENT_BOUNDS, LEAST = {"geometry": 0.2, "solver": 1.0}, {"geometry": 0.0, "solver": 0.2}
#: Bounds on the number of faces and on the triangles per polygon, by mesh, and on the solver's gain.
FACES_BOUNDS = {200: 0.007, 440: 0.013, 800: 0.007, 1190: 0.03, 2000: 0.009}
TRIANGLES_BOUNDS = {200: 0.06, 440: 0.13, 800: 0.1, 1190: 0.19, 2000: 0.13}
GAIN_BOUND = 0.45

SETTLING_TIME = 0.25
#: Time between two samples, s: together they span a period of the grip force.
INTERVAL = 0.05
SAMPLES = 10
#: Repeats that a clock can resolve, and number of timings; other programs only lengthen a time.
REPEATS, TRIALS = 40, 5
#: Each solve starts this far from the last velocities, m/s and rad/s, as after an acceleration of 1 m/s^2 for a step:
#: the grasp is at rest most of the time, and a solver that starts at the solution has no work.
ACCELERATED = 1e-3


def run(meshes: Sequence[int] = tuple(MESHES), timed: bool = True) -> ExperimentReport:
    """Count the faces of the grasp at several resolutions and time geometry and solver.

    Args:
        meshes: Keys of ``MESHES``, from coarse to fine; three or more if timed.
        timed: Whether to measure times and fit their exponents; other load on the machine disturbs them.
    """
    series = measure(meshes, timed)
    comparisons = [
        Comparison(f"faces of the mesh for {wanted}", "", wanted, found, FACES_BOUNDS[wanted], "relative")
        for wanted, found in zip(meshes, series["faces"], strict=True)
    ]
    comparisons += [
        Comparison(
            f"triangles a polygon, {found:.0f} faces",
            "",
            TRIANGLES_A_POLYGON,
            triangles / found,
            TRIANGLES_BOUNDS[wanted],
            "relative",
        )
        for wanted, found, triangles in zip(meshes, series["faces"], series["triangles"], strict=True)
    ]
    if timed:
        comparisons += with_verdicts(
            Comparison(
                f"exponent of the {part}'s time",
                "",
                theirs,
                fitted_exponent(series["faces"], series[f"{part} time"]),
                EXPONENT_BOUNDS[part],
                "absolute",
                least=LEAST[part],
            )
            for part, theirs in PAPER_EXPONENTS.items()
        )
        comparisons.append(
            Comparison(
                f"solver's time, triangles over polygons, {series['faces'][-1]:.0f} faces",
                "",
                SOLVER_GAIN,
                series["solver time, triangles"][-1] / series["solver time"][-1],
                GAIN_BOUND,
                "relative",
            )
        )
    return ExperimentReport("Cost of contact faces", SOURCE, tuple(comparisons), series)


def fitted_exponent(faces: ArrayLike, times: ArrayLike) -> float:
    """Best-fit exponent of a power law of times over faces."""
    return float(np.polyfit(np.log(faces), np.log(times), 1)[0])


def measure(meshes: Sequence[int], timed: bool) -> dict[str, list[float]]:
    """Medians along the grasp, solved on polygons and, apart, on triangles; a column a quantity, a row a mesh.

    All worlds take turns, so that other load on the machine, which comes and goes, slows all of them alike.

    Args:
        meshes: Keys of ``MESHES``.
        timed: Whether to measure times.

    Returns:
        ``faces`` and, if timed, CPU times per step, s, and iterations; ``triangles`` and the same of them.
    """
    polygons, triangles = (
        [World(grasp_scene(faces).with_({"contact.representation": representation})) for faces in meshes]
        for representation in ("polygon", "triangle")
    )
    worlds = [*polygons, *triangles]
    for world in worlds:
        world.step(round(SETTLING_TIME / world.time_step))
    samples: list[list[dict[str, float]]] = [[] for _ in worlds]
    for _ in range(SAMPLES):
        for world, found in zip(worlds, samples, strict=True):
            world.step(round(INTERVAL / world.time_step))
            found.append(_sample(world, timed))
    names = samples[0][0]
    medians = [
        {name: float(np.median([sample[name] for sample in found])) for name in names} for found in samples
    ]
    columns = {name: [row[name] for row in medians[: len(meshes)]] for name in names}
    for name in names:
        of_triangles = "triangles" if name == "faces" else f"{name}, triangles"
        columns[of_triangles] = [row[name] for row in medians[len(meshes) :]]
    return columns


def _sample(world: World, timed: bool) -> dict[str, float]:
    """Faces of the last step and, if timed, times of the next one, repeated from the same state."""
    machine = world._machine
    sample = {"faces": float(world.diagnostics()["faces"])}
    if timed:
        sample["geometry time"] = _seconds(_repeat_geometry, (machine.handle,))
        sample["solver time"] = _seconds(_repeat_solver, (machine.handle, machine.solve, world.time_step))
        sample["iterations"] = float(machine.scratch.solver.report[ITERATIONS])
    return sample


def _seconds(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """CPU time of one repeat, s, without the overhead of the call."""
    times = np.empty((TRIALS, 2))
    for trial in range(TRIALS):
        for column, repeats in enumerate((0, REPEATS)):
            began = time.thread_time()
            function(*arguments, repeats)
            times[trial, column] = time.thread_time() - began
    empty, full = times.min(axis=0)
    return float(full - empty) / REPEATS


@entry
def _repeat_geometry(machine: MachineData, repeats: int) -> None:
    for _ in range(repeats):
        place_geometries(machine.model, machine.scratch)
        find_patches(machine.model, machine.state, machine.scratch)


@entry
def _repeat_solver(machine: MachineData, solve: SolverEntry, dt: float, repeats: int) -> None:
    state, scratch = machine.state, machine.scratch
    for _ in range(repeats):
        load_patches(machine.model, machine.state, scratch, dt)
        for i in range(state.v.shape[0]):
            scratch.solver.v[i] = state.v[scratch.problem.islands.order[i]] + ACCELERATED
        forget_solutions(scratch.problem, scratch.solver)
        solve(scratch.problem, machine.model.options, scratch.solver)


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot triangles over polygons and, if timed, times over faces with the fitted exponents.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    is_timed = "solver time" in series
    with figure(path, 10.0 if is_timed else 5.2, 4.4) as canvas:
        *timing, counting = canvas.subplots(1, 1 + is_timed, squeeze=False)[0]
        for axes in timing:
            _plot_times(axes, series)
        _plot_counts(counting, series)
        for axes in (*timing, counting):
            _label_logarithmic(axes)
        canvas.suptitle(f"{report.title}: two Soft bubbles squeeze a cylinder")


def _label_logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False, fontsize="small")


def _plot_counts(axes: Axes, series: dict[str, np.ndarray]) -> None:
    theirs = f"{TRIANGLES_A_POLYGON:g} triangles a polygon (Masterjohn 2022)"
    axes.loglog(series["faces"], series["triangles"], "o", color="#1f5fa8", label="hydro-sim")
    axes.loglog(series["faces"], TRIANGLES_A_POLYGON * series["faces"], color="#c44e24", lw=1.0, label=theirs)
    axes.set_xlabel("polygons")
    axes.set_ylabel("triangles")


def _plot_times(axes: Axes, series: dict[str, np.ndarray]) -> None:
    lines = (
        ("geometry", "faces", "geometry time", "#1f5fa8", "o"),
        ("solver, polygons", "faces", "solver time", "#c44e24", "s"),
        ("solver, triangles", "triangles", "solver time, triangles", "#3c8c40", "^"),
    )
    for name, count, times, colour, marker in lines:
        faces, microseconds = series[count], 1e6 * series[times]
        exponent = fitted_exponent(faces, microseconds)
        fit = np.exp(np.log(microseconds).mean()) * (faces / np.exp(np.log(faces).mean())) ** exponent
        axes.loglog(faces, microseconds, marker, color=colour, label=f"{name}: exponent {exponent:.2f}")
        axes.loglog(faces, fit, color=colour, lw=1.0)
    axes.set_xlabel("contact faces (polygons or triangles)")
    axes.set_ylabel("CPU time a step [µs]")
