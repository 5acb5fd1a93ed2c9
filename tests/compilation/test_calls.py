"""Calls of compiled code: what they refuse before anything is run, and how they fail."""

from __future__ import annotations

import sys
import threading
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from hydro_sim_core.compilation import (
    CompilationFailed,
    ConstFloat1D,
    Entry,
    EntryLayout,
    Float1D,
    Handle,
    entry,
    prepare,
)
from support.compilation.reductions import Chosen, reduced, squared_norm, total


class Numbers(NamedTuple):
    scale: float
    power: int
    doubled: bool


@entry
def is_long(x: Float1D, bound: float, strictly: bool) -> bool:
    size = squared_norm(x)
    return size > bound if strictly else size >= bound


@entry
def grow(rounds: int, x: Float1D) -> None:
    for i in range(rounds):
        x[0] += i


@entry
def picked(x: Float1D, i: int) -> float:
    return (x[0], x[1], x[2])[i]


@entry
def half(x: Float1D) -> int:
    return x.shape[0] // 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (half, "reduce is .*half>; it must take and return what .*total does"),
        (squared_norm, "reduce is a Kernel; it must be an entry point like .*total"),
        (Handle(Chosen(total, np.ones(1))), "reduce is a Handle; it must be an entry point"),
        (None, "reduce is a NoneType; it must be an entry point"),
    ],
)
def test_only_an_entry_point_of_the_same_signature_is_passed_on(given, words):
    """Anything else with an address would be run."""
    with pytest.raises(TypeError, match=words):
        reduced(given, np.ones(2))
    with pytest.raises(TypeError, match=rf"^Chosen\.reduce is .*{words.rpartition('; it ')[2]}"):
        Handle(Chosen(given, np.ones(2)))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("scale", "1", "a str, '1'; it must be a number, float"),
        ("scale", None, "a NoneType"),
        ("power", 2.5, "a float, 2.5; it must be a number, int"),
        ("power", 2**63, "which has more than 64 bits"),
        ("doubled", [1], "a list"),
        ("doubled", 1, "a int, 1; it must be a number, bool"),
    ],
)
def test_wrong_numbers_are_refused_with_their_name(field, value, words):
    with pytest.raises(TypeError, match=rf"^Numbers\.{field} is .*{words}"):
        Handle(Numbers(1.0, 2, True)._replace(**{field: value}))


@pytest.mark.parametrize(
    ("function", "args", "words"),
    [
        (is_long, ("1", True), "bound is a str"),
        (is_long, (1.0, 1), "strictly is a int"),
        (grow, (1.0,), "rounds is a float"),
        (grow, (-(2**63) - 1,), "rounds is .* 64 bits"),
    ],
)
def test_wrong_numbers_as_arguments_are_refused_with_their_name(function, args, words):
    x = np.zeros(2)
    with pytest.raises(TypeError, match=f"^{words}"):
        function(*((x, *args) if function is is_long else (*args, x)))


def test_numbers_of_numpy_are_numbers():
    x = np.array([3.0, 4.0])
    assert is_long(x, np.float32(25.0), np.bool_(False)) is True
    assert is_long(x, 25, np.False_) is True
    grow(np.int32(1), x)
    Handle(Numbers(scale=np.int64(1), power=np.uint8(2), doubled=np.True_))


def read_only(array):
    array.setflags(write=False)
    return array


class Table(NamedTuple):
    values: ConstFloat1D
    sums: Float1D


@entry
def sum_up(table: Table, weights: ConstFloat1D) -> None:
    for i in range(table.values.shape[0]):
        table.sums[0] += table.values[i] * weights[i] + rest(weights[i:])


@entry
def rest(x: ConstFloat1D) -> float:
    value = 1.0
    for i in range(x.shape[0]):
        value *= x[i]
    return value


def test_arrays_that_cannot_be_written_are_refused_with_their_name():
    """Compiled code would write to them all the same."""
    with pytest.raises(TypeError, match=r"^x is read-only, and a kernel may write to it"):
        total(read_only(np.ones(3)))
    with pytest.raises(TypeError, match=r"^Table\.sums is read-only"):
        Handle(Table(np.ones(2), read_only(np.ones(2))))


