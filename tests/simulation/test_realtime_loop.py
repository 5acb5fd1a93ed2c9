"""The compiled loop: what it does is what the world does alone, and what its states tell is what snapshots tell."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.compilation import Handle
from hydro_sim_core.shared_memory.layout import (
    REALS,
    Control,
    Header,
    JointState,
    Life,
    LinkState,
    Overrun,
    Slot,
    Status,
    Wrench,
)
from hydro_sim_core.simulation import FixedRateRunner, Snapshot
from hydro_sim_core.simulation.realtime.loop import _count_step
from hydro_sim_core.simulation.realtime.loop_data import BEGAN, DEADLINE
from hydro_sim_core.simulation.realtime.plan import RAMP, Plan, make_plan
from hydro_sim_core.simulation.running.sources import Sources
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.simulation.made_scenes import free, make_world, snake
from support.simulation.plates import at, brick, plate
from support.simulation.runners import DT, falling_ball, wait_until

_STEPS = 60
_MS = 1_000_000


def _run(world: hs.World, steps: int, **options: Any) -> tuple[FixedRateRunner, list[Snapshot]]:
    """Run some steps in the loop; the runner and all snapshots."""
    heard: list[Snapshot] = []
    runner = FixedRateRunner(world, **{"real_time_factor": math.inf, **options})
    runner.add_follower(heard.append)

    def end(world: hs.World) -> None:
        if world.step_count >= steps - 1:
            runner.pause()

    runner.add_command_source(end, lambda world: steps - 1 - world.step_count)
    runner.start()
    wait_until(lambda: runner.paused)
    runner.stop()
    return runner, heard


def _on_a_plate(**solver: Any) -> hs.World:
    """A box on a plate that is led away under it, with a jump of its velocity at the begin and at the end."""
    world = make_world(plate(), brick(), solver=solver)
    world.move("plate", at(1e-4, -2e-4, 1e-4))
    return world


@pytest.fixture(scope="module")
def scenes() -> Callable[[str], hs.World]:
    made = {
        "continuous": lambda: _on_a_plate(model="continuous"),
        "smooth contact": lambda: _on_a_plate(model="soft", soft={"points": 24, "stiffness": 5e3}),
        "runge kutta": lambda: _on_a_plate(model="soft", soft={"points": 24, "scheme": "rk4"}),
    }
    return lambda name: made[name]() if name in made else hs.load_scene(name)


@pytest.mark.parametrize(
    "scene",
    ["spatula_slip", "gen3_6dof_soft_bubble", "drop_box", "continuous", "smooth contact", "runge kutta"],
)
def test_it_takes_the_steps_that_the_world_takes_alone(scenes: Callable[[str], hs.World], scene: str) -> None:
    """To the last bit, with contacts, scripted commands, error control and diagnostics, in every state."""
    world, alone = scenes(scene), scenes(scene)
    runner, heard = _run(world, _STEPS)
    assert runner.steps_in_loop >= _STEPS - 2
    assert [snapshot.step for snapshot in heard] == list(range(1, _STEPS + 1))
    for told in heard:
        alone.step()
        wanted = take_snapshot(alone, 0)
        assert told.time == wanted.time
        for name in ("q", "v", "joint_positions", "joint_velocities", "joint_efforts"):
            np.testing.assert_array_equal(getattr(told, name), getattr(wanted, name), name)
        assert dict(told.diagnostics) == dict(wanted.diagnostics)
        assert told.before is not None
        assert wanted.before is not None
        np.testing.assert_array_equal(told.before.q, wanted.before.q)
        assert len(told.contacts) == len(wanted.contacts)
        for a, b in zip(told.contacts, wanted.contacts, strict=True):
            assert (a.name_a, a.name_b, a.law) == (b.name_a, b.name_b, b.law)
            for name in ("force_on_b", "centroids", "normals", "areas", "pressures"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)


def test_what_the_ring_tells_is_what_the_world_knows(scenes: Callable[[str], hs.World]) -> None:
    """Joints, poses of links, contact wrenches: what clients read."""
    world = scenes("spatula_slip")
    runner, heard = _run(world, _STEPS)
    core, last = runner._core, heard[-1]
    header, words = core.header, core.words
    first = header[Header.AT_RING] + (core.head - 1) % header[Header.NUM_SLOTS] * header[Header.SLOT_WORDS]
    slot = words[first : first + header[Header.SLOT_WORDS]]
    reals = slot.view(np.float64)
    assert (slot[Slot.STEP], reals[Slot.TIME]) == (last.step, last.time)
    assert slot[Slot.PATCHES] == len(last.contacts) > 0

    def rows(at: Header, count: int, width: int) -> np.ndarray:
        return reals[header[at] :][: count * width].reshape(count, width)

    joints = rows(Header.SLOT_JOINTS, len(world.joint_names), JointState.END)
    np.testing.assert_array_equal(joints[:, JointState.POSITION], last.joint_positions)
    links = rows(Header.SLOT_LINKS, len(world.frame_names), LinkState.END)
    for row, name in zip(links, world.frame_names, strict=True):
        X = world.frame_pose(name)
        np.testing.assert_allclose(row[:3], X[:3, 3], atol=1e-14)
        w, x, y, z = row[LinkState.QW : LinkState.QZ + 1]
        assert w * w + x * x + y * y + z * z == pytest.approx(1.0, abs=1e-14)
        assert 2.0 * (x * y - w * z) == pytest.approx(X[0, 1], abs=1e-13)
        assert 2.0 * (x * z + w * y) == pytest.approx(X[0, 2], abs=1e-13)
        assert 2.0 * (y * z - w * x) == pytest.approx(X[1, 2], abs=1e-13)
    wrenches = rows(Header.SLOT_WRENCHES, len(last.contacts), Wrench.END)
    for row, patch in zip(wrenches, last.contacts, strict=True):
        np.testing.assert_array_equal(row[Wrench.FORCE : Wrench.FORCE + 3], patch.force_on_b)
    total = sum(float(np.linalg.norm(patch.force_on_b)) for patch in last.contacts)
    assert reals[Slot.FORCE] == pytest.approx(total)


def test_a_step_of_the_continuous_model_that_fails_parks_the_loop() -> None:
    """At the last good state, with the reason; a reset goes on, in the loop."""
    runner = FixedRateRunner(make_world(free(snake()), solver={"model": "continuous"}), math.inf)
    runner.start()
    wait_until(lambda: runner.steps_in_loop > 5)
    good: list[np.ndarray] = []

    def spoil(world: hs.World) -> None:
        world.set_command([1.7e308], "effort")
        good.append(world.q)

    runner.submit(spoil)
    wait_until(lambda: runner.paused)
    assert "cannot be integrated to the accuracy" in str(runner.failure)
    assert runner._core.status[Status.LIFE] == Life.PARKED
    np.testing.assert_array_equal(runner.snapshot().q, good[0])
    before = runner.steps_in_loop
    runner.reset()
    runner.resume()
    wait_until(lambda: runner.steps_in_loop > before + 5)
    runner.stop()


def test_the_world_goes_on_alone_where_the_loop_has_stopped(scenes: Callable[[str], hs.World]) -> None:
    world, alone = scenes("spatula_slip"), scenes("spatula_slip")
    _run(world, _STEPS)
    alone.step(world.step_count + 20)
    world.step(20)
    np.testing.assert_array_equal(world.q, alone.q)
    np.testing.assert_array_equal(
        world.joint_wrench("slider") if "slider" in world.joint_names else world.v, alone.v
    )


@pytest.mark.parametrize("hindrance", ["listener", "source", "lock_step"])
def test_python_takes_the_steps_where_it_is_asked_before_each(hindrance: str) -> None:
    world = falling_ball()
    runner = FixedRateRunner(world, math.inf, lock_step=hindrance == "lock_step")
    if hindrance == "listener":
        runner.add_listener(lambda snapshot: None)
    if hindrance == "source":
        runner.add_command_source(lambda world: None)
    runner.start()
    runner.permit(100)
    wait_until(lambda: runner.snapshot().step >= 50)
    runner.stop()
    assert runner.steps_in_loop == 0


def test_steps_of_the_loop_are_counted_while_it_runs() -> None:
    """A stretch may last for ever."""
    runner = FixedRateRunner(falling_ball(), math.inf)
    runner.start()
    wait_until(lambda: runner.steps_in_loop > 50)
    assert runner._is_in_loop
    runner.stop()


def test_a_source_is_called_when_it_has_something_to_do() -> None:
    world, calls = falling_ball(), []
    runner = FixedRateRunner(world, math.inf)
    runner.add_command_source(
        lambda world: calls.append(world.step_count), lambda world: -world.step_count % 40
    )
    runner.start()
    wait_until(lambda: runner.snapshot().step >= 200)
    runner.stop()
    assert calls[:4] == [0, 40, 80, 120]
    assert runner.steps_in_loop >= 150


def test_python_commands_anew_where_somebody_else_has_written_to_a_drive() -> None:
    """A plan moves targets alone, and would keep the gains of the other's command."""
    world = hs.load_scene("spatula_slip")
    joint, sources, plan = world.actuated_joint_names[0], Sources(), make_plan(world)

    class Leads:
        def hand_over(self, world: hs.World, plan: Plan) -> float:
            plan.kind[0] = RAMP
            return 10.0

        def take_back(self, world: hs.World, plan: Plan) -> None:
            pass

    sources.add(lambda world: world.set_command([0.1], "position", [joint]), lambda world: 20.0, Leads())
    assert sources.hand_over(world, plan) == 0.0
    sources.act(world)
    sources.note_step(world)
    assert sources.hand_over(world, plan) == 10.0
    sources.take_back(world, plan)
    assert sources.hand_over(world, plan) == 10.0
    world.set_command([0.0], "effort", [joint])
    assert sources.hand_over(world, plan) == 0.0
    sources.act(world)
    sources.note_step(world)
    assert sources.hand_over(world, plan) == 10.0


