"""Client of a running simulation: sees its states and commands it within the same period, without ROS.

::

    from hydro_sim_core.shared_memory.client import connect

    with connect("hydro_sim") as simulation:
        print(simulation.newest().positions)

``docs/shared_memory.md`` shows the rest. Nothing here compiles anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.shared_memory.connection import Connection, SimulationEnded, TookTooLong
from hydro_sim_core.shared_memory.controller import ChannelController
from hydro_sim_core.shared_memory.layout import Control, Histogram, Overrun, Status
from hydro_sim_core.shared_memory.names import SOURCE
from hydro_sim_core.shared_memory.state import State
from hydro_sim_core.shared_memory.status import Array, read_histogram
from hydro_sim_core.shared_memory.tables import JointRow, LinkRow, PairRow, SensorRow

_LOW = 0xFFFFFFFF
#: Steps that may be asked for at a time: counts are compared by their low 32 bits.
MOST_STEPS = 1 << 30

__all__ = ["ChannelController", "Client", "SimulationEnded", "State", "TookTooLong", "connect"]


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
        return ChannelController(self, self._descriptor, self._memory, name, lock_step, channel)

    def pause(self) -> None:
        """Stand still after the present step."""
        self.tell(Control.PAUSED, 1)

    def resume(self) -> None:
        """Run on after a pause, or after a step that failed."""
        self.tell(Control.PAUSED, 0)

    def step(self, number: int = 1, limit: float = 10.0) -> State:
        """Take steps while paused, and wait until they are taken.

        Returns:
            The newest state.

        Raises:
            InputError: ``number`` is not a whole number from 1 to 2^30.
            SimulationEnded: The simulation ended meanwhile.
            TookTooLong: They were not taken in time.
        """
        count = whole_number(SOURCE, "steps", number, 1)
        if count > MOST_STEPS:
            raise InputError(SOURCE, "steps", f"is {count}", f"give at most {MOST_STEPS} at a time")
        self._wait_for_steps(self._ask(Control.STEPS_ASKED, count), f"{count} steps", limit)
        return self.newest()

    def reset(self, limit: float = 10.0) -> State:
        """Reset the simulation, and wait until it is done.

        Returns:
            The newest state.

        Raises:
            SimulationEnded: The simulation ended meanwhile.
            TookTooLong: It was not done in time.
        """
        asked = self._ask(Control.RESETS_ASKED, 1)
        words, done = self._memory.words, self._status + Status.RESETS_DONE
        self.poll(lambda: (words[done] - asked) & _LOW < 1 << 31, "the reset", limit)
        return self.newest()

    def set_lock_step(self, wanted: bool) -> None:
        """Have the simulation take no step while no controller is in lock-step.

        So a controller sees every step from the first one on, and the simulation waits for the next one when it leaves.
        """
        self.tell(Control.LOCK_STEP, int(wanted))

    def set_pace(self, real_time_factor: float) -> None:
        """Set simulated over wall-clock time; 0 for as fast as possible.

        Raises:
            InputError: It is negative or not finite.
        """
        if not 0.0 <= real_time_factor < math.inf:
            raise InputError(
                SOURCE,
                "real_time_factor",
                f"{real_time_factor} is no pace",
                "give 0 (as fast as possible) or more",
            )
        period = round(1e9 * self.time_step / real_time_factor) if real_time_factor else 0
        self.tell(Control.PERIOD_NS, period)

    def set_overrun(self, policy: Overrun, max_backlog: float = 0.1) -> None:
        """Set what becomes of missed periods.

        Args:
            policy: Whether they are dropped or worked off.
            max_backlog: Largest lateness that is worked off, s.

        Raises:
            InputError: The backlog is negative or not finite.
        """
        if not 0.0 <= max_backlog < math.inf:
            raise InputError(SOURCE, "max_backlog", f"{max_backlog} s is no lateness", "give 0 or more")
        self._memory.words[self._control + Control.MAX_BACKLOG_NS] = round(1e9 * max_backlog)
        self.tell(Control.OVERRUN, policy)

    def _ask(self, counter: Control, amount: int) -> int:
        """Count up what is asked for, and have the loop look; return the count that it is to follow to."""
        self._memory.add(self._control + counter, amount)
        asked = self._memory.words[self._control + counter]
        self.ring()
        return asked
