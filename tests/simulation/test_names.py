"""Joints and bodies are set by their names; what is wrong with a name is told, and nothing is changed then."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import Robot, add_fingers, fixed, make_world


@pytest.fixture
def world() -> hs.World:
    return hs.load_scene("spatula_slip")


def test_joints_are_set_by_name_and_all_else_stays(world: hs.World) -> None:
    world.step(10)
    q, v, time = world.q, world.v, world.time
    world.set_joint_positions({"joint_2": 0.4, "joint_5": -0.1})
    world.set_joint_velocities({"joint_2": 0.3})
    changed = [world.velocity_names.index(name) for name in ("joint_2", "joint_5")]
    others = np.delete(np.arange(len(q)), changed)
    assert dict(zip(world.joint_names, world.joint_positions(), strict=True))["joint_2"] == 0.4
    assert dict(zip(world.joint_names, world.joint_positions(), strict=True))["joint_5"] == -0.1
    np.testing.assert_array_equal(world.q[others], q[others])
    assert world.v[changed[0]] == 0.3
    np.testing.assert_array_equal(np.delete(world.v, changed[0]), np.delete(v, changed[0]))
    assert world.time == time


@pytest.mark.parametrize(
    ("positions", "problem"),
    [
        ({"joint_2": 0.1, "join_3": 0.0}, r"joint 'join_3'.*did you mean 'joint_3'"),
        (
            {"joint_2": 0.1, "joint_3": float("nan")},
            r"joint 'joint_3': holds NaN or infinity; give a finite number",
        ),
        ({"joint_2": 0.1, "joint_3": "far"}, r"joint 'joint_3'.*number"),
        ({"joint_2": 0.1, "spatula_base": 0.0}, r"joint 'spatula_base'.*has not one coordinate"),
    ],
)
def test_one_wrong_name_changes_nothing(world: hs.World, positions: dict, problem: str) -> None:
    for setter, read in (
        (world.set_joint_positions, lambda: world.q),
        (world.set_joint_velocities, lambda: world.v),
    ):
        before = read()
        with pytest.raises(InputError, match=problem):
            setter(positions)
        np.testing.assert_array_equal(read(), before)


def test_a_model_is_placed_by_its_name(world: hs.World) -> None:
    X = np.eye(4)
    X[:3, 3] = 1.0, 2.0, 3.0
    world.place("spatula", X, [0.0, 0.0, 0.1, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(world.frame_pose("spatula"), X, atol=1e-15)
    body = world.velocity_names.index("spatula_base/0")
    np.testing.assert_array_equal(world.v[body : body + 6], [0.0, 0.0, 0.1, 1.0, 0.0, 0.0])
    world.place("spatula_base", V_WB=np.zeros(6))
    assert not world.v.any()
    np.testing.assert_allclose(world.frame_pose("spatula"), X, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "X", "problem"),
    [
        ("spatul", np.eye(4), "did you mean 'spatula'"),
        ("arm", np.eye(4), "'arm': is fixed; write base: floating"),
        ("spatula", np.eye(3), "X_WB: has shape"),
        ("spatula", 2.0 * np.eye(4), "X_WB"),
        ("spatula", np.full((4, 4), np.nan), "X_WB"),
    ],
)
def test_what_cannot_be_placed_is_told(world: hs.World, name: str, X: np.ndarray, problem: str) -> None:
    before = world.q
    with pytest.raises(InputError, match=problem):
        world.place(name, X)
    np.testing.assert_array_equal(world.q, before)


def test_a_mimic_joint_is_set_through_its_master() -> None:
    def describe(model: ModelBuilder) -> None:
        model.add_link("hand")
        add_fingers(model, right={"mimic": "left_joint", "multiplier": -1})

    world = make_world(fixed(Robot("hand", describe)))
    with pytest.raises(InputError, match="joint 'right_joint': mimics 'left_joint'; set 'left_joint'"):
        world.set_joint_positions({"right_joint": 0.01})
    world.set_joint_positions({"left_joint": 0.01})
    np.testing.assert_allclose(world.joint_positions(), [0.01, -0.01])


def test_reprs_say_what_it_is(world: hs.World) -> None:
    world.step(100)
    assert repr(world) == "<World 'spatula_slip' at 0.1 s: 3 entities, 15 velocities>"
    patch = world.contacts[0]
    assert repr(patch).startswith(
        f"<ContactPatch '{patch.name_a}' on '{patch.name_b}': {patch.num_faces} faces, ("
    )
    assert repr(patch).endswith(") N>")
