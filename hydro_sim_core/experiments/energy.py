"""Contact without damping and friction returns the energy that it takes (Elandt et al. 2019, section X-A).

The elastic wrench derives from a stored energy, so a ball that bounces keeps what it has: kinetic energy, height and
stored energy add up to the same at every instant, for a hundred bounces, where the time integration has no error to
speak of. Whatever the law of friction, what one body of a colliding pair gains in momentum the other loses in the same
step.

Convex steps of fixed length dt take energy, and never give any: implicit Euler loses m a^2 dt^2 / 2 of kinetic and
k v^2 dt^2 / 2 of stored energy a step. The stiffness k changes the force at the rate -k v, so over a cycle that begins
and ends at rest in the air both halves add up to the same, m dt / 2 times the integral of a^2 over time. The share lost
is therefore proportional to dt, and known without a simulation in such steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import compute_patch
from hydro_sim_core.description import LoadedScene, SceneSpec
from hydro_sim_core.description.scene import (
    ContactDefaults,
    ContactSettings,
    ModelSpec,
    PoseSpec,
    SolverSettings,
)
from hydro_sim_core.description.spec import (
    CollisionSpec,
    InertialSpec,
    LinkSpec,
    ProximitySpec,
    RobotSpec,
    ShapeSpec,
)
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

SOURCE = "conservation of energy and momentum; Elandt et al., 'A pressure field model' (2019), section X-A"
Model = Literal["continuous", "lagged", "similar", "sap", "tamsi"]
Array = NDArray[np.float64]

GRAVITY = 9.81
#: Of the ball, m, kg and Pa; dropped from this height above the ground, m.
RADIUS, MASS, MODULUS, DROP = 0.1, 0.7, 1e5, 0.05
DROPPED_ENERGY = MASS * GRAVITY * DROP
BOUNCES = 100
#: Hunt-Crossley damping of the contact, s/m.
DISSIPATION = 0.0
#: Time step of the continuous model, which only says when states are reported, s; through a bounce more often.
REPORTED, REPORTED_OFTEN = 5e-3, 2e-4
#: Of the convex models, s; the loss in the shorter ones is near that of first order.
CONVEX_STEP, SHORT_STEP = 1e-3, 1e-4
CONVEX_MODELS: tuple[Model, ...] = ("lagged", "similar", "sap", "tamsi")
#: What bounces many times: model and time step (s).
SERIES: dict[str, tuple[Model, float]] = {
    "continuous": ("continuous", REPORTED),
    "lagged, 0.1 ms": ("lagged", SHORT_STEP),
    "lagged, 1 ms": ("lagged", CONVEX_STEP),
}

#: Largest changes of energy, relative to that of the drop; of momentum, relative to that of the pair.
BOUNCE_BOUND = 1e-4
INSTANT_BOUND = 1e-5
GAIN_BOUND = 1e-6
#: Of the loss in short steps, relative to that of first order; each bounce loses 4 % of the energy.
LOSS_BOUND = 0.03
MOMENTUM_BOUND = 1e-12
QUATERNION_BOUND = 1e-14


def run(bounces: int = BOUNCES) -> ExperimentReport:
    """Let a ball bounce and two balls collide.

    Args:
        bounces: How often the ball bounces.
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
    for model in CONVEX_MODELS:
        momentum, quaternion = _collision_errors(model)
        comparisons += [
            _at_most(f"momentum gained in a step, {model}", momentum, MOMENTUM_BOUND),
            _at_most(f"quaternions' deviation from unit length, {model}", quaternion, QUATERNION_BOUND),
        ]
    # As many instants as there are bounces, so that all columns have one length.
    instants = np.linspace(times[0], times[-1], bounces)
    series = {
        "bounce": [float(i) for i in range(1, bounces + 1)],
        **{name: values.tolist() for name, values in drift.items()},
        "time": instants.tolist(),
    }
    for name, part in zip(("kinetic", "height", "stored"), parts, strict=True):
        series[name] = np.interp(instants, times, part).tolist()
    return ExperimentReport("Energy and momentum", SOURCE, tuple(comparisons), series)


def _at_most(quantity: str, measured: float, bound: float) -> Comparison:
    return Comparison(quantity, "", bound, measured, 0.0, "at_most")


def _largest_gain(drift: Array) -> float:
    return float(max(np.diff(drift, prepend=0.0).max(), 0.0))


def _energy_after_bounces(world: World, bounces: int) -> Array:
    """Energy (J) at the top of each flight, above that of a ball that touches the ground at rest."""
    energies: list[float] = []
    rising = False
    while len(energies) < bounces:
        world.step()
        if rising and world.v[5] <= 0.0:
            energies.append(float(sum(_energies(world)[:2])))
        rising = bool(world.v[5] > 0.0)
    return np.array(energies)


def _first_bounce(world: World) -> tuple[Array, Array, float]:
    """Times (n,) s and kinetic, potential and stored energy (3, n) J around the first bounce.

    Also the integral over time of the squared acceleration, m^2/s^3, from one top of the flight to the next.
    """
    times, energies, speeds = [], [], [0.0]
    while len(speeds) < 2 or not speeds[-2] > 0.0 >= speeds[-1]:
        world.step()
        speeds.append(float(world.v[5]))
        if world.q[6] < RADIUS + 0.1 * DROP:
            times.append(world.time)
            energies.append(_energies(world))
    squared_acceleration = float(np.square(np.diff(speeds)).sum()) / world.time_step
    return np.array(times), np.array(energies).T, squared_acceleration


