"""Faces that turn past upright, or begin to lean, let go little by little: the wrench of a step does not jump."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.rotations import matrix_of, quaternions_of
from support.simulation.made_scenes import fixed, free, make_world, solid

MODULUS, MASS, TIME_STEP = 1e5, 1e6, 1e-4
LAW = {"mu": 0.0, "dissipation": 0.0}
#: A deep pose of the box in the frame of the cylinder: faces become upright as it turns.
R_AB = [[-0.0204, -0.5154, -0.8567], [-0.7909, -0.5158, 0.3292], [-0.6116, 0.6843, -0.3971]]
P_AB = (0.0369, 0.0308, -0.05)
AXIS = np.array([-0.9505, -0.2527, -0.1809])
#: A sweep, rad, and its number of steps.
TURN, STEPS = 0.3, 400


def turning_box() -> hs.World:
    """A heavy box in a cylinder that stands still."""
    cylinder = solid(
        "cylinder", "cylinder", None, radius=0.06, length=0.14, hint=0.05, modulus=MODULUS, **LAW
    )
    block = solid("box", "box", MASS, size=(0.1, 0.14, 0.12), modulus=2.0 * MODULUS, **LAW)
    return make_world(
        fixed(cylinder),
        free(block),
        time_step=TIME_STEP,
        gravity=(0, 0, 0),
        contact={"margin": 0.0},
    )


def sweep(world: hs.World) -> tuple[np.ndarray, np.ndarray]:
    """Turn the box, which is at rest before every step.

    Returns:
        (STEPS, 3) force of every step, N, and (STEPS,) change of it that stiffness of the faces allows, N.
    """
    forces, allowed = [], []
    for angle in np.linspace(0.0, TURN, STEPS):
        turn = matrix_of(np.append(np.sin(0.5 * angle) * AXIS, np.cos(0.5 * angle)))
        world.set_state(np.append(quaternions_of(turn @ np.array(R_AB)), P_AB), np.zeros(6))
        world.step()
        forces.append(MASS * world.v[3:6] / TIME_STEP)
        (patch,) = world.contacts
        steepness = np.linalg.norm(patch.faces.field_gradients, axis=1)
        arm = np.linalg.norm(patch.centroids - P_AB, axis=1).max()
        stiffness = float((patch.areas * steepness)[patch.pressing].sum())
        allowed.append(TURN / STEPS * (arm * stiffness + float(patch.face_forces.sum())))
    return np.array(forces), np.array(allowed)


def test_the_force_of_a_step_does_not_jump():
    """It did by 53 times what stiffness allows."""
    forces, allowed = sweep(turning_box())
    change = np.linalg.norm(np.diff(forces, axis=0), axis=1) / allowed[1:]
    assert change.max() < 0.5


#: Half lengths of a heavy box that leans on the ground on an edge, m.
HALF = np.array([0.1, 0.075, 0.04])
CORNERS = HALF * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def leaning_box(modulus: float | None, margin: float) -> hs.World:
    """The box, which moves by next to nothing in a step."""
    scene = hs.SceneBuilder(
        "leaning",
        time_step=1e-6,
        gravity=(0, 0, 0),
        contact={"friction": 0.0, "dissipation": 0.0, "margin": margin},
    )
    scene.add_ground(compliance="rigid")
    body = scene.add_body("box", mass=MASS, inertia=(MASS, MASS, MASS), xyz=(0, 0, 1))
    material = {"compliance": "rigid"} if modulus is None else {"modulus": modulus}
    body.add_shape("box", size=2.0 * HALF, **material)
    return hs.World(scene.build())


def largest_changes(
    world: hs.World, around: float, along: float, depth: float, steps: int
) -> tuple[float, float]:
    """Turn the box about its long edge by 2 mrad, tilted along the edge by a little and with its lowest corner so deep.

    Returns:
        Largest change from step to step of its force, and of its moment over 0.1 m, as shares of the largest force.
    """
    wrenches = []
    for angle in np.linspace(around - 1e-3, around + 1e-3, steps):
        c, s, b, a = np.cos(angle), np.sin(angle), np.cos(along), np.sin(along)
        R = np.array([[b, 0, a], [0, 1, 0], [-a, 0, b]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        place = (0.0, 0.0, -depth - (CORNERS @ R.T)[:, 2].min())
        world.set_state(np.append(np.roll(quaternions_of(R), 1), place), np.zeros(6))
        world.step()
        wrenches.append(MASS * world.v / world.time_step)
    changes = np.abs(np.diff(wrenches, axis=0)).max(axis=0) / np.abs(np.array(wrenches)[:, 5]).max()
    return float(changes[3:].max()), float(changes[:3].max()) / 0.1


@pytest.mark.parametrize(
    ("modulus", "margin", "around", "along", "depth"),
    [
        (None, 0.0, np.arccos(0.9), 5e-6, 1e-6),
        (1e6, 0.0, 0.02, 0.01, 2e-3),
        (1e6, 1e-3, 0.02, 0.01, 2e-3),
    ],
    ids=["a rigid edge at 26 degrees", "sides at 1.15 degrees", "the same with a margin"],
)
def test_wrenches_do_not_jump_as_faces_begin_to_lean(modulus, margin, around, along, depth):
    """Where points of faces go to their centroids, and where faces are no longer parted: by 29 % and 0.3 % before."""
    world = leaning_box(modulus, margin)
    coarse, fine = (largest_changes(world, around, along, depth, steps) for steps in (101, 1001))
    assert max(coarse) < 0.02
    for of_coarse, of_fine in zip(coarse, fine, strict=True):
        assert of_fine < 0.15 * of_coarse
