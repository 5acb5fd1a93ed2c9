"""A T-shaped bar tilts onto two of its points, onto two others, lies down and spins (Xie and Chakraborty 2019, V-B).

Its underside is not convex, and it touches the ground as its convex hull does, at one equivalent contact point.
Mass, friction, e_r, step and duration are the paper's. The paper draws dimensions and loads in figures that its text
does not give, so they are chosen here: a beam of 0.4 m by 0.1 m, a stem of 0.1 m that reaches 0.2 m from it, 60 mm
high; and in world axes at the centre of mass

- a moment that lifts the bar about the line from an inner corner of the beam to the end of the stem, on the one side
  and then on the other: m g d (1 + 0.25 cos(pi s / 0.2 s)) for 0.4 s, where d = 0.16 m is the distance of the centre of
  mass from the line. The moment is first more and then less than that of the weight: the bar rises and comes down;
- a force of 5 N along x and 2 N along y for 0.25 s, more than friction holds: the bar slides and stops;
- a moment of 0.6 N m about z for a second, more than mu m g e_r: it spins and stops.

The line between the two points is an edge of the hull, not of the bar: the equivalent point is where the bar has
nothing. Which corners of the hull touch is seen from their height over the ground at the end of each step. Nothing
overlaps there. The impulses of contact, loads and weight are the change of momentum, and their moments about the centre
of mass are the change of the angular momentum that the variational integrator of free bodies keeps, within 1e-9 N m s
of the 0.1 N m s with which the bar lands. A step gains at most 2e-5 J beyond the work of the loads, where the bar rises
by 8 mJ a step; otherwise it loses what friction, an inelastic landing and the implicit method take.

Of the two models that the paper compares with, the quadratic one knows nothing but sliding: from the push on it takes
the same steps as the simulator. One equivalent point for each of the bar's two boxes takes all of the loads. The
picture states the time of a step by the three: the simulator's in compiled code, that of the quadratic model in Python.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import load_scene
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.ecp_desk import contact_point
from hydro_sim_core.experiments.planar_sliding import SlidingBody, slide
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.rotations import matrix_of
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import shipped_scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "Xie and Chakraborty 2019, section V-B; Newton and Euler; closed forms for sliding and spinning"
SCENE, DURATION = "ecp_t_bar", 5.0
MASS, FRICTION, E_R, GRAVITY = 2.0, 0.22, 0.1, 9.8
#: Corners (6, 2) of the convex hull of the underside about the centre of mass, m, counter-clockwise.
CORNERS = np.array([[0.1, -0.2], [0.1, 0.2], [0.0, 0.2], [-0.2, 0.05], [-0.2, -0.05], [0.0, -0.2]])
HALF_HEIGHT = 0.03
#: Outline (8, 2) of the T, m.
OUTLINE = np.insert(CORNERS, [3, 5], [[0.0, 0.05], [0.0, -0.05]], axis=0)
#: Pairs of corners that the bar tilts onto, and the names of what touches.
LEFT, RIGHT = (2, 3), (4, 5)
SURFACE, ON_LEFT, ON_RIGHT, OTHER = "surface", "left points", "right points", "other"
LIFTS, LIFT_TIME, LIFT_SHARE = ((0.5, LEFT), (1.5, RIGHT)), 0.4, 0.25
PUSH_START, PUSH_TIME, PUSH = 2.5, 0.25, np.array([5.0, 2.0])
SPIN_START, SPIN_TIME, SPIN_MOMENT = 3.25, 1.0, 0.6
#: Height up to which a corner touches, m.
TOUCHING = 1e-9
OVERLAP_BOUND, CORNER_BOUND, MOMENTUM_BOUND, TURNING_BOUND = 2.8e-14, 3.5e-14, 1e-10, 1e-9
SLIDING_BOUND = 4e-11
#: Bounds on energy gained (J), on speed and on spin (relative).
ENERGY_BOUND, SPEED_BOUND, SPIN_BOUND = 3e-5, 2e-15, 2.9e-11
#: Models whose steps are timed, over so many of the last steps.
MODELS, TIMED = ("quadratic, where it slides", "one point", "a point a box"), 300


def make_world(pieces: bool = False) -> World:
    """Make the world of the shipped scene, with one point for each box of the bar if asked for."""
    scene = load_scene(shipped_scene(SCENE))
    return World(scene.with_({"contact.pairs.0.pieces": True}) if pieces else scene)


def load_at(t: float) -> Array:
    """The load (6,) at time t: moment about the centre of mass and force in world axes, N m and N."""
    load = np.zeros(6)
    for start, pair in LIFTS:
        if 0.0 <= t - start < LIFT_TIME:
            outward, distance = _edge(pair)
            share = 1.0 + LIFT_SHARE * math.cos(2.0 * math.pi * (t - start) / LIFT_TIME)
            load[:2] += share * MASS * GRAVITY * distance * np.array([-outward[1], outward[0]])
    if 0.0 <= t - PUSH_START < PUSH_TIME:
        load[3:5] = PUSH
    if 0.0 <= t - SPIN_START < SPIN_TIME:
        load[2] = SPIN_MOMENT
    return load


def _edge(pair: Sequence[int]) -> tuple[Array, float]:
    """Outward normal (2,) of an edge of the hull, and the distance of the centre of mass from it, m."""
    a, b = CORNERS[list(pair)]
    along = (b - a) / np.linalg.norm(b - a)
    outward = np.array([along[1], -along[0]])
    return outward, float(outward @ a)


def run(duration: float = DURATION) -> ExperimentReport:
    """Tilt, push and spin the bar.

    Args:
        duration: Time, s.
    """
    world = make_world()
    h = world.time_step
    steps = round(duration / h)
    rows, modes = [], []
    for k in range(steps):
        row, mode = _step(world, load_at(k * h + 1e-9))
        rows.append(row)
        modes.append(mode)
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    sliding, of_quadratic = _slide_by_quadratics(world, table, h)
    one = float(np.mean(table.pop("seconds")[-TIMED:]))
    comparisons = [
        *_sequence(modes, sum(start + LIFT_TIME <= duration for start, _ in LIFTS)),
        Comparison("largest a_z", "m", 0.0, float(np.abs(table["a_z"]).max()), OVERLAP_BOUND, "absolute"),
        Comparison(
            "lowest corner of the hull", "m", 0.0, float(table["lowest"].min()), CORNER_BOUND, "absolute"
        ),
        _largest("momentum less impulses, in a step", "N s", table["momentum"], MOMENTUM_BOUND),
        _largest("the same of moments, about the centre of mass", "N m s", table["turning"], TURNING_BOUND),
        _largest(
            "energy gained in a step, beyond the work done", "J", np.maximum(table["gain"], 0.0), ENERGY_BOUND
        ),
        *_speeds(table, h, duration),
        *sliding,
    ]
    series = {"time": (h * np.arange(1, steps + 1)).tolist()}
    series |= {name: column.tolist() for name, column in table.items()}
    series["touches"] = [float((SURFACE, ON_LEFT, ON_RIGHT, OTHER).index(mode)) for mode in modes]
    series["milliseconds of a step"] = [1e3 * one_of for one_of in (of_quadratic, one, _time_pieces(steps))]
    return ExperimentReport("A T-shaped bar, tilted, pushed and spun", SOURCE, tuple(comparisons), series)


def _slide_by_quadratics(world: World, table: dict[str, Array], h: float) -> tuple[list[Comparison], float]:
    """Take the last steps from where they began by the quadratic model.

    Returns:
        How far it is off, and the mean time of a step in which the bar slides, s.
    """
    mass = world.mass_matrix()
    body = SlidingBody(float(mass[3, 3]), float(mass[2, 2]), HALF_HEIGHT, FRICTION, E_R, GRAVITY)
    velocity = np.column_stack([table["v_x"], table["v_y"], table["spin"]])
    first, off, times = max(round(PUSH_START / h), len(velocity) - TIMED), [], []
    for k in range(first, len(velocity)):
        begin = time.thread_time()
        end = slide(body, velocity[k - 1], load_at(k * h + 1e-9), h)
        seconds = time.thread_time() - begin
        if end.slip > 0.0:
            times.append(seconds)
        off.append(float(np.abs(end.velocity - velocity[k]).max()))
    if not off:
        return [], math.nan
    quantity = "velocity, one point less quadratic, in a step"
    return [Comparison(quantity, "m/s or rad/s", 0.0, max(off), SLIDING_BOUND, "absolute")], float(
        np.mean(times)
    )


def _time_pieces(steps: int) -> float:
    """Mean time of the last steps with a point for each box, s."""
    world, times = make_world(pieces=True), []
    for k in range(steps):
        world.apply_wrench("t_bar", load_at(k * world.time_step + 1e-9))
        begin = time.thread_time()
        world.step()
        times.append(time.thread_time() - begin)
    return float(np.mean(times[-TIMED:]))


def _sequence(modes: Sequence[str], lifts: int) -> list[Comparison]:
    """Which corners touch: the surface, and one spell on either side for each of so many lifts, in their order."""
    found = [(mode, len(list(group))) for mode, group in groupby(modes)]
    order = [mode for mode, _ in found if mode in (ON_LEFT, ON_RIGHT)]
    in_order = float(order == [ON_LEFT, ON_RIGHT][:lifts] and found[0][0] == found[-1][0] == SURFACE)
    return [
        Comparison(
            "surface, left points, right points, surface: in this order", "", 1.0, in_order, 0.0, "absolute"
        ),
        Comparison(
            "spells on other corners",
            "",
            0.0,
            float(sum(mode == OTHER for mode, _ in found)),
            0.0,
            "absolute",
        ),
    ]


def _largest(quantity: str, unit: str, values: Array, bound: float) -> Comparison:
    return Comparison(quantity, unit, 0.0, float(np.abs(values).max()), bound, "absolute")


def _speeds(table: dict[str, Array], h: float, duration: float) -> list[Comparison]:
    """Speeds at the end of the push and of the spin-up, in closed form: constant friction against a constant load."""
    rows = []
    if duration > PUSH_START + PUSH_TIME:
        speed = table["speed"][round((PUSH_START + PUSH_TIME) / h) - 1]
        expected = PUSH_TIME * (float(np.linalg.norm(PUSH)) / MASS - FRICTION * GRAVITY)
        rows.append(
            Comparison("speed after the push", "m/s", expected, float(speed), SPEED_BOUND, "relative")
        )
    if duration > SPIN_START + SPIN_TIME:
        spin = table["spin"][round((SPIN_START + SPIN_TIME) / h) - 1]
        inertia = float(make_world().mass_matrix()[2, 2])
        expected = SPIN_TIME * (SPIN_MOMENT - FRICTION * MASS * GRAVITY * E_R) / inertia
        rows.append(
            Comparison("spin after the turning", "rad/s", expected, float(spin), SPIN_BOUND, "relative")
        )
    return rows


def _step(world: World, load: Array) -> tuple[dict[str, float], str]:
    """Take a step with a load; return what is told of it, and what touches."""
    before, inertia, velocity = _energy(world), world.mass_matrix(), world.v
    world.apply_wrench("t_bar", load)
    begin = time.thread_time()
    world.step()
    seconds = time.thread_time() - begin
    h, centre = world.time_step, world.q[4:]
    impulse = h * load
    impulse[5] -= h * MASS * GRAVITY
    point, height = np.full(2, np.nan), 0.0
    for patch in world.contacts:
        force = patch.force_on_b
        sign = math.copysign(1.0, force[2])
        moment = patch.moment_on_b_at_reference + np.cross(patch.p_WR - centre, force)
        impulse += sign * h * np.concatenate([moment, force])
        point, height = contact_point(patch)[:2], float(patch.centroids[0, 2])
    J = inertia[:3, :3]
    turned = angular_momentum(J, world.v[:3], h) - angular_momentum(J, velocity[:3], -h)
    missing = np.concatenate([turned, MASS * (world.v - velocity)[3:]]) - impulse
    work = h * float(load @ world.v)
    corners = _heights(world)
    row = {
        "a_x": float(point[0]),
        "a_y": float(point[1]),
        "a_z": height,
        "lowest": float(corners.min()),
        "highest": float(corners.max()),
        "momentum": float(np.abs(missing[3:]).max()),
        "turning": float(np.abs(missing[:3]).max()),
        "gain": _energy(world) - before - work,
        "v_x": float(world.v[3]),
        "v_y": float(world.v[4]),
        "speed": float(np.linalg.norm(world.v[3:5])),
        "spin": float(world.v[2]),
        "c_x": float(centre[0]),
        "c_y": float(centre[1]),
        "heading": 2.0 * math.atan2(world.q[3], world.q[0]),
        "seconds": seconds,
    }
    return row, _mode(corners)


def angular_momentum(J: Array, w: Array, h: float) -> Array:
    """The variational integrator's angular momentum (3,) at the begin of a step h, or at the end of one of -h.

    It is ``J w + h / 2 w x J w + a w x (w x J w)`` with ``a = (1 - x cot x) / |w|^2`` and ``x = |w| h / 2`` (Bou-Rabee
    and Marsden 2009), in the posture that the two steps share.
    """
    x = 0.5 * abs(h) * float(np.linalg.norm(w))
    share = 0.25 * h * h * ((1.0 - x / math.tan(x)) / (x * x) if x > 1e-4 else 1.0 / 3.0)
    across = np.cross(w, J @ w)
    return np.asarray(J @ w + 0.5 * h * across + share * np.cross(w, across))


def _heights(world: World) -> Array:
    """Heights (6,) of the hull's corners over the ground, m."""
    low = np.column_stack([CORNERS, np.full(len(CORNERS), -HALF_HEIGHT)])
    return world.q[6] + low @ matrix_of(world.q[[1, 2, 3, 0]])[2]


