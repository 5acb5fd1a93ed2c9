"""Contact patches compared with contact points: torsional friction and rolling resistance.

Grip: the spatula in the secure grasp of ``spatula_slip``. Once the bubbles have closed, each patch is reduced to one
point: its centre of pressure, its mean normal, the whole grip force. Two such points are a hinge, so the spatula swings
like a pendulum; the patches hold it by torsional friction. This uses a small simulation of the held body alone
(``point_grip``), because a World has patches only; its rotation is compared with the pendulum's equation, which
verifies that simulation and not a World. The rotation with patches is that of a World.

Pads: the grip of a World converges to that of points as its pads shrink. A bar swings between flat pads, which slip at
2/3 mu F a each, so its rotation converges to that between points at first order in the pads' radius a (``pad_grip``).

Torsion: patches slip at a moment of mu times the integral of pressure times radius: 2/3 mu F R for the uniform pressure
under a flat disc, and 8/15 mu F a for the paraboloid under a shallow ball, where Hertz's ellipsoid has 3 pi/16 mu F a.

Rolling: with dissipation d the pressure is 1 - d v_n times the elastic one, larger in front of a rolling ball and
smaller behind it. That is a moment of d omega times the integral of pressure times the squared distance along the way.

A point has no radius and transmits no moment. A ball on a point spins and rolls for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.moments import second_moments
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments import pad_grip
from hydro_sim_core.experiments.point_grip import HeldBody, pendulum, reduce_patch, step
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.resting_body import RestingBody
from hydro_sim_core.experiments.spatula_slip import CLOSING_TIME, GRASP, make_world, pitch
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.assembly.pairs import mixed_friction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = (
    "closed forms: a pendulum hinged at the two points; pressure times radius integrated over a true disc and ball; "
    "Hunt-Crossley damping integrated over a rolling ball"
)
SCENE = "spatula_slip_welded"
HOLDING_TIME = 4.0
SAMPLE_TIME = 0.01
#: Start of the loose grasp, once the fingers have come to rest after the release, s.
LOOSE_AT = GRASP.duty * GRASP.period + CLOSING_TIME

RADIUS = 0.05
MASS = 1.0
FRICTION = 0.5
MODULUS = 2e5
#: Resolves the ball's patch with some 400 faces, and the disc's rim within 1e-4 of its radius.
RESOLUTION = 0.004
TIME_STEP = 1e-4
DISC = RestingBody(
    shape="cylinder",
    lengths={"radius": RADIUS, "length": 0.02},
    height=0.01,
    mass=MASS,
    moment_of_inertia=0.5 * MASS * RADIUS**2,
    modulus=MODULUS,
    friction=FRICTION,
    dissipation=50.0,
    resolution=RESOLUTION,
    time_step=TIME_STEP,
)
BALL = RestingBody(
    shape="sphere",
    lengths={"radius": RADIUS},
    height=RADIUS,
    mass=MASS,
    moment_of_inertia=0.4 * MASS * RADIUS**2,
    modulus=MODULUS,
    friction=FRICTION,
    dissipation=5.0,
    resolution=RESOLUTION,
    time_step=TIME_STEP,
)
#: Initial spin, rad/s, and observed time, s. Stiction reaches 1e-4 m/s, a few thousandths of the rim's speed.
SPIN = 10.0
SPINNING_TIME = 0.05
ROLL = 4.0
ROLLING_TIME = 0.5

#: Radii of the pads between which a bar swings, m, and duration, s: to the vertical, between points. A quarter of it is
#: enough to tell the moment of friction.
PAD_RADII = (2e-3, 1e-3, 5e-4, 2.5e-4)
SWINGING_TIME, SHORT_SWINGING_TIME = 0.2, 0.05

#: Bound on the rotation of a secure grasp, which creeps, as a share of the pendulum's.
HELD_SHARE, SHORT_HELD_SHARE = 0.005, 0.018
PENDULUM_BOUND, SHORT_PENDULUM_BOUND = 4.3e-4, 1.9e-3
#: Bounds on slipping moments: of the disc, of the ball, and of the ball beside its own faces.
DISC_BOUND, BALL_BOUND, FACES_BOUND = 0.0044, 0.006, 3e-5
#: Bounds on the slipping moments of pads, by the order of ``PAD_RADII``; a grip that is off by 1 % is noticed.
PAD_BOUNDS, SHORT_PAD_BOUNDS = (0.002, 0.002, 0.002, 0.0013), (0.003, 0.003, 0.004, 0.006)
PAD_ORDER_BOUND, PAD_LIMIT_BOUND = 0.016, 5e-4
#: Bound on the rolling decay. With this step and mesh the deviation is 1.1 %, of first order in the step, whose elastic
#: force is that of its end, and of second order in the edges.
ROLLING_BOUND = 0.025


def run(holding_time: float = HOLDING_TIME, swinging_time: float = SWINGING_TIME) -> ExperimentReport:
    """Hold a spatula and a bar with patches and with points, spin a disc and a ball, roll the ball.

    Args:
        holding_time: Simulated time of the grip, s.
        swinging_time: Simulated time of the bar between pads, s.

    Raises:
        InputError: The shipped scene is missing.
    """
    parts = [_grip(holding_time), _loose_grip(), _pads(swinging_time), _spin_disc(), _ball()]
    comparisons = [comparison for part, _ in parts for comparison in part]
    series = {name: column for _, columns in parts for name, column in columns.items()}
    return ExperimentReport("Contact patches beside contact points", SOURCE, tuple(comparisons), series)


Part = tuple[list[Comparison], dict[str, list[float]]]


def _grip(duration: float) -> Part:
    world = make_world(SCENE)
    world.step(round(CLOSING_TIME / world.time_step))
    gravity = np.array(world.scene.spec.gravity)
    points = [reduce_patch(patch, "spatula", GRASP.high) for patch in world.contacts]
    body = _spatula(world)
    times = np.linspace(0.0, duration, round(duration / SAMPLE_TIME) + 1)
    hinged = pendulum(body, points, gravity, times)
    capacity = _capacity_share(world)

    start = pitch(world)
    friction, stiction_speed = _friction(world), world.scene.spec.solver.stiction_speed
    every = round(SAMPLE_TIME / world.time_step)
    with_patches, with_points = [0.0], [0.0]
    for _ in times[1:]:
        world.step(every)
        with_patches.append(pitch(world) - start)
        for _ in range(every):
            step(body, points, gravity, friction, stiction_speed, world.time_step)
        with_points.append(math.atan2(body.R_WB[2, 1], body.R_WB[2, 2]) - start)
    share = with_patches[-1] / with_points[-1]
    # In a shorter time the start, as a grasp settles, counts for more.
    bounds = (
        (PENDULUM_BOUND, HELD_SHARE) if duration >= HOLDING_TIME else (SHORT_PENDULUM_BOUND, SHORT_HELD_SHARE)
    )
    comparisons = [
        Comparison(
            f"turn in {duration:g} s on points",
            "rad",
            hinged[-1],
            with_points[-1],
            bounds[0],
            "relative",
        ),
        Comparison("turn on patches over turn on points", "", 0.0, share, bounds[1], "absolute"),
        Comparison(
            f"torsional friction over moment of gravity, {GRASP.high:g} N", "", 1.0, capacity, 0.0, "at_least"
        ),
    ]
    return comparisons, {
        "time": times.tolist(),
        "turn, patches": with_patches,
        "turn, points": with_points,
        "turn, pendulum": hinged.tolist(),
    }


def _loose_grip() -> Part:
    world = make_world(SCENE)
    world.step(round(LOOSE_AT / world.time_step))
    name = f"torsional friction over moment of gravity, {GRASP.low:g} N"
    return [Comparison(name, "", 1.0, _capacity_share(world), 0.0, "at_most")], {}


BAR_ON_POINTS = "turn, bar on points"


def _pads(duration: float) -> Part:
    """Compare a bar that swings between pads of several sizes, and between points."""
    series: dict[str, list[float]] = {}
    moments, turns = [], []
    for radius in PAD_RADII:
        series["time, pads"], angles = pad_grip.swing(pad_grip.make_world(radius), duration, 50)
        series[_pad_turn(radius)] = angles
        moments.append(pad_grip.moment_of_turn(angles[-1], duration))
        turns.append(angles[-1])
    series[BAR_ON_POINTS] = pad_grip.swing_on_points(series["time, pads"])
    points = series[BAR_ON_POINTS][-1]
    order = math.log((points - turns[-2]) / (points - turns[-1])) / math.log(PAD_RADII[-2] / PAD_RADII[-1])
    limit = float(np.polyfit(PAD_RADII, turns, len(PAD_RADII) - 1)[-1])
    bounds = PAD_BOUNDS if duration >= SWINGING_TIME else SHORT_PAD_BOUNDS
    comparisons = [
        Comparison(
            f"slipping moment of pads of {1e3 * radius:g} mm",
            "N m",
            pad_grip.slipping_moment(radius),
            moment,
            bound,
            "relative",
        )
        for radius, moment, bound in zip(PAD_RADII, moments, bounds[: len(moments)], strict=True)
    ]
    comparisons += [
        Comparison(
            "order in the radius, turn on pads to that on points", "", 1.0, order, PAD_ORDER_BOUND, "absolute"
        ),
        Comparison(
            "turn on pads of no size, extrapolated", "rad", points, limit, PAD_LIMIT_BOUND, "relative"
        ),
    ]
    return comparisons, series


def _pad_turn(radius: float) -> str:
    return f"turn, pads of {1e3 * radius:g} mm"


def _spatula(world: World) -> HeldBody:
    (link,) = (link for robot in world.scene.robots for link in robot.links if link.name == "spatula")
    assert link.inertial is not None
    return HeldBody.at_rest(link.inertial, world.frame_pose("spatula"))


def _friction(world: World) -> float:
    """Coefficient of friction of fingers and spatula, equal for both fingers."""
    friction = {collider.link: collider.proximity.mu_dynamic or 0.0 for collider in world.built.colliders}
    return float(mixed_friction(friction["left_finger"], friction["spatula"]))


def _capacity_share(world: World) -> float:
    """Largest moment of the fingers' friction about their axis over that of the spatula's weight."""
    patches = world.contacts
    spatula = _spatula(world)
    middle = np.mean([patch.centroid for patch in patches], axis=0)
    weight = spatula.mass * np.array(world.scene.spec.gravity)
    axis = patches[1].centroid - patches[0].centroid
    moment = np.cross(spatula.p_WBo - middle, weight) @ axis / np.linalg.norm(axis)
    capacity = _friction(world) * sum(torsional_capacity(patch) for patch in patches)
    return float(capacity / abs(moment))


def torsional_capacity(patch: ContactPatch) -> float:
    """Slipping moment at friction 1, N m, with each face at its centre of pressure, as where there are many."""
    axis = patch.normal_force_on_b / np.linalg.norm(patch.normal_force_on_b)
    forces = patch.areas * np.maximum(patch.pressures, 0.0)
    firsts = np.einsum("fij,fj->fi", second_moments(patch.faces), patch.faces.field_gradients)
    ways = np.divide(firsts, forces[:, None], out=np.zeros_like(firsts), where=forces[:, None] > 0.0)
    arms = patch.centroids + ways - patch.centroid
    radii = np.linalg.norm(arms - np.outer(arms @ axis, axis), axis=1)
    return float(radii @ forces)


def _spin_disc() -> Part:
    expected = 2.0 / 3.0 * FRICTION * DISC.weight * RADIUS
    moment, times, speeds = _spin(DISC, DISC.settled_world())
    comparison = Comparison("slipping moment of the disc", "N m", expected, moment, DISC_BOUND, "relative")
    return [comparison], {"time, spin": times, "spin, disc": speeds}


def _ball() -> Part:
    world = BALL.settled_world()
    rest = world.q
    ideal = ideal_ball(BALL)
    (patch,) = world.contacts
    integral = FRICTION * torsional_capacity(patch)
    moment, _, spin = _spin(BALL, world)
    world.set_state(rest, np.zeros(6))
    rate, times, rolling = _roll(BALL, world)
    comparisons = [
        Comparison("slipping moment of the ball", "N m", ideal.torsion, moment, BALL_BOUND, "relative"),
        Comparison("the same over the patch's faces", "N m", integral, moment, FACES_BOUND, "relative"),
        Comparison(
            "decay of the ball's rolling", "1/s", ideal.rolling_decay, rate, ROLLING_BOUND, "relative"
        ),
    ]
    decay = (ROLL * np.exp(-ideal.rolling_decay * np.array(times))).tolist()
    return comparisons, {
        "spin, ball": spin,
        "time, rolling": times,
        "rolling, ball": rolling,
        "rolling, closed form": decay,
    }


@dataclass(frozen=True)
class IdealBall:
    """Closed forms of an exact ball on rigid ground.

    Attributes:
        torsion: Moment at which it slips, N m.
        rolling_decay: Decay rate of its rolling, 1/s.
    """

    torsion: float
    rolling_decay: float


def ideal_ball(ball: RestingBody) -> IdealBall:
    """Integrate the pressure E (1 - r / R) over the disc in which the ground intersects the ball."""
    radius = ball.lengths["radius"]

    def moment(height: float, power: int) -> float:
        """Integral of pressure times a power of the distance from the centre over the patch."""
        reach = math.sqrt(radius**2 - height**2)
        return quad(
            lambda r: (
                2.0 * math.pi * ball.modulus * (1.0 - math.hypot(r, height) / radius) * r ** (power + 1)
            ),
            0.0,
            reach,
        )[0]

    height = brentq(lambda h: moment(h, 0) - ball.weight, 0.5 * radius, radius, xtol=1e-12)
    # The mean squared distance along one direction is half of the squared radius.
    resistance = 0.5 * ball.dissipation * moment(height, 2)
    return IdealBall(
        torsion=ball.friction * moment(height, 1),
        rolling_decay=resistance / (ball.moment_of_inertia + ball.mass * height**2),
    )


def _spin(body: RestingBody, world: World) -> tuple[float, list[float], list[float]]:
    """Moment (N m) that decelerates a settled body's spin about the vertical; times (s) and speeds (rad/s)."""
    world.set_state(world.q, [0.0, 0.0, SPIN, 0.0, 0.0, 0.0])
    times, speeds = _watch(world, SPINNING_TIME, 2)
    return -body.moment_of_inertia * float(np.polyfit(times, speeds, 1)[0]), times, speeds


