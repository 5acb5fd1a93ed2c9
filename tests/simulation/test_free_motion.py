"""Bodies that nothing or only each other touches: exact discrete solutions and conserved quantities."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.compilation import Handle
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics.kinematics import integrate_positions
from hydro_sim_core.experiments.ecp_t_bar import angular_momentum
from support.simulation.made_scenes import GROUND, G, Robot, box, fixed, free, make_world, sphere

STILL = [0.0, 0.0, 0.0]


def test_free_fall_is_the_exact_discrete_solution() -> None:
    """v_n = -g n dt and z_n = z_0 - g dt^2 n (n + 1) / 2: velocities first, then positions with them."""
    world = make_world(free(sphere("ball", 0.1, 0.7), (0, 0, 50)))
    n, dt = 1000, world.time_step
    world.step(n)
    np.testing.assert_allclose(world.v, [0, 0, 0, 0, 0, -G * n * dt], rtol=0, atol=1e-11)
    np.testing.assert_allclose(world.q[4:], [0, 0, 50 - G * dt**2 * n * (n + 1) / 2], rtol=0, atol=1e-11)
    assert world.time == pytest.approx(1.0, abs=1e-12)


def test_projectile_flies_a_parabola() -> None:
    """Horizontal velocity stays, and the first-order error of the height is the discrete solution's."""
    world = make_world(free(box("brick", (0.2, 0.1, 0.05), 1.0), (0, 0, 10)))
    v = np.array([0, 0, 0, 3.0, -2.0, 5.0])
    world.set_state(world.q, v)
    n, dt = 900, world.time_step
    world.step(n)
    t = n * dt
    parabola = np.array([3.0 * t, -2.0 * t, 10.0 + 5.0 * t - G * t**2 / 2])
    np.testing.assert_allclose(world.q[4:] - parabola, [0, 0, -G * t * dt / 2], rtol=0, atol=1e-11)


def spinning_top(offset: float, spin: np.ndarray, dt: float, moments=(0.02, 0.03, 0.045)):
    """A free asymmetric body of 1 kg, its centre ``offset`` (m) from its origin, turning at ``spin`` (rad/s)."""
    top = Robot(
        "top", lambda model: model.add_link("top", 1.0, center_of_mass=(offset, 0, 0), inertia=moments)
    )
    world = make_world(free(top), gravity=STILL, time_step=dt)
    world.set_state(world.q, [*spin, 0.1, -0.2, 0.3])
    return world


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_a_tumbling_body_keeps_angular_momentum_and_energy(offset: float) -> None:
    """About the middle axis, which is unstable, for 5 s at 1 ms: a first-order step lost 19 % of the energy.

    The velocity is that over a step: from it energy and momentum are known but for a share (|w| dt)^2, 4e-4 here.
    """
    dt, spin = 1e-3, np.array([0.01, 20.0, 0.01])
    world = spinning_top(offset, spin, dt, moments=(1e-3, 2e-3, 3e-3))
    world.step()
    start, energy = spin_momentum(world), spin_energy(world)
    swing, turn = [], 0.0
    for _ in range(500):
        world.step(10)
        swing.append(
            [np.linalg.norm(spin_momentum(world)) / np.linalg.norm(start), spin_energy(world) / energy]
        )
        turn = max(turn, abs(world.v[0]))
    assert turn > 10.0, "it has not turned over"
    np.testing.assert_allclose(np.array(swing), 1.0, rtol=0, atol=3e-5)


def test_what_free_spin_is_off_by_does_not_grow_and_falls_with_the_square_of_the_step() -> None:
    """The swing of energy and momentum over 1 s and over 4 s, at 1 and at 2 ms."""

    def swing(dt: float, duration: float) -> float:
        world = spinning_top(0.0, np.array([3.0, 14.0, 5.0]), dt)
        world.step()
        energies = [spin_energy(world)]
        for _ in range(round(duration / dt)):
            world.step()
            energies.append(spin_energy(world))
        return float(np.ptp(energies)) / energies[0]

    assert swing(1e-3, 4.0) < 1.05 * swing(1e-3, 1.0)
    assert swing(2e-3, 4.0) / swing(1e-3, 4.0) == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize("turn", [0.3, 0.9, 3.0])
def test_spin_gains_no_energy_at_any_speed(turn: float) -> None:
    """Up to half a turn a step: explicit gyroscopic moments made a pile's fastest pieces run away to overflow."""
    dt = 0.01
    world = spinning_top(0.3, turn / dt * np.array([0.4, 0.8, 0.1]), dt)
    energies = []
    for _ in range(2000):
        world.step()
        energies.append(spin_energy(world))
    assert max(energies) <= (1.0 + 0.1 * turn**2) * energies[0]