def test_what_is_only_read_may_be_read_only():
    table = Table(read_only(np.array([1.0, 2.0])), np.zeros(1))
    sum_up(table, read_only(np.array([3.0, 4.0])))
    assert table.sums[0] == 1.0 * 3.0 + 12.0 + 2.0 * 4.0 + 4.0
    sum_up(table, np.array([3.0, 4.0]))


def test_what_is_only_read_cannot_be_written():
    @entry
    def writes(table: Table) -> None:
        table.values[0] = 1.0

    @entry
    def has_written(x: ConstFloat1D) -> None:
        grow(1, x)

    table = Table(np.ones(2), np.ones(2))
    with pytest.raises(CompilationFailed, match=r"readonly array|Cannot modify"):
        writes(table)
    with pytest.raises(CompilationFailed, match="grow"):
        has_written(np.ones(2))


def scaled_by(factor):
    @entry
    def scaled(x: Float1D) -> float:
        return x[0] * factor

    return scaled


def test_local_entry_points_of_one_name_are_two():
    """Each caller calls its own, in whatever order they are loaded."""
    doubled, tripled = scaled_by(2.0), scaled_by(3.0)

    @entry
    def calls_doubled(x: Float1D) -> float:
        return doubled(x)

    @entry
    def calls_tripled(x: Float1D) -> float:
        return tripled(x)

    x = np.ones(1)
    assert tripled(x) == 3.0
    assert calls_doubled(x) == 2.0
    assert calls_tripled(x) == 3.0
    assert doubled(x) == 2.0


def test_calls_of_two_entry_points_of_one_name_are_refused():
    """In the caller's machine code they would be one."""
    doubled, tripled = scaled_by(2.0), scaled_by(3.0)

    @entry
    def calls_both(x: Float1D) -> float:
        return doubled(x) + tripled(x)

    with pytest.raises(TypeError, match=r"calls_both calls another entry point of the name .*scaled_by"):
        calls_both(np.ones(1))


@entry
def even(x: Float1D) -> bool:
    return x[0] == 0.0 or odd(x)


@entry
def odd(x: Float1D) -> bool:
    return x[0] != 0.0 and even(x)


@entry
def alone(x: Float1D) -> bool:
    return x[0] == 0.0 or alone(x)


@pytest.mark.parametrize(
    ("entries", "words"), [((even, odd), "even calls .*odd calls .*even"), ((alone,), "alone")]
)
def test_entry_points_that_call_each_other_in_a_circle_are_refused(entries, words):
    """None could be loaded before the other."""
    with pytest.raises(TypeError, match=f"in a circle: .*{words}"):
        entries[0](np.ones(1))
    with pytest.raises(TypeError, match="in a circle"):
        prepare(entries)


Same = Annotated[Entry, EntryLayout(f"{__name__}.passed_itself")]


@entry
def passed_itself(other: Same, x: Float1D, again: bool) -> float:
    return other(other, x, False) + 1.0 if again else x[0]


def test_an_entry_point_may_be_passed_one_like_itself():
    assert passed_itself(passed_itself, np.array([2.0]), True) == 3.0


@entry
def picked_by_pointer(how: Annotated[Entry, EntryLayout(f"{__name__}.picked")], x: Float1D, i: int) -> float:
    return how(x, i)


def test_what_goes_wrong_ends_every_caller():
    """By symbol and by address; what is done after it is not done any more."""
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match="picked_by_pointer: reached beyond"):
        picked_by_pointer(picked, x, 3)

    @entry
    def picked_then_written(x: Float1D, i: int) -> None:
        x[0] = picked(x, i)

    with pytest.raises(IndexError, match="picked_then_written"):
        picked_then_written(x, 3)
    assert x[0] == 1.0


def test_each_thread_is_told_of_its_own_failures():
    x, told = np.array([1.0, 2.0, 3.0]), []
    picked(x, 0)

    def call(i):
        for _ in range(2000):
            try:
                picked(x, i)
            except IndexError:
                told.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in (0, 3, 1, 3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert (set(told), len(told)) == ({3}, 4000)
