"""Worlds of a batch on the processor take their steps in turn, in one call of each thread."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.side_by_side import refuse_other_steps
from hydro_sim_core.simulation.integrators.steppers import FixedSteps
from hydro_sim_core.simulation.world.world import World
from support.simulation.made_scenes import GROUND, free, make_scene, sphere

N = 5


def falling(**solver: Any) -> Any:
    return make_scene(
        free(sphere("ball", 0.05, 0.3, modulus=1e6), (0, 0, 0.2)), environment=[GROUND], solver=solver
    )


def test_cheap_steps_take_no_call_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = hs.BatchWorld(falling(), N, "cpu")
    monkeypatch.delattr(World, "step")
    batch.step(20)
    assert batch.step_counts.tolist() == [20] * N


@pytest.mark.parametrize("solver", [{}, {"integrator": "error_controlled", "accuracy": 1e-4}])
def test_what_a_step_began_with_is_told_whoever_took_it(solver: dict[str, Any]) -> None:
    scene = falling(**solver)
    batch, world = hs.BatchWorld(scene, N, "cpu"), hs.World(scene)
    batch.step(3)
    batch.apply_wrench("ball", [[0, 0, 0, 0.5, 0, 0]], [2])
    batch.step(2)
    world.step(3)
    world.apply_wrench("ball", [0, 0, 0, 0.5, 0, 0])
    world.step(2)
    told = batch.copy_of(2)
    for ours, alone in zip(told.before_last_step, world.before_last_step, strict=True):
        np.testing.assert_array_equal(ours, alone)
    np.testing.assert_array_equal(
        told.loads_of_last_step.wrenches["ball"], world.loads_of_last_step.wrenches["ball"]
    )
    assert batch.copy_of(1).loads_of_last_step.wrenches == {}


def test_worlds_change_their_commands_when_the_script_does() -> None:
    scene = hs.load_scene("cylinder_grasp").scene
    batch, world = hs.BatchWorld(scene, 2, "cpu"), hs.World(scene)
    batch.step(7)
    batch.reset([1])  # from now on at another time
    changes = world.begin_stretch()
    for steps in (5, changes - 20, 30):
        batch.step(steps)
    world.step(changes + 15)
    np.testing.assert_array_equal(batch.q[1], world.q)
    np.testing.assert_array_equal(batch.drives.q_target[1], world.machine.drives.q_target)
    world.step(7)
    np.testing.assert_array_equal(batch.q[0], world.q)


class Twice(FixedSteps):
    """An integrator as a plug-in may have it."""

    def advance(self, steps: int) -> None:
        super().advance(2 * steps)


def test_integrators_of_plug_ins_take_their_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hydro_sim_core.simulation.world.world._stepper_class", lambda _: Twice)
    batch = hs.BatchWorld(falling(), N, "cpu")
    batch.step(1)
    assert batch.step_counts.tolist() == [2] * N
    with pytest.raises(InputError, match="does not run on a GPU"):
        refuse_other_steps(batch.world)


def test_a_world_that_did_not_get_its_turn_keeps_what_is_told_of_its_last_step() -> None:
    batch = hs.BatchWorld(hs.load_scene("cylinder_grasp"), 1, "cpu")
    batch.step(252)  # alone, as a command changes
    batch.step(3)  # in turn
    worlds, began = batch._worlds, batch.copy_of(0).before_last_step[1]
    stopped = threading.Event()
    stopped.set()
    worlds.rows["order.until"] += 5
    worlds._step_share([0], stopped)
    np.testing.assert_array_equal(batch.copy_of(0).before_last_step[1], began)


def test_one_core_can_be_interrupted_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRO_SIM_THREADS", "1")
    batch = hs.BatchWorld(make_scene(free(sphere("ball", 0.05, 0.3)), gravity=(0, 0, 0)), N, "cpu")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        batch.step(10**8)
    counts = batch.step_counts.copy()
    assert (counts > 0).tolist() == [True] + [False] * (N - 1)
    assert [batch.copy_of(i).before_last_step is not None for i in range(N)] == (counts > 0).tolist()
    batch.step(2)
    assert batch.step_counts.tolist() == (counts + 2).tolist()


@pytest.mark.parametrize("steps", [10**8, 2**64])
def test_nobody_steps_on_after_ctrl_c(steps: int) -> None:
    batch = hs.BatchWorld(falling(), 4, "cpu")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch.step(steps)
    counts = batch.step_counts.tolist()
    time.sleep(0.1)
    assert batch.step_counts.tolist() == counts
    batch.reset()
    batch.step(2)
    assert batch.step_counts.tolist() == [2] * 4
