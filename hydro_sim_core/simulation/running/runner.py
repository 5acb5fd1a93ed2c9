"""Runner: steps a world at a fixed rate in a thread of its own.

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
from hydro_sim_core.simulation.running.backlog import GivenUpLog
from hydro_sim_core.simulation.running.timing import PaceRecorder, RunnerReport
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.snapshot import Snapshot, take_snapshot

OverrunPolicy = Literal["skip", "catch_up"]

#: Smallest real-time factor; anything slower should be paused.
SLOWEST = 1e-3
#: Default of the largest backlog that is caught up with, s.
MAX_BACKLOG = 1.0
#: Longer waits than this (s) can be interrupted; shorter ones are slept, which meets the deadline more exactly.
LONGEST_SLEEP = 0.02
#: How long ``step``, ``stop`` and ``reset`` wait for the thread, s; the first step may have to compile.
HANDSHAKE_TIMEOUT = 600.0


@dataclass(eq=False)
class _StepRequest:
    """Single steps requested while paused; ``wanted`` becomes 0 when they are aborted."""

    wanted: int
    taken: int = 0
    answer: Future[int] = field(default_factory=Future)


class FixedRateRunner:
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

    Raises:
        InputError: The factor is not a number or too small, the policy unknown, or the backlog not above 0.
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
    ) -> None:
        self.world = world
        self.set_pace(real_time_factor, overrun, max_backlog)
        self._given_up = GivenUpLog()
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

    def set_pace(
        self,
        real_time_factor: float = 1.0,
        overrun: OverrunPolicy = "skip",
        max_backlog: float = MAX_BACKLOG,
    ) -> None:
        """Change what the constructor has set, from the next deadline on.

        Raises:
            InputError: As for the constructor.
        """
        if not isinstance(real_time_factor, int | float) or not real_time_factor >= SLOWEST:
            problem = f"{real_time_factor!r} is no factor that a run could keep"
            raise InputError("runner", "real_time_factor", problem, f"give {SLOWEST:g} or more")
        if overrun not in ("skip", "catch_up"):
            raise InputError("runner", "overrun", f"{overrun!r} is unknown", "use skip or catch_up")
        if not max_backlog > 0.0:
            raise InputError(
                "runner", "max_backlog", f"{max_backlog!r} s is not above 0", "use skip for none"
            )
        self._real_time_factor, self._overrun = real_time_factor, overrun
        self._max_backlog = max_backlog

    @property
    def real_time_factor(self) -> float:
        """Real-time factor asked for; infinite for as fast as possible."""
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
            self._given_up.tell()

    @property
    def running(self) -> bool:
        """Whether the thread runs, stepping or paused."""
        return self._running

    @property
    def error(self) -> BaseException | None:
        """Exception that ended the thread; None after ``stop``."""
        return self._error

    @property
    def failure(self) -> str | None:
        """Reason why the runner paused by itself; None again after ``resume`` or ``reset``."""
        return self._failure

    @property
    def paused(self) -> bool:
        """Whether stepping waits for ``resume`` or ``step``."""
        return self._paused

    def pause(self) -> None:
        """Pause after the current step; aborts single steps too."""
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
        """Abort the remaining single steps."""
        with self._condition:
            self._break_off_single_steps()

    def _break_off_single_steps(self) -> None:
        for request in self._step_requests:
            request.wanted = 0

    def step(self, n: int = 1) -> Snapshot:
        """Take ``n`` steps while paused and return the snapshot after the last; otherwise as ``begin_steps``.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is not a positive integer.
            FloatingPointError: A step has no finite result; the state stays at the last good step.
        """
        self.begin_steps(n).result()
        return self._snapshot

    def begin_steps(self, n: int) -> Future[int]:
        """Request ``n`` steps while paused, without waiting for them.

        Returns:
            Future of the number of steps taken, fewer than ``n`` if ``pause``, ``resume``, ``reset``, ``exchange`` or
            ``stop`` aborted them; holds the ``FloatingPointError`` of a step without a finite result.

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
            # A future cancelled by the caller must not raise in the stepping thread.
            request.answer.set_running_or_notify_cancel()
            self._step_requests.append(request)
            self._condition.notify_all()
        return request.answer

    def reset(self, *, time: bool = True, state: bool = True) -> None:
        """Reset the world before the next step; aborts single steps.

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
        """Replace the world before the next step; aborts single steps. Snapshots of the old world stay valid.

        Args:
            world: The other world; the runner owns it from now on.
            settle: Called in the stepping thread with the old and the new world, to transfer state and to adapt users
                of the world in that thread; it must be quick and not raise.
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
        """Change the world's state from outside before the next step, and wait for it.

        Args:
            action: Called with the world in the stepping thread, or in this one while the runner is stopped; it must be
                quick and not raise.
            anew: Whether a new epoch begins, in which earlier requests and permits are void.

        Raises:
            RuntimeError: The action was not completed, because the stepping thread failed, perhaps in ``action``
                itself, or does not answer.
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
            # Notify after the listeners, which may be slow, so that waiting threads see their effects.
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
        """Allow the next ``steps`` steps in lock-step; replaces earlier permits."""
        with self._condition:
            self._permitted = steps
            self._condition.notify_all()

    @property
    def waiting_for_permit(self) -> bool:
        """Whether a step in lock-step is due but not yet permitted."""
        return self._lock_step and not self._paused and not self._permitted

    def submit(self, action: Callable[[World], None]) -> None:
        """Call ``action`` with the world in the stepping thread, before the next step or while paused.

        Check commands first (``World.check_command``): an exception ends the run.
        """
        with self._condition:
            self._inbox.put(action)
            self._condition.notify_all()

    def add_command_source(self, source: Callable[[World], None]) -> None:
        """Call ``source`` with the world before every step; it must be quick and not raise."""
        self._sources.append(source)

    # --- reading, from any thread

    def add_listener(self, listener: Callable[[Snapshot], None]) -> None:
        """Call ``listener`` in the stepping thread with every snapshot, also after a reset; it must be quick.

        Unlike ``wait_for_step``, which gives the newest, it misses none. It must not raise.
        """
        self._listeners.append(listener)

    def snapshot(self) -> Snapshot:
        """State after the last step."""
        return self._snapshot

    def wait_for_step(self, after: Snapshot | None, timeout: float) -> Snapshot | None:
        """Wait for a snapshot newer than ``after``.

        Args:
            after: The last snapshot seen; None returns the current one at once.
            timeout: Longest wait, s.

        Returns:
            The newest snapshot; None after the timeout.
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
        """Raw data of the report, with full histograms."""
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
            # Any failure must reach the owner, because a thread that dies silently looks like a pause.
            self._error = error
        finally:
            self._pace.stand_still()
            with self._condition:
                self._running = False
                self._break_off_single_steps()
                self._condition.notify_all()
            self._answer_step_requests()

    def _attend(self) -> None:
        """Carry out requests of other threads."""
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
        """Complete the futures of finished or aborted requests, and of all requests after a failed step."""
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
        """Wait at most ``timeout`` (s) until another thread makes a request, or begins or ends a pause."""
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
        """Wait until ``deadline``; return it, or a later one if periods had to be dropped."""
        late = time.monotonic() - deadline
        if late <= 0.0:
            self._pace.on_time()
            self._wait_until(deadline)
            return deadline
        if self._period == 0.0:
            return time.monotonic()
        self._pace.overran(late)
        if self._overrun == "catch_up" and late < self._max_backlog:
            return deadline
        dropped = math.ceil(late / self._period)
        self._pace.gave_up(dropped)
        if self._overrun == "catch_up":
            simulated = dropped * self.world.time_step
            self._given_up.note(time.monotonic(), late, self._max_backlog, simulated)
        deadline += dropped * self._period
        self._wait_until(deadline)
        return deadline

    def _wait_until(self, deadline: float) -> None:
        """Wait until ``deadline``, pause or stop; actions submitted during a long wait run at once."""
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
