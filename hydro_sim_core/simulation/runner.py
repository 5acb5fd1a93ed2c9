"""Steps a world at a fixed rate in a thread of its own.

The thread sleeps to absolute deadlines of the monotonic clock, so the rate does not drift. Other threads talk to it
through ``submit`` and read immutable snapshots; they never touch the world while it runs.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.simulation.contacts import ContactRecord
from hydro_sim_core.simulation.world import World

Array = NDArray[np.float64]
OverrunPolicy = Literal["skip", "catch_up"]

#: With ``catch_up``, a runner this far behind (s) gives up the backlog: it would never end.
MAX_BACKLOG = 1.0
#: Step times kept for the report's percentiles: the last minute at 1 kHz.
STEP_TIME_WINDOW = 60_000
#: How long ``step``, ``stop`` and ``reset`` wait for the thread, s; the first step may have to compile.
HANDSHAKE_TIMEOUT = 600.0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State of a world after a step; immutable, readable from any thread.

    Attributes:
        time: Simulated time, s.
        step: Steps since the last reset.
        epoch: Resets so far; (epoch, step) never repeats.
        q: (nq,) coordinates.
        v: (nv,) velocities.
        joint_positions: In the order of ``World.joint_names``, rad or m.
        joint_velocities: rad/s or m/s.
        joint_efforts: Drive efforts of the last step, N m or N.
        diagnostics: ``World.diagnostics``.
    """

    time: float
    step: int
    epoch: int
    q: Array
    v: Array
    joint_positions: Array
    joint_velocities: Array
    joint_efforts: Array
    diagnostics: dict[str, float | int | bool]
    _record: ContactRecord
    _world: World

    @cached_property
    def contacts(self) -> tuple[ContactPatch, ...]:
        """Contact patches of the last step."""
        return tuple(self._world.patches_of(self._record))

    @cached_property
    def grip_forces(self) -> dict[str, float]:
        """Mean normal contact force a finger of every gripper, N."""
        return {name: self._world.grip_force_of(self._record, name) for name in self._world.gripper_names}

    @cached_property
    def frames(self) -> dict[str, Array]:
        """Pose (4, 4) of every link in the world."""
        return dict(zip(self._world.frame_names, self._world.frame_poses(self.q), strict=True))


@dataclass(frozen=True)
class RunnerReport:
    """How well the rate was kept.

    Attributes:
        simulated_time: s.
        wall_time: Time spent running (not paused), s.
        real_time_factor: Simulated over wall time.
        steps: Steps taken.
        overruns: Steps that ended after their deadline.
        skipped_steps: Periods given up because the runner was too late.
        late_max: Largest lateness of a step's end, s.
        step_time_mean: s; like the next three over the last minute at 1 kHz.
        step_time_p50: s.
        step_time_p99: s.
        step_time_max: s.
    """

    simulated_time: float
    wall_time: float
    real_time_factor: float
    steps: int
    overruns: int
    skipped_steps: int
    late_max: float
    step_time_mean: float
    step_time_p50: float
    step_time_p99: float
    step_time_max: float


