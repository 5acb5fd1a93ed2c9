# mypy: allow-untyped-defs
"""Steps that are asked for while paused: counts of those asked for, and of those taken or dropped."""

from __future__ import annotations

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.compilation.instructions import (
    add,
    clock_ns,
    fence,
    load,
    store,
    wait_for_change,
    wake_all,
)
from hydro_sim_core.shared_memory.layout import Control, Status
from hydro_sim_core.simulation.realtime.loop_data import Loop

_HALF = 2**31


@entry
def ask_for_steps(loop: Loop, number: int) -> int:
    """Ask for steps while paused; return the value of ``STEPS_TAKEN`` once they are taken.

    Reads loop: words; loop.at: control.
    """
    return add(loop.words, loop.at.control + Control.STEPS_ASKED, number) + number


@entry
def follow_steps(loop: Loop, taken: int) -> None:
    """Tell how many of the steps that were asked for while paused are taken, or dropped, and wake who waits."""
    follow(loop, taken)


@entry
def note_drop(loop: Loop) -> None:
    """Count a drop of steps, whose words are written.

    Reads loop: words; loop.at: status.
    """
    drops = loop.at.status + Status.DROPS
    store(loop.words, drops, loop.words[drops] + 1)


@entry
def wait_for_steps(loop: Loop, count: int, deadline: int) -> int:
    """Wait until ``STEPS_TAKEN`` is ``count``, until a time of CLOCK_MONOTONIC, ns; return how many are left.

    Reads loop: words; loop.at: control, status.
    """
    words, taken = loop.words, loop.at.status + Status.STEPS_TAKEN
    add(words, loop.at.control + Control.WAITERS, 1)
    fence()
    left = steps_between(load(words, taken), count)
    while left > 0 and clock_ns() < deadline:
        wait_for_change(words, taken, count - left, deadline)
        left = steps_between(load(words, taken), count)
    add(words, loop.at.control + Control.WAITERS, -1)
    return left


@kernel
def steps_between(taken, asked):
    """How many steps are left from one count to another: their low halves count, as clients in Python add to these."""
    return (asked - taken + _HALF) % (2 * _HALF) - _HALF


@kernel
def steps_left(loop):
    """Steps that are asked for and not taken yet.

    Reads loop: words; loop.at: control, status.
    """
    words, at = loop.words, loop.at
    return steps_between(words[at.status + Status.STEPS_TAKEN], load(words, at.control + Control.STEPS_ASKED))


@kernel
def follow(loop, taken):
    """Store ``STEPS_TAKEN`` once the state is told, and wake whoever waits for it.

    Reads loop: words; loop.at: control, status.
    """
    words, at = loop.words, loop.at
    store(words, at.status + Status.STEPS_TAKEN, taken)
    fence()
    if load(words, at.control + Control.WAITERS) > 0:
        wake_all(words, at.status + Status.STEPS_TAKEN)
