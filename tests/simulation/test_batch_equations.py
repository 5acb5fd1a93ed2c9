"""Equations of motion of the worlds of a batch: what each world tells of itself, and what controllers need of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.batch_arm import N, describe_arm, moving, scene
from support.simulation.made_scenes import Robot, fixed, make_scene
from support.simulation.side_by_side import MAKERS, Maker, host

#: What a batch tells of all worlds, by what a world tells of itself.
TOLD: dict[str, tuple[Any, ...]] = {
    "mass_matrix": (),
    "bias_forces": (),
    "gravity_forces": (),
    "frame_jacobian": ("hand", "tool", "brick"),
}


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


@pytest.mark.parametrize("scenes", [1, 2])
def test_each_world_tells_the_same(maker: Maker, scenes: int) -> None:
    """With masses of its own, in motion, of a scene or two whose arms stand elsewhere."""
    batch = moving(maker(scene() if scenes == 1 else [scene(), scene(0.3)], N))
    batch.step(20)
    worlds = [batch.copy_of(i) for i in range(N)]
    for name, frames in TOLD.items():
        for arguments in [(frame,) for frame in frames] or [()]:
            told = host(getattr(batch, name)(*arguments))
            alone = np.array([getattr(world, name)(*arguments) for world in worlds])
            np.testing.assert_allclose(told, alone, rtol=0, atol=1e-12, err_msg=f"{name} {arguments}")
    assert np.ptp(host(batch.mass_matrix()), axis=0).max() > 0.1


def test_jacobians_tell_how_links_move(maker: Maker) -> None:
    batch = moving(maker(scene(), N))
    batch.step(3)
    for link in ("stand", "tool", "brick"):
        told = host(batch.frame_jacobian(link)) @ host(batch.v)[..., None]
        np.testing.assert_allclose(told[..., 0], host(batch.frame_twist(link)), rtol=0, atol=1e-13)


def test_a_frame_that_is_none_is_named(maker: Maker) -> None:
    with pytest.raises(InputError, match="frame_jacobian: link 'nobody'"):
        maker(scene(), N).frame_jacobian("nobody")


def arms(maker: Maker, change: Callable[[hs.BatchWorld], None]) -> hs.BatchWorld:
    """Arms in the air, each of other masses, that start at other angles."""
    batch = maker(
        make_scene(fixed(Robot("arm", describe_arm), xyz=(0, 0, 2.0)), solver={"integrator": "fixed"}), N
    )
    share = batch.numpy.asarray(np.linspace(0.8, 1.6, N))
    batch.parameters["mass"][...] = batch.parameters["mass"] * share[:, None]
    q = np.linspace(-0.3, 0.4, N)[:, None] * np.ones(3)
    batch.set_state(q, np.zeros((N, 3)))
    change(batch)
    return batch


def test_arms_that_bear_their_weight_stay(maker: Maker) -> None:
    def bear(batch: hs.BatchWorld) -> None:
        batch.drives.effort[...] = batch.gravity_forces()

    batch = arms(maker, bear)
    before = host(batch.q)
    batch.step(50)
    np.testing.assert_allclose(host(batch.q), before, rtol=0, atol=1e-9)


def test_computed_torque_gives_the_accelerations_asked_for(maker: Maker) -> None:
    """Each world the same, whatever its masses: M a + c, from a state in motion."""
    asked = np.array([0.5, -0.4, 1.5])

    def ask(batch: hs.BatchWorld) -> None:
        batch.set_state(host(batch.q), np.linspace(-0.2, 0.2, N)[:, None] * np.ones(3))
        a = batch.numpy.asarray(asked)
        batch.drives.effort[...] = batch.mass_matrix() @ a + batch.bias_forces()

    batch = arms(maker, ask)
    v, dt = host(batch.v), batch.time_step
    batch.step()
    np.testing.assert_allclose((host(batch.v) - v) / dt, np.tile(asked, (N, 1)), rtol=0, atol=2e-3)
