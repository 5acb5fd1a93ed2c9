"""What triangles cost in place of polygons: faces and time of a step, with lagged friction and with SAP.

Masterjohn 2022 (V-B) counts 4.05 triangles a polygon and 4.1 times the solver's time with them. At points along
the run every stage is timed as in ``step_profile.py``; the solver's time includes loading faces and Jacobians.
"""

from __future__ import annotations

import time
from typing import get_args

import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.table import Table
from step_profile import INTERVAL, PROFILES, profile_stages

from hydro_sim_core import World
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.spec import Representation
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.simulation.loading import find_scene

#: Contact faces of the grasps.
GRASPS = (200, 1190, 2000)
#: Settings by friction law; SAP has linear damping alone.
LAWS = {
    "lagged": {"solver.friction": "lagged"},
    "sap": {"solver.friction": "sap", "contact.damping": "linear"},
}
#: Stages of a step by what they are compared as.
PARTS = {"geometry": ("geometry",), "solver": ("load", "solve")}


def measured(scene: LoadedScene) -> dict[str, dict[str, float]]:
    """Medians along a run of faces, Newton iterations and CPU times (s) of a step, by representation.

    Both worlds take turns, so that both see the same load.
    """
    worlds = {
        representation: World(scene.with_({"contact.representation": representation}))
        for representation in get_args(Representation)
    }
    for world in worlds.values():
        world.step()
        profile_stages(world)  # compiles
        world.reset()
    samples: dict[str, list[dict[str, float]]] = {representation: [] for representation in worlds}
    for _ in range(PROFILES):
        for representation, world in worlds.items():
            samples[representation].append(_sample(world))
    return {
        representation: {name: float(np.median([sample[name] for sample in found])) for name in found[0]}
        for representation, found in samples.items()
    }


def _sample(world: World) -> dict[str, float]:
    steps = round(INTERVAL / world.time_step)
    began = time.thread_time()
    world.step(steps)
    step = (time.thread_time() - began) / steps
    report, stages = world.diagnostics(), profile_stages(world)
    counts = {name: float(report[name]) for name in ("faces", "iterations")}
    return (
        counts | {part: sum(stages[name] for name in names) for part, names in PARTS.items()} | {"step": step}
    )


def main() -> None:
    """Measure all scenes, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "representations")
    scenes = {"spatula_slip": find_scene("spatula_slip")}
    scenes |= {f"cylinder grasp, {faces} faces": grasp_scene(faces) for faces in GRASPS}
    table = Table(title="Triangles over polygons; faces, iterations and µs of polygons in brackets")
    for heading in ("scene", "friction", "faces", "iterations", *PARTS, "step"):
        table.add_column(heading)
    rows = []
    for name, scene in scenes.items():
        for law, values in LAWS.items():
            found = measured(scene.with_(values))
            ratios = {key: found["triangle"][key] / value for key, value in found["polygon"].items()}
            cells = (_cell(key, ratios[key], found["polygon"][key]) for key in ratios)
            table.add_row(name, law, *cells)
            rows.append({"scene": name, "friction": law, "ratios": ratios, **found})
    Console(width=130).print(table)
    write(output, {"rows": rows})


def _cell(key: str, ratio: float, of_polygons: float) -> str:
    shown = of_polygons if key in ("faces", "iterations") else 1e6 * of_polygons
    return f"{ratio:.2f} ({shown:.0f})" if shown >= 100.0 else f"{ratio:.2f} ({shown:.3g})"


if __name__ == "__main__":
    main()
