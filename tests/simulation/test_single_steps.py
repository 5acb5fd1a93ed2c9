"""Steps of a pause: the compiled loop takes them as they are asked for, by threads of this process and by clients."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.shared_memory.client import BrokenOff, connect
from hydro_sim_core.shared_memory.layout import Control, Life, Status
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.running import single_steps
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.simulation.made_scenes import free, make_world, snake
from support.simulation.runners import falling_ball, wait_until

_STEPS = 60


def _all_taken(core: Core) -> bool:
    """Of the steps that clients see asked for."""
    return bool((core.control[Control.STEPS_ASKED] - core.status[Status.STEPS_TAKEN]) % 2**32 == 0)


@pytest.fixture
def paused() -> Iterator[FixedRateRunner]:
    """A runner of the spatula that stands still."""
    runner = FixedRateRunner(hs.load_scene("spatula_slip"), start_paused=True)
    runner.start()
    yield runner
    runner.stop()


def test_steps_of_a_pause_are_taken_by_the_loop_to_the_same_bits(
    paused: FixedRateRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call tells the state after it with its contacts; the stepping thread need not come back for any."""
    alone = hs.load_scene("spatula_slip")
    paused.step()
    came_back: list[int] = []
    attend = paused._attend

    def note() -> None:
        came_back.append(1)
        attend()

    monkeypatch.setattr(paused, "_attend", note)
    told = [paused.step(n) for n in (1, 1, 30, 1, 26)]
    assert not came_back
    assert paused.steps_in_loop == _STEPS
    assert [snapshot.step for snapshot in told] == [2, 3, 33, 34, 60]
    alone.step(_STEPS)
    wanted = take_snapshot(alone, 0)
    np.testing.assert_array_equal(told[-1].q, wanted.q)
    np.testing.assert_array_equal(told[-1].v, wanted.v)
    assert len(told[-1].contacts) == len(wanted.contacts) > 0
    for a, b in zip(told[-1].contacts, wanted.contacts, strict=True):
        np.testing.assert_array_equal(a.pressures, b.pressures)
    assert paused.report().wall_time == 0.0
    assert paused.report().period.count == 0
    assert paused.report().step_time.count == _STEPS


def test_a_source_is_called_in_a_pause_when_it_has_something_to_do() -> None:
    world, calls = falling_ball(), []
    runner = FixedRateRunner(world, start_paused=True)
    runner.add_command_source(
        lambda world: calls.append(world.step_count), lambda world: -world.step_count % 20
    )
    runner.start()
    for _ in range(45):
        runner.step()
    runner.stop()
    assert calls == [0, 20, 40]
    assert runner.steps_in_loop == 42


def test_who_comes_while_the_loop_stands_hears_of_the_next_step(paused: FixedRateRunner) -> None:
    """A listener, a source, a follower: the loop has begun without them, and comes back."""
    paused.step(3)
    heard: list[int] = []
    paused.add_follower(lambda snapshot: heard.append(snapshot.step))
    paused.step(2)
    wait_until(lambda: heard == [4, 5])
    acted: list[int] = []
    paused.add_command_source(lambda world: acted.append(world.step_count))
    paused.step()
    assert acted == [5]
    listened: list[int] = []
    paused.add_listener(lambda snapshot: listened.append(snapshot.step))
    paused.step()
    assert listened == [7]
    assert paused.states_lost == 0


def test_a_listener_hears_of_the_steps_of_a_run_that_it_joins() -> None:
    """A stretch of the loop may last for ever."""
    runner = FixedRateRunner(falling_ball(), math.inf)
    runner.start()
    wait_until(lambda: runner.steps_in_loop > 50)
    heard: list[int] = []
    runner.add_listener(lambda snapshot: heard.append(snapshot.step))
    wait_until(lambda: len(heard) > 3)
    runner.stop()
    assert heard == list(range(heard[0], heard[0] + len(heard)))


