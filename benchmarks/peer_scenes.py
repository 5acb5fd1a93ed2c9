"""Scenes in which engines for many worlds are compared, with the exact depth or force of their pressure fields.

The pressure of a compliant body is its stiffness k (Pa/m) times the depth below its nearest surface: in hydro-sim and
Drake the modulus over the largest depth, in Newton ``kh``. The forces are exact integrals.

* ``punch``: a rigid cube pressed by its weight on a larger compliant slab: F = k d L^2.
* ``ball``: a compliant ball pressed by its weight on a rigid flat: the field of the ball, integrated over the plane
  that cuts it.
* ``grasp``: a rigid cylinder that two compliant pads on prismatic joints hold by friction against gravity. The axis of
  the cylinder is vertical, its ends lie within the pads: F = k times the volume of the cylinder within a pad.

Newton has no rigid body in this contact. There both are compliant and twice as stiff, which together are as stiff up to
2 per cent; the exact forces of that are here too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core import SceneBuilder
from hydro_sim_core.description import LoadedScene

TIME_STEP, GRAVITY = 1e-3, 9.81
#: Side of the cube, m; weight, N; half the sides of the slab, m, and its stiffness, Pa/m.
CUBE, CUBE_WEIGHT, SLAB, SLAB_STIFFNESS = 0.06, 20.0, (0.1, 0.1, 0.02), 5e6
#: Radius of the ball, m; weight, N; stiffness, Pa/m.
BALL, BALL_WEIGHT, BALL_STIFFNESS = 0.05, 10.0, 1e7
#: Radius, length, m, and mass, kg, of the cylinder; half the sides of a pad along the normal of the grasp's plane, the
#: axis of the fingers and the vertical, m; mass of a pad, kg; stiffness, Pa/m; force of a finger, N; friction.
RADIUS, LENGTH, MASS = 0.03, 0.04, 0.2
PAD, PAD_MASS, PAD_STIFFNESS, GRIP, FRICTION = (0.02, 0.01, 0.03), 0.1, 2e7, 10.0, 0.8
#: Hunt and Crossley's dissipation where an engine has it, s/m.
DISSIPATION = 50.0
SIDES = {"left": -1.0, "right": 1.0}
#: How worlds of the grasp differ: relative range of the force of both fingers, and deviation of the velocities of the
#: cylinder, m/s and rad/s, in so many ways that repeat.
FORCE_RANGE, NOISE, VARIANTS = 0.15, 1e-3, 256


class Ways(NamedTuple):
    """Ways in which worlds differ.

    Attributes:
        force: (n,) forces of the fingers as a share of ``GRIP``.
        velocity: (n, 6) velocities of the cylinder at the start.
    """

    force: np.ndarray
    velocity: np.ndarray


def ways(n: int) -> Ways:
    """The ways of ``n`` worlds, the same for every engine."""
    rng = np.random.default_rng(3)
    which = np.arange(n) % VARIANTS
    force = rng.uniform(1.0 - FORCE_RANGE, 1.0 + FORCE_RANGE, VARIANTS)
    velocity = NOISE * rng.normal(size=(VARIANTS, 6))
    return Ways(force[which], velocity[which])


# --- Exact forces


def force_of_punch(depth: float) -> float:
    """Force (N) of the cube at a depth (m)."""
    return SLAB_STIFFNESS * depth * CUBE**2


def force_of_ball(depth: float) -> float:
    """Force (N) of the ball at a depth (m)."""
    height = BALL - depth
    return 2.0 * np.pi * BALL_STIFFNESS * (0.5 * BALL * (BALL**2 - height**2) - (BALL**3 - height**3) / 3.0)


def force_of_grasp(depth: float) -> float:
    """Force (N) of a pad into which the cylinder reaches by a depth (m): that of a segment of its circle."""
    height = RADIUS - depth
    angle = np.arccos(height / RADIUS)
    segment = RADIUS**2 * angle - height * np.sqrt(RADIUS**2 - height**2)
    return float(PAD_STIFFNESS * LENGTH * segment)


def force_of_punch_both(depth: float) -> float:
    """Force (N) of the cube where both bodies yield: at the cube's sides its own field limits the pressure."""
    return 2.0 * SLAB_STIFFNESS * (CUBE**3 - (CUBE - depth) ** 3) / 6.0


def force_of_ball_both(depth: float) -> float:
    """Force (N) of the ball where both bodies yield: they meet on a paraboloid."""
    return 2.0 * BALL_STIFFNESS * np.pi * depth**2 * (2.0 * BALL - depth) / 4.0


