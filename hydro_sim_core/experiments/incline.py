"""A block on a slope: it creeps below the friction angle and accelerates above.

The slope is level ground under tilted gravity. Friction is regularised with a stiction speed v_s: a sliding speed v
is resisted with the share v / sqrt(v^2 + v_s^2) of mu times the normal force. A block at rest on a slope of angle a
therefore creeps at v_s r / sqrt(1 - r^2) with r = tan(a) / mu, and one that slides accelerates by
g (sin a - mu cos a).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

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
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

SOURCE = "Coulomb's law, regularised as in Castro et al., 'A Theory of Irrotational Contact Fields' (2023)"
FRICTION = 0.5
STICTION_SPEED = 1e-4
GRAVITY = 9.81
#: The friction angle is 26.57 degrees.
CREEPING = (5.0, 10.0, 15.0, 20.0, 25.0)
SLIDING = (28.0, 30.0, 35.0, 40.0)
#: Of the block, m and kg: flat enough that its whole base keeps pressing at the steepest angle.
SIZE = (0.2, 0.15, 0.05)
MASS = 1.0

SETTLING_TIME = 0.3
MEASURING_TIME = 0.2
#: Both laws are exact once the block has settled; what is left is the settling and the fit.
BOUND = 1e-4


def run(creeping: tuple[float, ...] = CREEPING, sliding: tuple[float, ...] = SLIDING) -> ExperimentReport:
    """Let the block settle at every angle, then measure its speed and acceleration.

    Args:
        creeping: Angles below the friction angle, degrees.
        sliding: Angles above it, degrees.
    """
    comparisons = []
    series: dict[str, list[float]] = {"angle": [], "speed": [], "acceleration": []}
    for degrees in (*creeping, *sliding):
        speed, acceleration = measure(math.radians(degrees))
        series["angle"].append(degrees)
        series["speed"].append(speed)
        series["acceleration"].append(acceleration)
        name = f"at {degrees:g}°"
        if degrees in creeping:
            expected = creep_speed(math.radians(degrees))
            comparisons.append(
                Comparison(f"creep {name}", "µm/s", 1e6 * expected, 1e6 * speed, BOUND, "relative")
            )
        else:
            expected = sliding_acceleration(math.radians(degrees))
            comparisons.append(
                Comparison(f"acceleration {name}", "m/s²", expected, acceleration, BOUND, "relative")
            )
    return ExperimentReport("Block on a slope", SOURCE, tuple(comparisons), series)


def creep_speed(angle: float) -> float:
    """Speed (m/s) at which regularised friction holds the block on a slope of ``angle`` (rad)."""
    ratio = math.tan(angle) / FRICTION
    return STICTION_SPEED * ratio / math.sqrt(1.0 - ratio * ratio)


def sliding_acceleration(angle: float) -> float:
    """Acceleration (m/s^2) of a block that slides down a slope of ``angle`` (rad)."""
    return GRAVITY * (math.sin(angle) - FRICTION * math.cos(angle))


def measure(angle: float) -> tuple[float, float]:
    """Mean speed (m/s) and acceleration (m/s^2) down a slope of ``angle`` (rad), after settling."""
    world = make_world(angle)
    down = world.velocity_names.index("block_base/3")
    world.step(round(SETTLING_TIME / world.time_step))
    times, speeds = [], []
    for _ in range(round(MEASURING_TIME / world.time_step)):
        world.step()
        times.append(world.time)
        speeds.append(world.v[down])
    acceleration, _ = np.polyfit(times, speeds, 1)
    return float(np.mean(speeds)), float(acceleration)


def make_world(angle: float) -> World:
    """A compliant block at rest on rigid ground, with gravity tilted by ``angle`` (rad) towards +x."""
    x, y, z = SIZE
    block = RobotSpec(
        name="block",
        links=(
            LinkSpec(
                name="block",
                inertial=InertialSpec(
                    mass=MASS,
                    p_LCo=np.zeros(3),
                    I_LCo=MASS / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]),
                ),
                collisions=(CollisionSpec("block", ShapeSpec("box", SIZE), np.eye(4)),),
            ),
        ),
        joints=(),
        source="incline",
    )
    ground = CollisionSpec("ground", ShapeSpec("half_space"), np.eye(4), ProximitySpec(compliance="rigid"))
    spec = SceneSpec(
        name="incline",
        gravity=(GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)),
        models=(
            ModelSpec(name="block", urdf="none", base="floating", pose=PoseSpec(xyz=(0.0, 0.0, z / 2.0))),
        ),
        contact=ContactSettings(defaults=ContactDefaults(modulus=1e6, margin=1e-4, mu_dynamic=FRICTION)),
        solver=SolverSettings(stiction_speed=STICTION_SPEED),
    )
    return World(LoadedScene(spec, (block,), ({},), (ground,), source=Path("incline")))


def plot(report: ExperimentReport, path: Path) -> None:
    """Draw creep and acceleration over the angle with the formulas.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    friction_angle = math.degrees(math.atan(FRICTION))
    angle = np.array(report.series["angle"])
    below = angle < friction_angle
    with figure(path, 8.0, 3.8) as canvas:
        creep, slide = canvas.subplots(1, 2)
        curve = np.linspace(0.0, 0.995 * friction_angle, 200)
        creep.semilogy(curve[1:], [1e6 * creep_speed(math.radians(a)) for a in curve[1:]], color="#c44e24")
        creep.semilogy(angle[below], 1e6 * np.array(report.series["speed"])[below], "o", color="#1f5fa8")
        creep.set_ylabel("creep [µm/s]")
        curve = np.linspace(friction_angle, 45.0, 50)
        slide.plot(
            curve,
            [sliding_acceleration(math.radians(a)) for a in curve],
            color="#c44e24",
            label="Coulomb's law",
        )
        slide.plot(
            angle[~below],
            np.array(report.series["acceleration"])[~below],
            "o",
            color="#1f5fa8",
            label="hydro-sim",
        )
        slide.set_ylabel("acceleration [m/s²]")
        slide.legend(frameon=False)
        for axes in (creep, slide):
            axes.set_xlabel("slope [°]")
            axes.grid(alpha=0.3)
        canvas.suptitle(f"{report.title}, friction {FRICTION:g} (friction angle {friction_angle:.2f}°)")
