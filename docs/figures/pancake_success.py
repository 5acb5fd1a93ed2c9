"""Draws how often the pancake is turned over, and where not: ``python pancake_success.py OUT.png [RESULTS.json]``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "pancake_success.json"
COLOURS = {"polygon": "#1f5fa8", "triangle": "#e29a3b"}
MARKS = {1e-3: "o", 2e-3: "s"}
INK, GRID = "#333333", "#dddddd"


def main() -> None:
    """Draw the results of ``benchmarks/pancake_success.py``."""
    out, *rest = sys.argv[1:]
    trials = json.loads(Path(rest[0] if rest else RESULTS).read_text())["trials"]
    cells: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for trial in trials:
        mesh, representation, time_step, _ = trial["wanted"]
        cells.setdefault((mesh, representation, time_step), []).append(trial["found"])
    failed = Counter(trial["found"]["phase"] for trial in trials if not trial["found"]["succeeded"])
    panels = 3 if failed else 2
    figure, (success, cost, *failures) = plt.subplots(
        1, panels, figsize=(4.4 * panels, 4), layout="constrained"
    )
    for (_, representation, time_step), found in sorted(cells.items()):
        style = {
            "color": COLOURS[representation],
            "marker": MARKS[time_step],
            "linestyle": "",
            "markersize": 8,
        }
        faces = _mean(found, "mean_faces")
        share = sum(trial["succeeded"] for trial in found) / len(found)
        success.plot(faces, 100.0 * share, **style)
        steps = sum(trial["steps"] for trial in found)
        cost.plot(faces, 1e3 * sum(trial["processor_time"] for trial in found) / steps, **style)
    _dress(success, "faces on average", "turned over [%]")
    success.set_ylim(0.0, 104.0)
    success.axhline(90.0, color=INK, linestyle=":", linewidth=1.0)
    _dress(cost, "faces on average", "processor time of a step [ms]")
    for time_step in MARKS:
        cost.axhline(1e3 * time_step, color=INK, linestyle=":", linewidth=1.0)
        text, place = f"real time at {1e3 * time_step:g} ms", (0.98, 1e3 * time_step)
        style = {"ha": "right", "va": "bottom", "color": INK, "fontsize": 9}
        cost.annotate(text, place, xycoords=("axes fraction", "data"), **style)
    if failed:
        _draw_failures(failures[0], failed, len(trials))
    handles = [
        plt.Line2D(
            [], [], color=colour, marker=mark, linestyle="", markersize=8, label=f"{name}s, {1e3 * step:g} ms"
        )
        for name, colour in COLOURS.items()
        for step, mark in MARKS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(out, dpi=110)


def _mean(found: list[dict[str, Any]], key: str) -> float:
    return float(sum(trial[key] for trial in found) / len(found))


def _draw_failures(axes: plt.Axes, failed: Counter[str], trials: int) -> None:
    """Bars of the phases in which trials failed."""
    names = [name for name, _ in failed.most_common()][::-1]
    axes.barh(names, [failed[name] for name in names], color="#b04a3a", height=0.6)
    axes.set_title(f"{failed.total()} of {trials} failed, to", fontsize=10, color=INK)
    _dress(axes, "trials", "")


def _dress(axes: plt.Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