def test_actions_come_between_two_steps_of_the_loop() -> None:
    """Whatever the pace; who submits one need not know of the loop."""
    runner = FixedRateRunner(falling_ball(), 1.0)
    runner.start()
    wait_until(lambda: runner.steps_in_loop + runner._core.head > 20)
    seen: list[tuple[int, float]] = []
    runner.submit(lambda world: seen.append((world.step_count, world.q[6])))
    wait_until(lambda: bool(seen))
    runner.stop()
    step, height = seen[0]
    alone = falling_ball()
    alone.step(step)
    assert height == alone.q[6]


def test_followers_hear_of_every_state_in_order_across_changes() -> None:
    runner, heard = FixedRateRunner(falling_ball(), math.inf), []
    runner.add_follower(lambda snapshot: heard.append((snapshot.epoch, snapshot.step)))
    runner.start()
    wait_until(lambda: len(heard) >= 500)
    runner.reset()
    wait_until(lambda: heard[-1][0] == 1 and heard[-1][1] >= 300)
    runner.pause()
    runner.stop()
    assert runner.states_lost == 0
    first = [step for epoch, step in heard if epoch == 0]
    second = [step for epoch, step in heard if epoch == 1]
    assert first == list(range(1, len(first) + 1))
    assert second == list(range(len(second)))


