"""Scripts that lead bodies which move as they are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import make_world
from support.simulation.plates import brick, plate


def script(**signals: Any) -> list[dict[str, Any]]:
    """Commands to the plate, by components of its twist."""
    return [{"model": "plate", "mode": mode, "signal": signal} for mode, signal in signals.items()]


def test_a_script_leads_it() -> None:
    """A square wave there and back, with a constant turn; where it is follows from the areas under the signals."""
    wave = {"low": -0.1, "high": 0.3, "period": 0.4, "duty": 0.25}
    commands = script(vx={"square": wave}, wz={"constant": 0.5})
    world = make_world(plate(), commands=commands)
    world.step(100)
    assert world.frame_pose("plate")[0, 3] == pytest.approx(0.03, rel=1e-12)
    world.step(200)
    X = world.frame_pose("plate")
    assert X[0, 3] == pytest.approx(0.03 - 0.02, rel=1e-12)
    np.testing.assert_allclose(X[:3, :3], Rotation.from_rotvec([0, 0, 0.15]).as_matrix(), rtol=0, atol=1e-14)
    again = world.copy()
    world.reset()
    world.step(300)
    assert (world.q == again.q).all()


@pytest.mark.parametrize("call", ["move", "place"])
def test_who_leads_it_takes_it_from_the_script(call: str) -> None:
    """All of its twist, for good, in saved states too; until a reset."""
    commands = script(vx={"sine": {"amplitude": 0.3, "period": 0.4}}, vz={"constant": 0.5})
    world = make_world(plate(), commands=commands)
    world.step(10)
    X = world.frame_pose("plate")
    getattr(world, call)("plate", V_WB=[0, 0, 0, 0, 0.1, 0])
    other = make_world(plate(), commands=commands)
    other.restore_state(world.save_state())
    for one in (world, other):
        one.step(100)
        moved = one.frame_pose("plate")[:3, 3] - X[:3, 3]
        np.testing.assert_allclose(moved, [0.0, 0.01, 0.0], rtol=0, atol=1e-15)
    world.reset()
    world.step(10)
    assert (world.frame_pose("plate") == X).all()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"model": "plat", "mode": "vx"}, "model: no kinematic model 'plat'.*plate"),
        ({"model": "brick", "mode": "vx"}, "model: no kinematic model 'brick'"),
        ({"model": "plate"}, "a model needs a mode; use one of wx, wy, wz, vx, vy, vz"),
        ({"model": "plate", "mode": "position"}, "a model has no mode 'position'"),
        ({"model": "plate", "joint": "j", "mode": "vx"}, "write one of gripper, joint and model"),
    ],
)
def test_bad_scripts(command: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_world(plate(), brick(), commands=[{**command, "signal": {"constant": 1.0}}])


def test_two_commands_of_one_component_are_refused() -> None:
    commands = [*script(vx={"constant": 1.0}), *script(vx={"constant": 2.0})]
    with pytest.raises(InputError, match=r"'plate\.vx' has two commands"):
        make_world(plate(), commands=commands)


def test_its_commands_leave_the_scene_with_it() -> None:
    world = make_world(plate(), brick(), commands=script(vx={"constant": 1.0}))
    left = without(world.scene, "plate")
    assert left.spec.commands == ()
    assert hs.World(left).entities.names == ("brick",)
    faster = world.scene.with_({"commands.plate.signal.constant": 2.0})
    assert faster.spec.commands[0].signal.constant == 2.0
