"""Zero levels of the soft distance, from cold, where they are the surface, to hot, where they are an ellipsoid.

Beker 2025, figures 1 and 4: "as temperature is decreased from infinity to zero, the isosurface smoothly interpolates
between a simply-connected ellipsoid and the original surface". The paper shows pictures and no numbers; what they show
has closed forms, which are the references here.

- Sphere of radius R: the mean over all planes is r L(2 r R / e) - R at distance r from the centre, at temperature e,
  with L(x) = coth x - 1 / x. Its zero level is a sphere at all temperatures, of radius R + e / 2R when cold.
- Hot: to first order in 1 / e the mean is -c + (2 / e) p'A p with c the mean of n.p and A that of p n' over the
  points, whose zero level is an ellipsoid about their middle. Over points that are evenly spread on a closed surface A
  is the volume over the area times the identity, by the divergence theorem, and c is d times that ratio, in d
  dimensions: then the ellipsoid is a sphere of radius sqrt(d e / 2). Where a square has twice as many points on two
  opposite sides as on the others, it is longer along these by the root of two. A level is off by a term of first order
  in 1 / e.
- Holes: the middle of a torus changes its sign at one temperature, above which the hole is closed.
- Figure 4's square, cold: the zero level is the outline. With the normals of one side turned over, a quarter of the
  outline has its outside inside. Wrong points at corners bend the level, as the picture shows.
- The level tends to that of infinitely many points with the square of their distance: with few points it is wavy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.soft_distance import OrientedCloud, soft_distance
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "closed forms of the mean over a continuous surface"
#: Temperatures of figure 4, in squares of half a side of its box.
TEMPERATURES = (0.01, 0.25, 0.5, 10.0)
#: Temperatures at which levels are nearly spheres.
HOT = (100.0, 1000.0)
SPHERE_POINTS = 2000
#: Radii of the torus, and its points around the axis and around the tube.
TORUS, TORUS_POINTS = (1.0, 0.4), (96, 48)
#: Points on a side of the square, those of the study of their number, and that of the reference.
SIDE_POINTS, FINENESS, FINEST = 24, (4, 8, 16), 512
STUDIED = 0.5
#: Directions in which a level is sought, and the farthest it may be.
_DIRECTIONS, _FARTHEST, _HALVINGS = 180, 100.0, 60
#: Points along each edge of the pictures' grids, and their half width.
GRID, WIDTH, HOT_WIDTH, TORUS_WIDTH = 20, 1.8, 4.0, 2.2
#: How far outside the outline its side is asked for.
_BESIDE = 0.03
#: Bounds: what so many points leave of a continuous surface, by the square of their distance, ...
_HOLE_BOUND, _OUTLINE_BOUND, _ORDER_BOUND = 0.004, 0.06, 0.08
#: ... of a sphere, whose points are even, by its temperature; ...
_SPHERE_BOUNDS = {0.01: 7e-13, 0.25: 7e-9, 0.5: 4e-8, 10.0: 1.5e-7}
#: ... and at the temperature of ``HOT``, a term of first order in 1 / e.
_HOT_SQUARE_BOUND, _HOT_TORUS_BOUND, _HOT_ORDER_BOUND = 8e-4, 0.003, 0.002
_HOT_UNEVEN_BOUND = 2.4e-6


def run() -> ExperimentReport:
    """Find zero levels of a sphere, a square and a torus."""
    comparisons, series = _spheres()
    for rows, columns in (_square(), _torus(), _wrong_squares(), _fineness()):
        comparisons += rows
        series |= columns
    comparisons = with_verdicts(comparisons)
    return ExperimentReport("Zero levels of the soft distance", SOURCE, tuple(comparisons), series)


def sphere_cloud(count: int) -> OrientedCloud:
    """Points along a spiral on the unit sphere, evenly spread."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = math.pi * (1.0 + math.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    points = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return OrientedCloud(points, points)


