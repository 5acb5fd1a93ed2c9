"""A box that touches at one equivalent contact point, against closed forms and against pressure fields.

Tipping. Pushed at the height z_F a box of mass m and width w bears its weight at the distance F z_F / (m g) from its
middle, and tips at the force m g w / (2 z_F), where that is its edge.

Sliding and spinning. The box moves over the ground with the velocity v of its centre of mass, which is at the height H,
and turns with w about the vertical. Friction at the point brakes by mu m g v_a / S and mu m g e_r^2 w / S (Xie and
Chakraborty 2019, eqs. 12 to 15), where v_a is the velocity at the point and S^2 = |v_a|^2 + e_r^2 w^2. Friction pulls
the point ahead by mu H v_a / S, so that v_a = v + (c / S) J v_a with c = mu H w and J a quarter turn: a quadratic
equation for S^2. The two rates of change are integrated to ten digits; the simulator's implicit steps approach that in
the first order. For e_r it is told the mean distance of a square from its middle, s (sqrt 2 + ln(1 + sqrt 2)) / 6, and
for a coin that of a disc, 2 R / 3. A coin so thin that c is next to nothing keeps w / w_0 = (v / v_0)^(8/9). On the
spot the simulator finds e_r of the square itself.

Pressure fields. Soft boxes of ever larger modulus approach the box at a point in the first order of softness: where
they bear the weight under a push, for they tilt by as much. What brakes a soft disc on the spot comes to that at a
point but for the edges of its mesh. While a patch slides and turns at the same time there is no such limit: friction
spread over a disc brakes otherwise than an ellipsoid of forces with the same ends, and ends at v = 0.653 R w, as
``sliding_disk`` shows, where that of an ellipsoid ends with v / w = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments import coin
from hydro_sim_core.experiments.ecp_desk import contact_point
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = (
    "statics; Xie and Chakraborty 2019, eqs. 12 to 15, integrated in time; pressure fields as they stiffen"
)
GRAVITY = 9.81


@dataclass(frozen=True)
class Sliding:
    """A body on the ground.

    Attributes:
        shape: Its shape, for ``SceneBuilder``.
        lengths: Lengths of the shape, m.
        height: Height of its centre of mass over the ground, m.
        mass: Mass, kg.
        inertia: Moments of inertia about the axes through the centre of mass, kg m^2.
        friction: Coefficient of friction with the ground.
        e_r: Mean distance of the patch from its middle, m.
        is_given: Whether the simulator is told ``e_r``; else it finds it from the patch, about the point.
    """

    shape: str
    lengths: dict[str, Any]
    height: float
    mass: float
    inertia: tuple[float, float, float]
    friction: float
    e_r: float
    is_given: bool = True

    def world(self, time_step: float, modulus: float | None = None) -> World:
        """Make a world of the body on rigid ground: at one point, or with a pressure field of some modulus, Pa."""
        scene = SceneBuilder(
            "ecp_analytic",
            time_step=time_step,
            gravity=(0.0, 0.0, -GRAVITY),
            contact={"compliance": "rigid", "friction": self.friction},
            solver={"stiction_speed": STICTION_SPEED},
        )
        scene.add_ground()
        body = scene.add_body("body", self.mass, inertia=self.inertia, xyz=(0.0, 0.0, self.height))
        if modulus is None:
            body.add_shape(self.shape, **self.lengths)
            ellipsoid = (1.0, 1.0, self.e_r) if self.is_given else None
            scene.set_contact_law("body", "ground", "equivalent_point", friction_ellipsoid=ellipsoid)
        else:
            soft: dict[str, Any] = {"compliance": "compliant", "modulus": modulus, "dissipation": DISSIPATION}
            body.add_shape(self.shape, **self.lengths, **soft)
        return World(scene.build())


SIDE, HEIGHT = 0.2, 0.1
#: Mean distance of the points of a unit square from its middle.
MEAN_DISTANCE = (math.sqrt(2.0) + math.log(1.0 + math.sqrt(2.0))) / 6.0
SQUARE = Sliding(
    "box",
    {"size": (SIDE, SIDE, HEIGHT)},
    HEIGHT / 2.0,
    1.0,
    ((SIDE**2 + HEIGHT**2) / 12.0, (SIDE**2 + HEIGHT**2) / 12.0, SIDE**2 / 6.0),
    0.3,
    SIDE * MEAN_DISTANCE,
)
#: A tall box that is pushed, and the height at which it is, m.
TALL = Sliding("box", {"size": (SIDE, SIDE, 0.4)}, 0.2, 1.0, (0.02, 0.02, 0.02), 2.0, SIDE * MEAN_DISTANCE)
PUSHED_AT = 0.3
TIPPING_FORCE = TALL.mass * GRAVITY * SIDE / (2.0 * PUSHED_AT)
SHARES = (0.25, 0.5, 0.75)
_ACROSS = coin.MASS * (coin.RADIUS**2 / 4.0 + coin.THICKNESS**2 / 12.0)
COIN = Sliding(
    "cylinder",
    {"radius": coin.RADIUS, "length": coin.THICKNESS},
    coin.THICKNESS / 2.0,
    coin.MASS,
    (_ACROSS, _ACROSS, coin.MASS * coin.RADIUS**2 / 2.0),
    coin.FRICTION,
    2.0 * coin.RADIUS / 3.0,
)
#: A disc that spins on the spot; its edges are what the moment of its pressure field is exact to.
DISC = Sliding(
    "cylinder",
    {"radius": 0.1, "length": 0.1, "resolution_hint": 0.005},
    0.05,
    1.0,
    (0.005, 0.005, 0.005),
    0.3,
    0.2 / 3.0,
)
#: Speeds at the start (m/s, rad/s) and time (s), in which neither motion ends.
SQUARE_START, SQUARE_TIME = (0.8, 12.0), 0.24
COIN_START, COIN_TIME = (0.3, 20.0), 0.12
#: What the coin turns with falls as this power of what it slides with.
COIN_EXPONENT = 8.0 / 9.0
#: Spin on the spot, rad/s, time, s, and the moduli of soft bodies, Pa.
SPIN, SPIN_TIME = 20.0, 0.02
MODULI = (1e6, 1e7, 1e8)
#: Time steps of which the second is half the first, s; one with which soft bodies come to rest sooner, and the time for
#: that, s; dissipation, s/m, and stiction speed, m/s, of pressure fields.
TIME_STEPS = (1e-3, 5e-4)
RESTING_STEP, SETTLING, DISSIPATION, STICTION_SPEED = 5e-3, 1.0, 50.0, 1e-6
#: Bounds: on the point, m, by the share of what tips; relative, on the force that tips, which is found to
#: ``TIPPING_RESOLUTION``, and on moments at a point.
POINT_BOUNDS, TIPPING_BOUND, MOMENT_BOUND = {0.25: 3e-15, 0.5: 2.5e-13, 0.75: 8e-14}, 1.4e-9, 5e-14
TIPPING_RESOLUTION = 1e-9
#: Bounds by body: relative, on speeds at the end; on the order in the step. And on the exponent.
END_BOUNDS, ORDER_BOUNDS, EXPONENT_BOUND = (
    {"square": 9e-8, "coin": 2.3e-6},
    {"square": 0.0028, "coin": 0.0075},
    1e-4,
)
SOFT_ORDER_BOUND, SOFT_BOUND = 5e-5, 5e-4


def rates(body: Sliding, v: Array, w: float) -> tuple[Array, float, Array]:
    """Rates of change (m/s^2, rad/s^2) of a body that slides with v (2,) and w, and the place of its point (2,), m."""
    c, turning = body.friction * body.height * w, (body.e_r * w) ** 2
    half = 0.5 * (v @ v + turning - c * c)
    S = math.sqrt(half + math.sqrt(half * half + turning * c * c))
    k = c / S
    v_a = (v + k * np.array([-v[1], v[0]])) / (1.0 + k * k)
    braking = body.friction * GRAVITY / S
    moment = braking * body.mass * body.e_r**2 * w
    return -braking * v_a, -moment / body.inertia[2], body.friction * body.height / S * v_a


def integrate(body: Sliding, start: tuple[float, float], times: Array) -> Array:
    """Velocities (N, 3) v_x, v_y and w at some times of a body that starts along x."""

    def slope(_: float, y: Array) -> Array:
        acceleration, turning, _point = rates(body, y[:2], float(y[2]))
        return np.array([*acceleration, turning])

    begin = np.array([start[0], 0.0, start[1]])
    return np.asarray(solve_ivp(slope, (0.0, times[-1]), begin, t_eval=times, rtol=1e-10, atol=1e-12).y.T)


def slide_in_world(body: Sliding, start: tuple[float, float], duration: float, time_step: float) -> Array:
    """Velocities (N, 3) at the ends of the simulator's steps, of a body at one point."""
    world = body.world(time_step)
    world.place("body", V_WB=[0.0, 0.0, start[1], start[0], 0.0, 0.0])
    rows = []
    for _ in range(round(duration / time_step)):
        world.step()
        rows.append(world.v[[3, 4, 2]])
    return np.array(rows)


