"""What a search for pushes found, as data and as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.planar_push.bodies import OUTLINE
from hydro_sim_core.experiments.planar_push.paths import Path
from hydro_sim_core.optimisation.push import DURATION, REST, TIME_STEP, PushResult
from hydro_sim_core.optimisation.push_start import placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Least half of the width that is shown, m.
_SPAN = 0.27
_START, _BETWEEN, _END, _GOAL = "#9a9a9a", "#8fb3d9", "#1f5fa8", "#c44e24"


def as_dict(result: PushResult) -> dict[str, Any]:
    """A result as plain data: m, rad and s."""
    return {
        "goal": result.goal.tolist(),
        "reached": result.is_reached,
        "distance": result.distance,
        "angle": result.angle,
        "paths": [path.tolist() for path in result.paths],
        "poses": result.poses.tolist(),
        **result.effort._asdict(),
    }


def plot(results: Sequence[PushResult], path: FilePath) -> None:
    """Plot paths of the finger, and where the T is before and after each push.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    columns = min(5, len(results))
    rows = math.ceil(len(results) / columns)
    with figure(path, max(6.0, 2.6 * columns), 0.6 + 2.9 * rows) as canvas:
        panels = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axes, result in zip(panels, results, strict=False):
            _panel(axes, result)
        for axes in panels[len(results) :]:
            axes.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)


def _panel(axes: Axes, result: PushResult) -> None:
    _outline(axes, np.zeros(3), color=_START, lw=1.2, label="start")
    for pose in result.poses[1:-1]:
        _outline(axes, pose, color=_BETWEEN, lw=1.2)
    _outline(axes, result.poses[-1], color=_END, lw=1.8, label="end in the pressure field")
    _outline(axes, result.goal, color=_GOAL, lw=1.4, ls="--", label="goal")
    for number, via in enumerate(result.paths):
        targets = Path(via, DURATION, REST).targets(TIME_STEP)
        axes.plot(*targets.T, color="black", lw=0.9, label="finger" if number == 0 else None)
        axes.plot(*via[0], "o", color="black", ms=3.5)
    verdict = "reached" if result.is_reached else "not reached"
    count = "1 push" if len(result.paths) == 1 else f"{len(result.paths)} pushes"
    missed = f"{100.0 * result.distance:.2f} cm, {math.degrees(result.angle):.1f}°"
    axes.set_title(f"{verdict} in {count}\n{missed}", fontsize=9)
    axes.set_aspect("equal")
    farthest = max(float(np.abs(placed(pose, OUTLINE)).max()) for pose in (*result.poses, result.goal))
    span = max(_SPAN, farthest + 0.02)
    axes.set(xlim=(-span, span), ylim=(-span, span), xticks=(), yticks=())


def _outline(axes: Axes, pose: Array, **style: Any) -> None:
    corners = placed(pose, OUTLINE)
    axes.plot(*np.vstack([corners, corners[:1]]).T, **style)
