"""A segment that is open: its states as they come, and whether its simulation lives."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.shared_memory.checks import check_limit, check_number
from hydro_sim_core.shared_memory.layout import (
    OWNER_LOCK,
    Channel,
    Control,
    Header,
    Life,
    Slot,
    Status,
)
from hydro_sim_core.shared_memory.locks import is_locked
from hydro_sim_core.shared_memory.names import SOURCE
from hydro_sim_core.shared_memory.opening import open_segment
from hydro_sim_core.shared_memory.state import Rows, State
from hydro_sim_core.shared_memory.status import LoopStatus, read_status
from hydro_sim_core.shared_memory.tables import Tables

#: Longest sleep of a client, after which it asks whether the owner lives, s.
_LOOKS_UP = 0.1
#: Sleep between two looks at a word that has no waiters, s.
_BETWEEN_LOOKS = 0.002
#: Time without a sign of life after which a loop counts as stopped, s; it gives ten a second.
_SILENT = 1.0
#: The half of a count that clients add to.
_LOW = 0xFFFFFFFF


class SimulationEnded(InputError):
    """The simulation that a client has opened is there no more."""


class TookTooLong(InputError):
    """What a client waited for has not come."""


class BrokenOff(InputError):
    """Steps that a client has asked for will not be taken any more."""


class Connection:
    """A running simulation as another process sees it: states, and a bell.

    Args:
        name: Name of the simulation.
        wait: How long to wait for its start, s.

    Attributes:
        name: Name of the simulation.
        tables: All that is constant in it.
    Raises:
        InputError: It does not run, belongs to another user, or has a layout of another version.
    """

    _descriptor = -1

    def __init__(self, name: str, wait: float = 0.0) -> None:
        self.name = name
        self._spin = 0.0
        self._descriptor, self._memory = open_segment(name, wait)
        self.tables = Tables.read(self._memory)
        self._rows = Rows(self._memory, self.tables)
        words = self._memory.words
        self._control, self._status = words[Header.AT_CONTROL], words[Header.AT_STATUS]
        self._ring, self._slot_words = words[Header.AT_RING], words[Header.SLOT_WORDS]
        self._num_slots = words[Header.NUM_SLOTS]
        self._head = self._status + Status.HEAD

    def close(self) -> None:
        """Let the simulation go; more than once does nothing. Close its controllers first."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def check_open(self) -> None:
        """See that nobody uses what he has let go, or what is there no more.

        Raises:
            InputError: It is closed.
            SimulationEnded: The simulation is there no more.
        """
        if self._descriptor < 0:
            raise InputError(SOURCE, self.name, "is closed", "connect to it anew")
        self._check_life(math.inf, "")

    @property
    def spin(self) -> float:
        """Wall-clock time for which waiting looks again and again before it sleeps, s.

        Answers come sooner and a processor is busy meanwhile: for lock-step where processors are free.
        """
        return self._spin

    @spin.setter
    def spin(self, seconds: float) -> None:
        self._spin = check_number("spin", seconds, math.inf, "is no time to wait", "give 0 s or more")

    def __del__(self) -> None:
        self.close()

    @property
    def status(self) -> LoopStatus:
        """How the loop keeps its rate, and what it waits for."""
        return read_status(self._memory)

    def newest(self, limit: float = 10.0) -> State:
        """The newest state.

        Args:
            limit: How long to wait for the first one, s.

        Raises:
            SimulationEnded: It ended before there was one.
            TookTooLong: There was none in time.
        """
        self._wait_for_head(1, limit)
        deadline = time.monotonic() + limit
        while True:
            state = self._copy(self._memory.words[self._head] - 1)
            if state is not None:
                return state
            self._check_life(deadline, "the newest state")

    def wait(self, serial: int, limit: float = 10.0, *, heeds_failures: bool = False) -> State:
        """Wait for a state; the newest one if the ring has gone round since.

        Args:
            serial: Its number.
            limit: How long to wait, s of the wall clock.
            heeds_failures: Whether to give up as soon as a step has failed. Otherwise a reset in time makes it come.

        Raises:
            SimulationEnded: The simulation ended, was killed or runs another scene.
            TookTooLong: It did not come in time; says why.
        """
        number = whole_number(SOURCE, "serial", serial, 0)
        self._wait_for_head(number + 1, limit, heeds_failures)
        return self._copy(number) or self.newest()

    def tell(self, word: Control, value: int) -> None:
        """Set a word that is no count, and have the loop look at it."""
        self.check_open()
        self._memory.words[self._control + word] = value
        self.ring()

    def ring(self) -> None:
        """Have the loop look at its words now."""
        self._memory.fence()
        self._memory.ring(self._control + Control.BELL)

    def wait_for_word(self, word: int, value: int, what: str, limit: float = 10.0) -> None:
        """Wait until the loop has set one of its words.

        Raises:
            SimulationEnded: The simulation ended, was killed or runs another scene.
            TookTooLong: It was not set in time.
        """
        self.poll(lambda: self._memory.words[word] == value, what, limit)

    def poll(self, is_done: Callable[[], bool], what: str, limit: float) -> None:
        """Wait for what nobody wakes us for.

        Raises:
            SimulationEnded: The simulation ended, was killed or runs another scene.
            TookTooLong: It is not done in time.
        """
        self.check_open()
        deadline = time.monotonic() + check_limit(limit)
        while not is_done():
            self._check_life(deadline, what)
            self._memory.wait(self._head, self._memory.words[self._head], _BETWEEN_LOOKS)
        self._memory.fence()

    def _wait_for_head(self, count: int, limit: float, heeds_failures: bool = False) -> None:
        """Wait until so many states have been published."""
        self._wait_for_count(
            self._head, lambda head: head >= count, f"state {count - 1}", limit, heeds_failures
        )

    def _wait_for_steps(self, asked: int, what: str, limit: float) -> None:
        """Wait until all steps up to a value of ``Control.STEPS_ASKED`` are taken."""
        self._wait_for_count(
            self._status + Status.STEPS_TAKEN, lambda taken: (taken - asked) & _LOW <= _LOW >> 1, what, limit
        )

    def _wait_for_count(
        self,
        word: int,
        is_there: Callable[[int], bool],
        what: str,
        limit: float,
        heeds_failures: bool = False,
    ) -> None:
        """Wait for a count that the loop wakes us for."""
        self.check_open()
        limit = check_limit(limit)
        words = self._memory.words
        if is_there(words[word]):
            self._memory.fence()
            return
        now = time.monotonic()
        deadline, spun = now + limit, now + min(self._spin, limit)
        while not is_there(words[word]) and time.monotonic() < spun and not self._is_silent():
            pass
        waiters = self._control + Control.WAITERS
        while not is_there(seen := words[word]):
            failed = heeds_failures and words[self._status + Status.LIFE] == Life.PARKED
            self._check_life(0.0 if failed else deadline, what)
            self._memory.add(waiters, 1)
            try:
                if words[word] == seen:
                    self._memory.wait(word, seen, min(self._looks_up(word), deadline - time.monotonic()))
            finally:
                self._memory.add(waiters, -1)
        self._memory.fence()

    def _looks_up(self, word: int) -> float:
        """Longest sleep (s) on a count; loops before layout 1.1 wake nobody for steps taken."""
        is_old = self._memory.words[Header.VERSION] & _LOW < 1 and word != self._head
        return _BETWEEN_LOOKS if is_old else _LOOKS_UP

    def _check_life(self, deadline: float, what: str) -> None:
        """Whether it makes sense to wait on.

        Raises:
            SimulationEnded: The simulation is there no more.
            TookTooLong: The deadline has passed.
        """
        words = self._memory.words
        if words[self._status + Status.LIFE] == Life.RETIRED:
            raise SimulationEnded(SOURCE, self.name, "has ended, or runs another scene", "open its name anew")
        if time.monotonic() < deadline and not self._is_silent():
            return
        if not is_locked(self._descriptor, OWNER_LOCK):
            owner = words[Header.OWNER_PID]
            raise SimulationEnded(
                SOURCE,
                self.name,
                f"its process ({owner}) has been killed",
                "start it again, and open it anew",
            )
        if time.monotonic() >= deadline:
            raise TookTooLong(SOURCE, self.name, f"{what} did not come", self._reason())

    def _is_silent(self) -> bool:
        return time.monotonic_ns() - self._memory.words[self._status + Status.HEARTBEAT_NS] > 1e9 * _LOOKS_UP

    def _reason(self) -> str:
        """Why nothing comes, and what to do."""
        status, beat = self.status, self._memory.words[self._status + Status.HEARTBEAT_NS]
        silent = 1e-9 * (time.monotonic_ns() - beat)
        if status.life == Life.STOPPED:
            return "its run is stopped, as that of a node that is not active: start or activate it"
        if not beat:
            return "its loop has not begun to run: wait for longer"
        if silent > _SILENT:
            owner = self._memory.words[Header.OWNER_PID]
            return f"the loop has given no sign of life for {silent:.1f} s: see whether process {owner} is stopped"
        match status.life:
            case Life.PAUSED if self._takes_steps():
                return "single steps are being taken: wait for longer, or ask for fewer at a time"
            case Life.PAUSED:
                return "the simulation is paused: let it run on, or ask it for steps"
            case Life.PARKED:
                return f"a step failed ({status.failure}): reset the simulation, and let it run on"
            case Life.WAITING if status.waits_for >= 0:
                words = self._memory.words
                at = words[Header.AT_CHANNELS] + status.waits_for * words[Header.CHANNEL_WORDS]
                client = self._memory.text(at + Channel.CLIENT_NAME, 4) or "a controller"
                return f"the simulation waits for {client} (process {words[at + Channel.CLIENT_PID]}): see what it does"
            case Life.WAITING:
                return "the simulation is in lock-step: start its controller"
            case _:
                return f"the simulation is {status.life.name.lower()}: wait for longer"

    def _takes_steps(self) -> bool:
        """Whether steps of a pause are asked for that are not taken yet."""
        words = self._memory.words
        return bool(
            (words[self._control + Control.STEPS_ASKED] - words[self._status + Status.STEPS_TAKEN]) & _LOW
        )

    def _copy(self, serial: int) -> State | None:
        """The state with this number; None if it has been overwritten."""
        words = self._memory.words
        at = self._ring + serial % self._num_slots * self._slot_words
        whole = 2 * serial + 2
        if words[at + Slot.SEQUENCE] != whole:
            return None
        self._memory.fence()
        content = words[at : at + self._slot_words].tobytes()
        self._memory.fence()
        return State(content, self._rows) if words[at + Slot.SEQUENCE] == whole else None