def run(moduli: tuple[float, ...] = MODULI) -> ExperimentReport:
    """Push, slide and spin boxes and a coin at one point, and soft boxes.

    Args:
        moduli: Of the soft boxes, Pa, growing.
    """
    parts = [
        tip(moduli),
        slide_and_turn("square", SQUARE, SQUARE_START, SQUARE_TIME),
        slide_and_turn("coin", COIN, COIN_START, COIN_TIME, COIN_EXPONENT),
        spin(moduli),
    ]
    comparisons = [comparison for part, _ in parts for comparison in part]
    series = {name: column for _, columns in parts for name, column in columns.items()}
    series["modulus"] = list(moduli)
    return ExperimentReport("A box at one equivalent contact point", SOURCE, tuple(comparisons), series)


Part = tuple[list[Comparison], dict[str, list[float]]]


def tip(moduli: tuple[float, ...]) -> Part:
    """Where the weight is borne under a push, at a point and by pressure fields, and the force that tips."""
    expected = [share * SIDE / 2.0 for share in SHARES]
    points = [_borne_at(TALL.world(RESTING_STEP), share) for share in SHARES]
    soft = [[_borne_at(TALL.world(RESTING_STEP, modulus), share) for share in SHARES] for modulus in moduli]
    apart = [abs(row[1] - points[1]) for row in soft]
    comparisons = [
        Comparison(
            f"the point, pushed by {share:g} of what tips", "m", place, point, POINT_BOUNDS[share], "absolute"
        )
        for share, place, point in zip(SHARES, expected, points, strict=True)
    ]
    comparisons += [
        Comparison("force that tips", "N", TIPPING_FORCE, tipping_force(), TIPPING_BOUND, "relative"),
        _order("where soft boxes bear it less the point", moduli, apart),
    ]
    series = {"share": list(SHARES), "point": points, "soft box less the point": apart}
    return comparisons, series | {f"borne at, {m:g} Pa": row for m, row in zip(moduli, soft, strict=True)}


