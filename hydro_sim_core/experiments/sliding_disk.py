"""A coin slides and spins to rest: friction on a patch couples force and torque (Masterjohn 2022, V-A).

Friction on a disc with speed v and angular rate w depends only on their ratio e = v / (w R). Its force decelerates v,
its torque decelerates w. Both reach zero at the same time, with e tending to the value that force and torque keep
constant: F(e) / (m v) = T(e) / (I w) (Farkas 2003). With forces in units of mu m g, lengths in R and I = m R^2 / 2 this
is F(e) = 2 e T(e). The root for a disc of uniform pressure is 0.653, for any start.

A coin made of faces has a different root, that of the same sums over its faces. A fan of triangles has all its
centroids at two thirds of the radius and e* = 0.644. Meshes of rings approach 0.653 at second order in the cell size.
The coefficient depends on where the centre of rotation, at e* R from the coin's centre, lies in its ring of cells: with
4, 7, 10, 13 and 16 rings it is near the middle.

Faces press and rub at their centroids here, as in the paper (``parity: drake``). By default those of such a fan do at
three points each, on two rings. Friction is then that of a disc within 4.4 % at every ratio, in place of 13 %; but the
ratio that stays depends on what little is left, and is 0.743 instead of 0.653, where centroids happen to be right.

At rest e is 0/0, but it approaches its limit only late, with a power of the speed. It is therefore evaluated when
friction takes five more steps to stop the coin; the stiction speed is still far below the speed then. Rows without a
step are of steps of 0.02 ms; 0.04 % of the speed is left then.

The paper takes steps of 1 ms and finds 0.01 to 0.5 % off for starts from 0.1 to 10. Five such steps before its rest our
coin still has a fiftieth of its 0.5 m/s. Started in between it agrees then as in the paper; from either end it differs
by a quarter and by three quarters, because e is not at its limit yet: in continuous time the coin has about the same e
at that speed (rows "on the way", 1 and 4 % off). The paper states neither the speed of its starts nor when it evaluates
e, so that what it has at the ends is not reproducible from its text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.coin import (
    FRICTION,
    GRAVITY,
    RADIUS,
    bottom_faces,
    bottom_points,
    coin_mesh,
    largest_friction_error,
    make_world,
    ratio_on_the_way,
    ring_mesh,
    stationary_ratio_of_disc,
    stationary_ratio_of_faces,
)
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "Masterjohn 2022, section V-A; Farkas 2003; orders: 1 in time, 2 in the cells' size"
#: Final ratio of speeds: of a disc, and of a coin of 152 triangles in Masterjohn's simulation.
PAPER_DISC, PAPER_COIN = 0.653, 0.64426
PAPER_SECTORS = 152
#: How far the paper's ratios are from that of its coin in steps of 1 ms, %.
PAPER_RANGE = 0.01, 0.5

#: Larger of v and w R at the start, m/s.
START_SPEED = 0.5
#: Initial ratios, and for each the bounds on the final one with our steps and with the paper's, relative.
STARTS = {
    0.1: (6e-4, 0.4),
    0.3: (1e-4, 8e-3),
    0.653: (3e-4, 1.2e-4),
    1.0: (5e-5, 1.9e-4),
    3.0: (3e-4, 7e-3),
    10.0: (7e-5, 0.9),
}
#: Starts from which the coin is still on its way, five of the paper's steps before its rest, and bounds on the ratio
#: there beside that in continuous time, relative.
ON_THE_WAY = {0.1: 0.03, 10.0: 0.1}
#: By how much their last ratios differ from the paper's at least, relative.
LEAST_ON_THE_WAY = {0.1: 0.1, 10.0: 0.3}
START_TIME_STEP = 2e-5
#: Number of steps that friction still needs to stop the coin when the ratio is evaluated.
LAST_STEPS = 5
DISC_BOUND = 0.014
#: Least and largest error of friction of a coin at three points a face and at centroids, both as a share of sliding.
FRICTION_ERRORS = (0.015, 0.13), (0.05, 0.39)
#: Bound on the ratio of the coin at three points a face, relative, and by how much it is off the paper's at least.
POINTS_BOUND, LEAST_OFF = 3.5e-3, 0.05
#: Bound on the deviation from the ratio of the faces' sums for the paper's coin.
FACES_BOUND = 2e-4
#: Half of the last of the three digits that the paper gives of its ratio for a disc: there is no tighter bound.
ROUNDING = 5e-4
#: What a row says whose bound is that, and not three times the deviation at most.
ROUNDED = "to the paper's three digits"

RINGS = (4, 7, 10, 13, 16)
RINGS_TIME_STEP = 1e-4
EXTRAPOLATION_BOUND = 1.5e-4


@dataclass(frozen=True)
class OrderStudy:
    """Study of convergence orders: trajectories compared with one of about ten times the resolution.

    Attributes:
        time_steps: Time steps with the paper's coin, s.
        finest_time_step: Time step of the reference, s.
        rings: Numbers of rings of the meshes, at the paper's time step.
        most_rings: Number of rings of the reference.
    """

    time_steps: tuple[float, ...] = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)
    finest_time_step: float = 2.5e-5
    rings: tuple[int, ...] = (2, 3, 4, 6)
    most_rings: int = 60


#: Arguments of the quick form.
QUICK: tuple[tuple[float, ...], tuple[int, ...], OrderStudy] = (
    (0.3, 10.0),
    (),
    OrderStudy((4e-3, 2e-3, 1e-3), 1e-4, (2, 3, 4), 24),
)
PAPER_TIME_STEP = 1e-3
TRAJECTORY_TIME, SAMPLE_TIME = 0.2, 4e-3
TIME_ORDER_BOUND, GRID_ORDER_BOUND = 0.09, 0.2

#: Indices in a floating body's velocity: rotation about z, and translation along x and y.
_SPIN, _SPEED = 2, slice(3, 5)


def run(
    starts: Sequence[float] = tuple(STARTS), rings: Sequence[int] = RINGS, orders: OrderStudy = OrderStudy()
) -> ExperimentReport:
    """Let coins slide to rest from several starts, of several meshes and with several time steps.

    Args:
        starts: Initial ratios v / (w R) of the paper's coin.
        rings: Numbers of rings of the meshes whose ratios are extrapolated; empty to leave that out.
        orders: Study to which the orders of convergence are fitted.
    """
    disc = stationary_ratio_of_disc()
    coin = coin_mesh(PAPER_SECTORS)
    of_faces = stationary_ratio_of_faces(*bottom_faces(coin))
    ratios = [final_ratio(coin, start, START_TIME_STEP) for start in starts]
    farthest = max(ratios, key=lambda ratio: abs(ratio - disc))
    comparisons = [
        Comparison(f"ε* of a disc, from theory, {ROUNDED}", "", PAPER_DISC, disc, ROUNDING, "absolute"),
        Comparison("ε* of 152 faces, from theory", "", PAPER_COIN, of_faces, FACES_BOUND, "relative"),
        *(
            Comparison(f"ε* from ε = {start:g}", "", PAPER_COIN, ratio, STARTS[start][0], "relative")
            for start, ratio in zip(starts, ratios, strict=True)
        ),
        Comparison("ε* farthest from a disc's", "", disc, farthest, DISC_BOUND, "relative"),
        *_at_three_points(coin),
    ]
    in_long_steps = [final_ratio(coin, start, PAPER_TIME_STEP) for start in starts]
    in_its_steps, on_the_way = _in_the_papers_steps(starts, in_long_steps, *bottom_faces(coin))
    comparisons += [*in_its_steps, *on_the_way]
    series = {"start": list(starts), "ratio": ratios, "ratio at 1 ms": in_long_steps}
    if rings:
        of_rings = [final_ratio(ring_mesh(count), PAPER_COIN, RINGS_TIME_STEP) for count in rings]
        limit = float(np.polyfit(1.0 / np.array(rings) ** 2, of_rings, 1)[1])
        bound = EXTRAPOLATION_BOUND
        comparisons.append(Comparison("ε* at infinitely many faces", "", disc, limit, bound, "relative"))
        series |= {"rings": [float(count) for count in rings], "ratio of rings": of_rings}
    for what, bound, (sizes, errors) in (
        ("time step", TIME_ORDER_BOUND, _errors_over_time_step(orders)),
        ("cell size", GRID_ORDER_BOUND, _errors_over_cell_size(orders)),
    ):
        order = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
        expected = 1.0 if what == "time step" else 2.0
        comparisons.append(Comparison(f"order in the {what}", "", expected, order, bound, "absolute"))
        series |= {what: sizes, f"error over {what}": errors}
    rows = with_verdicts(comparisons, {row.quantity for row in on_the_way})
    return ExperimentReport("Coin that slides and spins to rest", SOURCE, tuple(rows), series)


def _at_three_points(coin: Geometry) -> list[Comparison]:
    """Rows of the coin whose faces press and rub at three points each, as large ones do by default."""
    points = bottom_points(coin)
    expected = stationary_ratio_of_faces(*points)
    world = make_world(coin, RINGS_TIME_STEP, at_centroids=False)
    least, most = FRICTION_ERRORS
    return [
        Comparison(
            "friction off a disc's at most, at centroids",
            "",
            0.0,
            largest_friction_error(*bottom_faces(coin)),
            most[1],
            "absolute",
            least=most[0],
        ),
        Comparison(
            "the same at three points a face",
            "",
            0.0,
            largest_friction_error(*points),
            least[1],
            "absolute",
            least=least[0],
        ),
        Comparison(
            "ε* at three points a face",
            "",
            expected,
            _ratio_at_rest(world, 1.0),
            POINTS_BOUND,
            "relative",
            least=LEAST_OFF,
            paper=PAPER_COIN,
        ),
    ]


def _in_the_papers_steps(
    starts: Sequence[float], ratios: Sequence[float], centroids: Array, areas: Array
) -> tuple[list[Comparison], list[Comparison]]:
    """Rows of the coin in the paper's steps, and of it on its way where it is not at its limit."""
    share = LAST_STEPS * FRICTION * GRAVITY * PAPER_TIME_STEP / START_SPEED
    limits, way = [], []
    for start, ratio in zip(starts, ratios, strict=True):
        name, bound, least = (
            f"ε* from ε = {start:g}, 1 ms",
            STARTS[start][1],
            LEAST_ON_THE_WAY.get(start, 0.0),
        )
        limits.append(Comparison(name, "", PAPER_COIN, ratio, bound, "relative", least=least))
        if start in ON_THE_WAY:
            exact = ratio_on_the_way(centroids, areas, start, share)
            name = f"ε on the way from ε = {start:g}, 1 ms"
            way.append(Comparison(name, "", exact, ratio, ON_THE_WAY[start], "relative"))
    return limits, way