def square_cloud(count: int, left_and_right: int = 1) -> OrientedCloud:
    """Middles of ``count`` pieces of each side of the square of half side 1 in the plane z = 0.

    The sides at x = 1 and x = -1 have ``left_and_right`` times as many.
    """
    sides = []
    for turn in range(4):
        pieces = count * (1 if turn % 2 else left_and_right)
        along = -1.0 + (2.0 * np.arange(pieces) + 1.0) / pieces
        c, s = (1.0, 0.0, -1.0, 0.0)[turn], (0.0, 1.0, 0.0, -1.0)[turn]
        points = np.column_stack([c - s * along, s + c * along, np.zeros(pieces)])
        sides.append((points, np.tile([c, s, 0.0], (pieces, 1))))
    return OrientedCloud(
        np.vstack([points for points, _ in sides]), np.vstack([normals for _, normals in sides])
    )


def torus_cloud(around: int, of_tube: int) -> OrientedCloud:
    """A torus about z. Rings of the tube have as many points as their lengths ask for, so that cells are alike."""
    big, small = TORUS
    points, normals = [], []
    for k in range(of_tube):
        turn = 2.0 * math.pi * (k + 0.5) / of_tube
        radius = big + small * math.cos(turn)
        count = round(around * radius / big)
        angle = 2.0 * math.pi * (np.arange(count) + 0.5 * (k % 2)) / count
        out = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
        normal = math.cos(turn) * out + [0.0, 0.0, math.sin(turn)]
        points.append(big * out + small * normal)
        normals.append(normal)
    return OrientedCloud(np.vstack(points), np.vstack(normals))


def level(cloud: OrientedCloud, directions: Array, epsilon: float) -> Array:
    """Distances (N,) from the origin, which is inside, to the zero level in directions (N, 3)."""
    low, high = np.zeros(len(directions)), np.full(len(directions), _FARTHEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        inside = soft_distance(cloud, middle[:, None] * directions, epsilon) < 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return 0.5 * (low + high)


def _circle() -> Array:
    angle = 2.0 * math.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros(_DIRECTIONS)])


def radius_of_sphere(epsilon: float) -> float:
    """Radius of the zero level of the unit sphere in closed form."""

    def distance(r: float) -> float:
        x = 2.0 * r / epsilon
        return r * (1.0 / math.tanh(x) - 1.0 / x) - 1.0

    return _root(distance, 1.0, _FARTHEST)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises changes its sign."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


def _spheres() -> tuple[list[Comparison], dict[str, list[float]]]:
    cloud = sphere_cloud(SPHERE_POINTS)
    found = [float(level(cloud, _circle(), epsilon).mean()) for epsilon in TEMPERATURES]
    rows = [
        Comparison(
            f"unit sphere at {epsilon:g}: radius",
            "",
            radius_of_sphere(epsilon),
            radius,
            _SPHERE_BOUNDS[epsilon],
            "relative",
        )
        for epsilon, radius in zip(TEMPERATURES, found, strict=True)
    ]
    return rows, {"radius, sphere": found}


def _square() -> tuple[list[Comparison], dict[str, list[float]]]:
    cloud, directions = square_cloud(SIDE_POINTS), _circle()
    outline = 1.0 / np.abs(directions).max(axis=1)
    series: dict[str, list[float]] = {}
    for epsilon in TEMPERATURES:
        series[f"level, square at {epsilon:g}"] = level(cloud, directions, epsilon).tolist()
        width = HOT_WIDTH if epsilon == TEMPERATURES[-1] else WIDTH
        series[f"field, square at {epsilon:g}"] = _field(cloud, epsilon, width)
    cold = np.array(series[f"level, square at {TEMPERATURES[0]:g}"])
    hot = [float(level(cloud, directions, epsilon).mean() / math.sqrt(epsilon)) for epsilon in HOT]
    order = math.log((hot[0] - 1.0) / (hot[1] - 1.0)) / math.log(HOT[1] / HOT[0])
    uneven = square_cloud(SIDE_POINTS, left_and_right=2)
    width, height = level(uneven, np.eye(3)[:2], HOT[1]).tolist()
    rows = [
        Comparison(
            f"square at {TEMPERATURES[0]:g}: farthest from the outline",
            "half sides",
            0.0,
            float(np.abs(cold - outline).max()),
            _OUTLINE_BOUND,
            "absolute",
        ),
        Comparison(
            f"square at {HOT[1]:g}: radius over the root of e", "", 1.0, hot[1], _HOT_SQUARE_BOUND, "relative"
        ),
        Comparison("square, hot: order in 1 / e", "", 1.0, order, _HOT_ORDER_BOUND, "absolute"),
        Comparison(
            f"square of uneven points at {HOT[1]:g}: height over width",
            "",
            math.sqrt(2.0),
            height / width,
            _HOT_UNEVEN_BOUND,
            "relative",
        ),
    ]
    hot_levels = {
        "hot square, beyond the root of e": [radius - 1.0 for radius in hot],
        "hot square of uneven points": [width, height],
    }
    return rows, series | hot_levels


