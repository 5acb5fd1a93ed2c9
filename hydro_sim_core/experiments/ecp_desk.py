"""A desk on four feet is pushed over the ground and turned, by three models (Xie and Chakraborty 2019, V-A).

All parameters are the paper's, except for the moments of inertia, which it does not print: those of a top on four
legs whose centre of mass is at the paper's height; 0.842 kg m^2 about the vertical. The load, periodic in a second,
acts at the centre of mass; in a step it is that of its begin (eq. 16). The models:

- one equivalent contact point for the convex hull of the desk, which is the paper's method, in the simulator;
- the quadratic model of pure sliding, solved to round-off (``planar_sliding``);
- one equivalent contact point for every foot, in the simulator.

The first two agree within the paper's 1e-8. The third does not while the desk turns, and cannot: each foot then
slides in a direction of its own, so that four feet far from the middle resist turning more than one point with e_r =
0.1 m. A desk spinning on the spot under its weight is held by mu m g e_r at one point, and by mu m g sqrt(e_r^2 +
d^2) at feet whose points are at the distance d from the middle. Where in each foot its point is, and what it bears,
is not determined by the motion of a rigid body: one row asks for the moment that d as found in the simulator gives.
Pushed by the same forces without turning, all feet slide in parallel, and the three models agree. The paper reports
1e-8 for all three with the turning load; from its equations we do not see how.

The point is never in a foot, and always in the convex hull of the feet. The picture states the time of a step beside
the paper's: the simulator's in compiled code, that of the quadratic model in Python, and the paper's in MATLAB.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description import load_scene
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.planar_sliding import SlidingBody, slide
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import shipped_scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "Xie and Chakraborty 2019, section V-A; planar sliding as four quadratic equations a step"
SCENE, DURATION = "ecp_desk", 4.0
FRICTION, E_R, HEIGHT, GRAVITY = 0.22, 0.1, 0.45, 9.8
#: Width of the square around the feet, and of a foot, m.
WIDTH, FOOT = 0.5, 0.06
#: v_x, v_y and w_z at the start, m/s and rad/s.
START = np.array([0.3, 0.2, 0.5])
#: Seconds of a step in the paper: quadratic model, one point, one point a foot.
PAPER_SECONDS = (0.0022, 0.0053, 0.0487)
MODELS = ("quadratic", "one point", "a point a foot")
#: Bounds on differences of v_x (m/s) and w_z (rad/s); the paper's is 1e-8.
SPEED_BOUND, SPIN_BOUND, STRAIGHT_BOUND = 1.2e-12, 2.2e-11, 4e-15
#: Bounds on the point (m), on a_z (m), where the paper's is 1e-12, and on a spinning desk's moment, relative.
POINT_BOUND, OVERLAP_BOUND, MOMENT_BOUND = 2.5e-12, 7e-14, 2e-14
#: Indices in a floating body's velocity of v_x, v_y and w_z.
_PLANAR = [3, 4, 2]


@dataclass(frozen=True)
class SlidingPath:
    """A desk's motion over N steps.

    Attributes:
        velocity: (N, 3) v_x, v_y and w_z at the ends of steps, m/s and rad/s.
        point: (N, 2) equivalent contact point relative to the centre of mass, m, in world axes; of several
            their mean by normal force.
        heading: (N,) angle by which the desk has turned, rad.
        place: (N, 2) centre of mass, m.
        overlap: (N,) height of the points over the ground, m.
        seconds: Mean time of the last 300 steps, s.
    """

    velocity: Array
    point: Array
    heading: Array
    place: Array
    overlap: Array
    seconds: float


def make_world(pieces: bool = False) -> World:
    """Make the world of the shipped scene, with one point for every foot if asked for."""
    scene = load_scene(shipped_scene(SCENE))
    return World(scene.with_({"contact.pairs.0.pieces": True}) if pieces else scene)


def pushing(t: float) -> Array:
    """The paper's load (6,) at time t: moment about the centre of mass and force, N m and N."""
    phase = 2.0 * math.pi * t
    return np.array(
        [0.0, 0.0, 2.1 * math.cos(phase), 22.5 * math.sin(phase) + 22.5, 22.5 * math.cos(phase) + 22.5, 0.0]
    )


