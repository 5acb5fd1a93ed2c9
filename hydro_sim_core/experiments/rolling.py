"""Rigid balls and cylinders roll and slip down slopes, compared with rigid-body mechanics.

A round body with the moment of inertia k m R^2 rolls down a slope of angle a with g sin a / (1 + k) as long as friction
suffices, up to tan a = mu (1 + 1/k). On steeper ones it slips with g (sin a - mu cos a) and its spin grows by
mu g cos a / (k R). Along level ground it keeps its speed and its height.

The bodies have meshes with 16 edges around. What rolls on their facets is slower, and goes up and down.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

SOURCE = "Rigid-body mechanics in closed form"
GRAVITY, FRICTION = 9.81, 0.2
RADIUS, LENGTH, MASS = 0.05, 0.08, 0.5
#: Speed along level ground, m/s, and times of coming to rest there, rolling along it, and down slopes, s.
SPEED, SETTLING_TIME, LEVEL_TIME, TIME = 0.5, 0.1, 1.0, 0.2
#: Steps after which it is looked at there.
EVERY = 5
ANGLES = (2.0, 10.0, 20.0, 28.0, 38.0, 45.0)


class Body(NamedTuple):
    """A round body.

    Attributes:
        share: Its moment of inertia about the axis of rolling over m R^2.
        lengths: Its lengths, m.
        turn: Its roll, pitch and yaw, rad, so that it rolls along x.
        bound: Bound on accelerations while it rolls, relative.
        slipping_bound: The same while it slips.
        level_bound: Bound on its speed along level ground, relative.
        height_bound: Bound on how far it goes up and down there, um.
    """

    share: float
    lengths: dict[str, Any]
    turn: tuple[float, float, float]
    bound: float
    slipping_bound: float
    level_bound: float
    height_bound: float


BODIES = {
    "sphere": Body(0.4, {"radius": RADIUS}, (0.0, 0.0, 0.0), 4e-4, 2e-4, 2e-4, 1e-6),
    "cylinder": Body(
        0.5, {"radius": RADIUS, "length": LENGTH}, (math.pi / 2.0, 0.0, 0.0), 6e-6, 4e-5, 1e-5, 1e-6
    ),
}


def run(angles: tuple[float, ...] = ANGLES) -> ExperimentReport:
    """Let the bodies roll down slopes of some angles, degrees, and along level ground."""
    comparisons: list[Comparison] = []
    series = {"angle": list(angles)}
    for shape, body in BODIES.items():
        measured = [measure(shape, math.radians(degrees)) for degrees in angles]
        for degrees, (acceleration, spin) in zip(angles, measured, strict=True):
            expected, expected_spin = down_slope(body.share, math.radians(degrees))
            slips = math.radians(degrees) > slipping_angle(body.share)
            name = f"{shape} {'slips' if slips else 'rolls'} down {degrees:g}°"
            bound = body.slipping_bound if slips else body.bound
            comparisons.append(Comparison(name, "m/s²", expected, acceleration, bound, "relative"))
            if slips:
                comparisons.append(
                    Comparison(
                        f"spin of the {shape} at {degrees:g}°",
                        "rad/s²",
                        expected_spin,
                        spin,
                        bound,
                        "relative",
                    )
                )
        speeds, heights = roll_along(shape)
        comparisons += [
            Comparison(
                f"{shape}: speed after {LEVEL_TIME:g} s on level ground",
                "m/s",
                SPEED,
                float(speeds[-1]),
                body.level_bound,
                "relative",
            ),
            Comparison(
                f"{shape}: way up and down", "µm", 0.0, float(np.ptp(heights)), body.height_bound, "absolute"
            ),
        ]
        series[f"acceleration, {shape}"] = [acceleration for acceleration, _ in measured]
        series[f"spin, {shape}"] = [spin for _, spin in measured]
        series[f"speed, {shape}"], series[f"height, {shape}"] = speeds.tolist(), heights.tolist()
    return ExperimentReport("Rolling", SOURCE, tuple(comparisons), series)


def slipping_angle(share: float) -> float:
    """Angle (rad) from which on a body with the inertia ``share`` m R^2 slips."""
    return math.atan(FRICTION * (1.0 + 1.0 / share))


def down_slope(share: float, angle: float) -> tuple[float, float]:
    """Acceleration (m/s^2) down a slope of ``angle`` (rad) and of the spin (rad/s^2), in closed form."""
    if angle > slipping_angle(share):
        friction = FRICTION * GRAVITY * math.cos(angle)
        return GRAVITY * math.sin(angle) - friction, friction / (share * RADIUS)
    acceleration = GRAVITY * math.sin(angle) / (1.0 + share)
    return acceleration, acceleration / RADIUS


def measure(shape: str, angle: float) -> tuple[float, float]:
    """Mean acceleration (m/s^2) of a body down a slope of ``angle`` (rad) and that of its spin (rad/s^2), from rest."""
    world = make_world(shape, angle)
    world.step(round(TIME / world.time_step))
    return float(world.v[3]) / TIME, float(world.v[1]) / TIME


def roll_along(shape: str) -> tuple[Array, Array]:
    """Speed (m/s) of a body that rolls along level ground and its height above that at rest (um), every few steps."""
    world = make_world(shape, 0.0)
    world.step(round(SETTLING_TIME / world.time_step))
    X_WB = world.frame_pose("body")
    world.place("body", X_WB, [0.0, SPEED / RADIUS, 0.0, SPEED, 0.0, 0.0])
    rows = []
    for _ in range(round(LEVEL_TIME / (EVERY * world.time_step))):
        world.step(EVERY)
        rows.append((world.v[3], 1e6 * (world.frame_pose("body")[2, 3] - X_WB[2, 3])))
    speeds, heights = np.array(rows).T
    return speeds, heights


def make_world(shape: str, angle: float) -> World:
    """Make a world with a rigid body on a rigid box, and gravity tilted by ``angle`` (rad) towards x."""
    scene = SceneBuilder(
        "rolling",
        gravity=(GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)),
        contact={"compliance": "rigid", "friction": FRICTION, "dissipation": 0.0},
    )
    scene.add_static("ground", "box", size=(4.0, 1.0, 0.2), xyz=(1.9, 0.0, -0.1))
    body = BODIES[shape]
    inertia = (body.share * MASS * RADIUS**2,) * 3
    solid = scene.add_body("body", MASS, inertia=inertia, xyz=(0.0, 0.0, RADIUS))
    solid.add_shape(shape, rpy=body.turn, **body.lengths)
    return World(scene.build())


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot accelerations and spins over the angle, with the formulas.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    curve = np.linspace(0.0, 48.0, 200)
    with figure(path, 9.0, 3.8) as canvas:
        along, around = canvas.subplots(1, 2)
        for (shape, body), colour in zip(BODIES.items(), ("#1f5fa8", "#c44e24"), strict=True):
            closed = np.array([down_slope(body.share, math.radians(degrees)) for degrees in curve])
            for axes, column, values in (
                (along, closed[:, 0], report.series[f"acceleration, {shape}"]),
                (around, RADIUS * closed[:, 1], RADIUS * np.array(report.series[f"spin, {shape}"])),
            ):
                axes.plot(curve, column, color=colour, label=f"{shape}, closed form")
                axes.plot(report.series["angle"], values, "o", color=colour, label=f"{shape}, hydro-sim")
        along.set_ylabel("acceleration [m/s²]")
        around.set_ylabel("radius times that of the spin [m/s²]")
        along.legend(frameon=False)
        for axes in (along, around):
            axes.set_xlabel("slope [°]")
            axes.grid(alpha=0.3)
        canvas.suptitle(f"{report.title}, friction {FRICTION:g}: each slips from its kink on")
