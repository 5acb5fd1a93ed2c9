"""Error-controlled steps on the manipulation scenes: speed, sub-steps, and how far they end from fine fixed steps.

Commands are read and the state is published every 10 ms; in between a world takes the sub-steps that its accuracy asks
for. The reference takes fixed steps of 0.1 ms. CPU time of the one thread that steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core import World
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.experiments.published_scenes import published_scene

DURATION = 3.0
REFERENCE_STEP = 1e-4
#: Time step (s) and accuracy (m or rad; None for fixed steps).
WAYS: tuple[tuple[float, float | None], ...] = (
    (REFERENCE_STEP, None),
    (1e-3, None),
    (1e-2, None),
    (1e-2, 1e-3),
    (1e-2, 1e-4),
    (1e-2, 1e-5),
    (1e-2, 1e-6),
)


@dataclass(frozen=True)
class Run:
    """One way to step a scene.

    Attributes:
        cpu_time: s.
        q: (nq,) coordinates at the end.
        faces: Contact faces at the end.
        substeps: Steps or sub-steps kept.
        rejected: Sub-steps rejected.
        unconverged: Time steps that met no tolerance.
    """

    cpu_time: float
    q: np.ndarray
    faces: int
    substeps: int
    rejected: int
    unconverged: int


def run(scene: LoadedScene, time_step: float, accuracy: float | None) -> Run:
    """Run a scene for ``DURATION``, compiled and reset before."""
    solver = scene.spec.solver.model_copy(update={"accuracy": accuracy})
    spec = scene.spec.model_copy(update={"time_step": time_step, "solver": solver})
    world = World(replace(scene, spec=spec))
    world.step()
    world.reset()
    began = time.thread_time()
    world.step(round(DURATION / time_step))
    cpu_time = time.thread_time() - began
    done = world.diagnostics()
    return Run(
        cpu_time=cpu_time,
        q=world.q,
        faces=int(done["faces"]),
        substeps=int(done.get("substeps", world.step_count)),
        rejected=int(done.get("rejected_substeps", 0)),
        unconverged=int(done["unconverged_steps"]),
    )


def main() -> None:
    """Run all scenes in all ways, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "error_control")
    scenes = {
        "spatula_slip_welded": published_scene("spatula_slip_welded"),
        "spatula_slip": published_scene("spatula_slip"),
        "cylinder grasp, 440 faces": grasp_scene(440),
    }
    rows: list[dict[str, Any]] = []
    for name, scene in scenes.items():
        runs = {way: run(scene, *way) for way in track(WAYS, description=name, transient=True)}
        reference = runs[(REFERENCE_STEP, None)]
        for (time_step, accuracy), result in runs.items():
            rows.append(
                {
                    "scene": name,
                    "time_step": time_step,
                    "accuracy": accuracy,
                    "faces": result.faces,
                    "substeps": result.substeps,
                    "rejected_substeps": result.rejected,
                    "unconverged_steps": result.unconverged,
                    "real_time_factor": DURATION / result.cpu_time,
                    "largest_error": float(np.abs(result.q - reference.q).max()),
                }
            )
    _print(rows)
    write(output, {"duration": DURATION, "reference_step": REFERENCE_STEP, "rows": rows})


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(
        title=f"{DURATION:g} s; error: largest difference of a coordinate from steps of 0.1 ms, m or rad"
    )
    table.add_column("scene")
    for heading in (
        "time step, ms",
        "accuracy",
        "faces",
        "sub-steps",
        "rejected",
        "unconverged",
        "x real time",
        "error",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            str(row["scene"]),
            f"{1e3 * row['time_step']:g}",
            "fixed" if row["accuracy"] is None else f"{row['accuracy']:g}",
            str(row["faces"]),
            str(row["substeps"]),
            str(row["rejected_substeps"]),
            str(row["unconverged_steps"]),
            f"{row['real_time_factor']:.1f}",
            f"{row['largest_error']:.1e}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
