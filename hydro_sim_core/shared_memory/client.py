"""Client of a running simulation: sees its states and commands it within the same period, without ROS.

::

    from hydro_sim_core.shared_memory.client import connect

    with connect("hydro_sim") as simulation:
        print(simulation.newest().positions)

``docs/shared_memory.md`` shows the rest. Nothing here compiles anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.shared_memory.checks import check_flag, check_number, check_steps
from hydro_sim_core.shared_memory.connection import BrokenOff, Connection, SimulationEnded, TookTooLong
from hydro_sim_core.shared_memory.controller import ChannelController
from hydro_sim_core.shared_memory.layout import NUM_DROPS, Control, Histogram, Overrun, Status
from hydro_sim_core.shared_memory.names import SOURCE
from hydro_sim_core.shared_memory.state import State
from hydro_sim_core.shared_memory.status import Array, read_histogram
from hydro_sim_core.shared_memory.tables import JointRow, LinkRow, PairRow, SensorRow

_LOW, _ROUND = 0xFFFFFFFF, 1 << 32
#: Longest period and backlog that may be set, s; largest real-time factor.
_LONGEST, _FASTEST = 1e9, 1e300

__all__ = [
    "BrokenOff",
    "ChannelController",
    "Client",
    "SimulationEnded",
    "State",
    "TookTooLong",
    "connect",
]


def connect(name: str = "hydro_sim", wait: float = 0.0) -> Client:
    """Open a running simulation.

    Args:
        name: Its name: that of its node, with its namespace (``/left/hydro_sim``).
        wait: How long to wait for its start, s.

    Raises:
        InputError: It does not run, belongs to another user, or has a layout of another version.
    """
    return Client(name, wait)


class Client(Connection):
    """A running simulation as another process sees it; leave a ``with`` block, or call ``close``, to let it go.

    Arguments, attributes and errors are those of ``Connection``.
    """

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def scene(self) -> str:
        """Name of the scene."""
        return self.tables.scene

    @property
    def time_step(self) -> float:
        """Simulated time of a step, s."""
        return self.tables.time_step

    @property
    def period(self) -> float:
        """Wall-clock time from one step to the next, s; 0 for as fast as possible."""
        return 1e-9 * self._memory.words[self._control + Control.PERIOD_NS]

    @property
    def joints(self) -> tuple[JointRow, ...]:
        """Joints with one coordinate."""
        return self.tables.joints

    @property
    def links(self) -> tuple[LinkRow, ...]:
        """Links."""
        return self.tables.links

    @property
    def pairs(self) -> tuple[PairRow, ...]:
        """Pairs of shapes that may touch."""
        return self.tables.pairs

    @property
    def sensors(self) -> tuple[SensorRow, ...]:
        """Sensors."""
        return self.tables.sensors

    def histogram(self, which: Histogram) -> Array:
        """A copy of a histogram that the loop keeps, since its start: ``HistogramWords``, then the bins, as int64."""
        if not isinstance(which, int) or which not in range(Histogram.END):
            names = ", ".join(f"Histogram.{one.name}" for one in Histogram if one is not Histogram.END)
            raise InputError(SOURCE, "histogram", f"{excerpt(which)} is none", f"give one of {names}")
        return read_histogram(self._memory, which)

    def states(self, limit: float = 10.0) -> Iterator[State]:
        """Every state from now on. Serial numbers that are missing were lost: the ring went round in between.

        Args:
            limit: How long to wait for each, s.

        Raises:
            SimulationEnded: The simulation ended, was killed or runs another scene.
            TookTooLong: A state did not come in time.
        """
        state = self.newest(limit)
        while True:
            yield state
            state = self.wait(state.serial + 1, limit)

    def controller(
        self, name: str = "", *, lock_step: bool = False, channel: int | None = None
    ) -> ChannelController:
        """Take a channel for commands.

        Args:
            name: Name of the controller, up to 31 bytes, for messages.
            lock_step: Whether the simulation is to wait for it before every step.
            channel: The channel; the first free one by default.

        Raises:
            InputError: The channel, or all, are taken, or there is no such channel.
        """
        self.check_open()
        if not isinstance(name, str):
            raise InputError(SOURCE, "controller", f"{excerpt(name)} is no name", "give a text")
        lock_step = check_flag("lock_step", lock_step)
        return ChannelController(self, self._descriptor, self._memory, name, lock_step, channel)

    def pause(self) -> None:
        """Stand still after the present step; steps that were asked for and are not taken yet are dropped."""
        self.check_open()
        self._memory.words[self._control + Control.PAUSED] = 1
        self._memory.fence()
        self._drop_steps()
        self.ring()

    def resume(self) -> None:
        """Run on after a pause, or after a step that failed and a reset; steps that are left are dropped."""
        self.tell(Control.PAUSED, 0)

    def step(self, number: int = 1, limit: float = 10.0) -> State:
        """Take steps while paused, and wait until they are taken.

        Returns:
            The newest state.

        Raises:
            InputError: ``number`` is not a whole number from 1 to 2^30, the simulation is not paused, or too many steps
                are asked for already.
            BrokenOff: A step failed, or the steps that were left were dropped: somebody has paused or reset the
                simulation or let it run on, or the steps of somebody else, asked for later, took too long.
            SimulationEnded: The simulation ended meanwhile.
            TookTooLong: They were not taken in time. Those that are left are dropped, with all asked for before.
        """
        count = check_steps(number)
        self.check_open()
        words = self._memory.words
        if not words[self._control + Control.PAUSED]:
            raise InputError(SOURCE, self.name, "is not paused", "pause it before it takes single steps")
        before = words[self._control + Control.STEPS_ASKED]
        if (before - words[self._status + Status.STEPS_TAKEN]) % _ROUND + count >= _ROUND // 2:
            raise InputError(SOURCE, "steps", f"are {count} beside others", "ask when those are taken")
        drops, failures = words[self._status + Status.DROPS], words[self._status + Status.FAILURES]
        asked = None
        try:
            asked = self._ask(Control.STEPS_ASKED, count)
            self._wait_for_steps(asked, f"all of {count} steps", limit)
        except BaseException:  # a Ctrl-C too: nobody waits for them any more
            self._drop_steps(asked)
            self.ring()
            raise
        if self._are_dropped(before, asked, drops):
            self._tell_broken_off(count, words[self._status + Status.FAILURES] != failures)
        return self.newest()

    def _are_dropped(self, before: int, asked: int, drops: int) -> bool:
        """Whether the loop has dropped any of the steps from one count to another since it had dropped so often."""
        words, first = self._memory.words, self._status + Status.DROPPED
        present = words[self._status + Status.DROPS]
        for drop in range(drops, present):
            at = first + 2 * (drop % NUM_DROPS)
            from_begin, to_end = (words[at + 1] - before) % _ROUND, (asked - words[at]) % _ROUND
            # They overlap if the drop ends after the first of them and begins before the last.
            if 0 < from_begin < _ROUND // 2 and 0 < to_end < _ROUND // 2:
                return True
        return bool(present - drops > NUM_DROPS)  # more than are told: some may have been among the others

    def _tell_broken_off(self, count: int, has_failed: bool) -> None:
        what = f"not all of {count} steps were taken"
        if has_failed:
            problem = f"{what}: one failed ({self.status.failure})"
            raise BrokenOff(SOURCE, self.name, problem, "reset the simulation")
        problem = (
            f"{what}: it was paused, reset or let run on meanwhile, or somebody else's steps took too long"
        )
        raise BrokenOff(SOURCE, self.name, problem, "look at the newest state, and go on from there")

    def reset(self, limit: float = 10.0) -> State:
        """Reset the simulation, and wait until it is done.

        Returns:
            The newest state.

        Raises:
            SimulationEnded: The simulation ended meanwhile.
            TookTooLong: It was not done in time.
        """
        self.check_open()
        self._drop_steps()
        asked = self._ask(Control.RESETS_ASKED, 1)
        words, done = self._memory.words, self._status + Status.RESETS_DONE
        self.poll(lambda: (words[done] - asked) & _LOW < 1 << 31, "the reset", limit)
        return self.newest()

    def set_lock_step(self, wanted: bool) -> None:
        """Have the simulation take no step while no controller is in lock-step.

        So a controller sees every step from the first one on, and the simulation waits for the next one when it leaves.
        """
        self.tell(Control.LOCK_STEP, int(check_flag("lock_step", wanted)))

    def set_pace(self, real_time_factor: float) -> None:
        """Set simulated over wall-clock time; 0 for as fast as possible.

        Raises:
            InputError: It is negative or not finite, or so small that no step would be taken in a lifetime.
        """
        mend = "give 0 (as fast as possible) or more"
        factor = check_number("real_time_factor", real_time_factor, _FASTEST, "is no pace", mend)
        if 0.0 < factor < self.time_step / _LONGEST:
            problem = f"{factor:g} is so slow that no step would ever be taken"
            raise InputError(SOURCE, "real_time_factor", problem, "pause the simulation instead")
        self.tell(Control.PERIOD_NS, round(1e9 * self.time_step / factor) if factor else 0)

    def set_overrun(self, policy: Overrun, max_backlog: float | None = None) -> None:
        """Set what becomes of missed periods.

        Args:
            policy: Whether they are dropped or worked off.
            max_backlog: Largest lateness that is worked off, s; as it is by default.

        Raises:
            InputError: There is no such policy, or the backlog is negative or above 10^9 s.
        """
        self.check_open()
        if not isinstance(policy, int) or policy not in list(Overrun):
            raise InputError(
                SOURCE, "policy", f"{excerpt(policy)} is none", "give Overrun.SKIP or Overrun.CATCH_UP"
            )
        if max_backlog is not None:
            mend = f"give 0 to {_LONGEST:g} s"
            backlog = check_number("max_backlog", max_backlog, _LONGEST, "s is no lateness", mend)
            self._memory.words[self._control + Control.MAX_BACKLOG_NS] = round(1e9 * backlog)
        self.tell(Control.OVERRUN, policy)

    def _ask(self, counter: Control, amount: int) -> int:
        """Count up what is asked for, and have the loop look; return the count that it is to follow to."""
        self._memory.add(self._control + counter, amount)
        asked = self._memory.words[self._control + counter]
        self.ring()
        return asked

    def _drop_steps(self, up_to: int | None = None) -> None:
        """Have steps dropped that are not taken yet, up to a value of ``Control.STEPS_ASKED``; all by default."""
        words, control = self._memory.words, self._control
        words[control + Control.STEPS_DROPPED] = (
            words[control + Control.STEPS_ASKED] if up_to is None else up_to
        )
