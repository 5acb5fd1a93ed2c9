"""What joints transmit in the worlds of a batch is what each world tells of them, whoever took the step."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.batch_arm import TOOL, N, describe_arm, moving, scene
from support.simulation.lift import lift_scene
from support.simulation.made_scenes import G, Robot, fixed, make_scene
from support.simulation.side_by_side import MAKERS, Maker, host

JOINTS = ("arm_0_base", "turn", "slide", "flange", "swing", "brick_1_base")


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def assert_as_alone(batch: hs.BatchWorld) -> None:
    for joint in JOINTS:
        told = host(batch.joint_wrench(joint))
        alone = np.array([batch.copy_of(i).joint_wrench(joint) for i in range(N)])
        np.testing.assert_allclose(
            told, alone, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(alone).max()), err_msg=joint
        )


def test_each_world_tells_the_same(maker):
    """Of every joint, fixed ones and bases too, in free motion and in contact."""
    batch = moving(maker(scene(), N))
    touched = False
    for steps in (1, 30, 100):
        batch.step(steps)
        assert_as_alone(batch)
        touched = touched or bool(np.abs(host(batch.contact_wrench("tool"))).max() > 1.0)
    assert touched
    assert not batch.failures


def test_each_world_of_several_scenes_tells_the_same(maker):
    batch = moving(maker([scene(), scene(0.3)], N))
    batch.step(20)
    assert_as_alone(batch)


def test_where_no_step_led_to_the_state_nothing_touches_or_pushes(maker):
    batch = moving(maker(scene(), N))
    assert_as_alone(batch)
    batch.step(60)
    batch.reset([1])
    batch.set_state(host(batch.q)[2:3], host(batch.v)[2:3], [2])
    assert_as_alone(batch)


def test_springs_that_pull_count(maker):
    """They come with states that were saved in a world."""
    batch = moving(maker(scene(), N))
    world = batch.copy_of(1)
    world.pull("hand", [0.0, 0.0, 0.0], [0.3, 0.2, 0.5], stiffness=100.0)
    batch.load(1, world.save_state())
    batch.step(10)
    assert_as_alone(batch)
    world.step(10)
    np.testing.assert_allclose(host(batch.joint_wrench("turn"))[1], world.joint_wrench("turn"), rtol=1e-9)


def test_a_flange_reads_the_weight_of_its_tool(maker):
    """At rest: downwards in the tool's axes, in whose origin its mass is."""
    batch = maker(scene(), N)
    batch.parameters["joint_friction"][...] = 1e3  # nothing moves
    batch.set_state(host(batch.q), 0.0 * host(batch.v))
    batch.step(5)
    R_WL = host(batch.frame_pose("tool"))[:, :3, :3]
    weight = R_WL.transpose(0, 2, 1) @ [0.0, 0.0, -TOOL * G]
    wrench = host(batch.joint_wrench("flange"))
    np.testing.assert_allclose(wrench[:, 3:], weight, rtol=0, atol=1e-8)
    np.testing.assert_allclose(wrench[:, :3], 0.0, atol=1e-9)


@pytest.mark.parametrize("accuracy", [None, 1e-5])
def test_steps_that_follow_the_motion_on_the_processor(accuracy):
    described = fixed(Robot("arm", describe_arm), xyz=(0, 0, 1.0))
    solver = {"integrator": "continuous"} if accuracy is None else {"accuracy": accuracy}
    batch = hs.BatchWorld(make_scene(described, time_step=5e-3, solver=solver), N, "cpu")
    batch.set_state(batch.q, np.linspace(-1.0, 1.0, 3 * N).reshape(N, 3))
    batch.step(10)
    for mass in (1.0, 2.0):  # what has been read does not hold when masses change
        batch.parameters["mass"][1] *= mass
        batch.step()
        for joint in ("turn", "slide", "flange"):
            alone = np.array([batch.copy_of(i).joint_wrench(joint) for i in range(N)])
            scale = max(1.0, np.abs(alone).max())
            np.testing.assert_allclose(batch.joint_wrench(joint), alone, rtol=0, atol=1e-12 * scale)
    batch.reset([0])
    np.testing.assert_allclose(
        batch.joint_wrench("turn")[0], batch.copy_of(0).joint_wrench("turn"), rtol=0, atol=1e-12
    )


def test_a_carried_arm_on_the_processor():
    """A base that moves as it is told carries the arm."""
    batch = hs.BatchWorld(
        make_scene(fixed(Robot("arm", describe_arm), base="kinematic", xyz=(0, 0, 1.0))), N, "cpu"
    )
    batch.drives.v_after[:, :6] = np.linspace(0.0, 1.0, 6 * N).reshape(N, 6)
    batch.step(10)
    for joint in ("turn", "slide", "flange", "arm_0_base"):
        alone = np.array([batch.copy_of(i).joint_wrench(joint) for i in range(N)])
        np.testing.assert_allclose(batch.joint_wrench(joint), alone, rtol=1e-12, atol=1e-11)
    assert np.abs(np.diff(batch.joint_wrench("turn"), axis=0)).max() > 1e-3


def test_an_arm_that_can_touch_nothing(maker):
    batch = maker(make_scene(fixed(Robot("arm", describe_arm)), solver={"integrator": "fixed"}), N)
    batch.step(5)
    alone = np.array([batch.copy_of(i).joint_wrench("turn") for i in range(N)])
    np.testing.assert_allclose(host(batch.joint_wrench("turn")), alone, rtol=1e-12, atol=1e-12)
    assert np.abs(alone).max() > 1.0
    assert not host(batch.contact_wrench("tool")).any()


def test_a_world_that_cannot_go_on_keeps_what_pushed_in_its_last_step(maker):
    batch = maker(scene(), N)
    batch.apply_wrench("hand", np.tile([0.0, 0.0, 0.0, 5.0, 0.0, 0.0], (N, 1)))
    batch.step(3)
    expected = host(batch.joint_wrench("turn"))[1]
    batch.drives.effort[1] = np.nan
    batch.apply_wrench("hand", np.tile([0.0, 0.0, 0.0, 100.0, 0.0, 0.0], (N, 1)))
    batch.step(3)
    assert list(batch.failures) == [1]
    np.testing.assert_allclose(host(batch.joint_wrench("turn"))[1], expected, rtol=1e-12, atol=1e-12)
    assert_as_alone(batch)


@pytest.mark.parametrize("lifted", ["carriage", "load"])
def test_weight_that_a_description_takes_off_does_not_grow_with_the_mass(tmp_path, lifted):
    """A joint without a drive transmits nothing along its axis, whatever mass a world has."""
    batch = hs.BatchWorld(lift_scene(tmp_path, lifted), 2, "cpu")
    batch.parameters["mass"][1] *= 2.0
    batch.step(10)
    assert batch.v[1, 0] < 1.2 * batch.v[0, 0] < 0.0
    np.testing.assert_allclose(batch.joint_wrench("up")[:, 5], 0.0, atol=1e-12)
    np.testing.assert_allclose(batch.copy_of(1).joint_wrench("up")[5], 0.0, atol=1e-12)


def test_what_is_no_joint_is_told(maker):
    batch = maker(scene(), 2)
    with pytest.raises(
        InputError, match="joint_wrench: joint 'flang': is not in the scene; did you mean 'flange'"
    ):
        batch.joint_wrench("flang")
