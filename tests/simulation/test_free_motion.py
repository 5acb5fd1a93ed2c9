"""Bodies that nothing or only each other touches: exact discrete solutions and conserved quantities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_scenes import GROUND, G, box, free, inertial, make_world, robot, sphere

from hydro_sim_core.dynamics import TreeEvaluator

STILL = [0.0, 0.0, 0.0]


def test_free_fall_is_the_exact_discrete_solution(tmp_path: Path) -> None:
    """v_n = -g n dt and z_n = z_0 - g dt^2 n (n + 1) / 2: velocities first, then positions with them."""
    world = make_world(tmp_path, free(sphere("ball", 0.1, 0.7), (0, 0, 50)))
    n, dt = 1000, world.time_step
    world.step(n)
    np.testing.assert_allclose(world.v, [0, 0, 0, 0, 0, -G * n * dt], rtol=0, atol=1e-11)
    np.testing.assert_allclose(world.q[4:], [0, 0, 50 - G * dt**2 * n * (n + 1) / 2], rtol=0, atol=1e-11)
    assert world.time == pytest.approx(1.0, abs=1e-12)


def test_projectile_flies_a_parabola(tmp_path: Path) -> None:
    """Horizontal velocity stays, and the first-order error of the height is the discrete solution's."""
    world = make_world(tmp_path, free(box("brick", (0.2, 0.1, 0.05), 1.0), (0, 0, 10)))
    v = np.array([0, 0, 0, 3.0, -2.0, 5.0])
    world.set_state(world.q, v)
    n, dt = 900, world.time_step
    world.step(n)
    t = n * dt
    parabola = np.array([3.0 * t, -2.0 * t, 10.0 + 5.0 * t - G * t**2 / 2])
    np.testing.assert_allclose(world.q[4:] - parabola, [0, 0, -G * t * dt / 2], rtol=0, atol=1e-11)


def test_torque_free_spin_keeps_its_energy_to_first_order(tmp_path: Path) -> None:
    """Halving the step halves the drift of the kinetic energy of an asymmetric body."""
    text = robot("top", f'<link name="top">{inertial(1.0, (0.02, 0.03, 0.045))}</link>')
    drift = []
    for dt in (2e-3, 1e-3, 5e-4):
        world = make_world(tmp_path, free(text), gravity=STILL, time_step=dt)
        world.set_state(world.q, [1.0, 4.0, 0.5, 0, 0, 0])
        before = kinetic_energy(world)
        world.step(round(1.0 / dt))
        drift.append(kinetic_energy(world) / before - 1.0)
    assert abs(drift[0]) < 0.02
    assert drift[0] / drift[1] == pytest.approx(2.0, rel=0.1)
    assert drift[1] / drift[2] == pytest.approx(2.0, rel=0.1)


def spinning_top(folder: Path, offset: float, spin: np.ndarray, dt: float):
    """A free asymmetric body of 1 kg, its centre ``offset`` (m) from its origin, turning at ``spin`` (rad/s)."""
    origin = f'<inertial><origin xyz="{offset!r} 0 0"/><mass value="1"/>'
    moments = '<inertia ixx="0.02" iyy="0.03" izz="0.045" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = robot("top", f'<link name="top">{origin}{moments}</link>')
    world = make_world(folder, free(text), gravity=STILL, time_step=dt)
    world.set_state(world.q, [*spin, 0.1, -0.2, 0.3])
    return world


@pytest.mark.parametrize("offset", [0.0, 0.3])
@pytest.mark.parametrize("turn", [0.01, 0.3, 3.0])
def test_spin_gains_no_energy_at_any_speed(tmp_path: Path, offset: float, turn: float) -> None:
    """Up to half a turn a step: explicit gyroscopic moments made a pile's fastest pieces run away to overflow."""
    dt = 0.01
    world = spinning_top(tmp_path, offset, turn / dt * np.array([0.4, 0.8, 0.1]), dt)
    energies = [kinetic_energy(world)]
    for _ in range(200):
        world.step()
        energies.append(kinetic_energy(world))
    # Round-off of a mass matrix that couples spin and origin.
    assert max(np.diff(energies)) <= 1e-10 * energies[0]


@pytest.mark.parametrize("turn", [0.01, 0.3, 3.0])
def test_the_centre_of_a_spinning_body_flies_straight(tmp_path: Path, turn: float) -> None:
    """Linear momentum to round-off, although the link's origin is off the centre, and the centre's path with it."""
    dt, offset = 0.01, np.array([0.3, 0.0, 0.0])
    world = spinning_top(tmp_path, 0.3, turn / dt * np.array([0.4, 0.8, 0.1]), dt)

    def centre() -> np.ndarray:
        X_WL = world.frame_pose("top")
        return X_WL[:3, 3] + X_WL[:3, :3] @ offset

    before, start = momentum(world)[3:], centre()
    world.step(200)
    scale = np.linalg.norm(before) + turn / dt * 0.3
    np.testing.assert_allclose(momentum(world)[3:], before, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(centre(), start + before * 200 * dt, rtol=0, atol=1e-11 * scale)


def kinetic_energy(world) -> float:
    """J."""
    return 0.5 * float(world.v @ world.mass_matrix() @ world.v)


def momentum(world) -> np.ndarray:
    """Angular momentum about the world's origin and linear momentum, (6,)."""
    return TreeEvaluator(world.built.model.tree).update(world.q).momentum(world.v)


@pytest.mark.parametrize("mu", [0.0, 0.8])
def test_collision_conserves_momentum(tmp_path: Path, mu: float) -> None:
    """Two spinning spheres meet off centre, with and without friction; only their energy changes."""
    world = make_world(
        tmp_path,
        free(sphere("red", 0.1, 1.0, mu=mu, modulus=1e5), (-0.12, 0, 0)),
        free(sphere("blue", 0.08, 0.4, mu=mu, modulus=1e5), (0.1, 0.06, 0.02)),
        gravity=STILL,
    )
    world.set_state(world.q, [3.0, 1.0, -2.0, 1.0, 0.2, 0.0, -4.0, 2.0, 0.0, -2.0, 0.0, 0.1])
    before, energy = momentum(world), kinetic_energy(world)
    touched = False
    for _ in range(150):
        world.step()
        touched |= bool(world.contacts)
    assert touched
    assert not world.contacts
    np.testing.assert_allclose(momentum(world), before, rtol=0, atol=1e-10 * np.abs(before).max())
    assert kinetic_energy(world) < 0.99 * energy
    assert abs(world.v[3] - 1.0) > 0.1


@pytest.mark.parametrize("dissipation", [0.0, 0.2])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_bouncing_gains_no_energy(tmp_path: Path, dt: float, dissipation: float) -> None:
    """An implicit step loses energy, if anything: no bounce rises above where the ball came from."""
    ball = sphere("ball", 0.1, 0.7, modulus=1e5, dissipation=dissipation, hint=0.03)
    world = make_world(tmp_path, free(ball, (0, 0, 0.4)), environment=[GROUND], time_step=dt)
    heights, bounced = [], False
    for _ in range(round(1.0 / dt)):
        world.step()
        bounced |= world.v[5] > 0.1
        heights.append(world.q[6] if bounced else 0.0)
    assert bounced
    assert 0.12 < max(heights) <= 0.4