def pushing_straight(t: float) -> Array:
    """The same force without a moment."""
    return np.array([0.0, 0.0, 0.0, *pushing(t)[3:]])


def contact_point(patch: ContactPatch) -> Array:
    """The point (3,) of the horizontal plane at the patch's reference point where its moment is along the normal, m."""
    force, moment = patch.force_on_b, patch.moment_on_b_at_reference
    return np.asarray(patch.p_WR) + np.array([-moment[1], moment[0], 0.0]) / force[2]


def slide_in_world(
    world: World, start: Array, load: Callable[[float], Array], duration: float = DURATION
) -> SlidingPath:
    """Slide the desk in the simulator.

    Args:
        world: World with the desk.
        start: (3,) v_x, v_y and w_z, m/s and rad/s.
        load: Load (6,) by time, N m and N.
        duration: Time, s.
    """
    velocity = world.v.copy()
    velocity[_PLANAR] = start
    world.set_state(world.q, velocity)
    rows, times = [], []
    for k in range(round(duration / world.time_step)):
        world.apply_wrench("desk", load(k * world.time_step))
        begin = time.thread_time()
        world.step()
        times.append(time.thread_time() - begin)
        rows.append(_look(world))
    table = np.array(rows)
    heading = np.unwrap(table[:, 5])
    return SlidingPath(
        table[:, :3], table[:, 3:5], heading, table[:, 6:8], table[:, 8], float(np.mean(times[-300:]))
    )


def _look(world: World) -> tuple[float, ...]:
    patches = world.contacts
    weights = np.array([abs(patch.force_on_b[2]) for patch in patches])
    points = np.array([contact_point(patch) for patch in patches])
    w, _, _, z, *centre = world.q
    point = weights @ points / weights.sum() - centre
    farthest = max((patch.centroid[2] for patch in patches), key=abs)
    return (*world.v[_PLANAR], *point[:2], 2.0 * math.atan2(z, w), *centre[:2], float(farthest))


def slide_by_quadratics(
    body: SlidingBody, load: Callable[[float], Array], h: float, start: Array = START
) -> SlidingPath:
    """Slide the desk by the quadratic model, step by step."""
    velocity, point, times = [start], [], []
    steps = round(DURATION / h)
    for k in range(steps):
        pushed = load(k * h)
        begin = time.thread_time()
        end = slide(body, velocity[-1], pushed, h)
        times.append(time.thread_time() - begin)
        velocity.append(end.velocity)
        point.append(end.point)
    path = h * np.cumsum(velocity[1:], axis=0)
    still = np.zeros(steps)
    seconds = float(np.mean(times[-300:]))
    return SlidingPath(np.array(velocity[1:]), np.array(point), path[:, 2], path[:, :2], still, seconds)


def sliding_body(world: World) -> SlidingBody:
    """The desk of a world as the quadratic model has it."""
    mass = world.mass_matrix()
    return SlidingBody(float(mass[3, 3]), float(mass[2, 2]), HEIGHT, FRICTION, E_R, GRAVITY)


