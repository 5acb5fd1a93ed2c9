"""What gravity compensation balances, and up to where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_scenes import G, box, make_world, slider, write_scene

import hydro_sim_core as hs

MASS = 2.0
UPRIGHT = {"rpy": [0.0, -1.5707963267948966, 0.0]}


def lift(folder: Path, limit: str = 'effort="1e3" velocity="1e3"', **model: Any) -> hs.World:
    """A cart on a vertical rail whose drive balances its weight."""
    entry = {"text": slider(MASS, limit=limit), "pose": UPRIGHT, "gravity_compensation": True, **model}
    return make_world(folder, entry)


@pytest.mark.parametrize("prefix", ["", "left/"])
def test_a_lift_stands_still(tmp_path: Path, prefix: str) -> None:
    """The drive bears the weight, whatever the joint is called."""
    world = lift(tmp_path, prefix=prefix)
    world.step(100)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    assert world.joint_efforts()[0] == pytest.approx(MASS * G, rel=1e-12)


def test_what_is_attached_is_balanced_too(tmp_path: Path) -> None:
    """The joints of the model bear the weight of another one that they carry."""
    load = {"text": box("load", (0.1, 0.1, 0.1), 1.5), "attach_to": "cart"}
    cart = {"text": slider(MASS), "pose": UPRIGHT, "gravity_compensation": True}
    world = make_world(tmp_path, cart, load)
    world.step(100)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    assert world.joint_efforts()[0] == pytest.approx((MASS + 1.5) * G, rel=1e-12)


def test_effort_limits_bound_it(tmp_path: Path) -> None:
    """A drive too weak for the weight lets it sink with the missing part."""
    world = lift(tmp_path, limit='effort="15" velocity="1e3"')
    world.step(100)
    assert world.v[0] == pytest.approx((15.0 / MASS - G) * 0.1, rel=1e-6)


def test_a_floating_model_is_refused(tmp_path: Path) -> None:
    """No drive bears the weight of a free body."""
    path = write_scene(
        tmp_path,
        {"text": box("box", (0.1, 0.1, 0.1), 1.0), "base": "floating", "gravity_compensation": True},
    )
    with pytest.raises(hs.InputError, match="nothing bears the weight of a floating model") as error:
        hs.load_scene(path)
    assert error.value.source == str(path)
    assert error.value.element.startswith("models.0")
    assert "leave gravity_compensation out" in error.value.mend
