"""Radau IIA of the continuous model: its numbers, and what integrators of SciPy find of the same derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy

import hydro_sim_core as hs
from hydro_sim_core.experiments.flat_box import FlatBox
from hydro_sim_core.simulation.integrators import radau
from hydro_sim_core.simulation.integrators.continuous_forces import state_derivative
from support.simulation.made_scenes import GROUND, box, fixed, free, make_scene, make_world, slider, snake

CONTINUOUS = {"model": "continuous"}


def test_its_numbers_are_those_of_three_points_of_radau() -> None:
    """Collocation: sums over the stages integrate polynomials of degree 2 exactly, and the end those of degree 4."""
    c = np.array(radau._C)
    powers = np.vander(c, 3, increasing=True)
    A = np.linalg.solve(powers.T, (np.vander(c, 4, increasing=True)[:, 1:] / [1, 2, 3]).T).T
    for k in range(5):
        assert A[2] @ c**k == pytest.approx(1.0 / (k + 1), abs=1e-14)
    T, inverse = np.array(radau._T), np.array(radau._T_INVERSE)
    blocks = [[radau._REAL, 0, 0], [0, radau._PAIR, -radau._IMAGINARY], [0, radau._IMAGINARY, radau._PAIR]]
    np.testing.assert_allclose(T @ inverse, np.eye(3), atol=2e-15)
    np.testing.assert_allclose(inverse @ np.linalg.inv(A) @ T, blocks, atol=2e-13)
    # The estimate of the error, which has the rate at the begin, is 0 where the solution is of degree 2.
    for k in (1, 2):
        rate = 1.0 if k == 1 else 0.0
        assert rate + np.array(radau._E) @ c**k == pytest.approx(0.0, abs=1e-13)
    for k in (1, 2, 3):
        assert np.array(radau._MIDWAY) @ c**k == pytest.approx(0.4**k, abs=1e-14)
        assert np.array(radau._MIDWAY_RATE) @ c**k == pytest.approx(k * 0.4 ** (k - 1), abs=1e-14)


def test_a_force_that_sets_in_within_a_step_is_not_missed() -> None:
    """Wherever it does, the larger of both estimates is 4/5 of the error or more; the usual one alone misses it all."""
    c = np.array(radau._C)
    powers = np.vander(c, 3, increasing=True)
    A = np.linalg.solve(powers.T, (np.vander(c, 4, increasing=True)[:, 1:] / [1, 2, 3]).T).T
    at_begin, shares = [], []
    for share in np.linspace(0.001, 0.999, 999):
        Z = A @ np.maximum(c - share, 0.0)
        error = abs(Z[2] - 0.5 * (1.0 - share) ** 2)
        estimates = [np.array(radau._E) @ Z, max(0.4 - share, 0.0) - np.array(radau._MIDWAY_RATE) @ Z]
        estimates = np.abs(estimates) / radau._REAL
        at_begin.append(estimates[0] / error)
        shares.append(estimates.max() / error)
    assert min(at_begin) < 0.01
    assert min(shares) == pytest.approx(0.82, abs=0.02)


def found_by_scipy(world: hs.World, duration: float, method: Any, accuracy: float) -> np.ndarray:
    """Coordinates and velocities after a time, by an integrator of SciPy's."""
    machine, size = world.machine, len(world.q) + len(world.v)
    rates = np.empty(size)

    def derivative(_: float, y: np.ndarray) -> np.ndarray:
        state_derivative(machine.handle, world.time_step, y.copy(), rates)
        return rates.copy()

    begin = np.concatenate((world.q, world.v))
    return scipy.integrate.solve_ivp(
        derivative, (0.0, duration), begin, method, rtol=accuracy, atol=1e-2 * accuracy
    ).y[:, -1]


def test_a_swinging_chain_is_where_another_method_finds_it() -> None:
    """Explicit and of order 8, far more accurate: the distance is what was asked for."""
    for accuracy in (1e-6, 1e-10):
        world = make_world(free(snake()), time_step=0.01, solver={**CONTINUOUS, "accuracy": accuracy})
        rng = np.random.default_rng(3)
        world.set_state(world.q, rng.uniform(-1.0, 1.0, len(world.v)))
        wanted = found_by_scipy(world, 0.1, "DOP853", 1e-12)
        world.step(10)
        np.testing.assert_allclose(np.concatenate((world.q, world.v)), wanted, atol=20.0 * accuracy)


