"""A gripper whose fingers share a coordinate does what one with a drive for each finger does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from support.simulation.made_scenes import Robot, add_fingers, box, fixed, free, make_world

FORCE = 8.0
HAND = {"name": "hand", "max_force": 40.0, "kp": 2000.0, "kd": 20.0}


def hand(multiplier: float | None, offset: float = 0.0, actuators: Any = (), **gripper: Any) -> hs.World:
    """Two fingers around a block; the right one mimics the left one, or has a drive of its own without a multiplier.

    A negative multiplier goes with a right finger whose joint closes the other way, as files have it.
    """
    sign = 1 if multiplier is None or multiplier > 0.0 else -1
    joints = {"left_joint": 1, "right_joint": sign}
    block = free(box("block", (0.03, 0.05, 0.03), 0.2, modulus=1e7, mu=0.6))
    spec = {**HAND, "joints": joints, **gripper}
    spec["closed"] = {name: 0.025 * closing for name, closing in joints.items() if name in spec["joints"]}

    def describe(model: ModelBuilder) -> None:
        model.add_link("hand")
        mimics = {"mimic": "left_joint", "multiplier": multiplier, "offset": offset}
        add_fingers(model, sign, right={} if multiplier is None else mimics)

    # Without weight the block stays between the fingers when they open.
    sections = {"grippers": [spec], "actuators": list(actuators), "gravity": [0.0, 0.0, 0.0]}
    return make_world(fixed(Robot("hand", describe)), block, **sections)


def fingers_of(world: hs.World) -> dict[str, float]:
    """Position of both fingers, towards closing positive."""
    signs = world.scene.spec.grippers[0].joints
    positions = dict(zip(world.joint_names, world.joint_positions(), strict=True))
    return {name: sign * positions[name] for name, sign in signs.items()}


def pad_forces(world: hs.World) -> list[float]:
    """Size of the contact force on each pad along the rails, N."""
    return [abs(float(patch.force_on_b[1])) for patch in world.contacts]


@pytest.mark.parametrize("multiplier", [1.0, -1.0])
def test_force_and_motion_are_those_of_independent_fingers(multiplier: float) -> None:
    """Closing, gripping and opening to a gap, step by step the same."""
    mimic, independent = worlds = [hand(ratio) for ratio in (multiplier, None)]
    for command in ({"force": FORCE}, {"position": 0.06}, {"force": 0.5 * FORCE}):
        for world in worlds:
            world.set_gripper(**command)
        for _ in range(10):
            for world in worlds:
                world.step(20)
            assert fingers_of(mimic) == pytest.approx(fingers_of(independent), abs=1e-8)
            assert mimic.grip_force() == pytest.approx(independent.grip_force(), abs=1e-3)
        if "force" in command:
            assert pad_forces(mimic) == pytest.approx([command["force"]] * 2, rel=1e-3)
            assert mimic.grip_force() == pytest.approx(command["force"], rel=1e-3)
        else:
            gripper = mimic.scene.spec.grippers[0]
            positions = dict(zip(mimic.joint_names, mimic.joint_positions(), strict=True))
            assert gripper.gap(positions) == pytest.approx(command["position"], abs=1e-5)


@pytest.mark.parametrize(("multiplier", "offset"), [(0.5, 0.0), (-2.0, 0.004)])
def test_any_ratio_of_the_fingers(multiplier: float, offset: float) -> None:
    """What is held balances, so both fingers press with the force asked for; and the gap is the one asked for."""
    world = hand(multiplier, offset)
    world.set_gripper(force=FORCE)
    world.step(300)
    assert pad_forces(world) == pytest.approx([FORCE] * 2, rel=1e-3)
    assert world.grip_force() == pytest.approx(FORCE, rel=1e-3)
    world.set_gripper(position=0.058)
    world.step(400)
    positions = dict(zip(world.joint_names, world.joint_positions(), strict=True))
    assert world.scene.spec.grippers[0].gap(positions) == pytest.approx(0.058, abs=1e-5)


def test_the_largest_force_is_a_fingers() -> None:
    """A position command presses with at most the gripper's force on each finger."""
    world = hand(1.0, max_force=5.0, kp=1e5)
    world.set_gripper(position=0.03)
    world.step(300)
    assert pad_forces(world) == pytest.approx([5.0] * 2, rel=1e-3)
    with pytest.raises(hs.InputError, match=r"force 5\.5 N is out of range"):
        world.set_gripper(force=5.5)


def test_a_gap_beyond_the_travel_is_refused() -> None:
    """The limits of either finger count."""
    with pytest.raises(hs.InputError, match="outside its limits"):
        hand(0.5).set_gripper(position=0.2)


def test_commanding_the_shared_joint_ends_the_script() -> None:
    """Whoever moves the joint that the fingers share takes the gripper over, even where it is no finger itself."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("hand")
        model.add_link("knob", 0.1, inertia=3 * (1e-4,))
        limits = {"lower": -1, "upper": 1, "effort": 100, "velocity": 100}
        model.add_joint("knob_joint", "revolute", "hand", "knob", axis=(0, 1, 0), **limits)
        law = {"mimic": "knob_joint", "multiplier": 0.02}
        add_fingers(model, left=law, right=law)

    block = free(box("block", (0.03, 0.05, 0.03), 0.2, modulus=1e7, mu=0.6))
    spec = {**HAND, "joints": {"left_joint": 1, "right_joint": 1}}
    script = {"gripper": "hand", "signal": {"constant": FORCE}}
    world = make_world(fixed(Robot("hand", describe)), block, grippers=[spec], commands=[script])
    world.step(300)
    assert pad_forces(world) == pytest.approx([FORCE] * 2, rel=1e-3)
    assert world.gripper_joint_names == ("knob_joint",)
    world.set_command({"knob_joint": -0.01})
    world.step(100)
    np.testing.assert_array_equal(pad_forces(world), [])


BAD = {
    "shared joint has an actuator": (
        {"actuators": [{"joints": ["left_joint"], "kp": 1.0}]},
        "joint 'left_joint' is driven by actuators.0.joints too",
    ),
    "master is not listed": ({"joints": {"right_joint": 1}}, "'left_joint' moves with 'right_joint'"),
    "mimic joint is not listed": ({"joints": {"left_joint": 1}}, "'right_joint' moves with 'left_joint'"),
    "fingers part": (
        {"joints": {"left_joint": 1, "right_joint": -1}},
        "opens while 'left_joint' closes",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_gripper_that_cannot_grip_is_refused(case: str) -> None:
    """What would press with another force than the one asked for, or with none, does not load."""
    change, problem = BAD[case]
    with pytest.raises(hs.InputError, match=problem) as error:
        hand(1.0, **change)
    assert error.value.element.startswith("gripper 'hand', joints")
