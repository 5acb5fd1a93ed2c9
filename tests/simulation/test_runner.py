"""The fixed-rate runner: its handshakes, on the real clock."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running import runner as runner_module
from hydro_sim_core.simulation.running import settings
from support.simulation.made_scenes import CONFIG, fixed, free, make_world, slider, snake, sphere
from support.simulation.runners import DT, falling_ball, wait_until


@pytest.fixture
def world() -> hs.World:
    return falling_ball()


@pytest.fixture
def started(world: hs.World) -> Iterator[Callable[..., FixedRateRunner]]:
    """Makes and starts runners of the world and stops them in the end."""
    runners = []

    def start(**options: object) -> FixedRateRunner:
        runners.append(FixedRateRunner(world, **options))  # type: ignore[arg-type]
        runners[-1].start()
        return runners[-1]

    yield start
    for runner in runners:
        runner.stop()


# --- when steps are taken


def test_real_clock_is_never_run_ahead_of(started: Callable[..., FixedRateRunner]) -> None:
    """At the real clock a step never comes before its time."""
    began = time.monotonic()
    runner = started(overrun="catch_up")
    seen = None
    for _ in range(50):
        seen = runner.wait_for_step(seen, 10.0)
        assert seen is not None
        assert (seen.step - 1) * DT <= time.monotonic() - began


# --- pause, step, reset, stop


def test_paused_runner_steps_when_told(started: Callable[..., FixedRateRunner], world: hs.World) -> None:
    """Exactly as often, and the snapshot is that of the last."""
    runner = started(start_paused=True)
    assert runner.step().step == 1
    snapshot = runner.step(41)
    assert snapshot.step == 42
    assert snapshot.time == pytest.approx(42 * DT)
    assert runner.paused
    np.testing.assert_array_equal(snapshot.q, world.q)


def test_reset_gives_the_start_back(started: Callable[..., FixedRateRunner]) -> None:
    """Running or paused; epochs tell equal steps of two lives apart."""
    runner = started(start_paused=True)
    start = runner.snapshot()
    runner.step(5)
    runner.reset()
    again = runner.snapshot()
    assert (again.step, again.time, again.epoch) == (0, 0.0, start.epoch + 1)
    np.testing.assert_array_equal(again.q, start.q)
    runner.resume()
    wait_until(lambda: runner.snapshot().step > 3)
    runner.reset()
    assert runner.snapshot().epoch == start.epoch + 2


def test_stopped_runner_starts_again(started: Callable[..., FixedRateRunner]) -> None:
    """It goes on where it was."""
    runner = started(start_paused=True)
    runner.step(3)
    runner.stop()
    assert not runner.running
    with pytest.raises(hs.InputError, match="not running"):
        runner.step()
    runner.start()
    assert runner.step().step == 4
    runner.close()
    with pytest.raises(hs.InputError, match="runner: is closed; make another one of its world"):
        runner.start()
    assert not runner.running


def test_stop_interrupts_a_long_run_of_single_steps(started: Callable[..., FixedRateRunner]) -> None:
    """A million steps that a service asked for do not hold up the end of the process."""
    runner = started(start_paused=True)
    waiting = threading.Thread(target=runner.step, args=(10**9,))
    waiting.start()
    wait_until(lambda: runner.snapshot().step > 0)
    runner.stop()
    waiting.join(60.0)
    assert not waiting.is_alive()


@pytest.mark.parametrize("way", ["pause", "resume", "reset", "stop"])
def test_long_run_of_single_steps_is_broken_off(
    started: Callable[..., FixedRateRunner], world: hs.World, way: str
) -> None:
    """By whoever wants something else; the answer says how far it came."""
    runner = started(start_paused=True)
    answer = runner.begin_steps(2**64 - 1)
    wait_until(lambda: runner.snapshot().step > 10)
    assert not answer.done()
    before = runner.snapshot().step
    getattr(runner, way)()
    taken = answer.result(10.0)
    assert before <= taken < 2**64 - 1
    if way in ("pause", "stop"):
        assert taken == world.step_count
        assert runner.paused
    if way == "reset":
        assert runner.snapshot().step == 0
        assert runner.step(2).step == 2


def test_step_requests_are_served_in_turn(started: Callable[..., FixedRateRunner]) -> None:
    """Each is told its own number, and a caller cannot take an answer away from the stepping thread."""
    runner = started(start_paused=True)
    answers = [runner.begin_steps(n) for n in (30, 20, 10)]
    assert not answers[0].cancel()
    assert [answer.result(10.0) for answer in answers] == [30, 20, 10]
    assert runner.snapshot().step == 60


@pytest.mark.realtime
@pytest.mark.parametrize("way", ["pause", "reset", "stop", "submit"])
def test_long_period_is_interrupted(
    started: Callable[..., FixedRateRunner], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Hours between steps hold up nobody."""
    monkeypatch.setattr(settings, "SLOWEST", 1e-7)
    runner = started(real_time_factor=settings.SLOWEST)
    wait_until(lambda: runner.snapshot().step == 1)
    seen = threading.Event()
    began = time.monotonic()
    if way == "submit":
        runner.submit(lambda world: seen.set())
        assert seen.wait(600.0)
    else:
        getattr(runner, way)()
        if way == "pause":
            assert runner.step().step == 2
    assert time.monotonic() - began < 0.5 * DT / settings.SLOWEST


