"""Steps that clients ask for while paused: all are taken, or who waits for them is told."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.client import BrokenOff, TookTooLong, connect
from hydro_sim_core.shared_memory.layout import NUM_DROPS, Control, Header, Status
from hydro_sim_core.shared_memory.segment import Segment
from support.shared_memory.stand_in import StandIn, tables


@pytest.mark.parametrize("number", [2**30 + 1, 3_000_000_000])
def test_more_steps_than_can_be_counted_are_refused(client, number: int) -> None:
    """Counts are compared by 32 bits: so many were taken for none, and all that were asked for later as well."""
    client.pause()
    with pytest.raises(InputError, match=f"steps: is {number}; give at most 1073741824 at a time"):
        client.step(number)
    before = client.newest().serial
    assert client.step(5).serial == before + 5
    client.resume()


@pytest.mark.parametrize("how", ["limit", "pause", "reset", "resume"])
def test_steps_that_are_wanted_no_more_are_dropped(client, running, how: str) -> None:
    """After their limit, and by a pause or a reset of somebody else, who tells those that wait for them."""
    client.pause()
    client.step()
    if how == "limit":
        with pytest.raises(TookTooLong, match="all of 1000000000 steps did not come"):
            client.step(10**9, limit=0.05)
    else:
        told: list[BaseException] = []
        thread = threading.Thread(
            target=lambda: told.append(_error_of(lambda: client.step(10**9, limit=60.0)))
        )
        before = client.newest().serial
        thread.start()
        client.wait(before + 5)
        with running.connect() as other:
            getattr(other, how)()
        thread.join()
        assert isinstance(told[0], BrokenOff)
        assert "not all of 1000000000 steps were taken: it was paused, reset or let run on meanwhile" in str(
            told[0]
        )
        client.pause()
        client.step()
    state = client.step(3)  # asked for at once, and not dropped
    assert client.newest().serial == state.serial
    time.sleep(0.05)
    assert client.newest().serial == state.serial


def test_single_steps_begin_with_a_pause(client) -> None:
    with pytest.raises(InputError, match="is not paused; pause it before it takes single steps"):
        client.step()


def test_steps_after_a_pause_that_has_just_been_told_are_taken(start) -> None:
    """A loop that saw the drop of a pause before the pause itself dropped what was asked for next, too."""
    with start("--period", "0").connect() as client:
        for _ in range(1000):
            client.resume()
            client.wait(client.newest().serial + 1)
            client.pause()
            before = client.newest().step
            assert client.step(3).step >= before + 3


def test_more_steps_than_counts_can_tell_apart_are_refused(client) -> None:
    """Three times 2^30 made the count of steps left negative, for good."""
    client.pause()
    client.step()
    client._memory.add(client._control + Control.STEPS_ASKED, (1 << 31) - 10)
    with pytest.raises(InputError, match=f"steps: are {2**30} beside others; ask when those are taken"):
        client.step(2**30)  # some of those before are taken meanwhile
    client._memory.add(client._control + Control.STEPS_ASKED, 2**30)
    client.pause()
    client.poll(lambda: not client._takes_steps(), "the mend of the counts", 10.0)
    before = client.newest().serial
    assert client.step(5).serial >= before + 5


@pytest.mark.parametrize(
    ("before", "asked", "drops", "are_dropped"),
    [
        (10, 15, [], False),
        (10, 15, [(5, 10)], False),
        (10, 15, [(5, 11)], True),
        (10, 15, [(14, 20)], True),
        (10, 15, [(15, 20)], False),
        (10, 15, [(0, 5), (15, 20)], False),
        (2**32 - 2, 3, [(2, 9)], True),
        (2**32 - 2, 3, [(3, 9)], False),
        (10, 15, [(20 + i, 21 + i) for i in range(9)], True),  # more than are told
    ],
)
def test_a_client_knows_whose_steps_were_dropped(before, asked, drops, are_dropped) -> None:
    segment = Segment.make(f"test_drops_{os.getpid()}", tables(), slots=4)
    StandIn(segment, 0.0)
    with connect(segment.name) as client:
        status = segment.memory.words[Header.AT_STATUS]
        for i, (first, last) in enumerate(drops):
            at = status + Status.DROPPED + 2 * (i % NUM_DROPS)
            segment.memory.words[at], segment.memory.words[at + 1] = first, last
            segment.memory.words[status + Status.DROPS] += 1
        assert client._are_dropped(before, asked, 0) is are_dropped
    segment.retire()


def _error_of(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except InputError as error:
        return error
    raise AssertionError("nothing was raised")


def test_who_waits_for_steps_of_a_pause_is_woken(client, monkeypatch) -> None:
    """One long sleep each at most: the loop wakes for what it has taken."""
    sleeps: list[float] = []
    wait = client._memory.wait

    def sleep(word: int, seen: int, limit: float) -> None:
        sleeps.append(limit)
        wait(word, seen, limit)

    client.pause()
    client.step()
    monkeypatch.setattr(client._memory, "wait", sleep)
    serial = client.newest().serial
    began = time.monotonic()
    for i in range(20):
        assert client.step().serial == serial + i + 1
    assert len(sleeps) <= 20 + 10 * (time.monotonic() - began)


def test_a_loop_that_does_not_wake_for_steps_is_looked_at_often() -> None:
    """Of layout 1.0."""
    segment = Segment.make(f"test_old_{os.getpid()}", tables(), slots=4)
    segment.memory.words[Header.VERSION] = 1 << 32
    StandIn(segment, 0.0)
    with connect(segment.name) as client:
        assert client._looks_up(client._status + Status.STEPS_TAKEN) < 0.01
        assert client._looks_up(client._head) > 0.05
        segment.memory.words[Header.VERSION] += 1
        assert client._looks_up(client._status + Status.STEPS_TAKEN) > 0.05
    segment.retire()
