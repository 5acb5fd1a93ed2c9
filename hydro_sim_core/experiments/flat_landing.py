"""Boxes that land flat keep their energy under the continuous integrator (Elandt 2019, sections VIII-B and X-C).

What makes it hard is the underside: it touches all at once, and the upright sides of the box press on a rim that is as
wide as the box sinks in. An integrator that controls its error can follow only forces without jumps, and energy is kept
only by forces that are its slope: exact moments, and faces that fade where their pressure falls as they are pressed.
Without these the first landing ended in an error. Boxes of two moduli on each other meet in faces of both.

What a landing loses depends on where in an integration step it is met. Of 18 heights from 18 to 22 mm above rigid
ground, ten bounces each, the middle one loses 3e-7 and the worst 8e-7. With the usual estimate of the error alone, also
that of SciPy's Radau, they lose 4e-6 and 1e-4: it is blind to a force that sets in at 0.433 of a step.

A margin, here that of a scene that names none, 0.1 mm, costs no energy and next to no time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.scene_builder import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.flat_box import MASS, SIZE, FlatBox
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.simulation import World

SOURCE = "conservation of energy"
Array = NDArray[np.float64]
DROP, MODULUS, TABLE_MODULUS, TABLE_HEIGHT = 0.02, 1e6, 2e6, 0.1
BOUNCES = 10
#: Bounds on the change of energy, relative to all of it above the ground: two and a half times that in ten bounces.
BOUNDS = {
    "flat on rigid ground": 1.1e-06,
    "turned by 1e-9 rad": 6e-07,
    "turned by 1 degree": 1.3e-06,
    "flat on rigid ground, default margin": 1.1e-06,
    "flat on a soft box": 2.7e-07,
    "on a soft box, turned by 3 degrees": 3e-08,
}
ACCURACY, TIME_STEP = 1e-5, 1e-3
#: Kinds of energy, and instants of a landing that are kept.
PARTS, INSTANTS = ("kinetic", "potential", "elastic"), 361
#: Turns at the start, rad: about the long axis and the short one.
LANDINGS = {
    "flat on rigid ground": (0.0, 0.0),
    "turned by 1e-9 rad": (1e-9, 0.0),
    "turned by 1 degree": (0.0175, 0.0),
}
#: The same with the margin of a scene that names none.
WITH_MARGIN = {"flat on rigid ground, default margin": (0.0, 0.0)}
#: The same on a compliant box, turned about the vertical as well.
ON_A_BOX = {"flat on a soft box": (0.0, 0.0), "on a soft box, turned by 3 degrees": (0.05, 0.025)}
ALL = (*LANDINGS, *WITH_MARGIN, *ON_A_BOX)
COLOURS = "#1f5fa8", "#c44e24", "#3b8f5a", "#8a8a8a", "#e39a3b", "#7a4fa8"


def run(bounces: int = BOUNCES) -> ExperimentReport:
    """Let boxes fall and bounce.

    Args:
        bounces: Number of bounces.
    """
    worlds = {name: _on_ground(turns) for name, turns in LANDINGS.items()}
    worlds |= {name: _on_ground(turns, None) for name, turns in WITH_MARGIN.items()}
    worlds |= {name: _on_box(turns) for name, turns in ON_A_BOX.items()}
    comparisons: list[Comparison] = []
    series: dict[str, list[float]] = {}
    for name, world in worlds.items():
        energies = _bounce(world, bounces)
        change = np.maximum.accumulate(np.abs(energies.sum(axis=1) / energies[0].sum() - 1.0))
        comparisons.append(
            Comparison(f"energy lost or gained, {name}", "", 0.0, float(change[-1]), BOUNDS[name], "absolute")
        )
        # As many instants of each landing, so that all columns have the same length.
        shown = np.linspace(0, len(energies) - 1, INSTANTS).astype(int)
        series[f"time, {name}"] = (TIME_STEP * shown).tolist()
        series[f"change, {name}"] = change[shown].tolist()
        if name == "flat on rigid ground":
            for part, values in zip(PARTS, energies.T, strict=True):
                series[part] = values[shown].tolist()
    return ExperimentReport(
        f"Boxes that land flat, {bounces} bounces", SOURCE, tuple(with_verdicts(comparisons)), series
    )


def _solver() -> dict[str, object]:
    return {"integrator": "continuous", "accuracy": ACCURACY}


def _on_ground(turns: tuple[float, float], margin: float | None = 0.0) -> World:
    box, start = FlatBox(MODULUS), {"height": DROP, "tilt": turns[0]}
    return box.world(_solver(), TIME_STEP, dissipation=0.0, margin=margin, **start)


def _on_box(turns: tuple[float, float]) -> World:
    contact = {"friction": 0.0, "dissipation": 0.0, "margin": 0.0}
    scene = SceneBuilder("boxes", time_step=TIME_STEP, contact=contact, solver=_solver())
    scene.add_static("table", "box", size=(0.3, 0.25, TABLE_HEIGHT), modulus=TABLE_MODULUS)
    height = 0.5 * TABLE_HEIGHT + 0.5 * SIZE[2] + DROP
    body = scene.add_body("box", mass=MASS, xyz=(0.0, 0.0, height), rpy=(*turns, 0.2))
    body.add_shape("box", size=SIZE, modulus=MODULUS)
    return World(scene.build())


def _bounce(world: World, bounces: int) -> Array:
    """Kinetic, potential and elastic energy (n, 3), J, at every time step."""
    energies, fell = [tuple(world.energies())], True
    while bounces > 0:
        world.step()
        energies.append(tuple(world.energies()))
        falls = bool(world.v[5] < 0.0)
        bounces -= fell and not falls
        fell = falls
    return np.array(energies)


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the energies of the flat landings, and by how much their sum changes in all of them.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(column) for name, column in report.series.items()}
    with figure(path, 11.0, 3.8) as canvas:
        parts, changes = canvas.subplots(1, 2)
        time = series["time, flat on rigid ground"]
        for name, colour in zip(PARTS, ("#1f5fa8", "#7a7a7a", "#c44e24"), strict=True):
            parts.plot(time, series[name], color=colour, lw=1.0, label=name)
        parts.plot(time, sum(series[name] for name in PARTS), "k--", lw=1.0, label="sum")
        parts.set_ylabel("energy [J]")
        parts.set_title("flat on rigid ground", fontsize="medium")
        for name, colour in zip(ALL, COLOURS, strict=True):
            change = np.maximum(series[f"change, {name}"], 1e-12)
            changes.semilogy(series[f"time, {name}"], change, color=colour, lw=1.0, label=name)
        changes.axhline(max(BOUNDS.values()), color="k", ls=":", lw=1.0, label="largest bound")
        changes.set_ylabel("largest relative change of the sum so far")
        changes.set_ylim(1e-12, 1e-2)
        parts.legend(frameon=False, fontsize="small", ncol=4, loc="center", bbox_to_anchor=(0.5, 0.47))
        changes.legend(frameon=False, fontsize="x-small", ncol=2, loc="upper right")
        for axes in (parts, changes):
            axes.set_xlabel("time [s]")
            axes.grid(alpha=0.3)
