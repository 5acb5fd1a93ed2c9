"""A finger pushes a T over a table along five paths, under smooth contact, in MuJoCo and in the pressure field.

Beker 2025, section IV-C: the T is 25 x 20 cm, the finger is a sphere under position control, and what is rolled out in
MuJoCo goes without a change into the other models. The paper's five paths were optimised in MuJoCo for five goals; they
are not published. Here they are the first five of some random paths on which the finger touches the T in at least two
separate phases, and that move it by more than 6 cm, turn it by more than 0.2 rad and end within 1 cm and 5 degrees of
there in MuJoCo also where friction is a tenth less or more: of the others the end says little about a model. The goals
are where MuJoCo's T comes to rest. MuJoCo, with circular cones of friction, stands for its port to XLA. Mass, friction,
height and gains are chosen, as the paper does not give them; parameters of contact are the same at all steps. They are
tuned, as the paper says that they must be: so that steps of 16 ms stay stable and the T ends near MuJoCo's. With 26
points these overflow after 1.1 s all the same; the paper's end 6.3 cm and 27 degrees off, and have no row here. Of 62
random sets (stiffness 0.4 to 5 kN/m, and so on, 8 ms, 256 points on each) the median ends 3.8 cm and 13.7 degrees off,
and 7 within the paper's means. A first set of paths, without those conditions and with pyramids of friction in MuJoCo,
was given up: ends differed by up to 20 cm. As in the paper, 4k points are 2048 on each of the two bodies; 26 are 26 on
each. All columns together take some 6 minutes of processor time, nearly all of it those of 4k points: the quick form
leaves them out.

Rows are means over the five paths of the distance of the centres of mass at the end, and of the angle, from MuJoCo's.
Reference is the paper's mean, which those of 2 ms, RK4 and 4k points must not exceed. Under Runge and Kutta's method
steps of 2 and 8 ms come as near as the paper's or nearer; those of 16 ms differ, as they hardly end elsewhere here.
Under Euler's method it is alike: here it moves with the new velocities, so that it ends where the other method does.
The pressure field has no column in the paper; it should end where MuJoCo does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.planar_push.bodies import (
    OUTLINE,
    MuJoCoPushing,
    OurPushing,
    Pushing,
    miss,
    soft_pushing,
)
from hydro_sim_core.experiments.planar_push.paths import Path
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import require_mujoco, with_verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "Beker 2025, table 7, means over other paths of the same kind"
DURATION, REST = 2.0, 0.3
#: Start and via points (5, 7, 2) of the finger, m: see the description of the experiment.
PUSHES = np.array(
    [
        [
            [0.1, 0.198],
            [0.052, 0.056],
            [0.064, 0.19],
            [-0.131, 0.201],
            [-0.197, 0.041],
            [-0.053, 0.027],
            [-0.219, 0.021],
        ],
        [
            [-0.21, 0.068],
            [-0.046, 0.024],
            [-0.193, 0.052],
            [-0.146, 0.191],
            [0.061, 0.2],
            [0.06, 0.061],
            [0.002, 0.22],
        ],
        [
            [-0.201, -0.097],
            [-0.045, -0.054],
            [-0.193, -0.053],
            [-0.128, -0.203],
            [-0.022, -0.207],
            [-0.047, -0.064],
            [0.039, -0.217],
        ],
        [
            [-0.087, -0.203],
            [-0.025, -0.027],
            [-0.066, -0.189],
            [0.062, -0.232],
            [0.114, -0.173],
            [-0.008, -0.067],
            [0.166, -0.144],
        ],
        [
            [-0.119, -0.187],
            [-0.041, -0.015],
            [-0.083, -0.182],
            [0.113, -0.212],
            [0.204, 0.007],
            [0.039, 0.033],
            [0.217, -0.035],
        ],
    ]
)
#: Times between the places that are kept of a rollout, s.
KEPT = 0.04


class Variant(NamedTuple):
    """A column of table 7.

    Attributes:
        name: As rows call it.
        time_step: s.
        scheme: ``rk4`` or ``euler``.
        points: Of each cloud.
        distance: The paper's mean, cm, and the bound of its row.
        angle: The same of the angle, degrees.
        seconds: The paper's time of a step, ms, on its own graphics card.
        differs: By how much at least distance and angle are not the paper's, cm and degrees; zeros if they are.
        is_demanded: Whether they must be at most the paper's, instead of within bounds about it.
    """

    name: str
    time_step: float
    scheme: str
    points: int
    distance: tuple[float, float]
    angle: tuple[float, float]
    seconds: float
    differs: tuple[float, float] = (0.0, 0.0)
    is_demanded: bool = False


#: Points on each body, as many as the paper has on both together.
MANY = 2048
# Bounds leave out what MuJoCo itself would give, a T that ends nowhere else.
VARIANTS = (
    Variant("2 ms, RK4, 4k points", 2e-3, "rk4", MANY, (1.2, 0.0), (10.8, 0.0), 17.9, is_demanded=True),
    Variant("8 ms, RK4, 4k points", 8e-3, "rk4", MANY, (1.3, 0.8), (12.5, 10.0), 18.6),
    Variant("16 ms, RK4, 4k points", 16e-3, "rk4", MANY, (4.6, 3.9), (29.4, 25.0), 17.7, (1.2, 9.0)),
    Variant("2 ms, RK4, 26 points", 2e-3, "rk4", 26, (2.1, 1.0), (6.8, 5.0), 13.5),
    Variant("8 ms, RK4, 26 points", 8e-3, "rk4", 26, (2.4, 0.45), (11.4, 6.5), 14.6),
    Variant("2 ms, Euler, 4k points", 2e-3, "euler", MANY, (6.7, 6.2), (42.3, 39.0), 0.9, (2.5, 12.0)),
    Variant("2 ms, Euler, 26 points", 2e-3, "euler", 26, (11.2, 10.6), (46.2, 44.0), 0.8, (4.0, 18.0)),
)
#: Those of a quick run.
QUICK = tuple(variant for variant in VARIANTS if variant.points == 26)
PRESSURE, FINER = "2 ms, pressure field", "MuJoCo, 2 ms against 0.5 ms"
_EXTRA_BOUNDS = {PRESSURE: (2.5, 6.0), FINER: (0.5, 2.5)}


def run(variants: Sequence[Variant] = VARIANTS) -> ExperimentReport:
    """Roll the five paths out in all models.

    Args:
        variants: Columns of table 7.

    Raises:
        InputError: MuJoCo is not installed.
    """
    require_mujoco("planar_push")
    ends, series = _roll_out("MuJoCo", MuJoCoPushing(2e-3), 2e-3)
    goals = ends
    comparisons: list[Comparison] = []
    for variant in variants:
        simulator = soft_pushing(variant.points, variant.scheme, variant.time_step)
        ends, more = _roll_out(variant.name, simulator, variant.time_step)
        series |= more
        rows, more = _rows(variant.name, ends, goals, variant.distance, variant.angle)
        rows = [replace(row, least=least) for row, least in zip(rows, variant.differs, strict=True)]
        if variant.is_demanded:
            rows = [replace(row, kind="at_most") for row in rows]
        comparisons += with_verdicts(rows)
        series |= more
    for name, simulator_of, time_step in ((PRESSURE, _pressure, 2e-3), (FINER, MuJoCoPushing, 5e-4)):
        ends, more = _roll_out(name, simulator_of(time_step), time_step)
        series |= more
        bounds = _EXTRA_BOUNDS[name]
        rows, more = _rows(name, ends, goals, (0.0, bounds[0]), (0.0, bounds[1]))
        comparisons += rows
        series |= more
    return ExperimentReport("A T pushed over a table", SOURCE, tuple(comparisons), series)


def _pressure(time_step: float) -> Pushing:
    return OurPushing(None, time_step)


def _roll_out(name: str, simulator: Pushing, time_step: float) -> tuple[Array, dict[str, list[float]]]:
    """Roll all paths out.

    Returns:
        Places and headings (5, 3) at the end, and columns: those on the way, and the mean time of a step.
    """
    ends, places = [], []
    seconds, steps = 0.0, 0
    every = max(1, round(KEPT / time_step))
    for points in PUSHES:
        targets = Path(points, DURATION, REST).targets(time_step)
        simulator.reset(points[0])
        started = time.process_time()
        for number, target in enumerate(targets):
            simulator.step(target)
            if number % every == every - 1:
                places.append(np.concatenate([simulator.pose(), simulator.finger()]))
        seconds, steps = seconds + time.process_time() - started, steps + len(targets)
        ends.append(simulator.pose())
    columns = np.array(places).T
    series = {
        f"{what}, {name}": column.tolist()
        for what, column in zip(("x", "y", "heading", "finger x", "finger y"), columns, strict=True)
    }
    return np.array(ends), series | {f"ms a step, {name}": [1e3 * seconds / steps]}


def _rows(
    name: str, ends: Array, goals: Array, distance: tuple[float, float], angle: tuple[float, float]
) -> tuple[list[Comparison], dict[str, list[float]]]:
    misses = np.array([miss(end, goal) for end, goal in zip(ends, goals, strict=True)])
    centimetres, degrees = 100.0 * misses[:, 0], np.degrees(misses[:, 1])
    rows = [
        Comparison(
            f"{name}: distance", "cm", distance[0], float(centimetres.mean()), distance[1], "absolute"
        ),
        Comparison(f"{name}: angle", "deg", angle[0], float(degrees.mean()), angle[1], "absolute"),
    ]
    return rows, {f"distance, {name}": centimetres.tolist(), f"angle, {name}": degrees.tolist()}


#: What the picture shows of each path, and colours of the models.
_SHOWN = (("MuJoCo", "#c44e24"), ("2 ms, RK4, 4k points", "#1f5fa8"), (PRESSURE, "#3c8a4e"))


def plot(report: ExperimentReport, path: FilePath) -> None:
    """Plot the ends of all paths and the columns of table 7, with the paper's.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    with figure(path, 10.0, 5.6) as canvas:
        parts: Any = canvas.subfigures(2, 1, height_ratios=(1.0, 1.1))
        above, below = parts
        for number, axes in enumerate(above.subplots(1, len(PUSHES))):
            _push_panel(axes, series, number)
        above.legend(
            *above.axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=4,
            frameon=False,
            fontsize=9,
        )
        _bars(below.subplots(1, 3), report)
        canvas.suptitle(f"{report.title}; Beker 2025, figures 6 and 7", fontsize=11)