def test_steps_that_follow_a_failure_are_broken_off() -> None:
    """The first one fails; a client that asks again is answered again."""
    runner = FixedRateRunner(make_world(free(snake())), start_paused=True)
    runner.submit(lambda world: world.set_command([1.7e308], "effort"))
    runner.start()
    core = runner._core
    for failures in (1, 2):
        core.control[Control.STEPS_ASKED] += 1000
        core.ring()
        wait_until(lambda: _all_taken(core))
        wait_until(lambda: core.status[Status.LIFE] == Life.PARKED)
        assert core.status[Status.FAILURES] == failures
    with pytest.raises(FloatingPointError, match="overflows"):
        runner.step(5)
    assert runner.world.step_count == 0
    runner.stop()


def test_a_client_is_told_why_its_steps_are_not_taken() -> None:
    runner = FixedRateRunner(
        make_world(free(snake())), start_paused=True, shared_name=f"test_fails_{os.getpid()}"
    )
    runner.submit(lambda world: world.set_command([1.7e308], "effort"))
    runner.start()
    with connect(f"test_fails_{os.getpid()}") as client:
        for _ in range(2):
            with pytest.raises(BrokenOff, match=r"not all of 5 steps were taken: one failed \(.*overflows"):
                client.step(5)
    runner.close()


def test_a_pause_drops_steps_of_clients_and_of_this_process() -> None:
    """What is asked for afterwards, before the stepping thread has looked, is taken."""
    runner = FixedRateRunner(falling_ball(), start_paused=True)
    runner.start()
    core = runner._core
    for pause in (runner.pause, lambda: _pause_by_words(core)):
        mine = runner.begin_steps(10**6)
        core.control[Control.STEPS_ASKED] += 10**6
        wait_until(lambda: runner.steps_in_loop > 10)
        pause()
        core.control[Control.STEPS_ASKED] += 3
        core.ring()
        assert mine.result(10.0) < 10**6
        wait_until(lambda: _all_taken(core))
        before = runner.snapshot().step
        assert runner.step(2).step == before + 2
        runner.reset()
    assert runner.report().step_time.count < 10**6
    runner.stop()


def _pause_by_words(core: Core) -> None:
    """As a client does."""
    core.control[Control.STEPS_DROPPED] = core.control[Control.STEPS_ASKED]
    core.control[Control.PAUSED] = 1


def test_counts_of_steps_go_round() -> None:
    """Clients in Python add to the low half of a word alone."""
    runner = FixedRateRunner(falling_ball(), start_paused=True)
    core = runner._core
    core.status[Status.STEPS_TAKEN], core.control[Control.STEPS_ASKED] = 2**32 - 2, 3
    runner.start()
    wait_until(lambda: _all_taken(core))
    assert runner.step(4).step == 9
    runner.stop()


def test_many_steps_are_asked_for_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count that clients add to has no room for all of them."""
    monkeypatch.setattr(single_steps, "_PORTION", 7)
    runner = FixedRateRunner(falling_ball(), start_paused=True)
    runner.start()
    assert runner.step(30).step == 30
    assert runner.begin_steps(20).result(10.0) == 20
    assert runner.world.step_count == 50
    taken = runner.begin_steps(2**64 - 1)
    wait_until(lambda: runner.snapshot().step > 100)
    runner.pause()
    assert taken.result(10.0) == runner.world.step_count - 50
    runner.stop()


def test_a_pause_that_comes_with_its_steps_takes_them() -> None:
    """As a client asks that does not wait for the pause."""
    runner = FixedRateRunner(falling_ball(), math.inf)
    runner.start()
    core = runner._core
    wait_until(lambda: runner.steps_in_loop > 10)
    core.control[Control.PAUSED] = 1
    core.control[Control.STEPS_ASKED] += 10
    core.ring()
    wait_until(lambda: _all_taken(core))
    wait_until(lambda: core.status[Status.LIFE] == Life.PAUSED)
    before = runner.snapshot().step
    assert runner.step().step == before + 1
    runner.stop()
