"""Jacobian of the continuous model: a closed form, and differences of the derivative with faces asked for anew."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.compilation import Handle
from hydro_sim_core.experiments.flat_box import MASS, SIZE, FlatBox
from hydro_sim_core.simulation.integrators.continuous_forces import state_derivative
from hydro_sim_core.simulation.integrators.continuous_jacobian import make_linear_patches, state_jacobian
from support.simulation.made_scenes import GROUND, box, free, make_world, snake, sphere

SETTINGS = {"solver": {"model": "continuous"}}
STEP = 1e-7


def jacobian_of(world: hs.World) -> np.ndarray:
    """As the integrator has it."""
    machine, y = world.machine, np.concatenate((world.q, world.v))
    rate, jacobian = np.empty(len(y)), np.empty((len(y), len(y)))
    linear = Handle(make_linear_patches(len(y), len(machine.scratch.patches.pair)))
    state_derivative(machine.handle, world.time_step, y, rate)
    state_jacobian(machine.handle, linear, world.time_step, y, rate, jacobian)
    return jacobian


def differences(world: hs.World) -> np.ndarray:
    """Central differences of the derivative."""
    y = np.concatenate((world.q, world.v))
    columns = []
    for change in STEP * np.eye(len(y)):
        rates = np.empty((2, len(y)))
        for rate, sign in zip(rates, (1.0, -1.0), strict=True):
            state_derivative(world.machine.handle, world.time_step, y + sign * change, rate)
        columns.append((rates[0] - rates[1]) / (2.0 * STEP))
    return np.array(columns).T


def sliding(*models: dict[str, object], **parts: object) -> hs.World:
    """A world of what moves, turns and slides."""
    world = make_world(*models, **SETTINGS, **parts)
    world.set_state(world.q, np.resize([0.1, 0.2, 0.3, 0.1, 0.0, -0.2, -0.1], len(world.v)))
    return world


def test_a_flat_box_resists_as_winklers_foundation_does() -> None:
    """But for the rim of its underside, as wide as it is deep, on which its sides press."""
    flat = FlatBox(1e6)
    world = flat.world({"model": "continuous"}, 1e-3, dissipation=0.0)
    stiffness = flat.bedding * SIZE[0] * SIZE[1]
    assert jacobian_of(world)[-1, 6] == pytest.approx(-stiffness / MASS, rel=1e-3)


def test_velocities_enter_as_in_differences_and_coordinates_nearly_so() -> None:
    """Of the largest: faces that keep their places are what is missing, a tenth at most."""
    brick = free(box("brick", (0.2, 0.15, 0.08), 0.2, modulus=1e6), (0, 0, 0.0405), (0.03, 0.01, 0))
    ball = free(sphere("ball", 0.1, 1.0, modulus=1e5), (0, 0, 0.095))
    plate = free(box("plate", (0.3, 0.3, 0.1), 2.0, modulus=3e5), (0, 0, -0.05), (0.1, 0.05, 0.3))
    wants = {"brick": (1e-7, 0.2), "ball": (1e-6, 0.2), "snake": (1e-6, 1e-6)}
    worlds = {
        "brick": sliding(brick, environment=[GROUND]),
        "ball": sliding(ball, plate),
        "snake": sliding(free(snake())),
    }
    for name, world in worlds.items():
        nq, found, wanted = len(world.q), jacobian_of(world), differences(world)
        for columns, bound in ((slice(nq, None), wants[name][0]), (slice(0, nq), wants[name][1])):
            off = np.abs(found - wanted)[:, columns].max() / np.abs(wanted[:, columns]).max()
            assert off < bound


def test_newtons_method_takes_two_iterations_a_step_of_a_grasp() -> None:
    """Nine queries of contact, three of them for no stage; with one for every coordinate there were forty."""
    world = hs.World(hs.load_scene("cylinder_grasp").scene.with_({"solver": {"integrator": "continuous"}}))
    world.step(50)  # until it has closed
    before = world.diagnostics()
    world.step(10)
    after = world.diagnostics()
    steps = after["integration_steps"] - before["integration_steps"]
    assert after["evaluations"] - before["evaluations"] <= 9 * steps
