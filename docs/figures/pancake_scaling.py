"""Draws what contact costs in the pancake task: ``python pancake_scaling.py OUT.png [RESULTS.json]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from hydro_sim_core.drawing.figures import figure

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "pancake_scaling.json"
#: Mesh whose trial is followed over time.
FOLLOWED = "1530"
COLOURS = {"polygon": "#1f5fa8", "triangle": "#d98324"}
#: Of the friction laws: marks, and lines.
STYLES = {"lagged": ("o", "-"), "sap": ("s", "--")}
INK = "#5b6472"


def draw(path: Path, rows: list[dict[str, Any]]) -> None:
    """Faces over time above, geometry and solver over faces below."""
    with figure(path, 11.0, 7.0) as canvas:
        above, below = canvas.add_gridspec(2, 1, height_ratios=(1.0, 1.1), hspace=0.1)
        _draw_course(canvas.add_subplot(above), rows)
        geometry, solver = below.subgridspec(1, 2, wspace=0.05).subplots()
        for axes, part, title in ((geometry, "geometry", "Contact geometry"), (solver, "solver", "Solver")):
            for law, (mark, line) in STYLES.items():
                for representation, colour in COLOURS.items():
                    found = sorted(
                        (row[representation]["faces"], 1e6 * row[representation][part])
                        for row in rows
                        if row["friction"] == law
                    )
                    label = f"{representation}s, {law if law == 'lagged' else 'SAP'}"
                    axes.plot(*zip(*found, strict=True), mark + line, color=colour, label=label, ms=5, lw=1.2)
            axes.set_title(title, loc="left", fontsize=11)
            axes.set_xlim(left=0.0)
            axes.set_ylim(bottom=0.0)
            axes.set_xlabel("faces, mean of a trial")
            axes.set_ylabel("time a step [µs]")
            axes.grid(alpha=0.3)
        geometry.legend(frameon=False, fontsize=9)


def _draw_course(axes: Axes, rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["mesh"] == FOLLOWED and row["friction"] == "lagged")
    times, faces = zip(*row["course"], strict=True)
    axes.plot(times, faces, color=COLOURS["polygon"], lw=1.0, label="polygons")
    every = len(times) // len(row["triangles"])
    axes.plot(
        times[every - 1 :: every],
        row["triangles"],
        ".-",
        color=COLOURS["triangle"],
        lw=0.7,
        ms=4,
        label="triangles",
    )
    axes.set_ylim(0.0, 1.25 * max(row["triangles"]))
    ends = [begin for begin, _ in row["phases"][1:]] + [times[-1]]
    for number, ((begin, phase), end) in enumerate(zip(row["phases"], ends, strict=True)):
        if number:
            axes.axvline(begin, color=INK, lw=0.8, alpha=0.6)
        axes.text(
            0.5 * (begin + end),
            0.97,
            phase.replace(" the ", "\nthe "),
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="top",
            color=INK,
            fontsize=9,
        )
    axes.set_xlim(0.0, times[-1])
    axes.set_title(f"Faces over time, mesh {FOLLOWED}", loc="left", fontsize=11)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("faces")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center left", fontsize=9)


if __name__ == "__main__":
    out, *rest = sys.argv[1:]
    draw(Path(out), json.loads(Path(rest[0] if rest else RESULTS).read_text())["rows"])