def start(world: World, ratio: float) -> None:
    """Give the coin a speed along x and a spin whose ratio v / (w R) is ``ratio``."""
    speed = START_SPEED * min(1.0, ratio)
    velocity = world.v.copy()
    velocity[[_SPIN, _SPEED.start]] = speed / (ratio * RADIUS), speed
    world.set_state(world.q, velocity)


def final_ratio(coin: Geometry, ratio: float, time_step: float) -> float:
    """Ratio v / (w R) that a coin reaches shortly before it stops, started at ``ratio``."""
    return _ratio_at_rest(make_world(coin, time_step), ratio)


def _ratio_at_rest(world: World, ratio: float) -> float:
    start(world, ratio)
    slowing = FRICTION * GRAVITY * world.time_step
    # Pure sliding and pure spinning stop in a quarter of this.
    for _ in range(math.ceil(4.0 * START_SPEED / slowing)):
        world.step()
        speed, spin = float(np.hypot(*world.v[_SPEED])), float(world.v[_SPIN] * RADIUS)
        if max(speed, spin) < LAST_STEPS * slowing:
            return speed / spin
    raise FloatingPointError(f"the coin started at {ratio:g} still moves at {world.time:g} s")


# --- orders of convergence


def trajectory(coin: Geometry, time_step: float) -> Array:
    """Positions (N, 3) of a coin over time: x and y of its centre and R times the rotation angle, m, from e = 1."""
    world = make_world(coin, time_step)
    start(world, 1.0)
    rows = []
    for _ in range(round(TRAJECTORY_TIME / SAMPLE_TIME)):
        world.step(round(SAMPLE_TIME / time_step))
        w, _, _, z, *position = world.q
        rows.append([*position[:2], 2.0 * math.atan2(z, w)])
    path = np.array(rows)
    path[:, 2] = RADIUS * np.unwrap(path[:, 2])
    return path