def _borne_at(world: World, share: float) -> float:
    """Where the tall box bears its weight, pushed by a share of what tips it: from its underside's middle, m."""
    force = share * TIPPING_FORCE
    # At rest first: what sinks in tilts.
    world.step(round(SETTLING / world.time_step))
    world.apply_wrench("body", [0.0, force * (PUSHED_AT - TALL.height), 0.0, force, 0.0, 0.0])
    world.step(round(SETTLING / world.time_step))
    (patch,) = world.contacts
    X_WB = world.frame_pose("body")
    middle = X_WB[:3, 3] - TALL.height * X_WB[:3, 2]
    return float(contact_point(patch)[0] - middle[0])


def tipping_force() -> float:
    """The force at which the tall box begins to turn in the simulator, N, by bisection."""
    low, high = 0.0, 2.0 * TIPPING_FORCE
    while high - low > TIPPING_RESOLUTION * TIPPING_FORCE:
        force = 0.5 * (low + high)
        world = TALL.world(TIME_STEPS[1])
        world.apply_wrench("body", [0.0, force * (PUSHED_AT - TALL.height), 0.0, force, 0.0, 0.0])
        world.step(5)
        low, high = (low, force) if abs(world.v[1]) > 1e-11 else (force, high)
    return 0.5 * (low + high)


