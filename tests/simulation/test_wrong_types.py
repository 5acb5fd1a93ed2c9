"""Values of the wrong type are told in one line by whatever a world is told, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation.world.drives import JointCommand


@pytest.fixture(scope="module")
def world() -> hs.World:
    scene = hs.SceneBuilder()
    scene.add_body("ball", 0.2).add_shape("sphere", radius=0.05)
    scene.add_model("lift", base="kinematic", xyz=(1, 0, 0)).add_link("plate").add_shape(
        "box", size=(0.2, 0.2, 0.1)
    )
    cart = scene.add_model("cart", xyz=(0, 0, 1))
    cart.add_link("floor")
    cart.add_link("deck", mass=2.0).add_shape("box", size=(0.1, 0.1, 0.1))
    cart.add_joint("base", "planar", "floor", "deck", axis=(0, 0, 1))
    scene.add_actuators(["base/x", "base/y", "base/yaw"], kp=50, kd=5)
    return hs.World(scene.build())


CALLS: dict[str, Callable[[hs.World, Any], object]] = {
    "wrench": lambda world, value: world.apply_wrench("ball", value),
    "wrench of": lambda world, value: world.apply_wrench(value, np.zeros(6)),
    "applied wrench of": lambda world, value: world.applied_wrench(value),
    "pull": lambda world, value: world.pull("ball", value, np.zeros(3)),
    "pull to": lambda world, value: world.pull("ball", np.zeros(3), value),
    "pull of": lambda world, value: world.pull(value, np.zeros(3), np.zeros(3)),
    "let go of": lambda world, value: world.let_go(value),
    "place": lambda world, value: world.place("ball", value),
    "place at": lambda world, value: world.place("ball", V_WB=value),
    "place what": lambda world, value: world.place(value, np.eye(4)),
    "move": lambda world, value: world.move("lift", value),
    "move at": lambda world, value: world.move("lift", V_WB=value),
    "move what": lambda world, value: world.move(value, np.eye(4)),
    "position of the base": lambda world, value: world.set_command({"base/yaw": value}, mode="position"),
    "command": lambda world, value: world.set_command(value),
    "mode": lambda world, value: world.set_command({"base/x": 1.0}, mode=value),
    "joint commands": lambda world, value: world.command_joints(value),
    "joint command": lambda world, value: world.command_joints({"base/x": value}),
    "one of a joint command": lambda world, value: world.command_joints(
        {"base/x": JointCommand(effort=value)}
    ),
    "takes": lambda world, value: world.takes("base/x", value),
    "positions": lambda world, value: world.set_joint_positions(value),
    "position": lambda world, value: world.set_joint_positions({"base/y": value}),
    "velocities": lambda world, value: world.set_joint_velocities(value),
    "gripper": lambda world, value: world.set_gripper(value, force=1.0),
    "pose of": lambda world, value: world.frame_pose(value),
    "coordinates": lambda world, value: world.set_state(value, world.v),
    "saved state": lambda world, value: world.restore_state(value),
    "steps": lambda world, value: world.step(value),
}
WRONG = {
    "an object": object(),
    "a complex number": 1j,
    "a set": {1, 2},
    "a list of None": [None],
    "a whole number that is no float": np.array([10**400], dtype=object),
    "a matrix of too few": np.eye(3),
    "NaN": [np.nan] * 6,
    "many numbers": list(range(10000)),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_types_are_told_in_one_line(world, call):
    before = world.save_state()
    for value in WRONG.values():
        with pytest.raises(hs.InputError) as caught:
            CALLS[call](world, value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
    after = world.save_state()
    np.testing.assert_array_equal(after.state.q, before.state.q)
    np.testing.assert_array_equal(after.loads.wrench, before.loads.wrench)
    for now, then in zip(after.drives, before.drives, strict=True):
        np.testing.assert_array_equal(now, then)


SIGHTS = {
    "no path": lambda world: world.render(3),
    "text as a scale": lambda world: world.render(full_scale="20"),
    "a list as a scale": lambda world: world.view(full_scale=[1.0]),
    "a scale of zero": lambda world: world.view(full_scale=0),
}


@pytest.mark.parametrize("look", SIGHTS.values(), ids=SIGHTS)
def test_pictures_of_what_cannot_be_are_refused(world, look):
    with pytest.raises(hs.InputError, match=r"is no path|at the upper end"):
        look(world)


def test_states_are_written_to_paths_as_text_too(world, tmp_path):
    saved = world.save_state()
    saved.write(str(tmp_path / "state.json"))
    world.load_state(str(tmp_path / "state.json"))
    with pytest.raises(hs.InputError, match="is no path"):
        saved.write(3)
    with pytest.raises(
        hs.InputError, match=r"is no saved state; .* load_state of a World reads it from a file"
    ):
        world.restore_state(str(tmp_path / "state.json"))


def test_entries_of_arrays_are_numbers_of_commands(world):
    """Those of JAX and PyTorch are arrays of no dimension."""
    name = world.actuated_joint_names[0]
    for value in (np.array(0.1), np.array(1), np.float32(0.5)):
        world.set_command({name: value})
        assert world.drive_targets()[2, 0] == value
    jax = pytest.importorskip("jax")
    world.set_command(jax.numpy.full(len(world.actuated_joint_names), 0.25))
    assert (world.drive_targets()[2] == 0.25).all()
    for value in (np.array("0.1"), np.array(None), np.array(np.nan), np.array([0.1]), np.array(1j)):
        with pytest.raises(hs.InputError, match=f"joint '{name}': .*; give a finite number"):
            world.set_command({name: value})