def _errors_over_time_step(orders: OrderStudy) -> tuple[list[float], list[float]]:
    coin = coin_mesh(PAPER_SECTORS)
    reference = trajectory(coin, orders.finest_time_step)
    errors = [_error(trajectory(coin, time_step), reference) for time_step in orders.time_steps]
    return list(orders.time_steps), errors


def _errors_over_cell_size(orders: OrderStudy) -> tuple[list[float], list[float]]:
    reference = trajectory(ring_mesh(orders.most_rings), PAPER_TIME_STEP)
    errors = [_error(trajectory(ring_mesh(rings), PAPER_TIME_STEP), reference) for rings in orders.rings]
    return [RADIUS / rings for rings in orders.rings], errors


def _error(path: Array, reference: Array) -> float:
    """Relative error of a trajectory in the norm of the paper."""
    return float(np.linalg.norm(path - reference) / np.linalg.norm(reference))


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the final ratio over the initial one, and the errors over time step and cell size, like figures 5 and 6.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = report.series
    orders = {"time step": (1, "ms"), "cell size": (2, "mm")}
    rows, columns = (2, 2) if "rings" in series else (1, 3)
    with figure(path, 4.4 * columns, 3.8 * rows) as canvas:
        final, *others = canvas.subplots(rows, columns).flat
        _plot_starts(final, series)
        if "rings" in series:
            _plot_rings(others.pop(0), np.array(series["rings"]), np.array(series["ratio of rings"]))
        for axes, (what, (order, unit)) in zip(others, orders.items(), strict=True):
            size, error = 1e3 * np.array(series[what]), np.array(series[f"error over {what}"])
            guide = np.exp(np.log(error).mean()) * (size / np.exp(np.log(size).mean())) ** order
            axes.loglog(size, guide, "--", color="#c44e24", lw=1.0, label=f"order {order}")
            axes.loglog(size, error, "o", color="#1f5fa8", label="hydro-sim")
            axes.set_xticks(size, [f"{value:.3g}" for value in size])
            axes.set_xticks([], minor=True)
            axes.set_xlabel(f"{what} [{unit}]")
            axes.set_ylabel("relative error of the path")
            axes.legend(frameon=False, fontsize="small")
        canvas.suptitle(report.title)
        for axes in canvas.axes:
            axes.grid(alpha=0.3)