def slide_and_turn(
    name: str, body: Sliding, start: tuple[float, float], duration: float, exponent: float | None = None
) -> Part:
    """A body that slides and turns, by the rates of change and in the simulator.

    Where the turning is known to fall as a power of the sliding, its ``exponent`` is compared too.
    """
    coarse, fine = (slide_in_world(body, start, duration, time_step) for time_step in TIME_STEPS)
    times: Array = TIME_STEPS[1] * np.arange(1.0, len(fine) + 1)
    exact = integrate(body, start, times)
    extrapolated = 2.0 * fine[-1] - coarse[-1]
    size = np.array([start[0], start[0], start[1]])
    errors = np.abs((coarse[-1] - exact[-1]) / size).max(), np.abs((fine[-1] - exact[-1]) / size).max()
    comparisons = [
        Comparison(
            f"{what} of the {name} at the end",
            unit,
            exact[-1, i],
            extrapolated[i],
            END_BOUNDS[name],
            "relative",
        )
        for what, unit, i in (("v_x", "m/s", 0), ("ω_z", "rad/s", 2))
    ]
    comparisons.append(
        Comparison(
            f"order in the step, {name}",
            "",
            1.0,
            math.log2(errors[0] / errors[1]),
            ORDER_BOUNDS[name],
            "absolute",
        )
    )
    if exponent is not None:
        what = f"exponent of ω over that of v, {name}"
        found = math.log(extrapolated[2] / start[1]) / math.log(extrapolated[0] / start[0])
        comparisons.append(Comparison(what, "", exponent, found, EXPONENT_BOUND, "absolute"))
    series = {f"time, {name}": times.tolist()}
    for i, what in ((0, "v_x"), (1, "v_y"), (2, "ω_z")):
        series[f"{what}, {name}"], series[f"{what}, {name}, exact"] = (
            fine[:, i].tolist(),
            exact[:, i].tolist(),
        )
    return comparisons, series


def spin(moduli: tuple[float, ...]) -> Part:
    """What brakes a square and a disc on the spot, at a point and by pressure fields."""
    square = _braking_moment(replace(SQUARE, is_given=False))
    disc = _braking_moment(DISC)
    soft = [_braking_moment(DISC, modulus) for modulus in moduli]
    comparisons = [
        Comparison(
            "moment that brakes the square on the spot",
            "N m",
            _moment(SQUARE),
            square,
            MOMENT_BOUND,
            "relative",
        ),
        Comparison("moment that brakes the disc", "N m", _moment(DISC), disc, MOMENT_BOUND, "relative"),
        Comparison(
            f"the same of a soft one, {moduli[-1]:g} Pa", "N m", disc, soft[-1], SOFT_BOUND, "relative"
        ),
    ]
    return comparisons, {"soft moment less that at the point": [abs(moment - disc) for moment in soft]}


def _moment(body: Sliding) -> float:
    """Moment of friction about the vertical at rest of the centre of mass, N m."""
    return body.friction * body.mass * GRAVITY * body.e_r


def _braking_moment(body: Sliding, modulus: float | None = None) -> float:
    world = body.world(TIME_STEPS[1], modulus)
    world.step(round(SETTLING / world.time_step))
    world.place("body", world.frame_pose("body"), [0.0, 0.0, SPIN, 0.0, 0.0, 0.0])
    world.step(round(SPIN_TIME / world.time_step))
    return float((SPIN - world.v[2]) * body.inertia[2] / SPIN_TIME)


