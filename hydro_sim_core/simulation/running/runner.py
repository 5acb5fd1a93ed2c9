"""Steps a world at a fixed rate in a thread of its own.

The thread sleeps to absolute deadlines of the monotonic clock, so the rate does not drift. Other threads talk to it
through ``submit`` and read immutable snapshots; they never touch the world while it runs.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.simulation.running.snapshot import Snapshot, take_snapshot
from hydro_sim_core.simulation.running.timing import PaceRecorder, RunnerReport
from hydro_sim_core.simulation.world import World

OverrunPolicy = Literal["skip", "catch_up"]

#: The smallest real-time factor: a slower simulation is one that stands.
SLOWEST = 1e-3
#: With ``catch_up``, a runner this far behind (s) gives up the backlog: it would never end.
MAX_BACKLOG = 1.0
#: A wait longer than this (s) can be interrupted; a shorter one is slept, which meets the deadline more exactly.
LONGEST_SLEEP = 0.02
#: How long ``step``, ``stop`` and ``reset`` wait for the thread, s; the first step may have to compile.
HANDSHAKE_TIMEOUT = 600.0


@dataclass(eq=False)
class _StepRequest:
    """Single steps asked for while paused; ``wanted`` falls to 0 when they are broken off."""

    wanted: int
    taken: int = 0
    answer: Future[int] = field(default_factory=Future)


class FixedRateRunner:
    """Steps a world in a thread, once every ``time_step / real_time_factor`` seconds.

    A step that ends after the next deadline is an overrun. With ``skip`` the missed periods are dropped: simulated time
    falls behind and the rate is kept from there on. With ``catch_up`` steps follow each other without sleeping until
    the schedule is met again; a backlog over ``MAX_BACKLOG`` is dropped. Both are counted in the report.

    A step without finite result (``FloatingPointError``) pauses the runner at the last good state, so that it can be
    reset; see ``failure``. Any other exception ends the thread; see ``error``.

    In lock-step a step is taken only when ``permit`` allows it: a controller does so with every command. The factor is
    then the fastest pace, and waiting is no overrun.

    Args:
        world: The world; the runner owns it from ``start`` to ``stop``.
        real_time_factor: Simulated seconds a wall-clock second, at least ``SLOWEST``; ``inf`` for as fast as
            possible.
        overrun: What to do when late.
        start_paused: Wait for ``resume``.
        lock_step: Wait for ``permit`` before every step, unless it was asked for while paused.
        thread_setup: Called first of all in the stepping thread, to make it a real-time thread for example.

    Raises:
        InputError: The factor is no number or too small, or the policy is unknown.
    """

    def __init__(
        self,
        world: World,
        real_time_factor: float = 1.0,
        overrun: OverrunPolicy = "skip",
        start_paused: bool = False,
        lock_step: bool = False,
        thread_setup: Callable[[], None] | None = None,
    ) -> None:
        self.world = world
        self.set_pace(real_time_factor, overrun)
        self._lock_step = lock_step
        self._permitted = 0
        self._thread_setup = thread_setup
        self._inbox: queue.SimpleQueue[Callable[[World], None]] = queue.SimpleQueue()
        self._sources: list[Callable[[World], None]] = []
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._condition = threading.Condition()
        self._paused = start_paused
        self._step_requests: deque[_StepRequest] = deque()
        self._stopping = False
        self._running = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._failure: str | None = None
        self._epoch = 0
        self._pace = PaceRecorder(time.monotonic)
        self._snapshot = take_snapshot(world, self._epoch)

    # --- control, from any thread

    def set_pace(self, real_time_factor: float = 1.0, overrun: OverrunPolicy = "skip") -> None:
        """Change the pace and what to do when late, from the next deadline on; arguments as for the constructor.

        Raises:
            InputError: The factor is no number or too small, or the policy is unknown.
        """
        if not isinstance(real_time_factor, int | float) or not real_time_factor >= SLOWEST:
            problem = f"{real_time_factor!r} is no factor that a run could keep"
            raise InputError("runner", "real_time_factor", problem, f"give {SLOWEST:g} or more")
        if overrun not in ("skip", "catch_up"):
            raise InputError("runner", "overrun", f"{overrun!r} is unknown", "use skip or catch_up")
        self._real_time_factor, self._overrun = real_time_factor, overrun

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds wanted a wall-clock second; infinite for as fast as possible."""
        return self._real_time_factor

    @property
    def _period(self) -> float:
        return self.world.time_step / self._real_time_factor

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None:
            self._stopping, self._running = False, True
            self._thread = threading.Thread(target=self._run, name="hydro-sim stepper", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Finish the current step and end the thread; a stopped runner may be started again."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(HANDSHAKE_TIMEOUT)
            self._thread = None

    @property
    def running(self) -> bool:
        """Whether the thread steps or waits to be told to."""
        return self._running

    @property
    def error(self) -> BaseException | None:
        """What ended the thread, if it was not ``stop``."""
        return self._error

    @property
    def failure(self) -> str | None:
        """Why the runner paused by itself; None again after ``resume`` or ``reset``."""
        return self._failure

    @property
    def paused(self) -> bool:
        """Whether stepping waits for ``resume`` or ``step``."""
        return self._paused

    def pause(self) -> None:
        """Stop stepping after the current step; breaks off single steps too."""
        with self._condition:
            self._paused = True
            self._break_off_single_steps()
            self._condition.notify_all()

    def resume(self) -> None:
        """Step at the fixed rate again; the pause does not count as lateness."""
        with self._condition:
            self._paused = False
            self._failure = None
            self._break_off_single_steps()
            self._condition.notify_all()

    def break_off_single_steps(self) -> None:
        """Take no more of the steps that were asked for while paused."""
        with self._condition:
            self._break_off_single_steps()

    def _break_off_single_steps(self) -> None:
        for request in self._step_requests:
            request.wanted = 0

    def step(self, n: int = 1) -> Snapshot:
        """Take ``n`` steps while paused and return the snapshot after the last; otherwise as ``begin_steps``.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is no whole number above 0.
            FloatingPointError: A step has no finite result; the state stays at the last good step.
        """
        self.begin_steps(n).result()
        return self._snapshot

    def begin_steps(self, n: int) -> Future[int]:
        """Have ``n`` steps taken while paused, without waiting for them.

        Returns:
            Future of the number of steps taken, fewer than ``n`` if ``pause``, ``resume``, ``reset``, ``exchange`` or
            ``stop`` broke them off; holds the ``FloatingPointError`` of a step without finite result.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is no whole number above 0.
        """
        n = whole_number("step", "n", n, least=1)
        with self._condition:
            if not self.running:
                raise InputError("step", "runner", "is not running", "start it first")
            if not self._paused:
                raise InputError("step", "runner", "is not paused", "pause it first")
            self._failure = None
            request = _StepRequest(n)
            # A caller that cancelled it would make the answer an error in the stepping thread.
            request.answer.set_running_or_notify_cancel()
            self._step_requests.append(request)
            self._condition.notify_all()
        return request.answer

    def reset(self, *, time: bool = True, state: bool = True) -> None:
        """Take the world back to its start before the next step; breaks off single steps.

        Args:
            time: As for ``World.reset``.
            state: As for ``World.reset``.

        Raises:
            RuntimeError: As for ``change``.
        """
        self.break_off_single_steps()
        self.change(lambda world: world.reset(time=time, state=state), anew=True)

    def exchange(
        self, world: World, settle: Callable[[World, World], None] | None = None, *, anew: bool = True
    ) -> None:
        """Go on with another world before the next step; breaks off single steps. Snapshots of the old one stay valid.

        Args:
            world: The other world; the runner owns it from now on.
            settle: Called in the stepping thread with the old and the new world, to hand over what has to be handed
                over, and to adapt those who talk to the world there; it must be quick and raise nothing.
            anew: As for ``change``.

        Raises:
            RuntimeError: As for ``change``; the old world stays.
        """

        def take(old: World) -> None:
            if settle is not None:
                settle(old, world)
            self.world = world

        self.break_off_single_steps()
        self.change(take, anew=anew)

    def change(self, action: Callable[[World], None], *, anew: bool = False) -> None:
        """Have the world's state changed from outside, before the next step, and wait for it.

        Args:
            action: Called with the world in the stepping thread, or in this one while the runner is stopped; it must be
                quick and raise nothing.
            anew: Whether an epoch begins: what was under way before is over, and permits are void.

        Raises:
            RuntimeError: It was not carried out, as the stepping thread failed, in ``action`` itself perhaps, or does
                not answer.
        """
        done = False

        def act(world: World) -> None:
            nonlocal done
            action(world)
            self._failure = None
            if anew:
                self._epoch += 1
                self._permitted = 0
            self._publish(take_snapshot(self.world, self._epoch))
            # Told only now: listeners may take their time, and whoever waits would have looked before.
            with self._condition:
                done = True
                self._condition.notify_all()

        with self._condition:
            self.submit(act)
            self._condition.wait_for(lambda: done or not self.running, HANDSHAKE_TIMEOUT)
            if not self.running:
                self._empty_inbox()
        if not done:
            what = "has failed" if self._error is not None else f"did not answer in {HANDSHAKE_TIMEOUT:g} s"
            raise RuntimeError(f"nothing was changed: the stepping thread {what}") from self._error

    def permit(self, steps: int = 1) -> None:
        """Allow the next ``steps`` steps in lock-step; what was allowed before and not taken is forgotten."""
        with self._condition:
            self._permitted = steps
            self._condition.notify_all()

    @property
    def waiting_for_permit(self) -> bool:
        """Whether a step is due in lock-step that ``permit`` has not allowed yet."""
        return self._lock_step and not self._paused and not self._permitted

    def submit(self, action: Callable[[World], None]) -> None:
        """Have ``action`` called with the world in the stepping thread, before the next step or while paused.

        Check commands first (``World.check_command``): an exception ends the run.
        """
        with self._condition:
            self._inbox.put(action)
            self._condition.notify_all()

    def add_command_source(self, source: Callable[[World], None]) -> None:
        """Have ``source`` called with the world before every step; it must be quick and raise nothing."""
        self._sources.append(source)

    # --- reading, from any thread

    def add_listener(self, listener: Callable[[Snapshot], None]) -> None:
        """Have ``listener`` called in the stepping thread with every snapshot, a reset's too; it must be quick.

        Unlike ``wait_for_step``, which gives the newest, it misses none. It must raise nothing.
        """
        self._listeners.append(listener)

    def snapshot(self) -> Snapshot:
        """State after the last step."""
        return self._snapshot

    def wait_for_step(self, after: Snapshot | None, timeout: float) -> Snapshot | None:
        """Wait for a snapshot newer than ``after``.

        Args:
            after: The last snapshot seen; None returns the current one at once.
            timeout: s.

        Returns:
            The newest snapshot, None if there was none in time.
        """
        with self._condition:
            if self._condition.wait_for(lambda: self._snapshot is not after, timeout):
                return self._snapshot
        return None

    def report(self) -> RunnerReport:
        """Rate, lateness and step times since the start."""
        return self._pace.report(self.world.time_step)

    @property
    def pace(self) -> PaceRecorder:
        """What the report is made from, with whole histograms."""
        return self._pace

    # --- the stepping thread

    def _run(self) -> None:
        try:
            if self._thread_setup is not None:
                self._thread_setup()
            deadline = time.monotonic()
            while not self._stopping:
                self._attend()
                if self._paused:
                    self._pace.stand_still()
                    if self._step_requests:
                        self._single_step()
                    else:
                        self._wait_for_word(paused=True)
                    deadline = time.monotonic()
                    continue
                self._pace.run_on()
                if self.waiting_for_permit:
                    self._wait_for_word(paused=False)
                    deadline = max(deadline, time.monotonic())
                    continue
                self._one_step()
                deadline = self._keep_deadline(deadline + self._period)
        except BaseException as error:
            # Any failure must reach the owner: a thread that dies silently looks like a pause.
            self._error = error
        finally:
            self._pace.stand_still()
            with self._condition:
                self._running = False
                self._break_off_single_steps()
                self._condition.notify_all()
            self._answer_step_requests()

    def _attend(self) -> None:
        """Do what other threads asked for."""
        self._empty_inbox()
        self._answer_step_requests()

    def _empty_inbox(self) -> None:
        while True:
            try:
                action = self._inbox.get_nowait()
            except queue.Empty:
                return
            action(self.world)

    def _answer_step_requests(self) -> None:
        """Answer those that are fulfilled or broken off, and all of them after a failed step."""
        while self._step_requests:
            request = self._step_requests[0]
            if self._failure is not None:
                request.answer.set_exception(FloatingPointError(self._failure))
            elif request.taken >= request.wanted:
                request.answer.set_result(request.taken)
            else:
                break
            self._step_requests.popleft()

    def _wait_for_word(self, paused: bool, timeout: float | None = None) -> None:
        """Wait until another thread wants something, or ends or begins a pause, at most ``timeout`` (s)."""
        with self._condition:
            self._condition.wait_for(
                lambda: (
                    self._stopping
                    or self._paused is not paused
                    or len(self._step_requests) > 0
                    or (self._lock_step and not self._paused and self._permitted > 0)
                    or not self._inbox.empty()
                ),
                timeout,
            )

    def _single_step(self) -> None:
        request = self._step_requests[0]
        if request.taken < request.wanted:
            self._one_step()
            request.taken += self._failure is None

    def _one_step(self) -> None:
        began = time.monotonic()
        for source in self._sources:
            source(self.world)
        try:
            self.world.step()
        except FloatingPointError as failure:
            with self._condition:
                self._failure, self._paused = str(failure), True
            return
        nominal = None if self._lock_step or not self._period else self._period
        self._pace.step_taken(began, time.monotonic(), nominal)
        self._permitted = max(0, self._permitted - 1)
        self._publish(take_snapshot(self.world, self._epoch))

    def _keep_deadline(self, deadline: float) -> float:
        """Wait until ``deadline``; returns it, or a later one if periods had to be dropped."""
        late = time.monotonic() - deadline
        if late <= 0.0:
            self._pace.on_time()
            self._wait_until(deadline)
            return deadline
        if self._period == 0.0:
            return time.monotonic()
        self._pace.overran(late)
        if self._overrun == "catch_up" and late < MAX_BACKLOG:
            return deadline
        dropped = math.ceil(late / self._period)
        self._pace.skipped_steps += dropped
        deadline += dropped * self._period
        self._wait_until(deadline)
        return deadline

    def _wait_until(self, deadline: float) -> None:
        """Wait until ``deadline``, or until paused or stopped; what is submitted during a long wait acts at once."""
        while (left := deadline - time.monotonic()) > 0.0 and not (self._stopping or self._paused):
            if left > LONGEST_SLEEP:
                self._wait_for_word(paused=False, timeout=left - 0.5 * LONGEST_SLEEP)
                self._attend()
            else:
                time.sleep(left)

    def _publish(self, snapshot: Snapshot) -> None:
        with self._condition:
            self._snapshot = snapshot
            self._condition.notify_all()
        for listener in self._listeners:
            listener(snapshot)