def _plot_starts(axes: Axes, series: dict[str, list[float]]) -> None:
    """How far the ratio is from that of Masterjohn's coin, over the initial one."""
    start = np.array(series["start"])
    disc = abs(stationary_ratio_of_disc() / PAPER_COIN - 1.0)
    axes.axhline(100.0 * disc, color="#c44e24", ls="--", lw=1.0, label="disc, analytic")
    axes.axhspan(*PAPER_RANGE, color="#c44e24", alpha=0.1, lw=0.0, label="Masterjohn, 1 ms")
    for name, step, marker in (("ratio at 1 ms", "1 ms", "D"), ("ratio", "0.02 ms", "o")):
        off = 100.0 * np.abs(np.array(series[name]) / PAPER_COIN - 1.0)
        fill = "none" if name == "ratio at 1 ms" else "#1f5fa8"
        axes.loglog(start, off, marker, color="#1f5fa8", mfc=fill, label=f"hydro-sim, {step}")
    axes.set_xlabel("initial v/(ωR)")
    axes.set_ylabel("v/(ωR) as the coin stops, off 0.64426 [%]")
    axes.legend(frameon=False, fontsize="small", loc="upper center")


def _plot_rings(axes: Axes, rings: Array, ratios: Array) -> None:
    line = np.polyfit(1.0 / rings**2, ratios, 1)
    ends = np.array([0.0, 1.05 / rings.min() ** 2])
    axes.plot(ends, np.polyval(line, ends), color="#1f5fa8", lw=1.0, label="extrapolated")
    axes.plot(1.0 / rings**2, ratios, "o", color="#1f5fa8", label="rings of triangles, hydro-sim")
    axes.axhline(stationary_ratio_of_disc(), color="#c44e24", ls="--", lw=1.0, label="disc, analytic")
    axes.set_xlim(left=0.0)
    axes.set_xlabel("1 / rings²")
    axes.set_ylabel("v/(ωR) as the coin stops")
    axes.legend(frameon=False, fontsize="small")