def _order(quantity: str, moduli: tuple[float, ...], differences: list[float]) -> Comparison:
    order = -math.log(differences[-1] / differences[-2]) / math.log(moduli[-1] / moduli[-2])
    return Comparison(f"order in softness: {quantity}", "", 1.0, order, SOFT_ORDER_BOUND, "absolute")


# --- picture

_BLUE, _RED, _GREY = "#1f5fa8", "#c44e24", "#555555"
_Corner = Literal["lower left", "lower right"]
_SOFT = ("#c9a227", "#7a9a3a", "#3a7d6b")


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot where the weight is borne, speeds of square and coin, and what soft bodies differ by.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    with figure(path, 8.2, 3.2) as canvas:
        borne, speeds, soft = canvas.subplots(1, 3)
        _plot_borne(borne, series)
        _plot_speeds(speeds, series)
        _plot_soft(soft, series)
        canvas.suptitle(report.title, fontsize="medium")


def _plot_borne(axes: Axes, series: dict[str, Array]) -> None:
    axes.plot([0.0, 1.0], [0.0, 500.0 * SIDE], color=_GREY, lw=1.0, label="statics")
    for modulus, colour in zip(series["modulus"], _SOFT, strict=False):
        places = 1e3 * series[f"borne at, {modulus:g} Pa"]
        axes.plot(series["share"], places, "^--", color=colour, ms=4, lw=0.8, label=f"{modulus:.0e} Pa")
    axes.plot(series["share"], 1e3 * series["point"], "o", color=_RED, ms=5, label="point")
    axes.axhline(500.0 * SIDE, color=_GREY, ls=":", lw=1.0)
    axes.text(0.02, 500.0 * SIDE + 2.0, "edge: it tips", fontsize="small", color=_GREY)
    axes.set_ylim(0.0, 560.0 * SIDE)
    _finish(
        axes,
        "where a pushed box bears its weight",
        "force, of what tips it",
        "from the middle [mm]",
        "lower right",
    )


def _plot_speeds(axes: Axes, series: dict[str, Array]) -> None:
    for name, start, colour in (("square", SQUARE_START, _BLUE), ("coin", COIN_START, _RED)):
        times = series[f"time, {name}"]
        few = np.linspace(0, len(times) - 1, 9).astype(int)
        for what, size, line in (("v_x", start[0], "-"), ("ω_z", start[1], "--")):
            axes.plot(
                times,
                series[f"{what}, {name}, exact"] / size,
                line,
                color=colour,
                lw=1.2,
                label=f"{what}, {name}",
            )
            axes.plot(times[few], series[f"{what}, {name}"][few] / size, "o", color=colour, ms=3)
    axes.set_ylim(0.0, 1.02)
    _finish(axes, "sliding and turning", "time [s] (dots: simulator)", "of that at the start", "lower right")


def _plot_soft(axes: Axes, series: dict[str, Array]) -> None:
    moduli, scale = series["modulus"], {"tilts": SIDE / 2.0, "spins": _moment(DISC)}
    for key, name, colour in (
        ("soft box less the point", "tilts", _BLUE),
        ("soft moment less that at the point", "spins", _RED),
    ):
        label = {"tilts": "pushed box: bearing place", "spins": "spinning disc, edges of 5 mm"}[name]
        axes.loglog(moduli, series[key] / scale[name], "o-", color=colour, ms=4, lw=1.2, label=label)
    last = series["soft box less the point"][-1] / scale["tilts"]
    axes.loglog(moduli, last * moduli[-1] / moduli, ":", color=_GREY, lw=1.0)
    axes.set_ylim(bottom=1e-6)
    _finish(axes, "soft bodies less the point", "modulus [Pa]", "relative", "lower left")


def _finish(axes: Axes, title: str, x: str, y: str, legend: _Corner) -> None:
    """Write the title, the names of the axes, and the legend into a corner."""
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(frameon=False, fontsize="small", loc=legend)
    axes.grid(alpha=0.3)