def _roll(body: RestingBody, world: World) -> tuple[float, list[float], list[float]]:
    """Decay rate (1/s) of a settled ball's rolling along x; times (s) and speeds (rad/s)."""
    height = world.q[6]
    world.set_state(world.q, [0.0, ROLL, 0.0, ROLL * height, 0.0, 0.0])
    times, speeds = _watch(world, ROLLING_TIME, 1)
    return -float(np.polyfit(times, np.log(speeds), 1)[0]), times, speeds


def _watch(world: World, duration: float, component: int) -> tuple[list[float], list[float]]:
    """One component of the velocity over time, 50 samples."""
    every = round(duration / 50 / world.time_step)
    begin = world.time
    times, speeds = [0.0], [float(world.v[component])]
    for _ in range(50):
        world.step(every)
        times.append(world.time - begin)
        speeds.append(float(world.v[component]))
    return times, speeds


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot rotations in the grip and between pads, and speeds of spinning and rolling, with patches and points.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = report.series
    blue, red = "#1f5fa8", "#c44e24"
    with figure(path, 8.0, 6.4) as canvas:
        (grip, pads), (spin, rolling) = canvas.subplots(2, 2)
        grip.plot(series["time"], series["turn, points"], color=red, label="points")
        grip.plot(series["time"], series["turn, pendulum"], ":", color="k", label="pendulum")
        grip.plot(series["time"], series["turn, patches"], color=blue, label="patches")
        grip.set_title(f"spatula held with {GRASP.high:g} N")
        grip.set_ylabel("turn in the grip [rad]")
        _plot_pads(pads, series)
        for name, style, body in (("disc", "-", DISC), ("ball", "--", BALL)):
            spin.plot(
                series["time, spin"], series[f"spin, {name}"], style, color=blue, label=f"{name}, patch"
            )
            moment = next(c.reference for c in report.comparisons if c.quantity.endswith(f"of the {name}"))
            slope = moment / body.moment_of_inertia
            closed = SPIN - slope * np.array(series["time, spin"])
            spin.plot(series["time, spin"][::5], closed[::5], "o", ms=3, color="k")
        spin.plot([], [], "o", ms=3, color="k", label="closed form")
        spin.axhline(SPIN, color=red, label="either on a point: no moment")
        spin.set_title("spinning on the ground")
        spin.set_ylabel("speed [rad/s]")
        spin.set_ylim(bottom=0.0)
        rolling.plot(series["time, rolling"], series["rolling, ball"], color=blue, label="ball, patch")
        rolling.plot(
            series["time, rolling"][::5],
            series["rolling, closed form"][::5],
            "o",
            ms=3,
            color="k",
            label="closed form",
        )
        rolling.axhline(ROLL, color=red, label="on a point: no moment")
        rolling.set_title("rolling on the ground")
        rolling.set_ylabel("speed [rad/s]")
        rolling.set_ylim(bottom=0.0)
        for axes in canvas.axes:
            axes.set_xlabel("time [s]")
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="small")
        canvas.suptitle(report.title)


def _plot_pads(axes: Axes, series: dict[str, list[float]]) -> None:
    """Plot the rotation of the bar, darker for larger pads."""
    time = series["time, pads"]
    for radius, share in zip(PAD_RADII, np.linspace(1.0, 0.35, len(PAD_RADII)), strict=True):
        label = f"pads of {1e3 * radius:g} mm"
        axes.plot(time, series[_pad_turn(radius)], color="#1f5fa8", alpha=share, label=label)
    axes.plot(time, series[BAR_ON_POINTS], ":", color="#c44e24", label="points")
    axes.set_xticks(np.linspace(0.0, time[-1], 5))
    axes.set_title("a bar swings between pads")
    axes.set_ylabel("turn [rad]")