def hole_temperature() -> float:
    """Temperature at which the middle of the torus changes its sign, by quadrature over its tube."""
    big, small = TORUS
    cosine = np.cos(2.0 * math.pi * (np.arange(400) + 0.5) / 400)

    def middle(epsilon: float) -> float:
        weight = np.exp(-2.0 * big * small * (cosine + 1.0) / epsilon) * (big + small * cosine)
        return float((weight * (small + big * cosine)).sum())

    return _root(middle, 0.05, 10.0)


def _torus() -> tuple[list[Comparison], dict[str, list[float]]]:
    cloud = torus_cloud(*TORUS_POINTS)
    middle = np.zeros((1, 3))
    found = _root(lambda epsilon: -float(soft_distance(cloud, middle, epsilon)[0]), 0.05, 10.0)
    ways = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    sphere = math.sqrt(1.5 * HOT[1])
    across, along = level(cloud, ways, HOT[1]).tolist()
    rows = [
        Comparison(
            "torus: temperature at which its hole closes",
            "",
            hole_temperature(),
            found,
            _HOLE_BOUND,
            "relative",
        ),
        Comparison(f"torus at {HOT[1]:g}: radius", "", sphere, across, _HOT_TORUS_BOUND, "relative"),
        Comparison(f"torus at {HOT[1]:g}: half its height", "", sphere, along, _HOT_TORUS_BOUND, "relative"),
    ]
    series = {"hole": [found], "hot torus": [across, along]}
    for share in (0.2, 0.9, 1.2, 4.0):
        series[f"field, torus at {share:g}"] = _field(cloud, share * found, TORUS_WIDTH, upright=True)
    return rows, series


