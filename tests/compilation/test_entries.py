"""Kernels and entry points: what they take, what they call, what they refuse."""

from __future__ import annotations

import math
import pickle
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

from hydro_sim_core.compilation import (
    Bool1D,
    CompilationFailed,
    Entry,
    Float1D,
    Float2D,
    Handle,
    Int1D,
    entry,
    kernel,
)
from hydro_sim_core.compilation.arrays import struct_layout
from hydro_sim_core.compilation.dependencies import dependencies, signature
from support.compilation.reductions import Chosen, reduced, squared_norm, total


class Cloud(NamedTuple):
    points: Float2D
    chosen: Bool1D
    order: Int1D
    scale: float
    power: int
    doubled: bool


class Pair(NamedTuple):
    first: Cloud
    second: Cloud


@kernel
def squared_distance(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += (x[i] - y[i]) ** 2
    return total


@kernel
def raised(x, power):
    return x**power


@entry
def distance(x: Float1D, y: Float1D) -> float:
    return math.sqrt(squared_distance(x, y))


@entry
def sum_of_distances(pair: Pair, out: Float1D) -> int:
    """Every chosen point of the first cloud to every point of the second."""
    first, second = pair.first, pair.second
    count = 0
    for k in range(first.order.shape[0]):
        i = first.order[k]
        if not first.chosen[i]:
            continue
        for j in range(second.points.shape[0]):
            out[0] += distance(first.points[i], second.points[j]) * first.scale
            count += 1
    if first.doubled:
        out[0] *= 2.0
    out[1] = raised(out[0], first.power)
    return count


@entry
def is_long(x: Float1D, bound: float, strictly: bool) -> bool:
    size = math.sqrt(squared_norm(x))
    return size > bound if strictly else size >= bound


@entry
def product(x: Float1D) -> float:
    value = 1.0
    for i in range(x.shape[0]):
        value *= x[i]
    return value


@entry
def reduced_by_field(chosen: Chosen) -> float:
    return chosen.reduce(chosen.values)


@entry
def spin(rounds: int, out: Float1D) -> None:
    for i in range(rounds):
        out[0] += math.sin(out[0] + i)


def clouds(rng):
    def cloud(n, **others):
        values = {"scale": 0.5, "power": 2, "doubled": True} | others
        return Cloud(rng.normal(size=(n, 3)), rng.random(n) < 0.5, rng.permutation(n), **values)

    return Pair(cloud(7), cloud(5, doubled=False))


@pytest.mark.parametrize("handed", [False, True])
def test_structs_arrays_and_numbers_arrive(handed):
    """NumPy computes the same; a handle stands for its struct."""
    pair, out = clouds(np.random.default_rng(1)), np.zeros(2)
    count = sum_of_distances(Handle(pair) if handed else pair, out)
    chosen = pair.first.points[pair.first.chosen]
    expected = np.linalg.norm(chosen[:, None] - pair.second.points[None], axis=2).sum()
    assert count == len(chosen) * 5
    np.testing.assert_allclose(out, [expected, expected**2], rtol=1e-14)


def test_a_handle_sees_later_contents():
    pair, out = clouds(np.random.default_rng(2)), np.zeros(2)
    handle = Handle(pair)
    pair.first.chosen[:] = False
    assert sum_of_distances(handle, out) == 0


def test_a_copied_handle_has_a_memory_of_its_own():
    pair = clouds(np.random.default_rng(3))
    copy = pickle.loads(pickle.dumps(Handle(pair)))
    copy.struct.first.chosen[:] = True
    out = np.zeros(2)
    assert sum_of_distances(copy, out) == 35
    assert sum_of_distances(pair, out) == 5 * pair.first.chosen.sum()


def test_truth_values_come_back():
    x = np.array([3.0, 4.0])
    assert is_long(x, 5.0, False) is True
    assert is_long(x, 5.0, True) is False


def test_an_entry_point_is_passed_on():
    x = np.array([2.0, 3.0, 4.0])
    assert [reduced(how, x) for how in (total, product)] == [9.0, 24.0]
    assert [reduced_by_field(Chosen(how, x)) for how in (total, product)] == [9.0, 24.0]


@pytest.mark.parametrize("caller", [reduced, reduced_by_field])
def test_the_signature_of_a_passed_entry_point_counts(caller):
    """Else a caller would go on to pass what was asked for before."""
    assert signature(total) in signature(caller)


def test_a_kernel_can_be_called_alone():
    """As tests do."""
    assert squared_distance(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 4.0


def test_a_kernel_that_is_called_alone_may_call_entry_points():
    @entry
    def first(x: Float1D) -> float:
        return x[0]

    @kernel
    def calls(x):
        return first(x) + 1.0

    assert calls(np.array([2.0])) == 3.0


def test_an_entry_point_pickles_by_name():
    assert pickle.loads(pickle.dumps(total)) is total


def test_other_threads_run_meanwhile():
    """The lock of Python's interpreter is free in compiled code."""
    out = np.zeros(1)
    spin(1, out)
    began = time.thread_time()  # not what other programs take
    spin(200_000, out)
    rounds = max(1, int(200_000 * 0.5 / (time.thread_time() - began)))
    thread = threading.Thread(target=spin, args=(rounds, out))
    thread.start()
    ticks = 0
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 10


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros(3, dtype=np.float32), "float32"),
        (np.zeros((3, 2)), r"\(3, 2\)"),
        (np.zeros((3, 2))[:, 0], "contiguous"),
        ([1.0, 2.0], "is a list"),
    ],
)
def test_arrays_of_another_layout_are_refused_with_their_name(x, words):
    with pytest.raises(TypeError, match=f"^y .*{words}"):
        distance(np.zeros(3), x)


