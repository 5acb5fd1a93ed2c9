# mypy: allow-untyped-defs
"""Threads that work on one thing together, within compiled code: one leads, the others help.

The leader publishes a job in parts, and takes parts of it as the others do, until none is left; then it waits for those
that are still being done. A part writes to a place of its own, so that results do not depend on who did it. Helpers may
come late, or be held up by other processes: what they do not take the leader does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation.arrays import Int1D, Int2D
from hydro_sim_core.compilation.instructions import (
    add,
    clock_ns,
    fence,
    load,
    one_thread_a_world,
    sleep_until,
    store,
    wait_for_change,
    wake_all,
)
from hydro_sim_core.compilation.kernels import kernel

#: Words of ``Team.words``, each in a cache line of its own: the job whose parts may be taken (see ``publish``); a
#: number that it is about; parts that are done; parts that helpers have taken, of all jobs and of those before; how
#: often helpers were called, and how often to deliver; helpers that have come so far, that are present, and that sleep;
#: whether they are to leave; whether the leader is within a part.
JOB, ABOUT, DONE, TAKEN, TAKEN_BEFORE, CALLS, DELIVERIES, CAME, PRESENT, ASLEEP, LEAVE, WITHIN = range(
    0, 96, 8
)
_NUM_WORDS = 96
#: Entries of ``Team.task``: number of this helper, 0 of the leader; kind of its job; its part; the number of parts; the
#: number of the job, of the last delivery, and of the last job with something to deliver; whether that is still due.
HELPER, KIND, PART, PARTS, NUMBER, DELIVERED, FOUND_IN, OWES = range(8)
#: Parts of a job for each thread, so that nobody has to wait long for one that is held up; and the most of all.
_PARTS_EACH, MOST_PARTS = 4, 64
#: Numbers that may be told of each part.
_NUMBERS = 8
#: Looks before a helper without work goes to sleep, about 1 ms; for how long, ns, and how often before it leaves.
_LOOKS = 500_000
_SLEEP, _SLEEPS = 10_000_000, 3
#: Looks before a leader that waits lets others have its processor, about 0.1 ms, and for how long, ns.
_PATIENCE = 50_000
_PAUSE = 20_000


class Team(NamedTuple):
    """What the threads of a team tell each other; every thread has this struct, with a task of its own.

    Attributes:
        words: (96,) the words, shared.
        task: (8,) what this thread does.
        first: (MOST_PARTS + 1,) where each part of a job begins, shared.
        told: (MOST_PARTS, 8) numbers that are told of each part, shared.
        least: (2,) from how much work on a job is shared, by units of whoever publishes it.
    """

    words: Int1D
    task: Int1D
    first: Int1D
    told: Int2D
    least: Int1D


def make_team(*least: int) -> Team:
    """A team of a leader alone; ``least`` as in ``Team``."""

    def integers(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    shared = integers(MOST_PARTS + 1), integers(MOST_PARTS, _NUMBERS), np.array(least, dtype=np.int64)
    return Team(integers(_NUM_WORDS), integers(8), *shared)


# --- The leader


@kernel(inline=True)
def parts_to_share(team):
    """Into how many parts a job may be divided now: 1 where nobody helps.

    Reads team: task, words.
    """
    if one_thread_a_world() or team.task[HELPER] != 0 or team.words[WITHIN] != 0:
        return 1
    present = load(team.words, PRESENT)
    return min(_PARTS_EACH * (1 + present), MOST_PARTS) if present > 0 else 1


@kernel
def publish(team, kind, about, parts):
    """Let a job of a ``kind`` be done, about a number, in parts. The leader takes parts of it, and calls ``meet``.

    A word holds its number, its kind, the number of parts, and how many have been asked for: who adds 1 to it gets a
    part, and knows of which job, at once.

    Reads team: words.
    Writes team: task, words.
    """
    words = team.words
    words[ABOUT] = about
    store(words, DONE, 0)
    words[TAKEN_BEFORE] = load(words, TAKEN)
    team.task[PART] = -1
    store(words, JOB, ((load(words, JOB) >> 32) + 1 << 32) + (kind << 24) + (parts << 16))
    _call(words)


@kernel
def _call(words):
    """Tell helpers that there is something to do."""
    store(words, CALLS, load(words, CALLS) + 1)
    fence()
    if load(words, ASLEEP) > 0:
        wake_all(words, CALLS)


@kernel
def meet(team, parts):
    """Wait until so many parts of the present job are done, or have been delivered.

    Reads team: words.
    """
    looks = 0
    while load(team.words, DONE) < parts:
        looks += 1
        if looks > _PATIENCE:
            sleep_until(clock_ns() + _PAUSE)


@kernel
def collect(team, parts):
    """Let helpers deliver so many parts, which they did, and wait for it.

    Reads team: words.
    """
    store(team.words, DONE, 0)
    store(team.words, DELIVERIES, load(team.words, DELIVERIES) + 1)
    _call(team.words)
    meet(team, parts)


# --- All


@kernel(inline=True)
def _has_parts(job):
    """Whether fewer parts of a job have been asked for than there are; see ``publish``."""
    return (job & 0xFFFF) < (job >> 16 & 0xFF)


@kernel
def take_part(team):
    """Take a part of the present job to do it, and ``end_part`` afterwards; False if none is left.

    The leader takes the first ones, one after another, and helpers the last ones.

    Reads team: task, words.
    Writes team: task.
    """
    words, task = team.words, team.task
    job = load(words, JOB)
    if _has_parts(job):
        job = add(words, JOB, 1)
    if not _has_parts(job):
        return False
    parts = job >> 16 & 0xFF
    task[NUMBER], task[KIND], task[PARTS] = job >> 32, job >> 24 & 0xFF, parts
    task[PART] = (
        task[PART] + 1 if task[HELPER] == 0 else parts - 1 - (add(words, TAKEN, 1) - words[TAKEN_BEFORE])
    )
    return True


@kernel
def end_part(team):
    """Tell the leader that a part is done, or delivered.

    Reads team: words.
    """
    add(team.words, DONE, 1)


# --- Helpers


@kernel
def join(team):
    """Become a helper.

    Reads team: words.
    Writes team: task.
    """
    team.task[:] = 0
    team.task[DELIVERED] = load(team.words, DELIVERIES)
    team.task[HELPER] = 1 + add(team.words, CAME, 1)
    add(team.words, PRESENT, 1)


@kernel
def must_deliver(team):
    """Whether this helper has been asked to deliver what it has, if it has anything, and has not done so.

    Reads team: task, words.
    Writes team: task.
    """
    deliveries = load(team.words, DELIVERIES)
    is_asked = deliveries != team.task[DELIVERED]
    team.task[DELIVERED] = deliveries
    return is_asked


@kernel
def wait_for_call(team):
    """Wait until there may be something to do; False if there was not for long, or if all are to leave.

    Reads team: task, words.
    """
    words = team.words
    calls = load(words, CALLS)
    looks = sleeps = 0
    while load(words, LEAVE) == 0 and (sleeps < _SLEEPS or team.task[OWES] != 0):
        has_parts = _has_parts(load(words, JOB))
        if has_parts or load(words, CALLS) != calls or load(words, DELIVERIES) != team.task[DELIVERED]:
            return True
        looks += 1
        if looks > _LOOKS:
            add(words, ASLEEP, 1)
            fence()
            if load(words, CALLS) == calls and load(words, LEAVE) == 0:
                wait_for_change(words, CALLS, calls, clock_ns() + _SLEEP)
            add(words, ASLEEP, -1)
            sleeps += 1
    add(words, PRESENT, -1)
    return False
