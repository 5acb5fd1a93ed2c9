"""A block on a slope creeps below the friction angle and accelerates above, compared with Coulomb's law.

The slope is level ground under tilted gravity. Coulomb's law is the reference: a block rests on slopes up to the
friction angle atan(mu); on a steeper one it slides with g (sin a - mu cos a). Pushed along level ground at speed v it
stops after v^2 / (2 mu g). Pushed across a slope of just the friction angle, friction takes as much speed along the
path as gravity adds downhill: the speed plus its downhill component stays v, so that the block finally moves downhill
at v / 2, for any mu and g.

Friction is regularised with a stiction speed v_s: at a sliding speed v, it is the share v / sqrt(v^2 + v_s^2) of mu
times the normal force. A block that rests under Coulomb's law therefore creeps, at v_s r / sqrt(1 - r^2) with r =
tan(a) / mu. This formula follows from our own law, so the comparison verifies only its solution.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

SOURCE = "Coulomb's law in closed form; creep: the same law regularised as in Castro 2023"
FRICTION = 0.5
STICTION_SPEED = 1e-4
GRAVITY = 9.81
#: The friction angle is 26.57 degrees.
CREEPING = (5.0, 10.0, 15.0, 20.0, 25.0)
SLIDING = (28.0, 30.0, 35.0, 40.0)
#: Edges and mass of the block, m and kg: flat enough that its whole base stays in contact at the steepest angle.
SIZE = (0.2, 0.15, 0.05)
MASS = 1.0

SETTLING_TIME = 0.3
MEASURING_TIME = 0.2
#: Bounds on deviations from Coulomb's law by angle, degrees, and for others: stiction speed over speed, settling, fit.
BOUNDS, BOUND = {28.0: 2e-5, 30.0: 1.4e-6, 35.0: 9e-8, 40.0: 2e-8}, 1e-4
#: Bounds on deviations from the regularised law, which is exact once the block has settled, by angle, degrees; and for
#: others.
OWN_LAW_BOUNDS, OWN_LAW_BOUND = {5.0: 7e-9, 10.0: 3.7e-10, 15.0: 3.9e-8, 25.0: 8.6e-9}, 1e-8
#: Bound on the creep where Coulomb has none, in stiction speeds; at 25 degrees it is 2.6.
CREEP_BOUND = 3.0
#: Speed at which a block neither decelerates nor accelerates on a slope of the friction angle, m/s, and bound, degrees:
#: friction falls short of Coulomb's by half the square of stiction speed over this.
ONSET_SPEED, ONSET_BOUND = 0.05, 1.4e-4
#: Bracket of the friction angle, degrees.
ONSET_RANGE = (25.0, 28.0)
#: Initial speed along the level or across the slope, m/s, and observed time, s.
PUSHED_SPEED, STOPPING_TIME, CROSSING_TIME = 1.0, 0.5, 2.0
#: Bound, first order in the step: the block loses mu g dt before its first step counts.
STOPPING_BOUND, CROSSING_BOUND = 0.014, 0.0065


def run(creeping: tuple[float, ...] = CREEPING, sliding: tuple[float, ...] = SLIDING) -> ExperimentReport:
    """Let the block settle at every angle, then measure its speed and acceleration.

    Args:
        creeping: Angles below the friction angle, degrees.
        sliding: Angles above it, degrees.
    """
    angles = (*creeping, *sliding)
    measured = [measure(math.radians(degrees)) for degrees in angles]
    speeds, accelerations = map(list, zip(*measured, strict=True))
    comparisons = [
        Comparison(
            f"acceleration at {degrees:g}°",
            "m/s²",
            sliding_acceleration(math.radians(degrees)),
            acceleration,
            BOUNDS.get(degrees, BOUND),
            "relative",
        )
        for degrees, acceleration in zip(angles, accelerations, strict=True)
        if degrees in sliding
    ]
    fastest = max(speeds[: len(creeping)], default=0.0)
    comparisons += [
        Comparison(
            "fastest creep (Coulomb: none)", "v_s", 0.0, fastest / STICTION_SPEED, CREEP_BOUND, "absolute"
        ),
        *(
            Comparison(
                f"creep at {degrees:g}° (own law)",
                "µm/s",
                1e6 * creep_speed(math.radians(degrees)),
                1e6 * speed,
                OWN_LAW_BOUNDS.get(degrees, OWN_LAW_BOUND),
                "relative",
            )
            for degrees, speed in zip(creeping, speeds, strict=False)
        ),
    ]
    pushed, crossing = _compare_pushed()
    series = {"angle": list(angles), "speed": speeds, "acceleration": accelerations}
    return ExperimentReport("Block on a slope", SOURCE, (*comparisons, *pushed), {**series, **crossing})


def _compare_pushed() -> tuple[list[Comparison], dict[str, list[float]]]:
    """Compare a pushed block, on level ground and across a slope of the friction angle, with Coulomb's law."""
    friction_angle = math.atan(FRICTION)
    onset = brentq(
        lambda degrees: measure(math.radians(degrees), ONSET_SPEED)[1], *ONSET_RANGE, xtol=0.1 * ONSET_BOUND
    )
    level, slope = (
        push(0.0, (PUSHED_SPEED, 0.0), STOPPING_TIME),
        push(friction_angle, (0.0, PUSHED_SPEED), CROSSING_TIME),
    )
    distance = PUSHED_SPEED**2 / (2.0 * FRICTION * GRAVITY)
    return [
        Comparison("friction angle", "°", math.degrees(friction_angle), onset, ONSET_BOUND, "absolute"),
        Comparison("stopping distance", "m", distance, float(level[-1, 0]), STOPPING_BOUND, "relative"),
        Comparison(
            "speed downhill after crossing",
            "m/s",
            0.5 * PUSHED_SPEED,
            float(slope[-1, 1]),
            CROSSING_BOUND,
            "relative",
        ),
        Comparison(
            "least speed plus its downhill part",
            "m/s",
            PUSHED_SPEED,
            float((np.hypot(slope[:, 1], slope[:, 2]) + slope[:, 1]).min()),
            CROSSING_BOUND,
            "relative",
        ),
    ], {"speed downhill": slope[:, 1].tolist(), "speed across": slope[:, 2].tolist()}