def run() -> ExperimentReport:
    """Slide the desk by the three models, with and without the moment that turns it, and spin it on the spot."""
    world = make_world()
    h, body = world.time_step, sliding_body(world)
    paths = [
        slide_by_quadratics(body, pushing, h),
        slide_in_world(world, START, pushing),
        slide_in_world(make_world(pieces=True), START, pushing),
    ]
    straight = [
        slide_in_world(make_world(pieces), START * (1, 1, 0), pushing_straight) for pieces in (False, True)
    ]
    quadratic, one, _ = paths
    vx, _, wz = np.abs(one.velocity - quadratic.velocity).T
    straight_vx = np.abs(straight[1].velocity - straight[0].velocity)[:, 0]
    apart = np.abs(one.point - quadratic.point).max(axis=1)
    comparisons = (
        Comparison("v_x, one point less quadratic", "m/s", 0.0, vx.max(), SPEED_BOUND, "absolute"),
        Comparison("ω_z, one point less quadratic", "rad/s", 0.0, wz.max(), SPIN_BOUND, "absolute"),
        Comparison(
            "v_x, a point a foot less one point, not turned",
            "m/s",
            0.0,
            straight_vx.max(),
            STRAIGHT_BOUND,
            "absolute",
        ),
        *_spins(world, body),
        Comparison(
            "steps with the point outside the feet", "", 400.0, float(_is_outside(one).sum()), 0.0, "absolute"
        ),
        Comparison(
            "steps with the point inside their hull", "", 400.0, float(_is_inside(one).sum()), 0.0, "absolute"
        ),
        Comparison("the point, one point less quadratic", "m", 0.0, apart.max(), POINT_BOUND, "absolute"),
        Comparison("largest a_z", "m", 0.0, float(np.abs(one.overlap).max()), OVERLAP_BOUND, "absolute"),
    )
    series: dict[str, list[float]] = {"time": (h * np.arange(1, len(vx) + 1)).tolist()}
    for name, path in zip(MODELS, paths, strict=True):
        series |= {f"v_x, {name}": path.velocity[:, 0].tolist(), f"ω_z, {name}": path.velocity[:, 2].tolist()}
    series |= {"difference of v_x": vx.tolist(), "difference of ω_z": wz.tolist()}
    series |= {
        "difference of v_x, not turned": straight_vx.tolist(),
        "difference of the point": apart.tolist(),
    }
    for i, axis in enumerate("xy"):
        series |= {f"place {axis}": one.place[:, i].tolist(), f"point {axis}": one.point[:, i].tolist()}
    series |= {"heading": one.heading.tolist(), "a_z": one.overlap.tolist()}
    series["milliseconds of a step"] = [1e3 * path.seconds for path in paths]
    return ExperimentReport("A desk on four feet, pushed and turned", SOURCE, comparisons, series)


def _spins(world: World, body: SlidingBody) -> list[Comparison]:
    """What slows a desk that spins on the spot, at one point and at one a foot, against closed forms."""
    comparisons = []
    weight = FRICTION * body.mass * GRAVITY
    for pieces, name in ((False, "at one point"), (True, "at a point a foot")):
        spun = make_world(pieces)
        slide_in_world(spun, np.array([0.0, 0.0, 1.0]), lambda _: np.zeros(6), world.time_step)
        moment = (1.0 - spun.v[2]) * body.inertia / world.time_step
        arms = [np.hypot(*(contact_point(patch) - spun.q[4:])[:2]) for patch in spun.contacts]
        shares = [abs(patch.force_on_b[2]) / (body.mass * GRAVITY) for patch in spun.contacts]
        reach = sum(share * math.hypot(E_R, arm) for share, arm in zip(shares, arms, strict=True))
        expected = weight * (reach if pieces else E_R)
        quantity = f"moment that slows a desk on the spot, {name}"
        comparisons.append(Comparison(quantity, "N m", expected, moment, MOMENT_BOUND, "relative"))
    return comparisons


def _local(path: SlidingPath) -> Array:
    """The points (N, 2) in the desk's axes, m."""
    c, s = np.cos(path.heading), np.sin(path.heading)
    x, y = path.point.T
    return np.stack([c * x + s * y, c * y - s * x], axis=1)


def _is_outside(path: SlidingPath) -> NDArray[np.bool_]:
    """Whether the points are in none of the feet: nearer than those to the desk's middle along x or y."""
    return np.asarray(np.abs(_local(path)).min(axis=1) < WIDTH / 2.0 - FOOT)


def _is_inside(path: SlidingPath) -> NDArray[np.bool_]:
    return np.asarray(np.abs(_local(path)).max(axis=1) < WIDTH / 2.0)


