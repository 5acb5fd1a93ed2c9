"""What other threads ask a runner for: pauses, single steps, resets, another world, actions between steps."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.shared_memory.layout import Control, Status
from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.running.reader import RingReader
from hydro_sim_core.simulation.running.single_steps import SingleSteps, StepRequest
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.snapshot import Snapshot, take_snapshot

#: How long ``step``, ``stop`` and ``reset`` wait for the thread, s; the first step may have to compile.
HANDSHAKE_TIMEOUT = 600.0
#: How often who waits for steps looks whether they can still come, s.
_LOOK_PERIOD = 0.1


class RunnerRequests:
    """Requests of other threads; the stepping thread, ``FixedRateRunner``, carries them out.

    Attributes:
        world: The world; the runner owns it from ``start`` to ``stop``.
    """

    world: World
    _core: Core
    _reader: RingReader
    _error: BaseException | None
    _running: bool
    _is_in_loop: bool
    _thread: threading.Thread | None

    def __init__(self, start_paused: bool) -> None:
        self._inbox: queue.SimpleQueue[Callable[[World], None]] = queue.SimpleQueue()
        self._condition = threading.Condition()
        self._single_steps = SingleSteps(self._condition)
        self._failure: str | None = None
        self._permitted = 0
        self._epoch = 0
        self._set_paused(start_paused)

    @property
    def running(self) -> bool:
        """Whether the thread runs, stepping or paused."""
        return self._running

    def _enter(self, world: World) -> None:
        """Go on with another world."""
        raise NotImplementedError

    def _publish(self, took: float, flags: int, began: float = 0.0) -> None:
        """Tell the present state."""
        raise NotImplementedError

    def _rouse(self) -> None:
        """Have all who wait look again; the compiled loop comes back to Python."""
        self._core.control[Control.ATTEND] = 1
        self._core.ring()
        self._condition.notify_all()

    def _call_back(self) -> None:
        """Have the compiled loop come back to Python before its next step."""
        with self._condition:
            self._rouse()

    @property
    def paused(self) -> bool:
        """Whether stepping waits for ``resume`` or ``step``."""
        return self._paused

    def pause(self) -> None:
        """Pause after the current step; aborts single steps too, those that clients have asked for as well."""
        self._begin_or_end_pause(True)

    def resume(self) -> None:
        """Step at the fixed rate again; the pause does not count as lateness."""
        self._begin_or_end_pause(False)

    def _begin_or_end_pause(self, paused: bool) -> None:
        with self._condition:
            self._core.control[Control.PAUSED] = paused
            self._core.disown_steps()
            self._enter_pause(paused)
            self._rouse()

    def _follow_pause(self) -> None:
        """Pause or run on as a client has told; its word is left alone, for it may write the next one meanwhile."""
        with self._condition:  # the word too is looked at in here: ``pause`` and ``resume`` write both
            wanted = bool(self._core.control[Control.PAUSED])
            if wanted is not self._paused:
                self._enter_pause(wanted)
                self._condition.notify_all()

    def _enter_pause(self, paused: bool) -> None:
        self._paused = paused
        self._single_steps.break_off()
        if not paused:
            self._failure = None

    def _set_paused(self, paused: bool) -> None:
        self._paused = paused
        self._core.control[Control.PAUSED] = paused

    def break_off_single_steps(self) -> None:
        """Abort the remaining single steps, those that clients have asked for as well."""
        with self._condition:
            self._core.disown_steps()
            self._single_steps.break_off()

    def step(self, n: int = 1) -> Snapshot:
        """Take ``n`` steps while paused and return the snapshot after the last; otherwise as ``begin_steps``.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is not a positive integer.
            FloatingPointError: A step has no finite result; the state stays at the last good step.
        """
        self._core.look()  # contacts of the steps are kept for the snapshot
        request = self._ask_for_steps(n, waits=True)
        if request.rest:
            self._call_back()  # the rest is asked for by the stepping thread
        else:
            self._core.ring()
        answer = request.answer
        while not answer.done():
            last = request.last
            if self._core.wait_for_steps(last, _LOOK_PERIOD) and not request.rest and request.last == last:
                break
            self._core.look()  # another one, if the world was exchanged
        with self._condition:
            self._single_steps.forget(request)
        if answer.done():
            answer.result()
        return self.snapshot()

    def begin_steps(self, n: int) -> Future[int]:
        """Request ``n`` steps while paused, without waiting for them.

        Returns:
            Future of the number of steps taken, fewer than ``n`` if ``pause``, ``resume``, ``reset``, ``exchange`` or
            ``stop`` aborted them; holds the ``FloatingPointError`` of a step without a finite result.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is no whole number above 0.
        """
        request = self._ask_for_steps(n, waits=False)
        self._call_back()
        return request.answer

    def _ask_for_steps(self, n: int, *, waits: bool) -> StepRequest:
        n = whole_number("step", "n", n, least=1)
        with self._condition:
            if not self.running:
                raise InputError("step", "runner", "is not running", "start it first")
            if not self._paused:
                raise InputError("step", "runner", "is not paused", "pause it first")
            self._failure = None
            return self._single_steps.ask(self._core, n, waits=waits)

    def snapshot(self) -> Snapshot:
        """State after the last step."""
        if not self._is_in_loop or threading.current_thread() in (self._thread, self._reader.thread):
            return self._reader.newest
        snapshot = self._reader.read_newest()
        # Nobody has looked for a while: the stepping thread comes back once and takes it.
        return self._taken_snapshot() if snapshot is None else snapshot

    def _taken_snapshot(self) -> Snapshot:
        taken = threading.Event()

        def take(world: World) -> None:
            self._reader.renew(take_snapshot(world, self._epoch))
            taken.set()

        self.submit(take)
        while not taken.wait(_LOOK_PERIOD) and self._running:
            pass
        return self._reader.newest

    def reset(self, *, time: bool = True, state: bool = True) -> None:
        """Reset the world before the next step; aborts single steps. Commands of clients end with either.

        Args:
            time: As for ``World.reset``.
            state: As for ``World.reset``.

        Raises:
            RuntimeError: As for ``change``.
        """
        self.break_off_single_steps()

        def act(world: World) -> None:
            world.reset(time=time, state=state)
            if state:
                self._core.forget_commands()
            elif time:  # their time-outs are in the time of before, and drives keep what they were told
                self._core.end_commands()

        self.change(act, anew=True)

    def exchange(
        self, world: World, settle: Callable[[World, World], None] | None = None, *, anew: bool = True
    ) -> None:
        """Replace the world before the next step; aborts single steps. Snapshots of the old world stay valid.

        Args:
            world: The other world; the runner owns it from now on.
            settle: Called in the stepping thread with the old and the new world, to transfer state and to adapt users
                of the world in that thread; it must be quick and not raise.
            anew: As for ``change``. Otherwise commands of clients go on until they time out, with the time and the
                drives that ``settle`` has to transfer.

        Raises:
            RuntimeError: As for ``change``; the old world stays.
        """

        def take(old: World) -> None:
            if settle is not None:
                settle(old, world)
            before = self._core
            self._enter(world)
            if not anew:
                self._core.go_on_with_commands(before)

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
                self._begin_epoch()
            self._publish(0.0, 0)
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

    def _begin_epoch(self) -> None:
        self._epoch += 1
        self._permitted = 0
        self._core.status[Status.EPOCH] = self._epoch

    def permit(self, steps: int = 1) -> None:
        """Allow the next ``steps`` steps in lock-step; replaces earlier permits."""
        with self._condition:
            self._permitted = steps
            self._rouse()

    def submit(self, action: Callable[[World], None]) -> None:
        """Call ``action`` with the world in the stepping thread, before the next step or while paused.

        Check commands first (``World.check_command``): an exception ends the run.
        """
        with self._condition:
            self._inbox.put(action)
            self._rouse()

    # --- in the stepping thread

    def _attend(self) -> None:
        """Carry out requests of other threads and processes."""
        self._core.control[Control.ATTEND] = 0
        self._attend_to_clients()
        self._empty_inbox()

    def _attend_to_clients(self) -> None:
        """Carry out what other processes ask for in the control words."""
        core, control, status = self._core, self._core.control, self._core.status
        # Before the pause is looked at: what is asked for later may belong to a pause that has begun since.
        wanted = int(control[Control.STEPS_ASKED])
        self._follow_pause()
        asked, dropped = int(control[Control.RESETS_ASKED]), core.take_drop()
        with self._condition:
            if dropped is not None:
                self._single_steps.drop(core, dropped)
            if asked != status[Status.RESETS_DONE]:
                self._single_steps.break_off()
        self._single_steps.answer(core)
        if dropped is not None:
            core.drop_steps(dropped)
        if not self._paused:
            core.give_up_steps(core.steps_until(wanted))
        elif core.steps_left < 0:  # more were asked for than the counts can tell apart
            core.follow_steps(core.steps_left)
        if asked != status[Status.RESETS_DONE]:
            self.world.reset()
            core.forget_commands()
            self._failure = None
            self._begin_epoch()
            self._publish(0.0, 0)
            status[Status.RESETS_DONE] = asked  # last: who waits for it takes the newest state then

    def _awaits_clients(self) -> bool:
        """Whether a client in lock-step has to permit the step that Python is about to take; waits for a while then."""
        core = self._core
        bell = core.bell()
        core.beat()
        if not core.is_short_of_permit():
            return False
        core.wait_on_bell(bell, _LOOK_PERIOD)
        return True

    def _empty_inbox(self) -> None:
        while True:
            try:
                action = self._inbox.get_nowait()
            except queue.Empty:
                return
            action(self.world)
