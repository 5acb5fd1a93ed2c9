"""What triangles cost in place of polygons: faces and time of a step, with lagged friction and with SAP.

Masterjohn 2022 (V-B) counts 4.05 triangles a polygon and 4.1 times the solver's time with them. Each scene runs with
both representations one after the other; at points along the run every stage is timed as in ``step_profile.py``.
"""

from __future__ import annotations

from typing import get_args

from measure import output_argument, write
from rich.console import Console
from rich.table import Table
from step_profile import profile

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
WHOLE = "whole step, many a call"


def measured(scene: LoadedScene) -> dict[str, dict[str, float]]:
    """Faces, Newton iterations and CPU times (s) of a step, by representation."""
    found = {}
    for representation in get_args(Representation):
        means = profile(scene.with_({"contact.representation": representation}))
        times = {part: sum(means[stage] for stage in stages) for part, stages in PARTS.items()}
        counts = {name: means[name] for name in ("faces", "iterations")}
        found[representation] = {**counts, **times, "step": means[WHOLE]}
    return found


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
    scale = 1.0 if key in ("faces", "iterations") else 1e6
    return f"{ratio:.2f} ({scale * of_polygons:.3g})"


if __name__ == "__main__":
    main()