def test_spin_that_the_rule_cannot_follow_falls_to_where_it_can() -> None:
    """Three radians a step: the energy falls, never grows, as long as that is so."""
    dt = 0.01
    world = spinning_top(0.0, 3.0 / dt * np.array([0.4, 0.8, 0.1]), dt)
    energies = [spin_energy(world)]
    while np.linalg.norm(world.v[:3]) * dt > 1.0 and len(energies) < 300:
        world.step()
        energies.append(spin_energy(world))
    assert len(energies) > 10
    assert max(np.diff(energies)) <= 1e-10 * energies[0]


def chain(num_links: int) -> Robot:
    """Links of 0.1 kg and 0.1 m on hinges about y, along x, without friction or damping."""

    def describe(model: ModelBuilder) -> None:
        parent = model.add_link("link0").name
        for i in range(num_links):
            child = f"link{i + 1}"
            model.add_link(child, 0.1, center_of_mass=(0.05, 0, 0), inertia=(1e-6, 8.3e-5, 8.3e-5))
            model.add_joint(
                f"hinge{i}", "continuous", parent, child, xyz=(0.1 * (i > 0), 0, 0), axis=(0, 1, 0)
            )
            parent = child

    return Robot("chain", describe)


def test_a_falling_chain_keeps_its_energy() -> None:
    """Thirty hinges for 2 s at 1 ms: Coriolis forces from the beginning of the step added 4.5 J to its 44."""
    world = make_world(fixed(chain(30)))
    start = world.energies().total
    drift = []
    for _ in range(40):
        world.step(50)
        drift.append(world.energies().total - start)
    assert np.abs(drift).max() < 0.4
    assert abs(np.mean(drift[20:])) < 0.15
    assert world.diagnostics()["cut_steps"] == 0


def test_a_chain_that_whips_is_stepped_in_pieces() -> None:
    """Ten hinges at 10 ms, which ended in velocities of 1e126: steps are cut where Coriolis forces do not settle."""
    world = make_world(fixed(chain(10)), time_step=0.01)
    start = world.energies().total
    for _ in range(500):
        world.step()
        assert abs(world.energies().total - start) < 4.9
    done = world.diagnostics()
    assert done["cut_steps"] > 0
    assert done["unconverged_steps"] == 0


def describe_pair(model: ModelBuilder) -> None:
    """Two links of 1 and 0.5 kg on a hinge."""
    model.add_link("base", 1.0, inertia=(1e-3, 2e-3, 3e-3))
    model.add_link("tip", 0.5, center_of_mass=(0.1, 0, 0), inertia=(1e-3, 2e-3, 1.5e-3))
    model.add_joint("hinge", "continuous", "base", "tip", xyz=(0.1, 0, 0), axis=(0, 0.6, 0.8))


def test_a_floating_pair_of_links_keeps_both_momenta() -> None:
    """At second order in the step, seen from the posture in the middle of the step, to which its velocity belongs."""

    def deviation(dt: float) -> float:
        world = make_world(free(Robot("pair", describe_pair)), gravity=STILL, time_step=dt)
        world.set_state(world.q, [1.0, 5.0, 2.0, 0.1, 0.2, 0.3, 8.0])
        world.step()
        start, worst = middle_momentum(world), 0.0
        for _ in range(round(2.0 / dt)):
            world.step()
            worst = max(worst, float(np.abs(middle_momentum(world)[3:] - start[3:]).max()))
        return worst / float(np.linalg.norm(start[3:]))

    coarse, fine = deviation(1e-3), deviation(5e-4)
    assert coarse < 3e-4
    assert coarse / fine == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("gravity", [STILL, [0.0, 0.0, -G]])
def test_error_control_keeps_the_momenta_of_a_floating_pair(gravity: list[float]) -> None:
    """To round-off, at any accuracy: errors of one sign added up."""
    world = make_world(
        free(Robot("pair", describe_pair)), gravity=gravity, time_step=0.01, solver={"accuracy": 1e-4}
    )
    world.set_state(world.q, [1.0, 5.0, 2.0, 0.1, 0.2, 0.3, 8.0])
    evaluator, mass = TreeEvaluator(world.built.model.tree), 1.5

    def spin_and_push() -> tuple[np.ndarray, np.ndarray]:
        total = momentum(world)
        # All mass that moves at 1 m/s along an axis has the moment of the centre's lever about the origin.
        along = [evaluator.update(world.q).momentum(np.eye(7)[3 + k])[:3] / mass for k in range(3)]
        return total[:3] - np.transpose(along) @ total[3:], total[3:]

    spin, push = spin_and_push()
    world.step(100)
    spin_after, push_after = spin_and_push()
    np.testing.assert_allclose(push_after, push + mass * np.array(gravity), rtol=0, atol=1e-11)
    np.testing.assert_allclose(spin_after, spin, rtol=0, atol=1e-9)


