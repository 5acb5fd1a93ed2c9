"""What gravity compensation balances, and up to where."""

from __future__ import annotations

import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import G, box, fixed, free, make_world, slider

MASS = 2.0
UPRIGHT = (0.0, -1.5707963267948966, 0.0)


def lift(joint: str = "rail_joint", effort: float = 1e3) -> hs.World:
    """A cart on a vertical rail whose drive balances its weight."""
    cart = slider(MASS, joint=joint, effort=effort, velocity=1e3)
    return make_world(fixed(cart, rpy=UPRIGHT, gravity_compensation=True))


@pytest.mark.parametrize("joint", ["rail_joint", "left/rail_joint"])
def test_a_lift_stands_still(joint: str) -> None:
    """The drive bears the weight, whatever the joint is called."""
    world = lift(joint)
    world.step(100)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    assert world.joint_efforts()[0] == pytest.approx(MASS * G, rel=1e-12)


def test_what_is_attached_is_balanced_too() -> None:
    """The joints of the model bear the weight of another one that they carry."""
    load = fixed(box("load", (0.1, 0.1, 0.1), 1.5), attach_to="cart")
    cart = fixed(slider(MASS), rpy=UPRIGHT, gravity_compensation=True)
    world = make_world(cart, load)
    world.step(100)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    assert world.joint_efforts()[0] == pytest.approx((MASS + 1.5) * G, rel=1e-12)


def test_effort_limits_bound_it() -> None:
    """A drive too weak for the weight lets it sink with the missing part."""
    world = lift(effort=15)
    world.step(100)
    assert world.v[0] == pytest.approx((15.0 / MASS - G) * 0.1, rel=1e-6)


def test_a_floating_model_is_refused() -> None:
    """No drive bears the weight of a free body."""
    with pytest.raises(hs.InputError, match="nothing bears the weight of a floating model") as error:
        make_world(free(box("box", (0.1, 0.1, 0.1), 1.0), gravity_compensation=True))
    assert error.value.source.startswith("made_scenes.py:")
    assert error.value.element == "model 'box_0'"
    assert "leave gravity_compensation out" in error.value.mend
