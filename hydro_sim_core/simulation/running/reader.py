"""Reader of the ring: makes snapshots of the states that the compiled loop publishes, for those who follow it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.realtime.states import Circumstances, snapshot_of
from hydro_sim_core.simulation.world.snapshot import Snapshot

logger = logging.getLogger(__name__)

#: How long the thread waits for a state before it looks after other things, s.
_LOOK_PERIOD = 0.05


class RingReader:
    """Hands every state to followers once and in order, in a thread of its own while the loop runs.

    The stepping thread hands over what is left when the loop has returned, before it does anything to the world.

    Args:
        core: Memory with the ring.
        newest: Snapshot of the present state.
        failed: Called with an exception that a follower raises, which ends the thread.
        look: Called every few hundredths of a second in the thread.

    Attributes:
        newest: The last snapshot that was made or put.
        lost: States that were overwritten before they were read.
        thread: The thread; None while it does not run.
    """

    def __init__(
        self,
        core: Core,
        newest: Snapshot,
        failed: Callable[[BaseException], None],
        look: Callable[[], None],
    ) -> None:
        self._core = core
        self.newest = newest
        self.lost = 0
        self._serial = core.head - 1  # of the newest
        self._next = core.head  # to hand over
        self._failed, self._look = failed, look
        self._followers: list[Callable[[Snapshot], None]] = []
        self._told: Circumstances | None = None
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def follow(self, follower: Callable[[Snapshot], None]) -> None:
        """Call ``follower`` with every snapshot from now on."""
        with self._lock:
            if not self._followers:
                self._next = self._core.head
            self._followers.append(follower)

    @property
    def is_followed(self) -> bool:
        """Whether anybody wants every state."""
        return bool(self._followers)

    def start(self) -> None:
        """Start the thread."""
        self._stopping.clear()
        self.thread = threading.Thread(target=self._run, name="hydro-sim ring reader", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self.thread is not None:
            self.thread.join()
            self.thread = None

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                if self.is_followed:
                    self._core.wait_for_state(self._next, _LOOK_PERIOD)
                    self.hand_over()
                else:
                    self._stopping.wait(_LOOK_PERIOD)
                self._look()
        except BaseException as error:
            self._failed(error)

    # --- in the stepping thread

    def move_to(self, core: Core) -> None:
        """Read another ring, in which the serial numbers go on."""
        with self._lock:
            self._core = core
            self._next = core.head

    def begin(self, told: Circumstances) -> None:
        """Begin a stretch of steps of the loop."""
        with self._lock:
            self._told = told
            if self.is_followed:
                self._core.look()
                self._core.note_read(self._next)

    def finish(self, present: Callable[[], Snapshot]) -> None:
        """End a stretch: hand over the rest, and take the present snapshot if nobody has. What comes next is put."""
        with self._lock:
            self.hand_over()
            self._told = None
            if self._serial < self._core.head - 1:
                self.renew(present())

    def renew(self, snapshot: Snapshot) -> None:
        """Take a snapshot of the state that was published last, which was handed over already."""
        with self._lock:
            self.newest, self._serial = snapshot, self._core.head - 1

    def put(self, snapshot: Snapshot) -> None:
        """Hand over a snapshot that Python has taken of the state that was published last."""
        with self._lock:
            self.newest, self._serial, self._next = snapshot, self._core.head - 1, self._core.head
            for follower in self._followers:
                follower(snapshot)

    def hand_over(self) -> None:
        """Hand over the states that the loop has published since the last call."""
        with self._lock:
            if not self.is_followed or self._told is None:
                return
            self._core.look()
            while self._next < self._core.head:
                serial = self._next
                self._next = serial + 1
                snapshot = snapshot_of(self._core, serial, self._told)
                if snapshot is None:
                    self.lost += 1
                    continue
                if serial > self._serial:
                    self.newest, self._serial = snapshot, serial
                for follower in self._followers:
                    follower(snapshot)
                self._core.note_read(self._next)

    # --- from any thread

    def read_newest(self) -> Snapshot | None:
        """Snapshot of the last state of the loop; None if its contacts are not kept, which they are from now on."""
        self._core.look()
        with self._lock:
            serial = self._core.head - 1
            if serial <= self._serial or self._told is None:
                return self.newest
            snapshot = snapshot_of(self._core, serial, self._told)
            if snapshot is not None:
                self.newest, self._serial = snapshot, serial
            return snapshot

    def wait_for_news(self, timeout: float) -> None:
        """Wait for a state after the newest, at most ``timeout`` s."""
        self._core.look()
        self._core.wait_for_state(self._serial + 1, timeout)
