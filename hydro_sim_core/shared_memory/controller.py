"""A channel that a controller has taken: its commands, and its permits in lock-step."""

from __future__ import annotations

import os
import time
from types import TracebackType

from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.shared_memory.checks import check_limit, check_steps
from hydro_sim_core.shared_memory.commands import Commands
from hydro_sim_core.shared_memory.connection import Connection
from hydro_sim_core.shared_memory.layout import (
    CHANNEL_LOCK,
    Bank,
    Channel,
    Command,
    Control,
    Header,
)
from hydro_sim_core.shared_memory.locks import ByteLock
from hydro_sim_core.shared_memory.memory import Memory
from hydro_sim_core.shared_memory.names import SOURCE
from hydro_sim_core.shared_memory.state import Array, State

_NAME_WORDS = 4
#: The owner has the lock of a channel for a moment, when its client has died.
_TRIES, _BETWEEN_TRIES = 5, 0.01
#: How long the loop has to see that a controller enters or leaves lock-step, s.
_HANDSHAKE = 10.0


class ChannelController:
    """A channel for commands; made by ``Client.controller``.

    Closing it gives its joints up from the next step on, as if their commands had timed out, and leaves lock-step. A
    ``with`` block that ends with an error leaves as one that was killed: a simulation in lock-step with it is paused,
    rather than running off without its controller.

    Attributes:
        channel: Number of the channel.
        commands: The set that ``send`` publishes; at first it commands no joint.
        state: The state that the next commands answer: the newest one when the channel was taken, then what ``step``
            has returned.
    """

    def __init__(
        self,
        client: Connection,
        descriptor: int,
        memory: Memory,
        name: str,
        lock_step: bool,
        channel: int | None,
    ) -> None:
        self._client, self._memory = client, memory
        self._lock = _take(descriptor, memory, channel)
        self.channel = self._lock.byte - CHANNEL_LOCK
        words = memory.words
        self._at = words[Header.AT_CHANNELS] + self.channel * words[Header.CHANNEL_WORDS]
        self._banks = [self._bank(i) for i in range(words[Header.NUM_BANKS])]
        self.commands = Commands(client.tables.joints)
        words[self._at + Channel.CLIENT_PID] = os.getpid()
        memory.set_text(self._at + Channel.CLIENT_NAME, _NAME_WORDS, name)
        try:
            self._begin(lock_step)
            self.state = client.newest()
        except BaseException:
            words[self._at + Channel.LOCK_STEP] = 0  # it has not begun, and is not to be waited for
            memory.fence()
            self._lock.release()
            raise

    def __enter__(self) -> ChannelController:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._lock.release()
            self._client.ring()

    def close(self) -> None:
        """Leave lock-step and give the channel back; more than once does nothing."""
        if not self._lock.is_held:
            return  # the channel may be somebody else's by now
        self.commands.leave_all()
        self._publish()  # acts in the next step, as it would take a while until somebody finds the channel free
        self._memory.fence()
        self._memory.words[self._at + Channel.LOCK_STEP] = 0
        self._memory.fence()
        self._lock.release()
        self._client.ring()

    def _begin(self, lock_step: bool) -> None:
        """Clear what a client that died may have left, and enter lock-step if that is wanted."""
        words, at = self._memory.words, self._at
        if words[at + Channel.LOCK_STEP]:
            self._client.tell(Control.PAUSED, 1)  # as the loop does when it notices
        self._set_lock_step(False)
        self.send()
        words[at + Channel.PERMITTED] = 0
        if lock_step:
            self._set_lock_step(True)

    def _set_lock_step(self, wanted: bool) -> None:
        """Enter or leave lock-step; afterwards no step begins without a permit, or none needs one."""
        self._memory.fence()
        self._memory.words[self._at + Channel.LOCK_STEP] = int(wanted)
        self._client.ring()
        self._client.wait_for_word(self._at + Channel.IN_LOCK_STEP, int(wanted), "lock-step", _HANDSHAKE)

    def send(self) -> int:
        """Publish the commands as they are now; they act in the next step that begins.

        Returns:
            Number of the set; ``State.commands[channel]`` tells which one was in force.

        Raises:
            InputError: The controller or its client is closed.
            SimulationEnded: The simulation is there no more.
        """
        if not self._lock.is_held:
            raise InputError(SOURCE, "controller", "has given its channel back", "take a channel anew")
        self._client.check_open()
        return self._publish()

    def _publish(self) -> int:
        words = self._memory.words
        self._memory.fence()
        sequence = words[self._at + Channel.SEQUENCE]
        at, table = self._banks[sequence % len(self._banks)]
        self.commands.integers[:, Command.STAMP_NS] = time.monotonic_ns()
        table[:] = self.commands.integers
        words[at + Bank.SEQUENCE] = sequence + 1
        self._memory.fence()
        words[self._at + Channel.SEQUENCE] = sequence + 1
        return sequence + 1

    def step(self, number: int = 1, limit: float = 10.0) -> State:
        """Publish the commands, permit steps, and wait for the state that they lead to.

        The commands act in these steps, always: where others have had steps taken meanwhile, as in a pause, another
        one is permitted until they do.

        Args:
            number: Steps to permit, 1 to 2^30.
            limit: How long to wait, s of the wall clock. A permit outlives it: the steps are taken when they can be.

        Returns:
            The newest state, from now on ``state``.

        Raises:
            InputError: There is no such number of steps, or the controller is closed.
            SimulationEnded: The simulation ended, was killed or runs another scene.
            TookTooLong: A step failed, or the steps were not taken in time; says why.
        """
        count, deadline = check_steps(number), time.monotonic() + check_limit(limit)
        sent = self.send()
        # Permits are never taken back: those that a call before has left count.
        target = max(self.state.serial + count, self._memory.words[self._at + Channel.PERMITTED] - 1)
        while True:
            self._memory.fence()
            self._memory.words[self._at + Channel.PERMITTED] = target + 1
            self._client.ring()
            self._client.wait(target, max(0.0, deadline - time.monotonic()), heeds_failures=True)
            self.state = self._client.newest()
            if self.state.commands[self.channel] >= sent:
                return self.state
            sent, target = self._publish(), self.state.serial + 1  # anew: a reset forgets what was in force

    def _bank(self, number: int) -> tuple[int, Array]:
        """First word of a bank, and its commands as a table of whole numbers."""
        words = self._memory.words
        at = self._at + words[Header.CHANNEL_BANKS] + number * words[Header.BANK_WORDS]
        begin, length = at + words[Header.BANK_COMMANDS], words[Header.COMMAND_WORDS]
        rows = self._memory.integer_array[begin : begin + words[Header.NUM_JOINTS] * length]
        return at, rows.reshape(-1, length)[:, : Command.END]