def test_long_periods_do_not_end_early(started: Callable[..., FixedRateRunner]) -> None:
    """On the real clock, which a busy machine may let them miss."""
    period = 2.5 * runner_module.LONGEST_SLEEP
    began = time.monotonic()
    runner = started(real_time_factor=DT / period)
    wait_until(lambda: runner.snapshot().step >= 11)
    assert time.monotonic() - began >= 10.0 * period


def test_report_is_read_while_pauses_begin_and_end(started: Callable[..., FixedRateRunner]) -> None:
    """Its wall time never goes back."""
    runner = started(real_time_factor=math.inf)
    ended = threading.Event()

    def toggle() -> None:
        while not ended.is_set():
            runner.pause()
            runner.resume()

    toggling = threading.Thread(target=toggle)
    toggling.start()
    walls = [runner.report().wall_time for _ in range(1000)]
    ended.set()
    toggling.join()
    assert np.diff(walls).min() >= 0.0


def test_snapshot_does_not_change_as_the_world_goes_on(started: Callable[..., FixedRateRunner]) -> None:
    """Readers need no lock."""
    runner = started(start_paused=True)
    early = runner.step(10)
    q, time_ = early.q.copy(), early.time
    runner.step(10)
    np.testing.assert_array_equal(early.q, q)
    assert early.time == time_
    np.testing.assert_allclose(early.frames["ball"][2, 3], q[6])


