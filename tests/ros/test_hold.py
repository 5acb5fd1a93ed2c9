"""Holding still and floating: the weight is borne exactly once."""

import numpy as np
import pytest

from hydro_sim.controllers.hold import HoldController
from hydro_sim_core.simulation import JointCommand
from support.ros.arms import JOINTS, Bench, gen3

STIFFNESS = np.array([2000.0] * 4 + [500.0] * 3)


def make_bench(**model):
    bench = Bench(gen3(**model))
    return bench, bench.add(HoldController(bench.world, bench.arbiter))


def test_position_drives_alone_droop_and_holding_does_not():
    """Without feed-forward a drive gives way by weight over stiffness; with it an arm stays to a micrometre."""
    bench, hold = make_bench()
    world = bench.world
    wanted = world.q
    bench.step(2000)
    droop = wanted - world.q
    assert droop == pytest.approx(world.gravity_forces() / STIFFNESS, abs=1e-6)
    assert np.abs(droop).max() > 5e-3

    hold.assume(world, JOINTS, "hold")
    held = world.q
    bench.step(1000)
    assert world.q == pytest.approx(held, abs=1e-6)
    assert world.joint_efforts() == pytest.approx(world.gravity_forces(), abs=1e-2)


@pytest.mark.parametrize("compensated", [False, True])
@pytest.mark.parametrize("mode", ["hold", "float"])
def test_weight_is_borne_once(mode, compensated):
    """Also where the model's drives do so by themselves: efforts are the weight, not twice as much."""
    bench, hold = make_bench(gravity_compensation=compensated)
    world = bench.world
    start = world.q
    hold.assume(world, JOINTS, mode)
    bench.step(500)
    assert world.q == pytest.approx(start, abs=1e-6)
    assert world.joint_efforts() == pytest.approx(world.gravity_forces(), abs=1e-2)


def test_floating_arm_has_no_stiffness():
    """Pushed, it goes on and does not come back; one that holds does."""
    moved = {}
    for mode in ("hold", "float"):
        bench, hold = make_bench()
        world = bench.world
        hold.assume(world, JOINTS, mode)
        start, push = world.q, np.zeros(7)
        push[0] = 0.5
        world.set_state(start, push)
        bench.step(300)
        moved[mode] = world.q[0] - start[0]
    assert abs(moved["hold"]) < 0.01
    assert moved["float"] > 0.1


def test_zero_effort_falls_as_mass_and_gravity_say():
    """Over the first steps velocities are those of M a = -g."""
    bench, hold = make_bench()
    world = bench.world
    acceleration = np.linalg.solve(world.mass_matrix(), -world.bias_forces())
    hold.assume(world, JOINTS, "zero_effort")
    bench.step(3)
    assert world.joint_efforts() == pytest.approx(0.0)
    assert world.v == pytest.approx(3 * world.time_step * acceleration, rel=0.02, abs=1e-4)


def test_joint_that_somebody_takes_is_left_alone():
    """The others stay held."""
    bench, hold = make_bench()
    world = bench.world
    hold.assume(world, JOINTS, "hold")
    other = HoldController(world, bench.arbiter)
    bench.arbiter.take(other, ["joint_7"], world.time)
    world.command_joints({"joint_7": JointCommand(position=0.3)})
    start = world.q
    bench.step(1000)
    assert bench.position("joint_7") == pytest.approx(0.3, abs=1e-2)
    assert world.q[:6] == pytest.approx(start[:6], abs=1e-3)