@pytest.mark.parametrize("turn", [0.01, 0.3, 3.0])
def test_the_centre_of_a_spinning_body_flies_straight(turn: float) -> None:
    """Linear momentum to round-off, although the link's origin is off the centre, and the centre's path with it."""
    dt, offset = 0.01, np.array([0.3, 0.0, 0.0])
    world = spinning_top(0.3, turn / dt * np.array([0.4, 0.8, 0.1]), dt)

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


def spin_momentum(world) -> np.ndarray:
    """Angular momentum (3,) of a single free body about its centre, kg m^2/s."""
    tree = world.built.model.tree
    R = TreeEvaluator(tree).update(world.q).R_WB[0]
    return R @ tree.I_BCo[0] @ R.T @ world.v[:3]


def spin_energy(world) -> float:
    """J."""
    return 0.5 * float(world.v[:3] @ spin_momentum(world))


def middle_momentum(world) -> np.ndarray:
    """As ``momentum``, at the posture half a step ago, in the middle of what the last step's velocity covers."""
    tree, q = world.built.model.tree, np.empty(len(world.q))
    integrate_positions(Handle(tree), world.q, world.v, -0.5 * world.time_step, q)
    return TreeEvaluator(tree).update(q).momentum(world.v)


def momentum(world) -> np.ndarray:
    """Angular momentum about the world's origin and linear momentum, (6,)."""
    return TreeEvaluator(world.built.model.tree).update(world.q).momentum(world.v)


@pytest.mark.parametrize("mu", [0.0, 0.8])
def test_collision_conserves_momentum(mu: float) -> None:
    """Two spinning spheres meet off centre, with and without friction; only their energy changes."""
    world = make_world(
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
def test_bouncing_gains_no_energy(dt: float, dissipation: float) -> None:
    """An implicit step loses energy, if anything: no bounce rises above where the ball came from."""
    ball = sphere("ball", 0.1, 0.7, modulus=1e5, dissipation=dissipation, hint=0.03)
    world = make_world(free(ball, (0, 0, 0.4)), environment=[GROUND], time_step=dt)
    heights, bounced = [], False
    for _ in range(round(1.0 / dt)):
        world.step()
        bounced |= world.v[5] > 0.1
        heights.append(world.q[6] if bounced else 0.0)
    assert bounced
    assert 0.12 < max(heights) <= 0.4


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_rigid_impact_keeps_the_angular_momentum(dt: float) -> None:
    """It is met in pieces of a step; a spin over one was taken for that over a piece as long as the next.

    A part of the momentum was then lost or made, 3.5 % of it in steps of 10 ms.
    """
    world = make_world(
        free(box("red", (0.1, 0.12, 0.08), 1.0, modulus=None)),
        free(box("blue", (0.1, 0.05, 0.2), 1.12, modulus=None), (0.3, 0.01, 0.015)),
        gravity=STILL,
        time_step=dt,
    )
    world.set_state(world.q, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, -2.0, 4.0, -3.0, 0.0, 0.0])
    world.step()
    before = discrete_momentum(world)
    world.step(round(0.3 / dt))
    assert world.diagnostics()["fast_steps"] > 0
    assert not world.contacts
    assert np.abs(world.v[:3]).max() > 5.0
    np.testing.assert_allclose(discrete_momentum(world), before, rtol=0, atol=1e-5 * np.abs(before).max())


def discrete_momentum(world) -> np.ndarray:
    """Angular momentum (3,) about the origin of free bodies, as their integrator keeps it: that of the step before."""
    evaluator, total = TreeEvaluator(world.built.model.tree).update(world.q), np.zeros(3)
    tree = world.built.model.tree
    for body, (R, mass) in enumerate(zip(evaluator.R_WB, tree.mass, strict=True)):
        w, v = world.v[6 * body : 6 * body + 3], world.v[6 * body + 3 : 6 * body + 6]
        total += angular_momentum(R @ tree.I_BCo[body] @ R.T, w, -world.time_step)
        total += mass * np.cross(world.q[7 * body + 4 : 7 * body + 7], v)
    return total
