"""Efforts of grippers on one joint are those of the power of their contacts, of revolute and prismatic joints alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from support.simulation.linkage_gripper import write_scene
from support.simulation.made_scenes import Robot, add_fingers, box, fixed, free, make_world

EFFORT = 1.5


def power_of_contacts(world: hs.World, joint: str, links: tuple[str, ...]) -> float:
    """Power of the forces on links at unit speed of a joint, N m or N, by the links' Jacobians."""
    column = world.velocity_names.index(joint)
    power = 0.0
    for contact in world.contacts:
        for name, sign in ((contact.name_b, 1.0), (contact.name_a, -1.0)):
            if name in links:
                J, origin = world.frame_jacobian(name)[:, column], world.frame_pose(name)[:3, 3]
                f, moment = contact.force_on_b, contact.moment_on_b(origin)
                power += sign * float(J[3:] @ f + J[:3] @ moment)
    return power


def test_the_grip_of_a_knuckle_is_the_power_of_its_contacts(tmp_path: Path) -> None:
    """Contacts of the tips count at the knuckle, which carries them: at a tip's own joint they would be others."""
    world = hs.load_scene(write_scene(tmp_path))
    world.set_gripper(force=EFFORT)
    for _ in range(3):
        world.step(200)
        power = power_of_contacts(world, "knuckle_joint", ("left_tip", "right_tip"))
        assert world.grip_force() == pytest.approx(-power, rel=1e-9)
        assert world.grip_forces_on() == {"block": pytest.approx(-power, rel=1e-9)}
    assert world.grip_force() == pytest.approx(EFFORT, rel=0.02)
    assert world.grip_units == {"gripper": "N m"}
    copy = world.copy()
    for one in (world, copy):
        one.step(50)
    assert np.array_equal(copy.q, world.q)


def test_a_slide_that_drives_both_fingers_shares_its_effort(tmp_path: Path) -> None:
    """Each presses with half of it, where fingers of a gap press with all of it each; the position is the joint's."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("hand")
        add_fingers(model, 1, right={"mimic": "left_joint", "multiplier": 1.0})

    block = free(box("block", (0.03, 0.05, 0.03), 0.2, modulus=1e7, mu=0.6))
    spec = {"name": "hand", "kind": "linkage", "joints": {"left_joint": 1}, "max_force": 40.0}
    world = make_world(fixed(Robot("hand", describe)), block, grippers=[spec], gravity=[0.0, 0.0, 0.0])
    world.set_gripper(position=0.02, max_force=8.0)
    world.step(400)
    pads = [abs(float(patch.force_on_b[1])) for patch in world.contacts]
    assert pads == pytest.approx([4.0, 4.0], rel=1e-3)
    assert world.grip_force() == pytest.approx(8.0, rel=1e-3)
    assert world.grip_units == {"hand": "N"}
    world.set_gripper(position=-0.004)
    world.step(400)
    assert world.joint_positions()[world.joint_names.index("left_joint")] == pytest.approx(-0.004, abs=1e-5)