class FixedRateRunner:
    """Steps a world in a thread, once every ``time_step / real_time_factor`` seconds.

    A step that ends after the next deadline is an overrun. With ``skip`` the missed periods are dropped: simulated time
    falls behind and the rate is kept from there on. With ``catch_up`` steps follow each other without sleeping until
    the schedule is met again; a backlog over ``MAX_BACKLOG`` is dropped. Both are counted in the report.

    A step without finite result (``FloatingPointError``) pauses the runner at the last good state, so that it can be
    reset; see ``failure``. Any other exception ends the thread; see ``error``.

    Args:
        world: The world; the runner owns it from ``start`` to ``stop``.
        real_time_factor: Simulated seconds a wall-clock second; ``inf`` for as fast as possible.
        overrun: What to do when late.
        start_paused: Wait for ``resume``.

    Raises:
        InputError: The factor is not positive or the policy is unknown.
    """

    def __init__(
        self,
        world: World,
        real_time_factor: float = 1.0,
        overrun: OverrunPolicy = "skip",
        start_paused: bool = False,
    ) -> None:
        if not real_time_factor > 0.0:
            raise InputError(
                "runner", "real_time_factor", f"{real_time_factor} is not positive", "give a factor above 0"
            )
        if overrun not in ("skip", "catch_up"):
            raise InputError("runner", "overrun", f"{overrun!r} is unknown", "use skip or catch_up")
        self.world = world
        self._period = world.time_step / real_time_factor
        self._overrun = overrun
        self._inbox: queue.SimpleQueue[Callable[[World], None]] = queue.SimpleQueue()
        self._sources: list[Callable[[World], None]] = []
        self._condition = threading.Condition()
        self._paused = start_paused
        self._single_steps = 0
        self._stopping = False
        self._running = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._failure: str | None = None
        self._epoch = 0
        self._steps = 0
        self._overruns = 0
        self._skipped = 0
        self._late_max = 0.0
        self._busy_wall = 0.0
        self._resumed_at: float | None = None
        self._step_times = np.zeros(STEP_TIME_WINDOW)
        self._snapshot = self._take_snapshot()

    # --- control, from any thread

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
        """Stop stepping after the current step."""
        with self._condition:
            self._paused = True

    def resume(self) -> None:
        """Step at the fixed rate again; the pause does not count as lateness."""
        with self._condition:
            self._paused = False
            self._failure = None
            self._condition.notify_all()

    def step(self, n: int = 1) -> Snapshot:
        """Take ``n`` steps while paused and return the snapshot after the last.

        Raises:
            InputError: The runner is not paused or not running, or ``n`` is no whole number above 0.
            FloatingPointError: A step has no finite result; the state stays at the last good step.
        """
        n = whole_number("step", "n", n, least=1)
        if not self.running:
            raise InputError("step", "runner", "is not running", "start it first")
        with self._condition:
            if not self._paused:
                raise InputError("step", "runner", "is not paused", "pause it first")
            self._failure = None
            self._single_steps += n
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._single_steps == 0 or not self.running, HANDSHAKE_TIMEOUT)
            if self._failure is not None:
                raise FloatingPointError(self._failure)
        return self._snapshot

    def reset(self) -> None:
        """Take the world back to its start before the next step."""
        asked = self._epoch

        def reset_world(world: World) -> None:
            world.reset()
            self._epoch += 1
            self._failure = None
            self._publish(self._take_snapshot())

        self.submit(reset_world)
        with self._condition:
            self._condition.wait_for(lambda: self._epoch > asked or not self.running, HANDSHAKE_TIMEOUT)

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
        wall = self._busy_wall
        if self._resumed_at is not None:
            wall += time.monotonic() - self._resumed_at
        times = self._step_times[: min(self._steps, STEP_TIME_WINDOW)]
        if not len(times):
            times = np.zeros(1)
        simulated = self._steps * self.world.time_step
        p50, p99 = np.percentile(times, (50.0, 99.0))
        return RunnerReport(
            simulated_time=simulated,
            wall_time=wall,
            real_time_factor=simulated / wall if wall > 0.0 else 0.0,
            steps=self._steps,
            overruns=self._overruns,
            skipped_steps=self._skipped,
            late_max=self._late_max,
            step_time_mean=float(times.mean()),
            step_time_p50=float(p50),
            step_time_p99=float(p99),
            step_time_max=float(times.max()),
        )

    # --- the stepping thread

    def _run(self) -> None:
        try:
            deadline = time.monotonic()
            while not self._stopping:
                self._empty_inbox()
                if self._paused:
                    self._wait_paused()
                    deadline = time.monotonic()
                    continue
                if self._resumed_at is None:
                    self._resumed_at = time.monotonic()
                self._one_step()
                deadline = self._keep_deadline(deadline + self._period)
        except BaseException as error:
            # Any failure must reach the owner: a thread that dies silently looks like a pause.
            self._error = error
        finally:
            self._stop_clock()
            with self._condition:
                self._running = False
                self._single_steps = 0
                self._condition.notify_all()

    def _empty_inbox(self) -> None:
        while True:
            try:
                action = self._inbox.get_nowait()
            except queue.Empty:
                return
            action(self.world)

    def _wait_paused(self) -> None:
        self._stop_clock()
        with self._condition:
            self._condition.wait_for(
                lambda: (
                    self._stopping or not self._paused or self._single_steps > 0 or not self._inbox.empty()
                )
            )
            steps = self._single_steps if self._paused else 0
        for _ in range(steps):
            if self._stopping or self._failure is not None:
                break
            self._empty_inbox()
            self._one_step()
        with self._condition:
            self._single_steps = max(0, self._single_steps - steps) if self._paused else 0
            self._condition.notify_all()

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
        self._step_times[self._steps % STEP_TIME_WINDOW] = time.monotonic() - began
        self._steps += 1
        self._publish(self._take_snapshot())

    def _keep_deadline(self, deadline: float) -> float:
        """Sleep until ``deadline``; returns it, or a later one if periods had to be dropped."""
        late = time.monotonic() - deadline
        if late <= 0.0:
            time.sleep(-late)
            return deadline
        if self._period == 0.0:
            return time.monotonic()
        self._overruns += 1
        self._late_max = max(self._late_max, late)
        if self._overrun == "catch_up" and late < MAX_BACKLOG:
            return deadline
        dropped = math.ceil(late / self._period)
        self._skipped += dropped
        deadline += dropped * self._period
        time.sleep(max(0.0, deadline - time.monotonic()))
        return deadline

    def _stop_clock(self) -> None:
        if self._resumed_at is not None:
            self._busy_wall += time.monotonic() - self._resumed_at
            self._resumed_at = None

    def _take_snapshot(self) -> Snapshot:
        world = self.world
        return Snapshot(
            time=world.time,
            step=world.step_count,
            epoch=self._epoch,
            q=world.q,
            v=world.v,
            joint_positions=world.joint_positions(),
            joint_velocities=world.joint_velocities(),
            joint_efforts=world.joint_efforts(),
            diagnostics=world.diagnostics(),
            _record=world.record_contacts(),
            _world=world,
        )

    def _publish(self, snapshot: Snapshot) -> None:
        with self._condition:
            self._snapshot = snapshot
            self._condition.notify_all()
