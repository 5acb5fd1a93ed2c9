"""Instructions of kernels: words that are shared with other threads, the clock, and waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Handle, Int1D, entry
from hydro_sim_core.compilation.instructions import (
    add,
    clock_ns,
    fence,
    load,
    sleep_until,
    store,
    struct_at,
    wait_for_change,
    wake_all,
)


@entry
def count_up(words: Int1D, place: int, times: int) -> int:
    last = 0
    for _ in range(times):
        last = add(words, place, 1)
    return last


@entry
def exchange(words: Int1D, place: int, value: int) -> int:
    before = load(words, place)
    fence()
    store(words, place, value)
    return before


class Box(NamedTuple):
    number: int
    values: Float1D


@entry
def halve(boxes: Int1D, like: Box) -> int:
    numbers = 0
    for i in range(boxes.shape[0]):
        box = struct_at(boxes, i, like)
        numbers = 10 * numbers + box.number
        for k in range(box.values.shape[0]):
            box.values[k] *= 0.5
    return numbers


@entry
def now() -> int:
    return clock_ns()


@entry
def sleep_to(deadline: int) -> None:
    sleep_until(deadline)


@entry
def ring(words: Int1D, place: int) -> None:
    add(words, place, 1)
    wake_all(words, place)


@entry
def hear(words: Int1D, place: int, seen: int, deadline: int) -> int:
    while load(words, place) == seen and clock_ns() < deadline:
        wait_for_change(words, place, seen, deadline)
    return load(words, place)


def test_additions_of_threads_do_not_get_lost() -> None:
    words, times = np.zeros(4, dtype=np.int64), 200_000
    threads = [threading.Thread(target=count_up, args=(words, 2, times)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words.tolist() == [0, 0, 4 * times, 0]


def test_words_are_loaded_and_stored() -> None:
    words = np.array([1, 2**40, 3])
    assert exchange(words, 1, -5) == 2**40
    assert words.tolist() == [1, -5, 3]
    assert count_up(words, 1, 1) == -5


def test_the_clock_is_the_monotonic_one_of_python() -> None:
    before = time.monotonic_ns()
    assert before <= now() <= time.monotonic_ns()


def test_sleep_ends_after_its_deadline_and_not_before() -> None:
    deadline = time.monotonic_ns() + 20_000_000
    sleep_to(deadline)
    assert time.monotonic_ns() >= deadline
    sleep_to(0)  # long ago


def test_a_waiting_thread_is_woken() -> None:
    """Within the ten seconds that it would wait by itself; another Python thread rings."""
    words, heard = np.array([0, 2**32 + 7]), []
    deadline = time.monotonic_ns() + 10_000_000_000
    thread = threading.Thread(target=lambda: heard.append(hear(words, 1, 2**32 + 7, deadline)))
    thread.start()
    time.sleep(0.05)
    assert not heard
    ring(words, 1)
    thread.join(5.0)
    assert heard == [2**32 + 8]


def test_waiting_ends_at_its_deadline() -> None:
    words, deadline = np.array([3]), time.monotonic_ns() + 20_000_000
    assert hear(words, 0, 3, deadline) == 3
    assert time.monotonic_ns() >= deadline
    assert hear(words, 0, 4, time.monotonic_ns() + 10_000_000_000) == 3  # not what was seen


def halve_boxes() -> None:
    boxes = [Handle(Box(n, np.full(n, 8.0))) for n in (1, 2, 3)]
    assert halve(np.array([box.address for box in boxes[::-1]]), boxes[0]) == 321
    for n, box in enumerate(boxes, 1):
        assert box.struct.values.tolist() == [4.0] * n


def test_structs_are_found_by_the_addresses_of_their_handles() -> None:
    halve_boxes()


def test_structs_are_found_without_a_compiler_too() -> None:
    program = "from compilation.test_instructions import halve_boxes; halve_boxes()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
