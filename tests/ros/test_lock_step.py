"""Lock-step on a period, for controllers that sleep by the clock; and what is said of a wait without end."""

import math
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest
import rclpy
from builtin_interfaces.msg import Time
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from hydro_sim.hil import lock_step as lock_step_module
from hydro_sim.hil.lock_step import LockStepWatch, PeriodLockStep, make_lock_step
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene
from support.ros.ros_client import BEST_EFFORT, stamp_of

PERIOD = 4  # steps
COMPILED = 400.0


class PeriodBench:
    """A box in lock-step on a period; whoever calls is the thread that steps."""

    def __init__(self):
        world = load_scene(shipped_scene("drop_box"))
        world.step()
        world.reset()
        self.runner = FixedRateRunner(world, math.inf, lock_step=True)
        self.lock_step = PeriodLockStep(self.runner, PERIOD)
        self.runner.start()

    def do(self, name, *arguments):
        """Call in the stepping thread; the step at which it then stands."""
        self.runner.submit(lambda world: getattr(self.lock_step, name)(*arguments))
        return self.settled()

    def command(self):
        return self.do("admit", None, self.runner.world)

    def settled(self):
        step, since = self.runner.snapshot().step, time.monotonic()
        while time.monotonic() - since < 0.1:
            time.sleep(0.01)
            if self.runner.snapshot().step != step:
                step, since = self.runner.snapshot().step, time.monotonic()
        return step


@pytest.fixture
def bench():
    bench = PeriodBench()
    yield bench
    bench.runner.stop()


def test_time_passes_slowly_until_the_first_command_and_by_commands_then(bench):
    """A controller that sleeps by the clock never starts while it stands."""
    assert bench.settled() == 0
    assert [bench.do("pass_time") for _ in range(3)] == [4, 8, 12]
    assert bench.command() == 12  # others may be under way that are no answers
    assert bench.command() == 12
    assert bench.do("pass_time") == 16
    assert bench.do("pass_time") == 16
    assert [bench.command() for _ in range(3)] == [20, 24, 28]


@pytest.mark.parametrize("event", ["reset", "publishers"])
def test_time_passes_again_after_a_reset_and_when_controllers_come_or_go(bench, event):
    """Whoever starts anew sleeps first, whoever was there may have slept through the reset."""
    bench.command()
    bench.do("pass_time")
    assert bench.command() == 8
    if event == "reset":
        bench.runner.reset(time=False)
    else:
        bench.do("publishers_changed")
    assert bench.do("pass_time") == 12
    bench.command()
    assert bench.do("pass_time") == 16
    assert bench.command() == 20


def test_single_steps_of_a_pause_leave_both_in_step(bench):
    """A command of the pause permits the period that it was computed for."""
    bench.command()
    bench.do("pass_time")
    assert bench.command() == 8
    bench.runner.pause()
    bench.runner.step(2)
    bench.runner.resume()
    assert bench.settled() == 12
    bench.runner.pause()
    bench.runner.step(4)
    assert bench.command() == 16
    bench.runner.resume()
    assert bench.settled() == 20
    assert bench.command() == 24


def test_period_of_half_a_step_is_refused():
    runner = SimpleNamespace(world=SimpleNamespace(time_step=0.001))
    with pytest.raises(InputError, match=r"0\.0033 s is no multiple of the time step, 0\.001 s"):
        make_lock_step(runner, Parameters(mode=LOCK_STEP, lock_step_period=0.0033))


@pytest.mark.parametrize(
    ("period", "step", "said"),
    [
        (0.0, 0, "nobody has answered yet; a controller that sleeps by /clock"),
        (0.0, 7, "whoever answered before has ended or stands still; the next answer lets time go on"),
        (0.004, 0, "has another period than lock_step_period, 0.004 s"),
    ],
)
def test_a_wait_that_may_last_for_ever_is_told_once(monkeypatch, period, step, said):
    now, log, timers = [100.0], [], []
    monkeypatch.setattr(lock_step_module.time, "monotonic", lambda: now[0])
    node = SimpleNamespace(
        get_logger=lambda: SimpleNamespace(warning=log.append),
        create_timer=lambda period, callback, clock: timers.append(callback),
    )
    runner = SimpleNamespace(
        running=True,
        waiting_for_permit=True,
        submit=lambda action: None,
        snapshot=lambda: SimpleNamespace(epoch=0, step=step, time=0.0),
    )
    LockStepWatch(node, runner, Parameters(lock_step_period=period, lock_step_interface="joint"), None)
    for _ in range(3):
        timers[0]()
        now[0] += 8.0
    (line,) = log
    assert "at 0.000 s for a command on the interface 'joint'" in line
    assert said in line
    assert ("lock_step_period" in line) == (step == 0)


class Sleeper:
    """Commands every period as a controller_manager does: it sleeps by /clock, and its stamps are one look old."""

    def __init__(self, domain):
        self._context = rclpy.Context()
        self._context.init(domain_id=domain)
        self._node = rclpy.create_node("sleeper", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(JointState, "joint_commands", 1)
        self._node.create_subscription(Clock, "/clock", self._tick, BEST_EFFORT)
        self._node.create_subscription(
            JointState, "joint_states", lambda state: self.states.append(stamp_of(state)), 100
        )
        self.ticks, self.states, self.commands = [], [], []
        self._wakes_at = None

    def _tick(self, clock):
        now = stamp_of(clock)
        self.ticks.append(now)
        if now == 0.0:
            return
        if self._wakes_at is not None and now >= self._wakes_at - 1e-9:
            stamp = self.commands[-1] if self.commands else 0.0
            message = JointState(name=["joint_7"], position=[0.1 * now])
            message.header.stamp = Time(sec=int(stamp), nanosec=round(stamp % 1.0 * 1e9))
            self._publisher.publish(message)
            self.commands.append(now)
            self._wakes_at = now
        self._wakes_at = (self._wakes_at or now) + 0.004

    def run(self, until, timeout=60.0):
        deadline = time.monotonic() + timeout
        while not until():
            assert time.monotonic() < deadline, (self.ticks[-3:], self.commands[-3:])
            self._executor.spin_once(timeout_sec=0.1)

    def close(self):
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()


def test_controller_that_sleeps_by_the_clock_is_in_step_also_when_it_starts_anew(start_node):
    """Every period has one command and one state; the second controller is another process with no memory."""
    node = start_node(
        *("-p", "scene:=spatula_slip", "-p", "status_line:=false", "-p", "real_time_factor:=0.0"),
        *("-p", "mode:=lock_step", "-p", "lock_step_interface:=joint", "-p", "lock_step_period:=0.004"),
    )
    node.wait_for_output("scene 'spatula_slip'", COMPILED)
    reached = 0.0
    for _ in range(2):
        sleeper = Sleeper(node.domain)
        try:
            sleeper.run(lambda sleeper=sleeper: len(sleeper.commands) >= 150)
            assert sleeper.commands[0] > reached
            reached = sleeper.commands[-1]
            settled = sleeper.commands[-100:]
            assert [b - a for a, b in pairwise(settled)] == pytest.approx([0.004] * 99)
            heard = [stamp for stamp in sleeper.states if stamp >= settled[0]]
            assert heard == pytest.approx([settled[0] + 0.004 * i for i in range(len(heard))])
            assert all(abs(tick / 0.004 - round(tick / 0.004)) < 1e-6 for tick in sleeper.ticks)
        finally:
            sleeper.close()
    assert node.stop() == 0
    assert "rejected" not in node.output
