"""A gripper whose fingers share a coordinate does what one with a drive for each finger does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_scenes import box, free, inertial, make_world, robot, solid_link

import hydro_sim_core as hs

FORCE = 8.0
HAND = {"name": "hand", "max_force": 40.0, "kp": 2000.0, "kd": 20.0}


def finger(side: str, axis: float, mimic: str = "") -> tuple[str, str]:
    """A rigid pad on a rail along y, 35 mm from the middle."""
    y = -0.035 if side == "left" else 0.035
    pad = solid_link(side, '<box size="0.04 0.02 0.09"/>', 0.1, (1e-4, 1e-4, 1e-4), modulus=None, mu=0.6)
    return pad, (
        f'<joint name="{side}_joint" type="prismatic"><parent link="hand"/><child link="{side}"/>'
        f'<origin xyz="0 {y!r} 0"/><axis xyz="0 {axis!r} 0"/>{mimic}'
        '<limit lower="-0.02" upper="0.02" effort="100" velocity="10"/></joint>'
    )


def hand(
    folder: Path, multiplier: float | None, offset: float = 0.0, actuators: Any = (), **gripper: Any
) -> hs.World:
    """Two fingers around a block; the right one mimics the left one, or has a drive of its own without a multiplier.

    A negative multiplier goes with a right finger whose joint closes the other way, as files have it.
    """
    sign = 1 if multiplier is None or multiplier > 0.0 else -1
    mimic = ""
    if multiplier is not None:
        mimic = f'<mimic joint="left_joint" multiplier="{multiplier!r}" offset="{offset!r}"/>'
    fingers = (*finger("left", 1.0), *finger("right", -1.0 * sign, mimic))
    joints = {"left_joint": 1, "right_joint": sign}
    block = free(box("block", (0.03, 0.05, 0.03), 0.2, modulus=1e7, mu=0.6))
    spec = {**HAND, "joints": joints, **gripper}
    spec["closed"] = {name: 0.025 * closing for name, closing in joints.items() if name in spec["joints"]}
    text = robot("hand", '<link name="hand"/>', *fingers)
    # Without weight the block stays between the fingers when they open.
    sections = {"grippers": [spec], "actuators": list(actuators), "gravity": [0.0, 0.0, 0.0]}
    return make_world(folder, {"text": text}, block, **sections)


def fingers_of(world: hs.World) -> dict[str, float]:
    """Position of both fingers, towards closing positive."""
    signs = world.scene.spec.grippers[0].joints
    positions = dict(zip(world.joint_names, world.joint_positions(), strict=True))
    return {name: sign * positions[name] for name, sign in signs.items()}


def pad_forces(world: hs.World) -> list[float]:
    """Size of the contact force on each pad along the rails, N."""
    return [abs(float(patch.force_on_b[1])) for patch in world.contacts]


@pytest.mark.parametrize("multiplier", [1.0, -1.0])
def test_force_and_motion_are_those_of_independent_fingers(tmp_path: Path, multiplier: float) -> None:
    """Closing, gripping and opening to a gap, step by step the same."""
    worlds = []
    for name, ratio in (("mimic", multiplier), ("independent", None)):
        (tmp_path / name).mkdir()
        worlds.append(hand(tmp_path / name, ratio))
    mimic, independent = worlds
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
def test_any_ratio_of_the_fingers(tmp_path: Path, multiplier: float, offset: float) -> None:
    """What is held balances, so both fingers press with the force asked for; and the gap is the one asked for."""
    world = hand(tmp_path, multiplier, offset)
    world.set_gripper(force=FORCE)
    world.step(300)
    assert pad_forces(world) == pytest.approx([FORCE] * 2, rel=1e-3)
    assert world.grip_force() == pytest.approx(FORCE, rel=1e-3)
    world.set_gripper(position=0.058)
    world.step(400)
    positions = dict(zip(world.joint_names, world.joint_positions(), strict=True))
    assert world.scene.spec.grippers[0].gap(positions) == pytest.approx(0.058, abs=1e-5)


def test_the_largest_force_is_a_fingers(tmp_path: Path) -> None:
    """A position command presses with at most the gripper's force on each finger."""
    world = hand(tmp_path, 1.0, max_force=5.0, kp=1e5)
    world.set_gripper(position=0.03)
    world.step(300)
    assert pad_forces(world) == pytest.approx([5.0] * 2, rel=1e-3)
    with pytest.raises(hs.InputError, match=r"force 5\.5 N is out of range"):
        world.set_gripper(force=5.5)


def test_a_gap_beyond_the_travel_is_refused(tmp_path: Path) -> None:
    """The limits of either finger count."""
    with pytest.raises(hs.InputError, match="outside its limits"):
        hand(tmp_path, 0.5).set_gripper(position=0.2)


def test_commanding_the_shared_joint_ends_the_script(tmp_path: Path) -> None:
    """Whoever moves the joint that the fingers share takes the gripper over, even where it is no finger itself."""
    knob = (
        f'<link name="knob">{inertial(0.1, (1e-4, 1e-4, 1e-4))}</link>',
        '<joint name="knob_joint" type="revolute"><parent link="hand"/><child link="knob"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="100" velocity="100"/></joint>',
    )
    law = '<mimic joint="knob_joint" multiplier="0.02"/>'
    fingers = (*finger("left", 1.0, law), *finger("right", -1.0, law))
    text = robot("hand", '<link name="hand"/>', *knob, *fingers)
    block = free(box("block", (0.03, 0.05, 0.03), 0.2, modulus=1e7, mu=0.6))
    spec = {**HAND, "joints": {"left_joint": 1, "right_joint": 1}}
    script = {"gripper": "hand", "signal": {"constant": FORCE}}
    world = make_world(tmp_path, {"text": text}, block, grippers=[spec], commands=[script])
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
def test_a_gripper_that_cannot_grip_is_refused(tmp_path: Path, case: str) -> None:
    """What would press with another force than the one asked for, or with none, does not load."""
    change, problem = BAD[case]
    with pytest.raises(hs.InputError, match=problem) as error:
        hand(tmp_path, 1.0, **change)
    assert error.value.source == str(tmp_path / "scene.yaml")
    assert error.value.element.startswith("grippers.0.joints")
