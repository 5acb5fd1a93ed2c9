"""Balls that turn, slide and collide off centre, compared with rigid-body mechanics.

The program does not use these closed forms. A ball that slides on the ground finally rolls with 5/7 of its speed for
any friction, and has lost 2/7 of its energy. A ball with an eccentric centre of mass spins after a frictionless bounce,
whose impulse is 2 m v / (1 + m r^2 / I). A ball that grazes the ground and slides throughout gains the spin 5/2 mu (1 +
e) v / R, e = 1. Of two equal balls in an elastic collision, the one at rest leaves along the line of centres, and the
directions are perpendicular; friction turns its path by atan(mu) and spins it.

Balls of finite stiffness deform during a contact of finite duration, so the results converge with the stiffness.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.balls import (
    GRAVITY,
    INERTIA,
    MASS,
    RADIUS,
    Balls,
    energies,
    first_velocity,
)
from hydro_sim_core.experiments.report import Comparison

Array = NDArray[np.float64]
Part = tuple[list[Comparison], dict[str, list[float]]]

#: Sliding ball: initial speed, m/s, and duration, s; sliding ends at 2/7 v / (mu g) = 0.1 s.
ROLLING = Balls("lagged", 1e-4, modulus=1e8, friction=0.3, gravity=GRAVITY)
SPEED, SETTLING_TIME, ROLLING_TIME, SAMPLE_TIME = 1.0, 0.2, 0.15, 1e-3
#: Frictionless bounce: offset of the centre of mass, m, and speed of the impact, m/s.
OFFSET, FALL = 0.05, 1.0
ECCENTRIC = Balls("continuous", 1e-5, modulus=1e8, offset=OFFSET)
ECCENTRIC_TIME = 0.006
#: Grazing ball: speed along the ground, m/s.
GRAZING = Balls("continuous", 1e-3, modulus=1e9, friction=0.1)
GRAZING_SPEED = 2.0
#: Friction of colliding balls, at an impact parameter of half the sum of the radii.
COLLIDING = Balls("continuous", 1e-3, modulus=1e9, has_ground=False)
COLLIDING_FRICTION, COLLIDING_TIME = 0.05, 0.03
#: Initial height or distance, m.
APART = 1e-4

#: Bounds, each about three times the deviation. It is due to the depth, which shortens lever arms and turns the line of
#: centres, and for the eccentric ball's spin and for energies due to the integration.
ROLLING_BOUND, ROLLING_ENERGY_BOUND = 0.0036, 0.0053
ECCENTRIC_SPIN_BOUND, ECCENTRIC_ENERGY_BOUND = 8.5e-5, 7e-11
GRAZING_BOUND = 0.023
RIGHT_ANGLE_BOUND, DIRECTION_BOUND, COLLIDING_SPIN_BOUND = 7e-4, 0.53, 0.037


def compare() -> Part:
    """Let the balls roll, bounce and collide."""
    rolling, series = _roll()
    return [*rolling, *_bounce_off_centre(), *_graze(), *_collide()], series


def _roll() -> Part:
    world = ROLLING.world((0.0, 0.0, RADIUS))
    world.step(round(SETTLING_TIME / world.time_step))
    first_velocity(world, (0.0, 0.0, 0.0, SPEED, 0.0, 0.0))
    every = round(SAMPLE_TIME / world.time_step)
    speeds, spins = [SPEED], [0.0]
    for _ in range(round(ROLLING_TIME / SAMPLE_TIME)):
        world.step(every)
        speeds.append(float(world.v[3]))
        spins.append(float(world.v[1]) * RADIUS)
    left = (MASS * speeds[-1] ** 2 + INERTIA * (spins[-1] / RADIUS) ** 2) / (MASS * SPEED**2)
    return [
        Comparison(
            "speed of rolling after sliding", "m/s", 5.0 / 7.0 * SPEED, speeds[-1], ROLLING_BOUND, "relative"
        ),
        Comparison("energy lost by sliding", "", 2.0 / 7.0, 1.0 - left, ROLLING_ENERGY_BOUND, "relative"),
    ], {
        "time, sliding": [i * SAMPLE_TIME for i in range(len(speeds))],
        "speed, sliding": speeds,
        "spin times radius, sliding": spins,
    }


def _bounce_off_centre() -> list[Comparison]:
    world = ECCENTRIC.world((0.0, 0.0, RADIUS + APART))
    first_velocity(world, (0.0, 0.0, 0.0, 0.0, 0.0, -FALL))
    # Rotation moves the centre of the sphere; without gravity its height does not matter.
    totals = []
    for _ in range(round(ECCENTRIC_TIME / world.time_step)):
        world.step()
        totals.append(sum(energies(world, 0.0)))
    spin = OFFSET / INERTIA * 2.0 * MASS * FALL / (1.0 + MASS * OFFSET**2 / INERTIA)
    start = 0.5 * MASS * FALL**2
    change = float(np.abs(np.array(totals) / start - 1.0).max())
    return [
        Comparison(
            "spin from a bounce off centre",
            "rad/s",
            spin,
            float(world.v[1]),
            ECCENTRIC_SPIN_BOUND,
            "relative",
        ),
        Comparison("energy at any instant of it", "", 0.0, change, ECCENTRIC_ENERGY_BOUND, "absolute"),
    ]


def _graze() -> list[Comparison]:
    world = GRAZING.world((0.0, 0.0, RADIUS + APART))
    first_velocity(world, (0.0, 0.0, 0.0, GRAZING_SPEED, 0.0, -FALL))
    while not (world.v[5] > 0.0 and world.q[6] > RADIUS):
        world.step()
    spin = 2.5 * GRAZING.friction * 2.0 * FALL / RADIUS
    return [
        Comparison("spin from a grazing bounce", "rad/s", spin, float(world.v[1]), GRAZING_BOUND, "relative")
    ]


def _collide() -> list[Comparison]:
    struck, striker = (float(angle) for angle in _directions(_collided(0.0)))
    rough = _collided(COLLIDING_FRICTION)
    normal_speed = SPEED * math.cos(math.radians(30.0))
    spin = 2.5 * COLLIDING_FRICTION * normal_speed / RADIUS
    turned = 30.0 - math.degrees(math.atan(COLLIDING_FRICTION))
    return [
        Comparison(
            "angle between balls that collided", "°", 90.0, struck + striker, RIGHT_ANGLE_BOUND, "absolute"
        ),
        Comparison("direction of the struck one", "°", 30.0, struck, DIRECTION_BOUND, "absolute"),
        Comparison(
            "direction, with friction", "°", turned, float(_directions(rough)[0]), DIRECTION_BOUND, "absolute"
        ),
        Comparison(
            "spin of the struck one", "rad/s", spin, -float(rough[8]), COLLIDING_SPIN_BOUND, "relative"
        ),
    ]


def _collided(friction: float) -> Array:
    """Velocities (12,) after a ball that moves along x hits one at rest, whose centre is a radius to its right."""
    start = (-math.sqrt(3.0) * RADIUS - APART, RADIUS, 0.0)
    world = replace(COLLIDING, friction=friction).world(start, (0.0, 0.0, 0.0))
    first_velocity(world, (0.0, 0.0, 0.0, SPEED, 0.0, 0.0), (0.0,) * 6)
    world.step(round(COLLIDING_TIME / world.time_step))
    return world.v


def _directions(v: Array) -> Array:
    """Angles (2,) of the struck ball to the right of x and of the striking ball to the left, degrees."""
    return np.degrees([math.atan2(-v[10], v[9]), math.atan2(v[4], v[3])])
