"""Clients of a run in one process: lock-step where Python takes the steps, other scenes, dead controllers."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from hydro_sim_core.shared_memory.client import Client, SimulationEnded, TookTooLong, connect
from hydro_sim_core.shared_memory.layout import Channel, Control, Header, JointStatus, Life, Overrun, Status
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.running import runner as runner_module
from hydro_sim_core.simulation.world import World
from support.simulation.made_scenes import make_scene, slider
from support.simulation.runners import wait_until

_NUMBERS = count()


def rail(time_step: float = 1e-3):
    """A slider without gravity along its rail."""
    return make_scene(
        {"robot": slider(), "base": "fixed"},
        actuators=[{"joints": ["rail_joint"], "mode": "effort"}],
        time_step=time_step,
    )


@pytest.fixture
def run() -> Iterator[tuple[FixedRateRunner, Client]]:
    """A run as fast as possible, and a client of it."""
    name = f"test_runner_{os.getpid()}_{next(_NUMBERS)}"
    runner = FixedRateRunner(World(rail()), math.inf, shared_name=name)
    runner.start()
    with connect(name) as client:
        yield runner, client
    runner.close()


def test_steps_that_python_takes_wait_for_permits(run) -> None:
    """A listener makes it take them all: none was waited with, and the client was told that the process is stopped."""
    runner, client = run
    runner.add_listener(lambda snapshot: None)
    with client.controller("arm", lock_step=True) as arm:
        begin = arm.state
        with pytest.raises(TookTooLong, match=r"the simulation waits for arm \(process"):
            client.wait(begin.serial + 1, limit=0.3)
        for i in range(1, 20):
            arm.commands.give("rail_joint", effort=0.01 * i)
            state = arm.step()
            assert state.serial == begin.serial + i
            assert state.efforts[0] == pytest.approx(0.01 * i, rel=1e-12)
            assert state.began_ns > 0
    assert client.wait(state.serial + 5).stepped
    assert runner.steps_in_loop < client.newest().step


def test_a_pace_that_a_client_has_set_outlives_the_scene(run) -> None:
    """With another time step: it was that of the start again."""
    runner, client = run
    client.set_pace(0.25)
    client.set_overrun(Overrun.CATCH_UP, 3.0)
    runner.exchange(World(rail(time_step=2e-3)))
    with pytest.raises(SimulationEnded):
        client.newest()
    control = runner._core.control
    assert control[Control.PERIOD_NS] == 8_000_000
    assert control[Control.OVERRUN] == Overrun.CATCH_UP
    assert control[Control.MAX_BACKLOG_NS] == 3 * 10**9


@pytest.mark.parametrize(("who", "when"), [("client", "before"), ("runner", "before"), ("runner", "after")])
def test_a_pace_that_is_set_while_a_scene_is_exchanged_holds(
    run, monkeypatch: pytest.MonkeyPatch, who: str, when: str
) -> None:
    """While the memory of the new scene was made, it was lost, or scaled twice."""
    runner, client = run

    def set_pace() -> None:
        (client if who == "client" else runner).set_pace(0.25)

    def make(*arguments: Any, **options: Any) -> Core:
        if when == "before":
            set_pace()
        made = Core(*arguments, **options)
        if when == "after":
            set_pace()
        return made

    monkeypatch.setattr(runner_module, "Core", make)
    runner.exchange(World(rail(time_step=2e-3)))
    assert runner._core.control[Control.PERIOD_NS] == 8_000_000


def test_the_pace_that_a_runner_tells_is_the_last_that_was_asked_for(run) -> None:
    """Also where a client has asked for it: the viewer and the next scene went by the one before."""
    runner, client = run
    client.set_pace(0.3)
    assert runner.real_time_factor == pytest.approx(0.3, rel=1e-6)
    runner.exchange(World(rail(time_step=2e-3)))
    assert runner.real_time_factor == pytest.approx(0.3, rel=1e-6)
    runner.set_pace(0.7)
    assert runner.real_time_factor == 0.7
    runner.exchange(World(rail(time_step=1e-3)))
    assert runner.real_time_factor == 0.7
    with connect(client.name) as anew:
        anew.set_pace(0)
    assert runner.real_time_factor == math.inf


def test_a_run_tells_its_wall_time_and_its_counts_go_on_with_the_next_scene(run) -> None:
    """Clients read a wall time of 0 in a run without a pause, and in the next scene no failures of before."""
    runner, client = run
    wait_until(lambda: client.status.wall_time > 0.1)
    wall = client.status.wall_time
    runner._core.park("nothing but a test")
    runner._core.status[Status.TORN] = 3
    runner.exchange(World(rail(time_step=2e-3)))
    with connect(client.name) as anew:
        told = anew.status
        assert (told.failures, told.failure, told.torn) == (1, "nothing but a test", 3)
        assert told.wall_time >= wall
        wait_until(lambda: anew.status.wall_time > wall + 0.1)


def test_another_scene_does_not_run_off_from_a_controller_in_lock_step(run) -> None:
    runner, client = run
    with client.controller("arm", lock_step=True) as arm:
        arm.step()
        runner.exchange(World(rail()))
        assert runner.paused
        steps = runner.snapshot().step
        with pytest.raises(SimulationEnded):
            arm.step()
    with connect(client.name) as anew:
        assert anew.newest().step == steps
        anew.resume()
        assert anew.wait(anew.newest().serial + 3).stepped


def _go_on(old: World, new: World) -> None:
    new.take_over(old)


def test_a_time_out_goes_on_in_a_scene_that_goes_on(run) -> None:
    """The drive was taken over and its time-out was not: the effort stayed for ever, with nobody to end it."""
    runner, client = run
    client.pause()
    client.step()  # whatever was under way when the pause came is over then
    with client.controller("arm") as arm:
        arm.commands.give("rail_joint", effort=0.5, timeout=0.02, floats=True)
        arm.send()
        client.step(10)
        assert client.newest().efforts[0] == pytest.approx(0.5, rel=1e-9)
        runner.exchange(World(rail(time_step=5e-4)), _go_on, anew=False)
    with connect(client.name) as anew:
        assert anew.newest().joint_status[0] & JointStatus.COMMANDED
        efforts = [anew.step(1).efforts[0] for _ in range(25)]
        assert efforts[:20] == pytest.approx([0.5] * 20, rel=1e-9)
        assert efforts[20:] == [0.0] * 5
        assert anew.newest().joint_status[0] & JointStatus.TIMED_OUT
        assert runner.led_joints == ()


def test_a_command_of_a_scene_before_is_over_in_one_that_begins_anew(run) -> None:
    runner, client = run
    client.pause()
    with client.controller("arm") as arm:
        arm.commands.give("rail_joint", effort=0.5, timeout=0.02)
        arm.send()
        client.step(10)
        runner.exchange(World(rail()))
    assert runner.led_joints == ()
    assert runner.step().joint_efforts[0] == 0.0


def test_who_commands_anew_has_a_joint_of_a_scene_before(run) -> None:
    """Whichever channel it opens: closing another that has not named the joint leaves its command alone."""
    runner, client = run
    client.pause()
    with client.controller("arm") as arm:
        arm.commands.give("rail_joint", effort=0.5)
        arm.send()
        client.step(10)
        runner.exchange(World(rail()), _go_on, anew=False)
    with connect(client.name) as anew:
        with anew.controller("idle") as idle:
            idle.send()
            assert anew.step(1).efforts[0] == pytest.approx(0.5, rel=1e-9)
        assert anew.step(1).efforts[0] == pytest.approx(0.5, rel=1e-9)
        with anew.controller("arm") as arm:
            arm.commands.give("rail_joint", effort=0.25)
            arm.send()
            assert anew.step(1).efforts[0] == pytest.approx(0.25, rel=1e-9)
        assert anew.step(1).efforts[0] == 0.0


def test_a_pause_is_there_before_a_dead_controller_is_not_waited_for_any_more(run) -> None:
    """In between, the loop ran off without it."""
    runner, client = run
    arm = client.controller("arm", lock_step=True)
    arm.step()
    core = runner._core
    words = client._memory.words
    lock_step = words[Header.AT_CHANNELS] + arm.channel * words[Header.CHANNEL_WORDS] + Channel.LOCK_STEP
    seen: list[tuple[int, int]] = []

    def look() -> None:
        while words[lock_step]:
            pass
        seen.append((int(core.control[Control.PAUSED]), client.newest().serial))

    thread = threading.Thread(target=look)
    thread.start()
    last = arm.state.serial
    arm._lock.release()  # as one that is killed
    thread.join(20.0)
    wait_until(lambda: client.status.life == Life.PAUSED)
    assert seen == [(1, last)]
    assert client.newest().serial == last


@pytest.mark.parametrize("paused", [False, True])
def test_waiting_with_permits_left_takes_no_processor(paused: bool) -> None:
    """For a deadline, or in a pause: it asked again and again whether a step is permitted."""
    runner = FixedRateRunner(World(rail()), 0.01, lock_step=True)
    runner.start()
    runner.permit(1000)
    wait_until(lambda: runner.snapshot().step > 0)
    if paused:
        runner.pause()
    before, began = time.process_time(), time.monotonic()
    time.sleep(0.6)
    used = (time.process_time() - before) / (time.monotonic() - began)
    runner.close()
    assert used < 0.3


def test_a_stop_that_comes_as_requests_are_looked_at_is_not_lost(run, monkeypatch) -> None:
    """It was, in a pause: whoever stopped a runner just as a client left it waited for ten minutes."""
    runner, client = run
    client.pause()
    client.step()
    attend = runner._attend

    def stopped_just_before() -> None:
        with runner._condition:
            runner._stopping = True
            runner._rouse()
        attend()

    monkeypatch.setattr(runner, "_attend", stopped_just_before)
    runner._call_back()
    wait_until(lambda: not runner._running)