def _take(descriptor: int, memory: Memory, channel: int | None) -> ByteLock:
    """Lock a channel.

    Raises:
        InputError: It is taken, or all are.
    """
    count = memory.words[Header.NUM_CHANNELS]
    if channel is not None and whole_number(SOURCE, "channel", channel, 0) >= count:
        raise InputError(SOURCE, "channel", f"there is no channel {channel}", f"give 0 to {count - 1}")
    wanted = range(count) if channel is None else (channel,)
    for _ in range(_TRIES):
        for one in wanted:
            lock = ByteLock.take(descriptor, CHANNEL_LOCK + one)
            if lock is not None:
                return lock
        time.sleep(_BETWEEN_TRIES)
    holders = "; ".join(f"{one} by {_holder(memory, one)}" for one in wanted)
    mend = "end one of them" if channel is None else "end it, or take another channel"
    raise InputError(SOURCE, "channel", f"taken: {holders}", mend)


def _holder(memory: Memory, channel: int) -> str:
    words = memory.words
    at = words[Header.AT_CHANNELS] + channel * words[Header.CHANNEL_WORDS]
    name = memory.text(at + Channel.CLIENT_NAME, _NAME_WORDS) or "a controller"
    return f"{name} (process {words[at + Channel.CLIENT_PID]})"
