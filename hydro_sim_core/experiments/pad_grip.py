"""A bar swings between two soft pads; with smaller pads, the grip converges to that of two contact points.

Flat round pads of radius a press a rigid bar with a force F each. The moment at which a bar slips about their axis is,
on each pad, mu F times the mean distance of the pressure from the centre, 2/3 a for uniform pressure. Friction
therefore dissipates an energy proportional to a times the angle, and none for two points. The difference between the
rotation between pads and that between points is thus proportional to a. All pads have the same shape and the same
relative indentation, for which their modulus grows as 1 / a^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.experiments.point_grip import GripPoint, HeldBody, pendulum
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY, FRICTION, FORCE = 9.81, 0.5, 100.0
#: Mass of the bar, kg, moment of inertia about its centre of mass, kg m^2, and distance of that from the pads' axis, m.
MASS, INERTIA, ARM = 0.2, 2e-4, 0.1
#: Thickness of the bar, m.
THICKNESS = 0.01
#: Thickness of a pad in its radius, and indentation at rest in half its thickness.
PAD_THICKNESS, DEPTH = 1.0, 0.002
#: Mass, kg, and moment of inertia, kg m^2, of a link that cannot turn.
PAD_MASS, PAD_INERTIA = 0.05, 1e-5
#: Edge length of a pad's mesh, in its radius.
RESOLUTION = 0.08
TIME_STEP = 5e-5
#: Stiction speed, m/s: a thousandth of the speed of a pad's rim, except in the first degrees of the rotation.
STICTION_SPEED = 1e-6
SIDES = {"left": -1.0, "right": 1.0}


def swing(world: World, duration: float, samples: int) -> tuple[list[float], list[float]]:
    """Release the bar: times (s) and rotation angles (rad) downwards."""
    every = round(duration / samples / world.time_step)
    times, angles = [0.0], [0.0]
    for _ in range(samples):
        world.step(every)
        times.append(world.time)
        angles.append(_angle(world.frame_pose("bar")))
    return times, angles


def swing_on_points(times: Sequence[float]) -> list[float]:
    """Rotation angles (rad) of the same bar on a hinge of two points after as many steps."""
    body = HeldBody(MASS, INERTIA * np.eye(3), np.eye(3), np.array([ARM, 0.0, 0.0]), np.zeros(6))
    points = [
        GripPoint(np.array([0.0, side * THICKNESS / 2.0, 0.0]), np.array([0.0, -side, 0.0]), FORCE)
        for side in SIDES.values()
    ]
    seen = np.array([times[0], *map(_end, times[1:])])
    return [float(angle) for angle in pendulum(body, points, np.array([0.0, 0.0, -GRAVITY]), seen)]


def slipping_moment(radius: float) -> float:
    """Slipping moment of both pads, N m: with indentation s, the pressure decreases linearly over s at the rim."""
    sunk = DEPTH * PAD_THICKNESS * radius / 2.0
    flat = radius - sunk
    force = flat**2 / 2.0 + flat * sunk / 2.0 + sunk**2 / 6.0
    moment = flat**3 / 3.0 + radius**2 * sunk / 2.0 - 2.0 * radius * sunk**2 / 3.0 + sunk**3 / 4.0
    return 2.0 * FRICTION * FORCE * moment / force


def moment_of_turn(angle: float, duration: float) -> float:
    """Moment of friction (N m) with which the bar turns by ``angle`` (rad) in ``duration`` (s)."""
    end = _end(duration)
    return float(
        brentq(lambda moment: _angle_of_theory(moment, end) - angle, 0.0, MASS * GRAVITY * ARM, xtol=1e-12)
    )


def _end(duration: float) -> float:
    """Time (s) in which an exact swing turns as far as the steps, which move with the velocity at their end."""
    return duration + 0.5 * TIME_STEP


def _angle_of_theory(moment: float, duration: float) -> float:
    """Angle (rad) of a bar that hangs from a hinge with ``moment`` (N m) of friction."""

    def rates(_: float, state: Array) -> tuple[float, float]:
        angle, speed = state
        return speed, (MASS * GRAVITY * ARM * math.cos(angle) - moment) / (INERTIA + MASS * ARM**2)

    return float(solve_ivp(rates, (0.0, duration), (0.0, 0.0), rtol=1e-10, atol=1e-12).y[0, -1])


def _angle(pose: Array) -> float:
    """Rotation angle about y of a rotation matrix or pose."""
    return math.atan2(-pose[2, 0], pose[0, 0])


def make_world(radius: float) -> World:
    """Make a world with a horizontal bar at rest between pads of ``radius`` (m) that already press."""
    thickness = PAD_THICKNESS * radius
    sunk = DEPTH * thickness / 2.0
    place = (THICKNESS + thickness) / 2.0 - sunk
    modulus = FORCE / (math.pi * radius**2 * DEPTH)
    scene = SceneBuilder(
        "pad grip",
        time_step=TIME_STEP,
        gravity=(0.0, 0.0, -GRAVITY),
        solver={"stiction_speed": STICTION_SPEED},
        contact={"modulus": modulus, "friction": FRICTION, "resolution_hint": RESOLUTION * radius},
    )
    gripper = scene.add_model(
        "gripper", positions={f"{side}_joint": sign * place for side, sign in SIDES.items()}
    )
    gripper.add_link("frame")
    for side in SIDES:
        pad = gripper.add_link(side, PAD_MASS, center_of_mass=(0, 0, 0), inertia=3 * (PAD_INERTIA,))
        pad.add_shape("cylinder", radius=radius, length=thickness, rpy=(-math.pi / 2.0, 0, 0))
        gripper.add_joint(f"{side}_joint", "prismatic", "frame", side, axis=(0, 1, 0), lower=-1, upper=1)
    # Rigid, and large enough to cover the pads everywhere.
    bar = scene.add_body("bar", MASS, center_of_mass=(ARM, 0, 0), inertia=3 * (INERTIA,))
    bar.add_shape("box", size=(0.05, THICKNESS, 0.05), compliance="rigid")
    fingers = {f"{side}_joint": -int(sign) for side, sign in SIDES.items()}
    scene.add_gripper("gripper", fingers, max_force=FORCE, kp=1.0, kd=0.0)
    scene.add_command(FORCE, gripper="gripper", mode="force")
    return World(scene.build())
