"""A client's way into a segment: by name, refusing what is not of this user, this version or this program."""

from __future__ import annotations

import os
import stat
import time

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.checks import check_limit
from hydro_sim_core.shared_memory.layout import (
    MAGIC,
    MAJOR,
    NUM_BINS,
    OWNER_LOCK,
    VERSION,
    WORD,
    Bank,
    Channel,
    Command,
    Control,
    Header,
    Histogram,
    HistogramWords,
    Joint,
    JointState,
    Life,
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
    deadline = time.monotonic() + check_limit(wait)
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
        _check_sections(path, memory)
        if memory.words[memory.words[Header.AT_STATUS] + Status.LIFE] == Life.RETIRED:
            raise NoSimulation(SOURCE, name, "its simulation has just ended", "start it again")
        if not is_locked(descriptor, OWNER_LOCK):
            raise NoSimulation(
                SOURCE,
                name,
                f"its simulation (process {memory.words[Header.OWNER_PID]}) has been killed",
                "start it again",
            )
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


#: Offset, number of rows, words of a row, and words of it that this client reads, of what is counted from the begin of
#: the segment, and of what is counted from the begin of a slot.
_H = Header
_SECTIONS = (
    (_H.AT_JOINTS, _H.NUM_JOINTS, _H.JOINT_WORDS, Joint.END),
    (_H.AT_LINKS, _H.NUM_LINKS, _H.LINK_WORDS, Link.END),
    (_H.AT_PAIRS, _H.NUM_PAIRS, _H.PAIR_WORDS, Pair.END),
    (_H.AT_SENSORS, _H.NUM_SENSORS, _H.SENSOR_WORDS, Sensor.END),
    (_H.AT_CHANNELS, _H.NUM_CHANNELS, _H.CHANNEL_WORDS, Channel.END),
    (_H.AT_RING, _H.NUM_SLOTS, _H.SLOT_WORDS, Slot.END),
)
_IN_SLOTS = (
    (_H.SLOT_JOINTS, _H.NUM_JOINTS, _H.JOINT_STATE_WORDS, JointState.END),
    (_H.SLOT_LINKS, _H.NUM_LINKS, _H.LINK_STATE_WORDS, LinkState.END),
    (_H.SLOT_WRENCHES, _H.MOST_WRENCHES, _H.WRENCH_WORDS, Wrench.END),
)
_WORDS_IN_SLOTS = (
    (_H.SLOT_COMMANDS, _H.NUM_CHANNELS),
    (_H.SLOT_Q, _H.NUM_Q),
    (_H.SLOT_V, _H.NUM_V),
    (_H.SLOT_SENSORS, _H.NUM_SENSOR_VALUES),
)


def _check_sections(path: str, memory: Memory) -> None:
    """What the header says lies within the file, so that nothing outside is read or written."""
    words = memory.words
    size, slot, channel, bank = (
        len(words),
        words[_H.SLOT_WORDS],
        words[_H.CHANNEL_WORDS],
        words[_H.BANK_WORDS],
    )
    rows = [  # first word, rows, words of a row, words that are read of it, words that there are
        (words[_H.AT_CONTROL], 1, int(Control.END), int(Control.END), size),
        (words[_H.AT_STATUS], 1, int(Status.END), int(Status.END), size),
        (
            words[_H.AT_HISTOGRAMS],
            int(Histogram.END),
            words[_H.HISTOGRAM_WORDS],
            HistogramWords.BINS + NUM_BINS,
            size,
        ),
        (words[_H.CHANNEL_BANKS], words[_H.NUM_BANKS], bank, Bank.END, channel),
        (words[_H.BANK_COMMANDS], words[_H.NUM_JOINTS], words[_H.COMMAND_WORDS], Command.END, bank),
    ]
    for room, table in ((size, _SECTIONS), (slot, _IN_SLOTS)):
        rows += [(words[at], words[count], words[length], least, room) for at, count, length, least in table]
    rows += [(words[at], words[count], 1, 1, slot) for at, count in _WORDS_IN_SLOTS]
    is_whole = all(
        begin >= 0 and count >= 0 and length >= least and begin + count * length <= room
        for begin, count, length, least, room in rows
    )
    if not is_whole or words[_H.NUM_SLOTS] < 1 or words[_H.NUM_BANKS] < 3:
        raise InputError(path, "header", "says what cannot be", "report this: it is a defect of hydro-sim")
