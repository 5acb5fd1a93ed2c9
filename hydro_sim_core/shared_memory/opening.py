"""A client's way into a segment: by name, refusing what is not of this user, this version or this program."""

from __future__ import annotations

import os
import stat
import time

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import (
    CHANNEL_LOCK,
    MAGIC,
    MAJOR,
    OWNER_LOCK,
    VERSION,
    WORD,
    Command,
    Control,
    Header,
    Histogram,
    Joint,
    JointState,
    Link,
    LinkState,
    Pair,
    Sensor,
    Slot,
    Status,
    Wrench,
)
from hydro_sim_core.shared_memory.locks import is_locked
from hydro_sim_core.shared_memory.memory import Memory
from hydro_sim_core.shared_memory.names import SOURCE, path_of, running_simulations

_BETWEEN_TRIES = 0.02  # s


class NoSimulation(InputError):
    """No simulation of this name runs."""


def open_segment(name: str, wait: float = 0.0) -> tuple[int, Memory]:
    """Open the segment of a running simulation.

    Args:
        name: Name of the simulation.
        wait: How long to wait for its start, s.

    Returns:
        Descriptor of the file, for locks, and its memory.

    Raises:
        NoSimulation: It does not run.
        InputError: It belongs to another user, or its layout is of another version.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            return _open(name)
        except NoSimulation:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_BETWEEN_TRIES)


def _open(name: str) -> tuple[int, Memory]:
    path = path_of(name)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        others = running_simulations()
        mend = f"these run: {', '.join(others)}" if others else "start it; none runs now"
        raise NoSimulation(SOURCE, name, "no simulation of this name runs", mend) from None
    except PermissionError:
        owner = os.stat(path, follow_symlinks=False).st_uid
        raise InputError(
            path, "", f"belongs to another user ({owner})", "start the controller as that user"
        ) from None
    except OSError:
        raise InputError(path, "", "is no segment of hydro-sim", "remove it") from None
    try:
        _check_owner(path, os.fstat(descriptor))
        memory = Memory(descriptor, os.fstat(descriptor).st_size // WORD * WORD)
        _check_version(path, memory)
        if not is_locked(descriptor, OWNER_LOCK):
            raise NoSimulation(
                SOURCE,
                name,
                f"its simulation (process {memory.words[Header.OWNER_PID]}) has been killed",
                "start it again",
            )
        _check_sections(path, memory)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, memory


def _check_owner(path: str, found: os.stat_result) -> None:
    """Others must not pass their file for a simulation of this user."""
    if not stat.S_ISREG(found.st_mode) or found.st_size < Header.END * WORD:
        raise InputError(path, "", "is no segment of hydro-sim", "remove it")
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise InputError(
            path, "", f"belongs to another user ({found.st_uid})", "start the controller as that user"
        )


def _check_version(path: str, memory: Memory) -> None:
    words = memory.words
    if words[Header.MAGIC] != MAGIC or words[Header.READY] != 1:
        raise InputError(path, "", "is no segment of hydro-sim", "remove it")
    memory.fence()
    theirs = words[Header.VERSION]
    if theirs >> 32 != MAJOR:
        raise InputError(
            path,
            "version",
            f"the layout is {version_text(theirs)}, and this client knows {version_text(VERSION)}",
            "use the simulator and the client of one release",
        )


def version_text(version: int) -> str:
    """A version of the layout, as people write it."""
    return f"{version >> 32}.{version & 0xFFFFFFFF}"


def _check_sections(path: str, memory: Memory) -> None:
    """What the header says lies within the file, so that nothing outside is read or written."""
    words = memory.words
    size = len(words)
    slot = words[Header.SLOT_WORDS]
    num_banks = words[Header.NUM_BANKS]
    rows = (  # offset, number of rows, words of each, words of each that are read
        (words[Header.AT_CONTROL], 1, int(Control.END), int(Control.END), size),
        (words[Header.AT_STATUS], 1, int(Status.END), int(Status.END), size),
        (words[Header.AT_HISTOGRAMS], int(Histogram.END), words[Header.HISTOGRAM_WORDS], 0, size),
        (words[Header.AT_JOINTS], words[Header.NUM_JOINTS], words[Header.JOINT_WORDS], Joint.END, size),
        (words[Header.AT_LINKS], words[Header.NUM_LINKS], words[Header.LINK_WORDS], Link.END, size),
        (words[Header.AT_PAIRS], words[Header.NUM_PAIRS], words[Header.PAIR_WORDS], Pair.END, size),
        (words[Header.AT_SENSORS], words[Header.NUM_SENSORS], words[Header.SENSOR_WORDS], Sensor.END, size),
        (words[Header.AT_CHANNELS], words[Header.NUM_CHANNELS], words[Header.CHANNEL_WORDS], 0, size),
        (words[Header.CHANNEL_BANKS], num_banks, words[Header.BANK_WORDS], 0, words[Header.CHANNEL_WORDS]),
        (
            words[Header.BANK_COMMANDS],
            words[Header.NUM_JOINTS],
            words[Header.COMMAND_WORDS],
            Command.END,
            words[Header.BANK_WORDS],
        ),
        (words[Header.AT_RING], words[Header.NUM_SLOTS], slot, Slot.END, size),
        (words[Header.SLOT_COMMANDS], words[Header.NUM_CHANNELS], 1, 1, slot),
        (words[Header.SLOT_Q], words[Header.NUM_Q], 1, 1, slot),
        (words[Header.SLOT_V], words[Header.NUM_V], 1, 1, slot),
        (
            words[Header.SLOT_JOINTS],
            words[Header.NUM_JOINTS],
            words[Header.JOINT_STATE_WORDS],
            JointState.END,
            slot,
        ),
        (
            words[Header.SLOT_LINKS],
            words[Header.NUM_LINKS],
            words[Header.LINK_STATE_WORDS],
            LinkState.END,
            slot,
        ),
        (
            words[Header.SLOT_WRENCHES],
            words[Header.MOST_WRENCHES],
            words[Header.WRENCH_WORDS],
            Wrench.END,
            slot,
        ),
        (words[Header.SLOT_SENSORS], words[Header.NUM_SENSOR_VALUES], 1, 1, slot),
    )
    whole = all(
        begin >= 0 and count >= 0 and length >= least and begin + count * length <= room
        for begin, count, length, least, room in rows
    )
    if not whole or words[Header.NUM_SLOTS] < 1 or num_banks < 3 or CHANNEL_LOCK < 1:
        raise InputError(path, "header", "says what cannot be", "report this: it is a defect of hydro-sim")
