"""Atomic additions, and waiting for a word."""

from __future__ import annotations

import threading
import time

import pytest

from hydro_sim_core.shared_memory.memory import Memory


@pytest.fixture
def memory() -> Memory:
    return Memory(-1, 4096)


@pytest.mark.parametrize("amount", [1, -1, 7, 2047, 2048, 2051, 10**6 + 1])
def test_additions_of_any_size(memory: Memory, amount: int) -> None:
    """The kernel takes twelve bits, or a power of two."""
    memory.words[3] = 5000
    memory.add(3, amount)
    assert memory.words[3] == 5000 + amount
    assert [memory.words[2], memory.words[4]] == [0, 0]


def test_no_addition_is_lost(memory: Memory) -> None:
    def add() -> None:
        for _ in range(2000):
            memory.add(0, 1)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.words[0] == 6000


def test_a_bell_wakes_who_waits(memory: Memory) -> None:
    woken = threading.Event()

    def wait() -> None:
        while memory.words[8] == 0:
            memory.wait(8, 0, 60.0)
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    memory.ring(8)
    assert woken.wait(30.0)
    thread.join()


def test_nobody_sleeps_on_a_value_that_has_gone(memory: Memory) -> None:
    memory.words[0] = 2**40 + 1
    memory.wait(0, 0, 3600.0)


def test_a_sleep_ends(memory: Memory) -> None:
    memory.wait(0, 0, 0.001)
    memory.wait(0, 0, -1.0)


def test_texts_are_cut_between_characters(memory: Memory) -> None:
    memory.set_text(0, 4, "ä" * 40)
    assert memory.text(0, 4) == "ä" * 15
    memory.set_text(0, 4, "short")
    assert memory.text(0, 4) == "short"