def test_a_box_that_lands_is_where_scipys_radau_finds_it() -> None:
    """Through a stiff touch, whose error grows with every step."""
    ends = []
    for accuracy in (1e-5, 1e-8):
        brick = free(box("brick", (0.2, 0.15, 0.08), 0.2, modulus=1e6), (0, 0, 0.0405), (0.02, 0.01, 0))
        world = make_world(brick, environment=[GROUND], solver={**CONTINUOUS, "accuracy": accuracy})
        world.set_state(world.q, [0.0, 0.0, 0.0, 0.1, 0.0, -0.2])
        wanted = found_by_scipy(world, 0.02, "Radau", 1e-9)
        world.step(20)
        assert len(world.contacts) == 1
        ends.append(np.abs(np.concatenate((world.q, world.v)) - wanted).max())
    assert ends[0] < 1e-4
    assert ends[1] < 1e-6


def test_boxes_that_land_flat_keep_their_energy_wherever_a_step_meets_the_touch() -> None:
    """With the usual estimate alone one landing of these 41 lost 6e-5 of it."""
    falling = FlatBox(1e6).world({**CONTINUOUS, "accuracy": 1e-5}, 1e-3, height=0.0, dissipation=0.0)
    changes = []
    for height in np.linspace(7.2e-4, 8e-4, 41):
        world, q = falling.copy(), falling.q.copy()
        q[-1] += height
        world.set_state(q, [0.0, 0.0, 0.0, 0.0, 0.0, -0.62])
        begin = sum(world.energies())
        world.step(9)
        assert not world.contacts
        changes.append(abs(sum(world.energies()) / begin - 1.0))
    assert max(changes) < 8e-6


def test_a_stiff_box_that_lands_within_a_long_step_keeps_its_energy() -> None:
    """It falls for millimetres and stops within 7 um: errors relative to the fall lost 3e-4 in one of 60 landings."""
    changes = []
    for height in np.linspace(5e-3, 2e-2, 20):
        solver = {**CONTINUOUS, "accuracy": 1e-5}
        world = FlatBox(2e10).world(solver, 1e-2, height=height, dissipation=0.0)
        begin = sum(world.energies())
        while world.v[5] <= 0.0:
            world.step()
        changes.append(abs(sum(world.energies()) / begin - 1.0))
    assert max(changes) < 5e-7


def test_a_stiff_spring_swings_as_exactly_as_in_as_many_steps_of_scipys_radau() -> None:
    """A hundred radians, by cosine and sine. SciPy's accuracy is relative to numbers, ours to changes in a step."""
    stiffness, accuracy, duration, amplitude = 1e6, 1e-5, 0.1, 0.01
    settings = {"time_step": duration, "gravity": (0, 0, 0), "solver": {**CONTINUOUS, "accuracy": accuracy}}
    scene = make_scene(fixed(slider(1.0)), **settings)
    world = hs.World(scene.with_({"models.slider_0.joints.rail_joint.spring_stiffness": stiffness}))
    world.set_state([amplitude], [0.0])
    world.step()
    rate = math.sqrt(stiffness)
    wanted = amplitude * np.array([math.cos(rate * duration), -math.sin(rate * duration)])
    error = np.abs([world.q[0] - wanted[0], world.v[0] / rate - wanted[1]]).max()
    assert error < 0.1 * accuracy * amplitude
    finer = 0.1 * accuracy
    scipys = scipy.integrate.solve_ivp(
        lambda _, y: [y[1], -stiffness * (y[0] + amplitude)],
        (0.0, duration),
        [0.0, 0.0],
        "Radau",
        first_step=1e-5,
        rtol=finer,
        atol=radau.ABSOLUTE_SHARE * finer * np.array([duration, 1.0]),
    )
    assert world.diagnostics()["integration_steps"] == pytest.approx(len(scipys.t) - 1, rel=0.05)
    assert error < np.abs([scipys.y[0, -1] + amplitude - wanted[0], scipys.y[1, -1] / rate - wanted[1]]).max()


def test_the_first_step_is_as_long_as_the_motion_is_smooth() -> None:
    """And what is left of it is kept for the next time step: one integration step for each."""
    world = make_world(free(box("brick", (0.2, 0.1, 0.05), 1.0)), solver=CONTINUOUS)
    world.step(1)
    begin = world.diagnostics()["integration_steps"]
    world.step(100)
    assert world.diagnostics()["integration_steps"] == begin + 100


def test_a_state_that_cannot_be_integrated_stays() -> None:
    """With the reason, and where the step began; after a reset it goes on."""
    world = make_world(free(snake()), solver=CONTINUOUS)
    world.step(5)
    world.set_command([1.7e308], "effort")
    q, v = world.q, world.v
    with pytest.raises(FloatingPointError, match="cannot be integrated to the accuracy"):
        world.step()
    np.testing.assert_array_equal(world.q, q)
    np.testing.assert_array_equal(world.v, v)
    world.reset()
    world.step(3)
    assert math.isfinite(float(world.q.sum()))