def _wrong_squares() -> tuple[list[Comparison], dict[str, list[float]]]:
    good, epsilon = square_cloud(SIDE_POINTS), TEMPERATURES[0]
    normals = np.array(good.normals)
    normals[:SIDE_POINTS] *= -1.0
    turned = OrientedCloud(good.points, normals)
    beside = good.points + _BESIDE * good.normals
    wrong = float((soft_distance(turned, beside, epsilon) < 0.0).mean())
    corners = np.array([[x, y, 0.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    # Normals as of no side: they point along the sides.
    extra = OrientedCloud(
        np.vstack([good.points, corners]), np.vstack([good.normals, np.tile([1.0, 0.0, 0.0], (4, 1))])
    )
    rows = [Comparison("one side turned over: outside taken for inside", "", 0.25, wrong, 0.0, "relative")]
    return rows, {
        "share of a side turned over": [wrong],
        "field, a side turned over": _field(turned, epsilon),
        "field, wrong points at corners": _field(extra, epsilon),
    }


def _fineness() -> tuple[list[Comparison], dict[str, list[float]]]:
    directions = _circle()
    best = level(square_cloud(FINEST), directions, STUDIED)
    few = [level(square_cloud(count), directions, STUDIED) for count in FINENESS]
    errors = [float(np.abs(radii - best).max()) for radii in few]
    order = -float(np.polyfit(np.log(FINENESS), np.log(errors), 1)[0])
    rows = [
        Comparison(
            f"square at {STUDIED:g}: order in the distance of points",
            "",
            2.0,
            order,
            _ORDER_BOUND,
            "absolute",
        )
    ]
    return rows, {
        "fineness": [float(count) for count in FINENESS],
        "error of the level": errors,
        f"level, {FINENESS[0]} points a side": few[0].tolist(),
        f"field, {FINENESS[0]} points a side": _field(square_cloud(FINENESS[0]), STUDIED),
    }


def _field(cloud: OrientedCloud, epsilon: float, width: float = WIDTH, upright: bool = False) -> list[float]:
    """Soft distance on a grid about the origin in the plane z = 0, or y = 0."""
    along = np.linspace(-width, width, GRID)
    u, v = (part.ravel() for part in np.meshgrid(along, along))
    zero = np.zeros_like(u)
    points = np.column_stack([u, zero, v] if upright else [u, v, zero])
    return [float(value) for value in soft_distance(cloud, points, epsilon)]


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot soft distances and their zero levels: temperatures, what goes wrong, and a torus in section.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    with figure(path, 9.2, 5.0) as canvas:
        panels = canvas.subplots(2, 4)
        for axes, epsilon in zip(panels[0], TEMPERATURES, strict=True):
            width = HOT_WIDTH if epsilon == TEMPERATURES[-1] else WIDTH
            _panel(axes, report, f"square at {epsilon:g}", f"ε = {epsilon:g}", width)
        _panel(
            panels[1, 0],
            report,
            f"{FINENESS[0]} points a side",
            f"{FINENESS[0]} points a side, ε = {STUDIED:g}",
        )
        _panel(panels[1, 1], report, "a side turned over", "normals at the right turned over")
        _panel(panels[1, 2], report, "wrong points at corners", "wrong points at the corners")
        _torus_panel(panels[1, 3], report)
        for axes in panels.ravel():
            axes.set_aspect("equal")
            axes.set(xticks=(), yticks=())
        canvas.suptitle(
            f"{report.title} (blue) and the surface (dashed); Beker 2025, figures 1 and 4", fontsize=11
        )


def _panel(axes: Axes, report: ExperimentReport, name: str, title: str, width: float = WIDTH) -> None:
    along = np.linspace(-width, width, GRID)
    field = np.array(report.series[f"field, {name}"]).reshape(GRID, GRID)
    axes.contourf(along, along, field, levels=np.linspace(-1.6, 1.6, 17), cmap="RdGy_r", extend="both")
    axes.plot([-1, 1, 1, -1, -1], [-1, -1, 1, 1, -1], color="black", ls="--", lw=1.0)
    radii = report.series.get(f"level, {name}")
    if radii is None:
        axes.contour(along, along, field, levels=[0.0], colors="#1f5fa8", linewidths=1.8)
    else:
        places = np.array(radii)[:, None] * _circle()[:, :2]
        axes.plot(*np.vstack([places, places[:1]]).T, color="#1f5fa8", lw=1.8)
    axes.set_title(title, fontsize=10)


def _torus_panel(axes: Axes, report: ExperimentReport) -> None:
    along = np.linspace(-TORUS_WIDTH, TORUS_WIDTH, GRID)
    angle = np.linspace(0.0, 2.0 * math.pi, 100)
    for side in (-1.0, 1.0):
        axes.plot(
            side * TORUS[0] + TORUS[1] * np.cos(angle),
            TORUS[1] * np.sin(angle),
            color="black",
            ls="--",
            lw=1.0,
        )
    for share, colour in ((0.2, "#8fbbe8"), (0.9, "#5a93cf"), (1.2, "#1f5fa8"), (4.0, "#123a68")):
        field = np.array(report.series[f"field, torus at {share:g}"]).reshape(GRID, GRID)
        axes.contour(along, along, field, levels=[0.0], colors=colour, linewidths=1.8)
    axes.set_title(f"torus: its hole closes at ε = {report.series['hole'][0]:.3g}", fontsize=10)
