"""Stops and dry friction of joints in explicit steps, against closed forms and the energy that there is."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

SCHEMES = ("rk4", "euler")


def soft(scheme: str) -> dict:
    """Solver of explicit steps."""
    return {"model": "soft", "soft": {"scheme": scheme}}


def cart(solver: dict, time_step: float, gravity: float = 0.0, **joint) -> hs.World:
    """A cart of 1 kg on a vertical rail."""
    scene = hs.SceneBuilder("cart", time_step=time_step, gravity=(0, 0, -gravity), solver=solver)
    model = scene.add_model("model")
    model.add_link("rail")
    model.add_link("cart", mass=1.0, inertia=(0.01, 0.01, 0.01))
    model.add_joint("j", "prismatic", "rail", "cart", axis=(0, 0, 1), **{"lower": -99, "upper": 99, **joint})
    return hs.World(scene.build())


def chain(
    scheme: str, count: int, time_step: float = 1e-3, share: float = 1.0, end: float = 0.4, **joint
) -> hs.World:
    """Bars in a row on level hinges, each ``share`` times as heavy as the one before."""
    scene = hs.SceneBuilder("chain", time_step=time_step, solver=soft(scheme))
    model = scene.add_model("model")
    model.add_link("bar0")
    for i in range(count):
        mass = share**i
        inertia = (1e-4 * mass, 1e-3 * mass, 1e-3 * mass)
        model.add_link(f"bar{i + 1}", mass=mass, center_of_mass=(0.1, 0, 0), inertia=inertia)
        xyz = (0.2 if i else 0.0, 0.0, 0.0)
        limits = {"lower": -end, "upper": end, **joint}
        model.add_joint(f"j{i}", "revolute", f"bar{i}", f"bar{i + 1}", xyz=xyz, axis=(0, 1, 0), **limits)
    return hs.World(scene.build())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("time_step", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_cart_comes_to_rest_at_its_stop(scheme: str, time_step: float, side: float) -> None:
    """At any phase of the step; it left with up to ten times its speed."""
    for phase in (0.0, 0.31, 0.5, 0.77):
        world = cart(soft(scheme), time_step, lower=-0.1, upper=0.1)
        world.set_state([side * phase * time_step], [side])
        world.step(round(0.15 / time_step))
        assert world.v[0] == 0.0
        assert world.q[0] == side * 0.1


def gain(world: hs.World) -> float:
    """By how much the energy rises above the lowest that it had, J, in 0.8 s that begin at rest."""
    largest, lowest = 0.0, world.energies().total
    for _ in range(200):
        world.step(4)
        total = world.energies().total
        largest, lowest = max(largest, total - lowest), min(lowest, total)
    return largest


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("count", "share"), [(2, 1.0), (3, 0.2), (4, 1.0), (5, 0.5)])
@pytest.mark.parametrize("friction", [0.0, 0.02])
def test_stops_give_chains_no_energy(scheme: str, count: int, share: float, friction: float) -> None:
    """Beside what steps give those that swing freely; they overflowed within a second.

    Each hinge feels less inertia than the diagonal of the mass matrix has.
    """
    world = chain(scheme, count, share=share, friction=friction)
    free = chain(scheme, count, share=share, end=99.0, friction=friction)
    assert gain(world) <= max(gain(free), 1e-4)
    assert np.abs(world.q).max() <= 0.4
    assert world.energies().total < -0.7


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_hangs_on_a_joint_at_its_stop_swings_as_if_it_were_fixed(scheme: str) -> None:
    """To the last digits, with reactions that change within a step."""
    world = chain(scheme, 2, end=0.0, lower=-9.0)
    world.set_state([0.0, -2.0], [0.0, 0.0])
    alone = chain(scheme, 1, end=9.0)
    alone.set_state([-2.0], [0.0])
    for _ in range(5):
        world.step(20)
        alone.step(20)
        assert world.q[0] == 0.0
        np.testing.assert_allclose([world.q[1], world.v[1]], [alone.q[0], alone.v[0]], rtol=1e-11)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_joint_leaves_its_stop_when_it_is_pulled(scheme: str) -> None:
    """And is not held a step too long: v = (f - g) t."""
    world = cart(soft(scheme), 1e-3, gravity=10.0, lower=0.0)
    world.step(50)
    assert (world.q[0], world.v[0]) == (0.0, 0.0)
    world.set_command([12.0])
    world.step(100)
    assert world.v[0] == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_what_was_set_beyond_a_stop_comes_back_slowly(scheme: str, side: float) -> None:
    """At 0.2 m/s, against a weight as well."""
    world = cart(soft(scheme), 1e-3, gravity=side * -9.81, lower=-0.2, upper=0.2)
    world.set_state([side * 0.21], [0.0])
    for _ in range(50):
        world.step()
        assert abs(world.v[0]) < 0.2001
    assert side * world.q[0] == pytest.approx(0.2, abs=1e-4)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_joint_friction_holds_without_creep(scheme: str) -> None:
    """15 N hold a weight of 9.81 N; it went 0.33 mm in half a second by Runge and Kutta's steps, by Euler's 4.7 mm."""
    world = cart(soft(scheme), 1e-3, gravity=9.81, friction=15.0)
    world.step(500)
    assert (world.q[0], world.v[0]) == (0.0, 0.0)
    world.set_command([9.81 + 15.0 + 2.0])
    world.step(500)
    assert world.v[0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(("scheme", "shift"), [("rk4", 0.0), ("euler", -0.25e-3)])
@pytest.mark.parametrize("friction", [0.5, 2.3, 5.0])
def test_joint_friction_ends_a_slide(scheme: str, shift: float, friction: float) -> None:
    """After v^2 / 2 f, at rest to the last bit; half a step less by Euler's."""
    world = cart(soft(scheme), 1e-3, friction=friction)
    world.set_state([0.0], [0.5])
    world.step(1100)
    assert world.v[0] == 0.0
    assert world.q[0] == pytest.approx(0.125 / friction + shift, abs=3e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_stop_too_stiff_for_the_step_is_rigid(scheme: str) -> None:
    """As of files that give 1e9 N m/rad."""
    world = chain(scheme, 3, share=0.3, stiffness=1e9)
    world.step(1000)
    assert np.abs(world.q).max() <= 0.4
    assert np.abs(world.v).max() == 0.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_copies_in_a_batch_take_the_same_steps(scheme: str) -> None:
    """In the compiled loop as step by step, to the last bit."""
    scene = chain(scheme, 3, friction=0.02).scene
    batch = hs.BatchWorld(scene, 2, "cpu")
    world = hs.World(scene)
    batch.step(300)
    for _ in range(300):
        world.step()
    np.testing.assert_array_equal(batch.q, [world.q, world.q])
    np.testing.assert_array_equal(batch.v, [world.v, world.v])