def _energies(world: World) -> tuple[float, float, float]:
    """Kinetic energy of the ball, energy of its height and energy stored in the contact, J."""
    kinetic = 0.5 * float(world.v @ world.mass_matrix() @ world.v)
    ball, ground = (collider.geometry for collider in world.built.colliders)
    stored = compute_patch(ball, world.frame_pose("ball0"), ground, np.eye(4)).energy
    return kinetic, MASS * GRAVITY * float(world.q[6] - RADIUS), stored


def _collision_errors(model: Model) -> tuple[float, float]:
    """Two spinning balls meet off centre: largest change of momentum in a step and of a quaternion's norm."""
    world = _world(model, CONVEX_STEP, ((-0.12, 0.0, 0.0), (0.1, 0.06, 0.02)), gravity=0.0, friction=0.5)
    world.set_state(world.q, [3.0, 1.0, -2.0, 1.0, 0.2, 0.0, -4.0, 2.0, 0.0, -2.0, 0.0, 0.1])
    evaluator = TreeEvaluator(world.built.model.tree)
    momentum = evaluator.update(world.q).momentum(world.v)
    scale, change, norm, touched = float(np.abs(momentum).max()), 0.0, 0.0, False
    for _ in range(60):
        before = momentum
        world.step()
        touched |= bool(world.contacts)
        momentum = evaluator.update(world.q).momentum(world.v)
        change = max(change, float(np.abs(momentum - before).max()))
        norms = (np.linalg.norm(world.q[first : first + 4]) for first in (0, 7))
        norm = max(norm, *(abs(float(length) - 1.0) for length in norms))
    assert touched, "the balls must meet for this to mean something"
    return change / scale, norm


def _drop(model: Model, dt: float) -> World:
    return _world(model, dt, ((0.0, 0.0, RADIUS + DROP),), gravity=GRAVITY, friction=0.0)


def _world(
    model: Model, dt: float, starts: Sequence[tuple[float, float, float]], gravity: float, friction: float
) -> World:
    """Compliant balls without damping, above rigid ground where there is gravity."""
    inertial = InertialSpec(MASS, np.zeros(3), 0.4 * MASS * RADIUS**2 * np.eye(3))
    names = [f"ball{i}" for i in range(len(starts))]
    balls = [
        RobotSpec(
            name,
            (LinkSpec(name, inertial, (CollisionSpec(name, ShapeSpec("sphere", (RADIUS,)), np.eye(4)),)),),
            (),
            name,
        )
        for name in names
    ]
    ground = CollisionSpec("ground", ShapeSpec("half_space"), np.eye(4), ProximitySpec(compliance="rigid"))
    defaults = ContactDefaults(
        modulus=MODULUS, resolution_hint=0.03, mu_dynamic=friction, dissipation=DISSIPATION
    )
    spec = SceneSpec(
        name="energy",
        time_step=dt,
        gravity=(0.0, 0.0, -gravity),
        models=tuple(
            ModelSpec(name=name, urdf="none", base="floating", pose=PoseSpec(xyz=xyz))
            for name, xyz in zip(names, starts, strict=True)
        ),
        contact=ContactSettings(defaults=defaults),
        solver=SolverSettings(model=model, accuracy=1e-5 if model == "continuous" else None),
    )
    environment = (ground,) if gravity else ()
    return World(LoadedScene(spec, tuple(balls), ({},) * len(balls), environment, source=Path("energy")))


def plot(report: ExperimentReport, path: Path) -> None:
    """Draw the energies through a bounce and what is left of them after many.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(column) for name, column in report.series.items()}
    with figure(path, 9.0, 3.8) as canvas:
        exchange, bounces = canvas.subplots(1, 2)
        milliseconds = 1e3 * (series["time"] - series["time"][0])
        parts = (("kinetic", "#1f5fa8"), ("height", "#7a7a7a"), ("stored", "#c44e24"))
        for name, colour in parts:
            exchange.plot(milliseconds, series[name], color=colour, label=name)
        total = sum(series[name] for name, _ in parts)
        exchange.plot(milliseconds, total, "k--", lw=1.2, label="sum")
        exchange.set_xlabel("time [ms]")
        exchange.set_ylabel("energy [J]")
        exchange.set_title("first bounce, continuous model", fontsize="medium")
        exchange.legend(frameon=False, fontsize="small")
        styles = (("#1f5fa8", "o"), ("#e39a3b", "^"), ("#c44e24", "s"))
        for name, (colour, marker) in zip(SERIES, styles, strict=True):
            bounces.semilogy(series["bounce"], np.abs(series[name]), marker, ms=3, color=colour, label=name)
        bounces.axhline(BOUNCE_BOUND, color="k", lw=1.0, ls=":", label="bound")
        bounces.set_xlabel("bounces")
        bounces.set_ylabel("relative change of energy")
        bounces.set_title("a ball without damping", fontsize="medium")
        bounces.legend(frameon=False, fontsize="small")
        for axes in (exchange, bounces):
            axes.grid(alpha=0.3)
