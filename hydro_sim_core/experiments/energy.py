"""Contact without damping and friction returns the energy that it takes (Elandt 2019, section X-A).

The elastic wrench derives from a stored energy, so a bouncing ball conserves energy: with accurate time integration,
the sum of kinetic, potential and stored energy is constant for a hundred bounces.

Convex steps of fixed length dt dissipate energy and never add any: implicit Euler loses m a^2 dt^2 / 2 of kinetic and k
v^2 dt^2 / 2 of stored energy per step. The stiffness k changes the force at the rate -k v, so over a cycle that begins
and ends at rest in the air both losses are equal, m dt / 2 times the integral of a^2 over time. The share lost is
therefore proportional to dt, and known without a simulation with such steps.

Balls that turn, slide and hit off centre are compared with closed forms of rigid-body mechanics, which the program does
not use. A ball that slides on the ground finally rolls with 5/7 of its speed for any friction, and has lost 2/7 of its
energy. A ball with its centre of mass at a distance r from its geometric centre spins after a frictionless bounce,
whose impulse is 2 m v / (1 + m r^2 / I). A ball that grazes the ground and slides throughout gains the spin 5 mu v / R.
Of two equal balls in an elastic collision, the one at rest leaves along the line of centres, and the directions are
perpendicular; friction turns its path by atan(mu) and spins it. A ball of finite stiffness sinks in, which shortens
lever arms and turns lines of centres by some thousandths.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments import turning_balls
from hydro_sim_core.experiments.balls import GRAVITY, MASS, RADIUS, Balls, Model, energies
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = "conservation of energy; mechanics of rigid bodies; Elandt 2019, section X-A"
Array = NDArray[np.float64]

#: Modulus of the ball, Pa, and height of its drop, m.
MODULUS, DROP = 1e5, 0.05
DROPPED_ENERGY = MASS * GRAVITY * DROP
BOUNCES = 100
#: Edge length of its mesh, m, and accuracy of the continuous model.
RESOLUTION, ACCURACY = 0.03, 1e-5
#: Hunt-Crossley damping of the contact, s/m.
DISSIPATION = 0.0
#: Time step of the continuous model, s, only the interval between reported states; shorter during a bounce.
REPORTED, REPORTED_OFTEN = 5e-3, 2e-4
#: Time steps of the convex models, s; with short steps the loss is nearly first order.
CONVEX_STEP, SHORT_STEP = 1e-3, 1e-4
#: Models and time steps (s) of the many bounces.
SERIES: dict[str, tuple[Model, float]] = {
    "continuous": ("continuous", REPORTED),
    "lagged, 0.1 ms": ("lagged", SHORT_STEP),
    "lagged, 1 ms": ("lagged", CONVEX_STEP),
}

#: Bounds on changes of energy, relative to the energy of the drop.
BOUNCE_BOUND = 3e-5
INSTANT_BOUND = 1e-8
GAIN_BOUND = 1e-9
#: Bound on the loss with short steps, relative to the first-order loss; each bounce loses 4 % of the energy.
LOSS_BOUND = 0.03


def run(bounces: int = BOUNCES) -> ExperimentReport:
    """Let a ball bounce, and others turn, slide and collide.

    Args:
        bounces: Number of bounces.
    """
    drift = {
        name: _energy_after_bounces(_drop(model, dt), bounces) / DROPPED_ENERGY - 1.0
        for name, (model, dt) in SERIES.items()
    }
    times, parts, squared_acceleration = _first_bounce(_drop("continuous", REPORTED_OFTEN))
    total = parts.sum(axis=0)
    exchange = float(np.abs(total / total[0] - 1.0).max())
    first_order_loss = MASS * SHORT_STEP * squared_acceleration / DROPPED_ENERGY
    comparisons = [
        _at_most(
            f"energy lost or gained in {bounces} bounces",
            float(np.abs(drift["continuous"]).max()),
            BOUNCE_BOUND,
        ),
        _at_most("energy lost or gained at any instant of a bounce", exchange, INSTANT_BOUND),
        *(
            _at_most(f"energy gained from bounce to bounce, {name}", _largest_gain(drift[name]), GAIN_BOUND)
            for name in SERIES
            if name != "continuous"
        ),
        Comparison(
            "share of the energy lost in a bounce, lagged, 0.1 ms",
            "%",
            100.0 * first_order_loss,
            -100.0 * float(drift["lagged, 0.1 ms"][0]),
            LOSS_BOUND,
            "relative",
        ),
    ]
    turning, rolling = turning_balls.compare()
    # As many instants as bounces, so that all columns have the same length.
    instants = np.linspace(times[0], times[-1], bounces)
    series = {
        "bounce": [float(i) for i in range(1, bounces + 1)],
        **{name: values.tolist() for name, values in drift.items()},
        "time": instants.tolist(),
    }
    for name, part in zip(("kinetic", "height", "stored"), parts, strict=True):
        series[name] = np.interp(instants, times, part).tolist()
    series |= rolling
    return ExperimentReport("Balls that bounce, turn and slide", SOURCE, (*comparisons, *turning), series)


def _at_most(quantity: str, measured: float, bound: float) -> Comparison:
    return Comparison(quantity, "", bound, measured, 0.0, "at_most")


def _largest_gain(drift: Array) -> float:
    return float(max(np.diff(drift, prepend=0.0).max(), 0.0))


def _energy_after_bounces(world: World, bounces: int) -> Array:
    """Energy (J) at the top of each flight, above that of a ball that touches the ground at rest."""
    left: list[float] = []
    rising = False
    while len(left) < bounces:
        world.step()
        if rising and world.v[5] <= 0.0:
            left.append(float(sum(energies(world, GRAVITY)[:2])))
        rising = bool(world.v[5] > 0.0)
    return np.array(left)


def _first_bounce(world: World) -> tuple[Array, Array, float]:
    """Times (n,) s and kinetic, potential and stored energy (3, n) J around the first bounce.

    Also the integral over time of the squared acceleration, m^2/s^3, from one top of the flight to the next.
    """
    times, parts, speeds = [], [], [0.0]
    while len(speeds) < 2 or not speeds[-2] > 0.0 >= speeds[-1]:
        world.step()
        speeds.append(float(world.v[5]))
        if world.q[6] < RADIUS + 0.1 * DROP:
            times.append(world.time)
            parts.append(energies(world, GRAVITY))
    squared_acceleration = float(np.square(np.diff(speeds)).sum()) / world.time_step
    return np.array(times), np.array(parts).T, squared_acceleration


def _drop(model: Model, dt: float) -> World:
    """A ball at rest above the ground."""
    balls = Balls(
        model, dt, MODULUS, dissipation=DISSIPATION, gravity=GRAVITY, resolution=RESOLUTION, accuracy=ACCURACY
    )
    return balls.world((0.0, 0.0, RADIUS + DROP))


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the energies during a bounce, the energy left after many, and the transition from sliding to rolling.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(column) for name, column in report.series.items()}
    with figure(path, 12.0, 3.8) as canvas:
        exchange, bounces, sliding = canvas.subplots(1, 3)
        _plot_exchange(exchange, series)
        _plot_bounces(bounces, series)
        _plot_sliding(sliding, series)
        for axes in (exchange, bounces, sliding):
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="small")


def _plot_exchange(axes: Axes, series: dict[str, Array]) -> None:
    milliseconds = 1e3 * (series["time"] - series["time"][0])
    parts = (("kinetic", "#1f5fa8"), ("height", "#7a7a7a"), ("stored", "#c44e24"))
    for name, colour in parts:
        axes.plot(milliseconds, series[name], color=colour, label=name)
    axes.plot(milliseconds, sum(series[name] for name, _ in parts), "k--", lw=1.2, label="sum")
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("energy [J]")
    axes.set_title("first bounce, continuous model", fontsize="medium")


def _plot_bounces(axes: Axes, series: dict[str, Array]) -> None:
    styles = (("#1f5fa8", "o"), ("#e39a3b", "^"), ("#c44e24", "s"))
    for name, (colour, marker) in zip(SERIES, styles, strict=True):
        axes.semilogy(series["bounce"], np.abs(series[name]), marker, ms=3, color=colour, label=name)
    axes.axhline(BOUNCE_BOUND, color="k", lw=1.0, ls=":", label="bound")
    axes.set_xlabel("bounces")
    axes.set_ylabel("relative change of energy")
    axes.set_title("a ball without damping", fontsize="medium")


def _plot_sliding(axes: Axes, series: dict[str, Array]) -> None:
    time, slowing = series["time, sliding"], turning_balls.ROLLING.friction * GRAVITY
    speed = turning_balls.SPEED
    axes.plot(1e3 * time, series["speed, sliding"], color="#1f5fa8", label="speed")
    axes.plot(1e3 * time, series["spin times radius, sliding"], color="#c44e24", label="spin × radius")
    closed = np.maximum(speed - slowing * time, 5.0 / 7.0 * speed)
    axes.plot(1e3 * time[::10], closed[::10], "o", ms=3, color="k", label="rigid ball")
    closed = np.minimum(2.5 * slowing * time, 5.0 / 7.0 * speed)
    axes.plot(1e3 * time[::10], closed[::10], "o", ms=3, color="k")
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("speed [m/s]")
    axes.set_title("sliding becomes rolling", fontsize="medium")