def _push_panel(axes: Axes, series: dict[str, Array], number: int) -> None:
    axes.plot(*np.vstack([OUTLINE, OUTLINE[:1]]).T, color="#9a9a9a", lw=1.0, ls="--", label="start")
    for name, colour in _SHOWN:
        if f"x, {name}" not in series:
            continue
        rows = [series[f"{what}, {name}"].reshape(len(PUSHES), -1)[number] for what in ("x", "y", "heading")]
        x, y, heading = (row[-1] for row in rows)
        turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
        corners = OUTLINE @ turn.T + [x, y]
        axes.plot(*np.vstack([corners, corners[:1]]).T, color=colour, lw=1.6, label=name)
    finger = [series[f"finger {what}, MuJoCo"].reshape(len(PUSHES), -1)[number] for what in "xy"]
    axes.plot(*finger, color="black", lw=0.8)
    axes.plot(finger[0][-1], finger[1][-1], "o", color="black", ms=5)
    axes.set_aspect("equal")
    axes.set(xlim=(-0.32, 0.32), ylim=(-0.32, 0.32), xticks=(), yticks=())
    axes.set_title(f"path {number + 1}", fontsize=10)


def _bars(panels: NDArray[np.object_], report: ExperimentReport) -> None:
    rows = {tuple(c.quantity.rsplit(": ", 2)[-2:]): c for c in report.comparisons}
    names = list(dict.fromkeys(name for name, _ in rows))
    papers = {variant.name: variant.seconds for variant in VARIANTS}
    place = np.arange(len(names))
    for panel, what, unit in zip(panels, ("distance", "angle"), ("cm", "deg"), strict=False):
        axes: Axes = panel
        axes.barh(
            place + 0.2,
            [rows[name, what].reference for name in names],
            0.4,
            color="#c9c9c9",
            label="paper",
        )
        axes.barh(
            place - 0.2,
            [rows[name, what].measured for name in names],
            0.4,
            color="#1f5fa8",
            label="here",
        )
        axes.set_xlabel(f"mean {what} from MuJoCo [{unit}]")
    axes = panels[2]
    axes.barh(
        place + 0.2,
        [papers.get(name, np.nan) for name in names],
        0.4,
        color="#c9c9c9",
        label="paper, graphics card",
    )
    axes.barh(
        place - 0.2,
        [report.series[f"ms a step, {name}"][0] for name in names],
        0.4,
        color="#1f5fa8",
        label="here, one core",
    )
    axes.set_xscale("log")
    axes.set_xlabel("time of a step [ms]")
    for axes in panels:
        axes.set_yticks(place, names if axes is panels[0] else [""] * len(names), fontsize=8)
        axes.invert_yaxis()
        axes.grid(alpha=0.3, axis="x")
        axes.legend(frameon=False, fontsize=8, loc="lower right")
