"""Runner: steps a world at a fixed rate in a thread of its own.

The thread sleeps to absolute deadlines of the monotonic clock, so the rate does not drift. Other threads talk to it
through ``submit`` and read immutable snapshots; they never touch the world while it runs.

Where nothing asks for Python before every step, the compiled loop of ``realtime`` takes the steps, without the
interpreter lock; the thread comes back from it when somebody wants something. Otherwise Python takes them one by one.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import Control, Flag, Life, Overrun, Status
from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.realtime.loop import STEP
from hydro_sim_core.simulation.realtime.plan import Planner
from hydro_sim_core.simulation.realtime.states import Circumstances
from hydro_sim_core.simulation.running.backlog import GivenUpLog
from hydro_sim_core.simulation.running.reader import RingReader
from hydro_sim_core.simulation.running.realtime import privileges_here
from hydro_sim_core.simulation.running.requests import HANDSHAKE_TIMEOUT, RunnerRequests
from hydro_sim_core.simulation.running.settings import MAX_BACKLOG, OverrunPolicy, check_pace, period_of
from hydro_sim_core.simulation.running.sources import Idle, Source, Sources
from hydro_sim_core.simulation.running.timing import PaceRecorder, RunnerReport
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.snapshot import Snapshot, take_snapshot

logger = logging.getLogger(__name__)

#: Longer waits than this (s) can be interrupted; shorter ones are slept, which meets the deadline more exactly.
LONGEST_SLEEP = 0.02
#: Longest sleep while paused, s: clients see a heartbeat.
_HEARTBEAT = 0.1
_BILLION = 1_000_000_000


class FixedRateRunner(RunnerRequests):
    """Steps a world in a thread, once every ``time_step / real_time_factor`` seconds.

    A step that ends after the next deadline is an overrun. With ``skip`` the missed periods are dropped: simulated time
    falls behind and the rate is kept from there on. With ``catch_up`` steps follow each other without sleeping until
    the schedule is met again; a larger backlog than ``max_backlog`` is dropped, which is logged. Both are counted in
    the report.

    A step without a finite result (``FloatingPointError``) pauses the runner at the last good state, so that it can be
    reset; see ``failure``. Any other exception ends the thread; see ``error``.

    In lock-step a step is taken only when ``permit`` allows it, as a controller does with every command. The real-time
    factor is then an upper limit, and waiting is not an overrun.

    Args:
        world: The world; the runner owns it from ``start`` to ``stop``.
        real_time_factor: Simulated seconds per wall-clock second, at least ``SLOWEST``; ``inf`` for as fast as
            possible.
        overrun: Policy when a step is late.
        start_paused: Whether to start paused, until ``resume``.
        lock_step: Whether to wait for ``permit`` before every step except single steps while paused.
        thread_setup: Called first in the stepping thread, for example to make it a real-time thread.
        max_backlog: With ``catch_up``, the largest lateness that is caught up with, s of wall-clock time: steps follow
            each other without sleeping for as much simulated time at most.
        shared_name: Name of the shared memory for controllers in other processes; none without.

    Raises:
        InputError: As for ``set_pace``, or the shared memory cannot be made.
    """

    def __init__(
        self,
        world: World,
        real_time_factor: float = 1.0,
        overrun: OverrunPolicy = "skip",
        start_paused: bool = False,
        lock_step: bool = False,
        thread_setup: Callable[[], None] | None = None,
        max_backlog: float = MAX_BACKLOG,
        shared_name: str = "",
    ) -> None:
        self.world = world
        self._core = Core(world, shared_name)
        self._shared_name = shared_name
        super().__init__(start_paused)
        self.set_pace(real_time_factor, overrun, max_backlog)
        self._given_up = GivenUpLog()
        self._lock_step = lock_step
        self._thread_setup = thread_setup
        self._sources = Sources()
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._stopping = False
        self._running = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._pace = PaceRecorder(world.time_step, time.monotonic, self._core.status, self._core.histograms)
        self._is_in_loop = False
        self._steps_by_python = 0
        self._core.tell(0.0, 0)
        self._reader = RingReader(self._core, take_snapshot(world, 0), self._end_with, self._look_around)

    # --- control, from any thread

    def set_pace(
        self,
        real_time_factor: float = 1.0,
        overrun: OverrunPolicy = "skip",
        max_backlog: float = MAX_BACKLOG,
    ) -> None:
        """Change what the constructor has set, from the next deadline on.

        Raises:
            InputError: The factor is not a number or too small, the policy unknown, or the backlog not above 0.
        """
        check_pace(real_time_factor, overrun, max_backlog)
        with self._condition:  # another world comes with another time step and other control words
            self._real_time_factor = real_time_factor
            control = self._core.control
            control[Control.PERIOD_NS] = period_of(self.world.time_step, real_time_factor)
            control[Control.OVERRUN] = Overrun.SKIP if overrun == "skip" else Overrun.CATCH_UP
            control[Control.MAX_BACKLOG_NS] = round(_BILLION * min(max_backlog, 1e9))

    def _enter(self, world: World) -> None:
        before = self._core
        told = before.control.copy()
        period = period_of(world.time_step, self.real_time_factor)
        try:
            made = Core(world, self._shared_name, before, period)
        except InputError as error:  # of the segment: the run need not end with its clients
            logger.warning("the shared memory is given up: %s", error)
            self._shared_name = ""
            made = Core(world, before=before, period_ns=period)
        with self._condition:  # what was told to the core before while this one was made is told to it, too
            made.catch_up_with(before, told)
            if before.control[Control.PERIOD_NS] != told[Control.PERIOD_NS]:
                made.control[Control.PERIOD_NS] = period_of(world.time_step, self.real_time_factor)
            self._core, self.world = made, world
        self._pace.move_to(self._core.status, self._core.histograms, world.time_step)
        self._reader.move_to(self._core)
        if before.is_in_lock_step and not self._paused:
            logger.warning("a client was in lock-step with the scene before: the simulation is paused")
            self.pause()

    @property
    def real_time_factor(self) -> float:
        """Real-time factor asked for last, by a client as well; infinite for as fast as possible."""
        with self._condition:
            period, time_step = int(self._core.control[Control.PERIOD_NS]), self.world.time_step
        if period == period_of(time_step, self._real_time_factor):
            return self._real_time_factor  # to the last digit, which whole nanoseconds do not have
        return _BILLION * time_step / period if period > 0 else math.inf

    @property
    def _period(self) -> float:
        return int(self._core.control[Control.PERIOD_NS]) / _BILLION

    def start(self) -> None:
        """Start the thread; ``InputError`` after ``close``, as clients could not find the runner any more."""
        if self._thread is None:
            self._core.refuse_closed()
            self._stopping, self._running = False, True
            self._thread = threading.Thread(target=self._run, name="hydro-sim stepper", daemon=True)
            self._thread.start()
            self._reader.start()

    def stop(self) -> None:
        """Finish the current step and end the thread; a stopped runner may be started again."""
        with self._condition:
            self._stopping = True
            self._rouse()
        if self._thread is not None:
            self._thread.join(HANDSHAKE_TIMEOUT)
            self._thread = None
            self._reader.stop()
            self._given_up.tell()

    def close(self) -> None:
        """Stop for good, and give up the shared memory."""
        self.stop()
        self._core.close()

    @property
    def error(self) -> BaseException | None:
        """Exception that ended the thread; None after ``stop``."""
        return self._error

    @property
    def failure(self) -> str | None:
        """Reason why the runner paused by itself; None again after ``resume`` or ``reset``."""
        return self._failure

    @property
    def waiting_for_permit(self) -> bool:
        """Whether a step in lock-step is due but not yet permitted."""
        return self._lock_step and not self._paused and not self._permitted

    def add_command_source(
        self, source: Source, idle: Idle | None = None, planner: Planner | None = None
    ) -> None:
        """Call ``source`` with the world before every step; it must be quick and not raise.

        Args:
            source: The source.
            idle: Returns for how many of the coming steps it need not be called, unless an action is submitted.
                Without, the compiled loop cannot take the steps.
            planner: Tells the compiled loop what to command in these steps instead.
        """
        self._sources.add(source, idle, planner)
        self._call_back()

    @property
    def led_joints(self) -> tuple[str, ...]:
        """Joints that clients of the shared memory command; for sources."""
        return self._core.led_joints

    def take_from_clients(self, joints: Collection[str]) -> None:
        """Have clients of the shared memory lead these joints no more, until they command them anew; for sources."""
        self._core.take_from_clients(joints)

    # --- reading, from any thread

    def add_listener(self, listener: Callable[[Snapshot], None]) -> None:
        """Call ``listener`` in the stepping thread with every snapshot, also after a reset; it must be quick.

        Unlike ``wait_for_step``, which gives the newest, it misses none. It must not raise. It may look at the world,
        and so the compiled loop cannot take the steps; see ``add_follower``.
        """
        self._listeners.append(listener)
        self._call_back()

    def add_follower(self, follower: Callable[[Snapshot], None]) -> None:
        """Call ``follower`` with every snapshot, also after a reset, in order, a little later and in any thread.

        It must neither look at the world nor wait for the runner. It keeps the stepping thread waiting only when that
        has something to do for others.
        """
        self._reader.follow(follower)
        self._call_back()

    @property
    def steps_in_loop(self) -> int:
        """Steps that the compiled loop has taken, without Python."""
        return max(0, int(self._core.status[Status.STEPS]) - self._steps_by_python)

    @property
    def states_lost(self) -> int:
        """States that followers have missed because they were more than the whole ring behind."""
        return self._reader.lost

    def wait_for_step(self, after: Snapshot | None, timeout: float) -> Snapshot | None:
        """Wait for a snapshot newer than ``after``.

        Args:
            after: The last snapshot seen; None returns the current one at once.
            timeout: Longest wait, s.

        Returns:
            The newest snapshot; None after the timeout.
        """
        until = time.monotonic() + timeout
        while True:
            snapshot = self.snapshot()
            left = until - time.monotonic()
            if snapshot is not after:
                return snapshot
            if left <= 0.0:
                return None
            self._reader.wait_for_news(min(left, _HEARTBEAT))

    def report(self) -> RunnerReport:
        """Rate, lateness and step times since the start."""
        return self._pace.report()

    @property
    def pace(self) -> PaceRecorder:
        """Raw data of the report, with full histograms."""
        return self._pace

    # --- the stepping thread

    def _run(self) -> None:
        try:
            if self._thread_setup is not None:
                self._thread_setup()
            self._core.note_scheduling(*privileges_here())
            deadline = 0.0  # of the first step of a run: as soon as all is ready for it
            while not self._stopping:
                core = self._core
                self._attend()
                if self._stopping:
                    break  # asked for since it was looked at, and with it went the word to attend
                if self._core is not core:
                    deadline = 0.0  # of the scene before
                if self._paused:
                    self._stand()
                    deadline = 0.0
                    continue
                self._pace.run_on()
                if self.waiting_for_permit:
                    self._wait_for_word(paused=False)
                    deadline = max(deadline, time.monotonic())
                    continue
                steps = self._steps_without_python()
                if not steps and self._awaits_clients():
                    deadline = 0.0
                    continue
                deadline = (
                    self._stretch(deadline, steps)
                    if steps
                    else self._python_step(deadline or time.monotonic())
                )
        except BaseException as error:
            # Any failure must reach the owner, because a thread that dies silently looks like a pause.
            self._error = error
        finally:
            self._pace.stand_still()
            self._core.status[Status.LIFE] = Life.STOPPED
            with self._condition:
                self._running = False
                self._single_steps.break_off()
                self._condition.notify_all()
            self._single_steps.answer(self._core)

    def _end_with(self, error: BaseException) -> None:
        """End the run with the error of a follower."""
        with self._condition:
            self._error = error
            self._stopping = True
            self._rouse()

    def _stand(self) -> None:
        """Take the steps that are asked for while paused, or wait for something to do."""
        core = self._core
        self._pace.stand_still()
        is_asked = core.steps_left > 0
        if is_asked:
            self._failure = None
        core.status[Status.LIFE] = Life.PARKED if self._failure else Life.PAUSED
        steps = 0 if self._failure else self._steps_without_python()
        if steps:
            self._stretch(0.0, self._single_steps.most(core, steps), in_pause=True)
        elif is_asked:
            self._python_step(0.0, in_pause=True)
        else:
            self._wait_for_word(paused=True)

    # --- stretches of steps without Python

    def _steps_without_python(self) -> int:
        """How many steps the compiled loop may take from now on; 0 if Python is needed for the next."""
        if self._lock_step or self._listeners or not self.world.takes_whole_steps:
            return 0
        idle = self._sources.hand_over(self.world, self._core.loop.plan)
        if idle < 1.0:
            return 0
        self.world.leave_to_others(self._core.led_joints)
        return int(min(idle, self.world.begin_stretch()))

    def _stretch(self, deadline: float, steps: int, in_pause: bool = False) -> float:
        """Have the compiled loop take steps from ``deadline`` (s) on; return the next deadline.

        In a pause these are the steps that are asked for, as soon as they are.
        """
        world, core, pace = self.world, self._core, self._pace
        first = world.step_count
        told = Circumstances(world, world.loads_of_next_step, world.pulls)
        self._reader.begin(told)
        self._is_in_loop = True
        try:
            why, deadline, pace.began = core.run(deadline, pace.began, steps, in_pause)
            # Who was told that steps of a pause are taken reads the ring until their snapshot is there; others need
            # not wait for what followers do with the rest.
            self._is_in_loop = in_pause
            if world.step_count > first:
                world.end_stretch(core.before, told.loads)
                self._sources.take_back(world, core.loop.plan)
            self._reader.finish(lambda: take_snapshot(world, self._epoch))
        finally:
            self._is_in_loop = False
        self._tell_given_up()
        return self._python_step(deadline, in_pause) if why == STEP else deadline

    def _python_step(self, deadline: float, in_pause: bool = False) -> float:
        """Take a step whose deadline (s) has come; wait for the next deadline, and return it. A pause has none."""
        is_taken = self._one_step()
        if not in_pause:
            return self._keep_deadline(deadline + self._period)
        self._pace.began = None
        if is_taken:
            self._core.follow_steps(1)
        return deadline

    def _look_around(self) -> None:
        """Tell what a stretch, which may take hours, takes and gives up; free the channels of dead clients."""
        self._pace.tell_wall_time()
        self._tell_given_up()
        for channel in self._core.bury_the_dead():
            logger.warning(
                "the client of channel %d has died in lock-step: the simulation is paused", channel
            )
            self.pause()

    def _wait_for_word(self, paused: bool, timeout: float | None = None) -> None:
        """Wait at most ``timeout`` (s) until another thread makes a request, or begins or ends a pause.

        Permits are a word where they are waited for, and not where a deadline is.
        """
        core = self._core
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            bell = core.bell()
            core.beat()
            left = until - time.monotonic()
            is_permitted = timeout is None and not paused and self._lock_step and self._permitted > 0
            if left <= 0.0 or is_permitted or self._has_word(paused):
                return
            core.wait_on_bell(bell, min(left, _HEARTBEAT))

    def _has_word(self, paused: bool) -> bool:
        """Whether there is something to do for a stepping thread that stands still, or waits for its deadline."""
        control = self._core.control
        return (
            self._stopping
            or self._paused is not paused
            or bool(control[Control.PAUSED]) is not paused
            or not self._inbox.empty()
            or (paused and (self._core.steps_left > 0 or self._core.is_to_drop_steps))
            or control[Control.RESETS_ASKED] != self._core.status[Status.RESETS_DONE]
        )

    def _one_step(self) -> bool:
        """Take a step in Python; False if it failed, which pauses the run at the state before."""
        began = time.monotonic()
        self._core.take_commands()
        self.world.leave_to_others(self._core.led_joints)
        self._sources.act(self.world)
        try:
            self.world.step()
        except FloatingPointError as failure:
            asked = int(self._core.control[Control.STEPS_ASKED])  # before anybody hears of it and asks again
            with self._condition:
                self._failure = str(failure)
                self._core.park(str(failure))  # before anybody sees the pause
                self._set_paused(True)
            self._single_steps.fail(self._core, str(failure), asked)
            return False
        self._sources.note_step(self.world)
        nominal, ended = None if self._lock_step or not self._period else self._period, time.monotonic()
        self._steps_by_python += 1
        self._pace.step_taken(began, ended, nominal)
        self._permitted = max(0, self._permitted - 1)
        self._publish(ended - began, Flag.STEPPED, began)
        return True

    def _keep_deadline(self, deadline: float) -> float:
        """Wait until ``deadline``; return it, or a later one if periods had to be dropped."""
        late = time.monotonic() - deadline
        if late <= 0.0:
            self._pace.on_time()
            self._wait_until(deadline)
            return deadline
        if self._period == 0.0:
            return time.monotonic()
        self._pace.overran(late)
        control = self._core.control
        if control[Control.OVERRUN] == Overrun.CATCH_UP and late < control[Control.MAX_BACKLOG_NS] / _BILLION:
            return deadline
        dropped = math.ceil(late / self._period)
        self._pace.gave_up(dropped)
        self._tell_given_up(late)
        deadline += dropped * self._period
        self._wait_until(deadline)
        return deadline

    def _tell_given_up(self, late: float | None = None) -> None:
        """Tell of periods that were dropped since the last call, unless that is the policy; ``late`` in s."""
        control = self._core.control
        catches_up = control[Control.OVERRUN] == Overrun.CATCH_UP
        most = control[Control.MAX_BACKLOG_NS] / _BILLION if catches_up else math.inf
        dropped = int(self._core.status[Status.SKIPPED])
        self._given_up.follow(time.monotonic(), dropped, self._period, self.world.time_step, most, late)

    def _wait_until(self, deadline: float) -> None:
        """Wait until ``deadline``, pause or stop; actions submitted during a long wait run at once."""
        while (left := deadline - time.monotonic()) > 0.0 and not (self._stopping or self._paused):
            if left > LONGEST_SLEEP:
                self._wait_for_word(paused=False, timeout=left - 0.5 * LONGEST_SLEEP)
                self._attend()
            else:
                time.sleep(left)

    def _publish(self, took: float, flags: int, began: float = 0.0) -> None:
        """Tell the present state, after a step that took so long and began then (s); 0 after a change from outside."""
        self._core.tell(took, flags, began)
        snapshot = take_snapshot(self.world, self._epoch)
        self._reader.put(snapshot)
        for listener in self._listeners:
            listener(snapshot)
