"""What contact costs in the pancake task, by mesh, friction law and representation (Masterjohn 2022, figures 8 and 9).

On every mesh the task is tried with lagged friction and with SAP, on polygons. At points along the trial worlds with
polygons and with triangles take over its state, and every stage of a step soon after is timed in each, as in
``step_profile.py``: so both are compared where they have the same contacts. It is not the very next step, as the solver
begins with what the step before has found, which should be of the same faces. The solver's time includes loading faces
and Jacobians.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from measure import make_parser, write
from pancake_meshes import MESHES, values_of
from representations import LAWS, PARTS
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from step_profile import profile_stages

from hydro_sim_core.description.spec import Representation
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import TASKS, Trial, run_trial
from hydro_sim_core.tasks.task import TaskController
from hydro_sim_core.tasks.trial import scene_of

TASK = TASKS["pancake_flip"]
#: Periods between two that are looked at closely, and how often the stages are repeated.
INTERVAL, REPEATS = 40, 10
#: Steps that a world takes by itself before it is looked at.
OWN_STEPS = 2


@dataclass
class Watched:
    """A trial on one mesh with one friction law, and its contacts in both representations.

    Attributes:
        worlds: To take over its state, by representation.
        phases: Simulated time (s) at which the controller begins each.
        course: Simulated time (s) and faces after every period.
        looks: Of each look and representation: faces, Newton iterations, and CPU time (s) of geometry and solver.
    """

    worlds: Mapping[str, World]
    phases: list[tuple[float, str]] = field(default_factory=list)
    course: list[tuple[float, int]] = field(default_factory=list)
    looks: list[dict[str, dict[str, float]]] = field(default_factory=list)
    _controller: TaskController | None = None

    def controller(self, model: World, period: float) -> TaskController:
        """That of the task, remembered for its phases."""
        self._controller = TASK.controller(model, period)
        return self._controller

    def watch(self, world: World) -> None:
        """Note a period that has ended."""
        assert self._controller is not None
        phase = self._controller.robot.phase
        if not self.phases or self.phases[-1][1] != phase:
            self.phases.append((world.time, phase))
        self.course.append((world.time, int(world.diagnostics()["faces"])))
        if len(self.course) % INTERVAL == 0:
            self.looks.append({name: _look(world, other) for name, other in self.worlds.items()})


def _look(world: World, other: World) -> dict[str, float]:
    """Faces, iterations and times of a step in a world that takes over the state of another."""
    other.take_over(world)
    other.step(OWN_STEPS)
    stages = profile_stages(other, REPEATS)
    other.step()
    report = other.diagnostics()
    counts = {name: float(report[name]) for name in ("faces", "iterations")}
    return counts | {part: sum(stages[name] for name in names) for part, names in PARTS.items()}


def tried(mesh: str, law: str) -> tuple[Trial, Watched]:
    """A trial without variation, watched."""
    values = {name: values_of(mesh, name) | dict(LAWS[law]) for name in get_args(Representation)}
    watched = Watched({name: World(scene_of(TASK, None, those)) for name, those in values.items()})
    for world in watched.worlds.values():
        profile_stages(world)  # compiles
    task = replace(TASK, controller=watched.controller)
    return run_trial(task, None, values["polygon"], watch=watched.watch), watched


def summary(watched: Watched) -> dict[str, Any]:
    """Means over all looks by representation, and triangles over polygons."""
    names = watched.looks[0]["polygon"]
    means = {
        representation: {
            name: float(np.mean([look[representation][name] for look in watched.looks])) for name in names
        }
        for representation in watched.worlds
    }
    return {**means, "ratios": {name: means["triangle"][name] / means["polygon"][name] for name in names}}


def main() -> None:
    """Try the task on every mesh with every law, print the table, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "pancake_scaling")
    parser.add_argument("--meshes", nargs="+", choices=MESHES, default=list(MESHES))
    arguments = parser.parse_args()
    wanted = [(mesh, law) for mesh in arguments.meshes for law in LAWS]
    console = Console(width=120)
    rows: list[dict[str, Any]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(wanted))
        for mesh, law in wanted:
            progress.update(bar, description=f"mesh {mesh}, {law}")
            trial, watched = tried(mesh, law)
            rows.append(
                {
                    "mesh": mesh,
                    "friction": law,
                    "trial": trial.as_dict(),
                    **summary(watched),
                    "phases": watched.phases,
                    "course": watched.course,
                    "triangles": [look["triangle"]["faces"] for look in watched.looks],
                }
            )
            progress.advance(bar)
            write(arguments.out, {"rows": rows}, quiet=True)
    console.print(_table(rows))
    write(arguments.out, {"rows": rows})


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Triangles over polygons in the pancake task; of polygons in brackets, times in µs")
    for heading in ("mesh", "friction", "faces", "iterations", *PARTS, "turned over"):
        table.add_column(heading)
    for row in rows:
        of_polygons = row["polygon"]
        scaled = {name: value * (1e6 if name in PARTS else 1.0) for name, value in of_polygons.items()}
        cells = (f"{ratio:.2f} ({scaled[name]:.3g})" for name, ratio in row["ratios"].items())
        table.add_row(
            row["mesh"],
            row["friction"],
            *cells,
            "yes" if row["trial"]["succeeded"] else row["trial"]["reason"],
        )
    return table


if __name__ == "__main__":
    main()