def test_snapshot_cannot_be_written(started: Callable[..., FixedRateRunner]) -> None:
    """It is shared by all readers."""
    snapshot = started(start_paused=True).step(3)
    arrays = [snapshot.q, snapshot.v, snapshot.joint_positions, snapshot.joint_velocities]
    for array in (*arrays, snapshot.joint_efforts, snapshot.frames["ball"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    for mapping in (snapshot.diagnostics, snapshot.frames, snapshot.grip_forces):
        with pytest.raises(TypeError):
            mapping["faces"] = 0  # type: ignore[index]


# --- commands from other threads


def test_listener_hears_of_every_snapshot_once(started: Callable[..., FixedRateRunner]) -> None:
    """Of steps as fast as they come, of single ones and of resets, in order; and not of the present one."""
    runner = started(start_paused=True, real_time_factor=math.inf)
    heard = []
    runner.add_listener(lambda snapshot: heard.append((snapshot.epoch, snapshot.step)))
    runner.step(3)
    runner.reset()
    runner.resume()
    while len(heard) < 200:
        time.sleep(0.001)
    runner.reset()
    runner.pause()
    runner.stop()
    by_epoch = [[step for epoch, step in heard if epoch == e] for e in range(3)]
    assert heard == sorted(heard)
    assert by_epoch[0] == [1, 2, 3]
    for steps in by_epoch[1:]:
        assert steps == list(range(len(steps)))
    assert len(by_epoch[1]) >= 197


def test_a_change_is_done_when_slow_listeners_have_heard_of_it(
    started: Callable[..., FixedRateRunner],
) -> None:
    """Whoever waits for it looks while listeners are told, and has to look again."""
    runner = started(start_paused=True)
    heard = []

    def listen(snapshot: object) -> None:
        time.sleep(0.1)
        heard.append(snapshot)

    runner.add_listener(listen)
    changing = threading.Thread(target=runner.reset, daemon=True)
    changing.start()
    changing.join(10.0)
    assert not changing.is_alive()
    assert len(heard) == 1


def test_submitted_command_acts_on_the_next_step() -> None:
    """Also while paused, in the stepping thread."""
    runner = FixedRateRunner(make_world(fixed(slider())), start_paused=True)
    runner.start()
    names = []

    def push(world: hs.World) -> None:
        names.append(threading.current_thread().name)
        world.set_command([4.0], "effort")

    runner.submit(push)
    snapshot = runner.step()
    runner.stop()
    assert snapshot.joint_efforts[0] == 4.0
    assert names == ["hydro-sim stepper"]


# --- failure


def test_step_without_result_pauses_at_the_last_good_state() -> None:
    """The thread lives, says why, and goes on after a reset."""
    runner = FixedRateRunner(make_world(free(snake())), real_time_factor=math.inf)
    runner.submit(lambda world: world.set_command([1.7e308], "effort"))
    runner.start()
    wait_until(lambda: runner.paused)
    assert runner.running
    assert runner.error is None
    assert "overflows" in str(runner.failure)
    assert np.isfinite(runner.snapshot().q).all()
    for mend in ("shorter time_step", "solver.accuracy"):  # where nothing is commanded
        assert mend in str(runner.failure)
    with pytest.raises(FloatingPointError, match="overflows"):
        runner.step()
    runner.reset()
    assert runner.failure is None
    assert runner.step(5).step == 5
    runner.stop()


def test_exception_in_the_thread_reaches_the_owner(started: Callable[..., FixedRateRunner]) -> None:
    """Nobody is left waiting."""
    runner = started(start_paused=True)

    def fail(_: hs.World) -> None:
        raise RuntimeError("a source must not do this")

    runner.add_command_source(fail)
    runner.step()
    assert not runner.running
    assert isinstance(runner.error, RuntimeError)
    runner.reset()
    with pytest.raises(hs.InputError, match="not running"):
        runner.step()


@pytest.mark.parametrize("operation", ["change", "exchange", "reset"])
def test_a_change_that_fails_in_the_stepping_thread_is_told(
    started: Callable[..., FixedRateRunner], monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """Who asked for it must not go on as if it had been made."""
    runner = started(start_paused=True)
    before = runner.world

    def fail(*_: object, **__: object) -> None:
        raise KeyError("arm")

    monkeypatch.setattr(hs.World, "reset", fail)
    operations: dict[str, Callable[[], None]] = {
        "change": lambda: runner.change(fail),
        "exchange": lambda: runner.exchange(before, fail),
        "reset": runner.reset,
    }
    with pytest.raises(RuntimeError, match="nothing was changed") as told:
        operations[operation]()
    assert isinstance(told.value.__cause__, KeyError)
    assert runner.error is told.value.__cause__
    assert runner.world is before


@pytest.mark.parametrize(
    ("options", "element"),
    [
        ({"real_time_factor": 0.0}, "real_time_factor"),
        ({"real_time_factor": -1.0}, "real_time_factor"),
        ({"real_time_factor": math.nan}, "real_time_factor"),
        ({"real_time_factor": 1e-9}, "real_time_factor"),
        ({"real_time_factor": "x"}, "real_time_factor"),
        ({"real_time_factor": None}, "real_time_factor"),
        ({"real_time_factor": [1]}, "real_time_factor"),
        ({"overrun": "hurry"}, "overrun"),
    ],
)
def test_bad_options_are_refused(world: hs.World, options: dict, element: str) -> None:
    """Named, with a mend."""
    with pytest.raises(hs.InputError) as caught:
        FixedRateRunner(world, **options)
    assert caught.value.element == element


@pytest.mark.parametrize("steps", [0, -3, 1.5, "two"])
def test_bad_number_of_steps_is_refused(started: Callable[..., FixedRateRunner], steps: object) -> None:
    """And nothing happens."""
    runner = started(start_paused=True)
    with pytest.raises(hs.InputError) as caught:
        runner.step(steps)  # type: ignore[arg-type]
    assert caught.value.element == "n"
    assert runner.snapshot().step == 0


def test_stepping_a_running_runner_is_refused(started: Callable[..., FixedRateRunner]) -> None:
    """Two paces at once would mean nothing."""
    with pytest.raises(hs.InputError, match="pause it first"):
        started().step()


# --- the interpreter is free meanwhile


def test_compiled_step_releases_the_interpreter() -> None:
    """While one compiled call steps, another thread of Python runs."""
    world = hs.load_scene(CONFIG / "drop_box.yaml")
    world.step(10)
    count, ended = [0], threading.Event()

    def other() -> None:
        while not ended.is_set():
            count[0] += 1
            time.sleep(0.0)

    thread = threading.Thread(target=other)
    thread.start()
    wait_until(lambda: count[0] > 10)
    before = count[0]
    world.step(5_000)
    during = count[0] - before
    ended.set()
    thread.join()
    # A call that kept the interpreter would let the other thread in a few times, before and after it.
    assert during > 100


# --- in lock-step


def test_lock_step_takes_the_steps_that_are_permitted(started: Callable[..., FixedRateRunner]) -> None:
    """None by itself, as many as allowed, and no more for an allowance that comes twice."""
    runner = started(real_time_factor=math.inf, lock_step=True)
    wait_until(lambda: runner.waiting_for_permit)
    for wanted in (1, 2, 12):
        runner.permit(wanted - runner.snapshot().step)
        wait_until(lambda wanted=wanted: runner.snapshot().step == wanted)
        wait_until(lambda: runner.waiting_for_permit)
    assert runner.snapshot().step == 12
    assert runner.report().overruns == 0


def test_what_is_submitted_while_lock_step_waits_acts_before_the_step(
    started: Callable[..., FixedRateRunner],
) -> None:
    """A command that permits its own step."""
    runner = started(real_time_factor=math.inf, lock_step=True)
    seen = []

    def act(world: hs.World) -> None:
        seen.append(world.step_count)
        runner.permit()

    for i in range(50):
        runner.submit(act)
        wait_until(lambda i=i: runner.snapshot().step == i + 1)
    assert seen == list(range(50))


def test_lock_step_goes_no_faster_than_its_pace(started: Callable[..., FixedRateRunner]) -> None:
    """A permit for a second's steps takes a second at a real-time factor of one."""
    runner = started(real_time_factor=4.0, lock_step=True)
    began = time.monotonic()
    runner.permit(400)
    wait_until(lambda: runner.snapshot().step == 400)
    assert time.monotonic() - began > 399 * DT / 4.0


def test_reset_forgets_permits_and_pause_holds_them(started: Callable[..., FixedRateRunner]) -> None:
    runner = started(real_time_factor=math.inf, lock_step=True, start_paused=True)
    runner.permit(5)
    assert runner.snapshot().step == 0
    runner.reset()
    runner.resume()
    wait_until(lambda: runner.waiting_for_permit)
    assert runner.snapshot().step == 0


# --- settings that change


def test_pace_changes_while_it_runs(started: Callable[..., FixedRateRunner]) -> None:
    """From a crawl to as fast as possible; a factor that stands is refused and changes nothing."""
    runner = started(real_time_factor=0.001)
    with pytest.raises(hs.InputError, match="real_time_factor"):
        runner.set_pace(0.0)
    runner.set_pace(math.inf)
    wait_until(lambda: runner.snapshot().step > 1000)


def test_another_world_takes_over(started: Callable[..., FixedRateRunner], world: hs.World) -> None:
    """Readers keep the snapshots that they have; the new world starts where it stands."""
    runner = started(start_paused=True)
    before = runner.step(3)
    other = make_world(free(sphere("other", 0.1, 1.0)), time_step=2 * DT)
    runner.exchange(other)
    after = runner.snapshot()
    assert (after.step, after.epoch) == (0, before.epoch + 1)
    assert runner.step(2).time == pytest.approx(4 * DT)
    assert set(before.frames) == set(world.frame_names)


def test_thread_is_set_up_before_the_first_step(world: hs.World) -> None:
    """In the stepping thread itself; what fails there reaches the owner."""
    names = []
    runner = FixedRateRunner(world, thread_setup=lambda: names.append(threading.current_thread().name))
    runner.start()
    wait_until(lambda: runner.snapshot().step > 0)
    runner.stop()
    assert names == ["hydro-sim stepper"]