def force_of_grasp_both(depth: float) -> float:
    """Force (N) of a pad where both bodies yield: at the cylinder's ends its own field limits the pressure."""
    half_width = np.sqrt(depth * (2.0 * RADIUS - depth))
    first, second = 2.0 / 3.0 * depth * half_width, 4.0 / 15.0 * depth**2 * half_width
    return float(2.0 * PAD_STIFFNESS * (LENGTH * first - second))


#: Forces against a rigid body, and where both bodies are twice as stiff as the compliant one, with the loads, N.
LOADS = {"punch": CUBE_WEIGHT, "ball": BALL_WEIGHT, "grasp": GRIP}
FORCES = {"punch": force_of_punch, "ball": force_of_ball, "grasp": force_of_grasp}
FORCES_OF_BOTH = {"punch": force_of_punch_both, "ball": force_of_ball_both, "grasp": force_of_grasp_both}


def exact_depth(name: str, *, both_yield: bool = False) -> float:
    """Depth (m) at which the exact force of a scene is its load, by bisection: every engine starts there."""
    force = (FORCES_OF_BOTH if both_yield else FORCES)[name]
    low, high = 0.0, 0.005
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if force(middle) < LOADS[name] else (low, middle)
    return 0.5 * (low + high)


def error_at_rest(name: str, depth: float, *, both_yield: bool = False) -> float:
    """Relative error of the force of an engine that came to rest at a depth (m) under the known load."""
    force = (FORCES_OF_BOTH if both_yield else FORCES)[name]
    return LOADS[name] / force(depth) - 1.0


# --- The scenes in hydro-sim

_CONTACT = {"margin": 0.0, "friction": FRICTION, "dissipation": DISSIPATION}


def our_punch() -> LoadedScene:
    """The cube on the slab; boxes have the exact field whatever their mesh."""
    scene = SceneBuilder("punch", time_step=TIME_STEP, contact=_CONTACT)
    modulus = SLAB_STIFFNESS * SLAB[2]
    scene.add_static(
        "flat",
        "box",
        size=[2.0 * half for half in SLAB],
        xyz=(0, 0, -SLAB[2]),
        compliance="compliant",
        modulus=modulus,
    )
    height = 0.5 * CUBE - exact_depth("punch")
    body = scene.add_body("body", CUBE_WEIGHT / GRAVITY, xyz=(0, 0, height))
    body.add_shape("box", size=(CUBE, CUBE, CUBE), compliance="rigid")
    return scene.build()


def our_ball(hint: float) -> LoadedScene:
    """The ball on the flat, with edges of a length (m)."""
    scene = SceneBuilder("ball", time_step=TIME_STEP, contact=_CONTACT)
    scene.add_ground()
    body = scene.add_body("body", BALL_WEIGHT / GRAVITY, xyz=(0, 0, BALL - exact_depth("ball")))
    body.add_shape(
        "sphere", radius=BALL, compliance="compliant", modulus=BALL_STIFFNESS * BALL, resolution_hint=hint
    )
    return scene.build()


def our_grasp(hint: float) -> LoadedScene:
    """The grasp, with edges of the cylinder of a length (m)."""
    contact = {**_CONTACT, "compliance": "rigid", "modulus": PAD_STIFFNESS * PAD[1]}
    scene = SceneBuilder("pad_grasp", time_step=TIME_STEP, contact=contact)
    held = scene.add_body("held", MASS)
    held.add_shape("cylinder", radius=RADIUS, length=LENGTH, resolution_hint=hint)
    at = RADIUS - exact_depth("grasp")
    gripper = scene.add_model(
        "gripper", positions={f"{name}_joint": side * at for name, side in SIDES.items()}
    )
    gripper.add_link("frame")
    for name, side in SIDES.items():
        pad = gripper.add_link(name).set_inertia(PAD_MASS, None, (0.0, 0.0, 0.0), np.full(3, 1e-4))
        pad.add_shape(
            "box", size=[2.0 * half for half in PAD], xyz=(0.0, side * PAD[1], 0.0), compliance="compliant"
        )
        gripper.add_joint(f"{name}_joint", "prismatic", "frame", name, axis=(0, 1, 0), lower=-1, upper=1)
    closing = {f"{name}_joint": -int(side) for name, side in SIDES.items()}
    scene.add_gripper("gripper", closing, max_force=2.0 * GRIP, kp=1.0, kd=0.0)
    scene.add_command(GRIP, gripper="gripper", mode="force")
    return scene.build()