def test_structs_of_another_class_are_refused():
    cloud = clouds(np.random.default_rng(4)).first
    with pytest.raises(TypeError, match="pair is a Cloud; it must be a Pair"):
        sum_of_distances(cloud, np.zeros(2))
    with pytest.raises(TypeError, match=r"Cloud.order is an array float64"):
        sum_of_distances(Pair(cloud, cloud._replace(order=np.zeros(2))), np.zeros(2))


def test_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(TypeError, match="takes 2 arguments; 1 were given"):
        distance(np.zeros(3))


class Unclear(NamedTuple):
    points: np.ndarray


def test_fields_without_a_layout_are_refused():
    with pytest.raises(TypeError, match=r"Unclear.points: .* says nothing about memory"):
        struct_layout(Unclear)


def test_parameters_without_a_layout_are_refused():
    @entry
    def unclear(x, y: float) -> None:
        pass

    with pytest.raises(TypeError, match="x has no annotation"):
        unclear(1.0, 2.0)


def test_a_constant_that_is_passed_makes_no_kernel_of_its_own():
    @kernel
    def asks(x):
        return raised(x, 2) + raised(x, 3)

    @kernel
    def raised(x, power):
        return x**power

    assert asks(2.0) == 12.0
    assert len(raised.dispatcher.overloads) == 1


@kernel
def allocating(x):
    return np.zeros(3)[0] + x[0]


@kernel
def listing(x):
    values = [x[0], x[1]]
    return values[0]


@kernel
def raising(x):
    if x[0] > 1.0:
        raise ValueError
    return x[0]


@pytest.mark.parametrize("bad", [allocating, listing, raising])
def test_what_allocates_or_raises_does_not_compile(bad):
    """Neither by itself nor through what it calls: it would need Numba's runtime, or Python's lock."""

    @entry
    def caller(x: Float1D) -> float:
        return bad(x)

    with pytest.raises(CompilationFailed, match=r"(?s)caller: .*(NRT|np_zeros|neither allocate nor raise)"):
        caller(np.ones(2))


@entry
def picked(x: Float1D, i: int) -> float:
    return (x[0], x[1], x[2])[i]


@entry
def picked_through(x: Float1D, i: int) -> float:
    return picked(x, i) + 1.0


def test_what_goes_wrong_in_compiled_code_is_raised():
    """Also where an entry point calls another; the next call is none the wiser."""
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match="picked_through: reached beyond"):
        picked_through(x, 3)
    assert picked_through(x, 2) == 4.0


def test_entry_points_of_the_engine_say_what_they_take():
    """All have layouts, and depend on something; compiling is left to those who use them."""
    import importlib
    import pkgutil

    import hydro_sim_core

    for module in pkgutil.walk_packages(hydro_sim_core.__path__, "hydro_sim_core."):
        if not module.name.endswith(("__main__", "worker")):
            importlib.import_module(module.name)
    ours = [e for symbol, e in Entry.registry.items() if symbol.startswith("hydro_sim_core.")]
    assert len(ours) > 20
    digests = {dependencies(e).digest for e in ours}
    assert len(digests) == len(ours)


NOTEBOOK = """
class Couple(NamedTuple):
    {fields}

@entry
def combine({arguments}) -> float:
    return x {operator} y

@entry
def caller(couple: Couple) -> float:
    return combine({values})
"""


def test_what_is_defined_anew_replaces_what_was_there():
    """As when a cell of a notebook is run again: Numba knows types by their names."""
    notebook = {"__name__": "a_notebook", "NamedTuple": NamedTuple, "entry": entry}
    exec(
        NOTEBOOK.format(
            fields="a: float; b: float", arguments="x: float, y: int", operator="-", values="couple.a, 3"
        ),
        notebook,
    )
    assert notebook["caller"](notebook["Couple"](a=5.0, b=1.0)) == 2.0
    exec(
        NOTEBOOK.format(
            fields="b: float; a: float", arguments="y: int, x: float", operator="*", values="3, couple.a"
        ),
        notebook,
    )
    assert notebook["caller"](notebook["Couple"](a=5.0, b=1.0)) == 15.0


def test_a_struct_within_a_struct_has_the_class_that_is_declared():
    class Other(NamedTuple):
        points: float

    cloud = Other(1.0)
    with pytest.raises(TypeError, match=r"Pair\.first is a Other; it must be a Cloud"):
        Handle(Pair(cloud, cloud))


def test_an_array_of_another_byte_order_is_refused():
    with pytest.raises(TypeError, match="must be float64"):
        distance(np.ones(2, dtype=">f8"), np.ones(2))