def test_an_error_of_a_follower_ends_the_run_and_is_told() -> None:
    runner = FixedRateRunner(falling_ball(), math.inf)

    def fail(_: Snapshot) -> None:
        raise RuntimeError("a follower must not do this")

    runner.add_follower(fail)
    runner.start()
    wait_until(lambda: not runner.running)
    assert isinstance(runner.error, RuntimeError)
    runner.stop()


# --- control words, as clients write them


def test_clients_pause_step_reset_and_go_on() -> None:
    runner = FixedRateRunner(falling_ball(), math.inf)
    runner.start()
    core = runner._core
    wait_until(lambda: runner.snapshot().step > 10)
    core.control[Control.PAUSED] = 1
    core.ring()
    wait_until(lambda: runner.paused)
    before = runner.snapshot().step
    core.control[Control.STEPS_ASKED] += 3
    core.ring()
    wait_until(lambda: core.status[Status.STEPS_TAKEN] == 3)
    assert runner.snapshot().step == before + 3
    core.control[Control.RESETS_ASKED] += 1
    core.ring()
    wait_until(lambda: core.status[Status.RESETS_DONE] == 1)
    wait_until(lambda: runner.snapshot().epoch == 1)
    assert runner.snapshot().step == 0
    core.control[Control.PAUSED] = 0
    core.ring()
    wait_until(lambda: runner.snapshot().step > 10)
    assert not runner.paused
    runner.stop()


def test_a_reset_is_told_to_be_done_when_its_state_is_told() -> None:
    """Who waits for it takes the newest state then."""
    runner = FixedRateRunner(falling_ball(), start_paused=True)
    control, status = runner._core.control, runner._core.status
    done: list[int] = []
    runner.add_listener(lambda _: done.append(int(status[Status.RESETS_DONE])))
    runner.start()
    control[Control.RESETS_ASKED] += 1
    runner._core.ring()
    wait_until(lambda: status[Status.RESETS_DONE] == 1)
    runner.stop()
    assert done == [0]


def test_a_word_that_a_client_writes_while_the_one_before_is_heeded_counts() -> None:
    """It runs on: the owner must not write the word that it follows."""
    runner = FixedRateRunner(falling_ball(), real_time_factor=math.inf)
    control = runner._core.control
    heed = runner._enter_pause

    def write_meanwhile(paused: bool) -> None:
        if paused:
            control[Control.PAUSED] = 0
        heed(paused)

    runner._enter_pause = write_meanwhile  # type: ignore[method-assign]
    runner.start()
    control[Control.PAUSED] = 1
    runner._core.ring()
    before = runner.snapshot().step
    wait_until(lambda: runner.snapshot().step > before + 3)
    runner.stop()