def creep_speed(angle: float) -> float:
    """Speed (m/s) at which regularised friction holds the block on a slope of ``angle`` (rad)."""
    ratio = math.tan(angle) / FRICTION
    return STICTION_SPEED * ratio / math.sqrt(1.0 - ratio * ratio)


def sliding_acceleration(angle: float) -> float:
    """Acceleration (m/s^2) of a block that slides down a slope of ``angle`` (rad)."""
    return GRAVITY * (math.sin(angle) - FRICTION * math.cos(angle))


def measure(angle: float, speed: float | None = None) -> tuple[float, float]:
    """Mean speed (m/s) and acceleration (m/s^2) down a slope of ``angle`` (rad), pushed at ``speed`` if any."""
    rows = push(angle, None if speed is None else (speed, 0.0), MEASURING_TIME)
    times = np.linspace(0.0, MEASURING_TIME, len(rows))
    acceleration, _ = np.polyfit(times[1:], rows[1:, 1], 1)
    return float(np.mean(rows[1:, 1])), float(acceleration)


def push(angle: float, velocity: tuple[float, float] | None, duration: float) -> Array:
    """Give a settled block on a slope of ``angle`` (rad) a velocity (m/s) downhill and across, and record its motion.

    Returns:
        Rows (N, 3) from the push on: distance downhill (m), speeds downhill and across (m/s).
    """
    world = make_world(angle)
    down = world.velocity_names.index("block_base/3")
    world.step(round(SETTLING_TIME / world.time_step))
    v = world.v.copy()
    if velocity is not None:
        v[down : down + 2] = velocity
        world.set_state(world.q, v)
    start = world.q[-3]
    rows = [(0.0, *v[down : down + 2])]
    for _ in range(round(duration / world.time_step)):
        world.step()
        rows.append((world.q[-3] - start, *world.v[down : down + 2]))
    return np.array(rows)


def make_world(angle: float) -> World:
    """Make a world with a compliant block at rest on rigid ground and gravity tilted by ``angle`` (rad) towards +x."""
    scene = SceneBuilder(
        "incline",
        gravity=(GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)),
        solver={"stiction_speed": STICTION_SPEED},
        contact={"modulus": 1e6, "margin": 1e-4, "friction": FRICTION},
    )
    scene.add_ground()
    scene.add_body("block", MASS, xyz=(0.0, 0.0, SIZE[2] / 2.0)).add_shape("box", size=SIZE)
    return World(scene.build())


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot creep and acceleration over the angle, and the speeds across a slope, with the formulas.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    friction_angle = math.degrees(math.atan(FRICTION))
    angle = np.array(report.series["angle"])
    below = angle < friction_angle
    with figure(path, 11.0, 3.8) as canvas:
        creep, slide, cross = canvas.subplots(1, 3)
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
        downhill = np.linspace(0.0, 0.5 * PUSHED_SPEED, 100)
        across = np.sqrt(PUSHED_SPEED * (PUSHED_SPEED - 2.0 * downhill))
        cross.plot(downhill, across, color="#c44e24", label="speed + downhill = const")
        every = slice(None, None, 4)
        cross.plot(
            report.series["speed downhill"][every],
            report.series["speed across"][every],
            "o",
            ms=4,
            color="#1f5fa8",
            label="hydro-sim",
        )
        cross.set_xlabel("downhill [m/s]")
        cross.set_ylabel("across [m/s]")
        cross.set_title("pushed across, at the friction angle", fontsize="medium")
        cross.legend(frameon=False)
        creep.set_xlabel("slope [°]")
        slide.set_xlabel("slope [°]")
        for axes in (creep, slide, cross):
            axes.grid(alpha=0.3)
        canvas.suptitle(f"{report.title}, friction {FRICTION:g} (friction angle {friction_angle:.2f}°)")
