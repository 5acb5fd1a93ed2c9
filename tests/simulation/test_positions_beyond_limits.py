"""Joints are put within their limits, as scenes start them: beyond, their stops would fire them back."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs


def slide() -> hs.World:
    """A cart of 1 kg that slides from -1 to 2 m, and a wheel without limits on it."""
    scene = hs.SceneBuilder("slide", gravity=(0, 0, 0))
    model = scene.add_model("model")
    model.add_link("rail")
    model.add_link("cart", mass=1.0).add_shape("sphere", radius=0.05)
    model.add_link("wheel", mass=1.0).add_shape("sphere", radius=0.05)
    model.add_joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), lower=-1, upper=2)
    model.add_joint("spin", "continuous", "cart", "wheel", axis=(1, 0, 0))
    return hs.World(scene.build())


@pytest.mark.parametrize("position", [2.01, 5.0, -1.001])
def test_a_position_beyond_the_limits_is_refused(position: float) -> None:
    """In the words of scenes; from 5 m the stop at 2 m gave the cart 2219 m/s."""
    world = slide()
    world.set_joint_positions({"slide": 0.5})
    with pytest.raises(
        hs.InputError, match=rf"joint 'slide': {position:g} is outside .* -1 … 2; give one inside"
    ):
        world.set_joint_positions({"spin": 1.0, "slide": position})
    np.testing.assert_array_equal(world.q, [0.5, 0.0])


@pytest.mark.parametrize("position", [2.0, -1.0, 2.0 + 5e-6, 1.0])
def test_a_joint_may_be_put_to_its_limits_and_a_hair_beyond(position: float) -> None:
    """As encoders and calibrations tell it; it gains some millimetres a second by it."""
    world = slide()
    world.set_joint_positions({"slide": position, "spin": 100.0})
    world.step()
    assert abs(world.v[0]) < 5e-3