def test_a_pause_that_begins_while_the_loop_looks_at_the_word_stays() -> None:
    """It looks once the owner is done: an older word would end the pause at once."""
    runner = FixedRateRunner(falling_ball())
    with runner._condition:
        loop = threading.Thread(target=runner._attend_to_clients)
        loop.start()
        time.sleep(0.05)
        runner._core.control[Control.PAUSED] = 1
        runner._enter_pause(True)
    loop.join()
    assert runner.paused


def test_a_client_that_is_paused_may_be_heard_by_the_owner_and_back() -> None:
    """Pause is one word, whoever writes it."""
    runner = FixedRateRunner(falling_ball(), math.inf, start_paused=True)
    runner.start()
    assert runner._core.control[Control.PAUSED] == 1
    runner.resume()
    assert runner._core.control[Control.PAUSED] == 0
    wait_until(lambda: runner.snapshot().step > 5)
    runner.stop()


# --- deadlines


class Pace:
    """The loop's bookkeeping of deadlines at a period of 1 ms, with times that are made up (ns)."""

    def __init__(self, overrun: Overrun, backlog: int = 20 * _MS) -> None:
        self.core = FixedRateRunner(falling_ball())._core
        self.core.control[[Control.PERIOD_NS, Control.OVERRUN, Control.MAX_BACKLOG_NS]] = (
            _MS,
            overrun,
            backlog,
        )
        self.own = self.core.loop.own
        self.own[[DEADLINE, BEGAN]] = 100 * _MS, 0
        self._loop = Handle(self.core.loop)

    def step(self, lasts: int) -> float:
        """Take a step as soon as it may be; return its begin, ms."""
        began = max(int(self.own[DEADLINE]), int(self.own[BEGAN]))
        self.own[BEGAN] = began + lasts
        _count_step(self._loop, began, began + lasts)
        return began / _MS - 100

    def count(self, word: Status) -> int:
        return int(self.core.status[word])


def test_steps_of_the_loop_start_on_the_grid() -> None:
    pace = Pace(Overrun.SKIP)
    assert [pace.step(int(share * _MS)) for share in (0.1, 0.9, 0.0, 0.5)] == [0, 1, 2, 3]
    assert (pace.count(Status.OVERRUNS), pace.count(Status.SKIPPED), pace.count(Status.STEPS)) == (0, 0, 4)


def test_the_loop_drops_missed_periods_and_counts_them() -> None:
    pace = Pace(Overrun.SKIP)
    assert [pace.step(int(share * _MS)) for share in (0.0, 3.4, 0.0, 0.0)] == [0, 1, 5, 6]
    assert (pace.count(Status.OVERRUNS), pace.count(Status.SKIPPED), pace.count(Status.TIMES_SKIPPED)) == (
        1,
        3,
        1,
    )
    assert pace.count(Status.LATEST_NS) == 2.4 * _MS


def test_the_loop_catches_up_in_silence_below_the_largest_backlog() -> None:
    pace = Pace(Overrun.CATCH_UP)
    starts = [pace.step(int(share * _MS)) for share in (0.0, 3.4, 0.1, 0.1, 0.1, 0.0)]
    np.testing.assert_allclose(starts, [0, 1, 4.4, 4.5, 4.6, 5.0])
    assert (pace.count(Status.OVERRUNS), pace.count(Status.LONGEST_OVERRUN), pace.count(Status.SKIPPED)) == (
        3,
        3,
        0,
    )


def test_the_loop_drops_a_larger_backlog_and_python_tells(caplog: pytest.LogCaptureFixture) -> None:
    pace = Pace(Overrun.CATCH_UP)
    pace.step(0)
    pace.step(22 * _MS)
    assert pace.count(Status.SKIPPED) == 21
    assert pace.step(0) == 23


def test_a_backlog_that_the_loop_drops_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of a run that cannot keep its pace, a thousand times as fast as it can, while the loop goes on."""
    runner = FixedRateRunner(falling_ball(), 1e5, "catch_up", max_backlog=1e-4)
    runner.start()
    wait_until(lambda: "of simulated time given up" in caplog.text)
    runner.stop()
    assert runner.report().given_up > 0.0
    assert runner.report().times_given_up > 0


def test_real_words_of_the_layout_hold_numbers() -> None:
    """Times of a state as its layout says: what is real there is real here."""
    runner, heard = _run(falling_ball(), 5)
    assert "TIME" in REALS[Slot]
    assert heard[-1].time == pytest.approx(5 * DT)
    assert time.monotonic_ns() - int(runner._core.status[Status.HEARTBEAT_NS]) < 60_000_000_000
