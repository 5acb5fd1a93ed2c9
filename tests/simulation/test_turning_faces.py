"""A face that turns past upright lets go little by little: the force of a step does not jump as bodies turn."""

from __future__ import annotations

import numpy as np

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