# --- picture


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the way of feet and point, the velocities by the three models, and their differences, like figure 3.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    looks = (("-", "#1f5fa8", 3.5, 0.35), ("-", "#1f5fa8", 1.2, 1.0), ("--", "#c44e24", 1.2, 1.0))
    with figure(path, 8.2, 4.3) as canvas:
        grid = canvas.add_gridspec(2, 3, width_ratios=(1.3, 1.0, 1.0))
        _plot_way(canvas.add_subplot(grid[:, 0]), series)
        for column, (what, unit) in enumerate((("v_x", "m/s"), ("ω_z", "rad/s")), 1):
            top, low = canvas.add_subplot(grid[0, column]), canvas.add_subplot(grid[1, column])
            for name, (line, colour, width, alpha) in zip(MODELS, looks, strict=True):
                values = series[f"{what}, {name}"]
                top.plot(series["time"], values, line, color=colour, lw=width, alpha=alpha, label=name)
            top.set_title(what)
            top.set_ylabel(unit)
            _plot_largest(
                low,
                series["time"],
                series[f"difference of {what}"],
                "-",
                "quadratic",
            )
            if what == "v_x":
                straight = series["difference of v_x, not turned"]
                _plot_largest(low, series["time"], straight, "--", "a point a foot, not turned")
            low.axhline(1e-8, color="#555555", ls=":", lw=1.0)
            low.text(3.95, 1.3e-8, "paper", ha="right", fontsize="small", color="#555555")
            low.set_ylim(1e-16, 1e-6)
            low.set_xlabel("time [s]")
            low.set_ylabel(f"off one point [{unit}]")
            for axes in (top, low):
                axes.grid(alpha=0.3)
            if what == "ω_z":
                top.set_ylim(-0.45, 1.5)
                top.legend(frameon=False, fontsize="small", loc="upper right")
        ours = series["milliseconds of a step"]
        texts = (
            f"{name} {mine:.2g} ({1e3 * theirs:.2g})"
            for name, mine, theirs in zip(MODELS, ours, PAPER_SECONDS, strict=True)
        )
        canvas.suptitle(f"{report.title}\nms a step (paper): {', '.join(texts)}", fontsize="medium")


def _plot_largest(axes: Axes, times: Array, differences: Array, line: str, label: str) -> None:
    colour = "#1f5fa8" if line == "-" else "#c44e24"
    largest = np.maximum.accumulate(np.maximum(differences, 1e-16))
    axes.semilogy(times, largest, line, color=colour, lw=1.2)
    axes.text(times[-1], 2.5 * largest[-1], label, ha="right", fontsize="small", color=colour)


def _plot_way(axes: Axes, series: dict[str, Array]) -> None:
    """Plot feet, hull and point at five times, and the way of the point."""
    from matplotlib.patches import Polygon

    place = np.stack([series["place x"], series["place y"]], axis=1)
    point = place + np.stack([series["point x"], series["point y"]], axis=1)
    axes.plot(*point.T, color="#c8102e", lw=0.8, alpha=0.6)
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    rows = np.linspace(0, len(point) - 1, 5).astype(int)
    for row in rows:
        c, s = math.cos(series["heading"][row]), math.sin(series["heading"][row])
        R = np.array([[c, -s], [s, c]])
        hull = place[row] + 0.5 * WIDTH * corners @ R.T
        axes.add_patch(Polygon(hull, fill=False, ec="#999999", ls="--", lw=0.8))
        for corner in corners:
            foot = place[row] + (0.5 * (WIDTH - FOOT) * corner + 0.5 * FOOT * corners) @ R.T
            axes.add_patch(Polygon(foot, fc="#1f5fa8", ec="none", alpha=0.75))
        axes.plot(*place[row], "+", color="#555555", ms=7)
        axes.plot(*point[row], "o", color="#c8102e", ms=5)
        label = f"{series['time'][row]:.2g} s"
        axes.annotate(
            label,
            tuple(place[row]),
            xytext=(0.0, -14.0),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            color="#555555",
        )
    axes.plot([], [], "o", color="#c8102e", ms=5, label="equivalent contact point")
    axes.plot([], [], "+", color="#555555", ms=7, label="centre of mass")
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_title("feet and their hull")
    axes.legend(frameon=False, fontsize="small", loc="upper left")
    axes.grid(alpha=0.3)