def _mode(heights: Array) -> str:
    touching = tuple(np.flatnonzero(heights < TOUCHING).tolist())
    return {tuple(range(6)): SURFACE, LEFT: ON_LEFT, RIGHT: ON_RIGHT}.get(touching, OTHER)


def _energy(world: World) -> float:
    """Kinetic and potential energy, J."""
    return 0.5 * float(world.v @ world.mass_matrix() @ world.v) + MASS * GRAVITY * float(world.q[6])


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the bar and the point at five times, its loads, what touches, and the height of the point, like figure 4.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    times = series["time"]
    with figure(path, 8.4, 5.6) as canvas:
        above, below = canvas.subfigures(2, 1, height_ratios=(1.0, 2.4), squeeze=False)[:, 0]
        moments = [t for t in (0.2, 0.7, 1.2, 1.7, 2.7, 4.2) if t <= times[-1]]
        for one, t in zip(above.subplots(1, 6).flat, moments, strict=False):
            _plot_bar(one, series, int(np.searchsorted(times, t - 1e-9)))
        loads = np.array([load_at(t - 0.5 * times[0]) for t in times])
        axes = below.subplots(2, 2).ravel()
        for k, (name, colour) in enumerate((("x", "#1f5fa8"), ("y", "#c44e24"), ("z", "#2a8a4a"))):
            axes[0].plot(times, loads[:, k], color=colour, lw=1.0, label=f"τ_{name} [N m]")
        for k, (name, colour) in enumerate((("x", "#1f5fa8"), ("y", "#c44e24")), 3):
            axes[0].plot(times, loads[:, k], "--", color=colour, lw=1.0, label=f"F_{name} [N]")
        axes[0].legend(frameon=False, fontsize="x-small", ncols=3, loc="upper left")
        axes[0].set_ylim(-4.0, 9.5)
        axes[0].set_ylabel("load")
        axes[1].step(times, series["touches"], where="post", color="#1f5fa8", lw=1.2)
        axes[1].set_yticks(range(4), ["surface", "left two", "right two", "other"])
        axes[1].set_ylim(-0.5, 3.5)
        axes[2].plot(times, series["a_x"], color="#1f5fa8", lw=1.0, label="a_x")
        axes[2].plot(times, series["a_y"], color="#c44e24", lw=1.0, label="a_y")
        axes[2].set_ylabel("point [m]")
        axes[2].legend(frameon=False, fontsize="x-small")
        highest = np.maximum.accumulate(np.maximum(np.abs(series["a_z"]), 1e-18))
        axes[3].semilogy(times, highest, color="#1f5fa8", lw=1.2)
        axes[3].axhline(1e-12, color="#555555", ls=":", lw=1.0)
        axes[3].text(times[-1], 1.3e-12, "paper", ha="right", fontsize="small", color="#555555")
        axes[3].set_ylim(1e-18, 1e-10)
        axes[3].set_ylabel("largest |a_z| [m]")
        for one in axes:
            one.grid(alpha=0.3)
        for one in axes[2:]:
            one.set_xlabel("time [s]")
        spent = zip(MODELS, series["milliseconds of a step"], strict=True)
        told = ", ".join(f"{name} {one:.2g}" for name, one in spent)
        canvas.suptitle(f"{report.title}\nms a step: {told}", fontsize="medium")


def _plot_bar(axes: Axes, series: dict[str, Array], row: int) -> None:
    """Plot the bar from above, its hull, and the point."""
    from matplotlib.patches import Polygon

    c, s = math.cos(series["heading"][row]), math.sin(series["heading"][row])
    R, centre = np.array([[c, -s], [s, c]]), np.array([series["c_x"][row], series["c_y"][row]])
    touches = int(series["touches"][row])
    axes.add_patch(Polygon(OUTLINE @ R.T, fc="#1f5fa8", ec="none", alpha=0.3))
    axes.add_patch(Polygon(CORNERS @ R.T, fill=False, ec="#999999", ls="--", lw=0.8))
    corners = {0: range(6), 1: LEFT, 2: RIGHT}.get(touches, range(0))
    axes.plot(*(CORNERS[list(corners)] @ R.T).T, "o", color="#1f5fa8", ms=4)
    axes.plot(*(np.array([series["a_x"][row], series["a_y"][row]]) - centre), "o", color="#c8102e", ms=5)
    axes.set_xlim(-0.27, 0.27)
    axes.set_ylim(-0.27, 0.27)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"{series['time'][row]:.2g} s", fontsize="small")
