"""Docstrings of kernels tell which fields of their structs they read and write, as their sources do."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

import pytest

from hydro_sim_core.compilation import Float1D, Float2D, kernel
from support.compilation.kernel_fields import accesses, kernels, rewritten, telling, told


class Inner(NamedTuple):
    rows: Float2D
    size: Float1D


class Outer(NamedTuple):
    inner: Inner
    values: Float1D


@kernel
def halve(values, count):
    for i in range(count):
        values[i] *= 0.5


@kernel
def first_of(outer):
    return outer.values[0]


@kernel
def work(outer, other, index):
    """Aliases, rows of arrays, several targets at once, an array and a whole struct for other kernels, and a size."""
    inner, rows = outer.inner, outer.inner.rows
    row = rows[index]
    row[0], other.size[0] = first_of(outer), 1.0
    halve(inner.size, rows.shape[1])
    value = outer.values[index]
    return value + 1.0


def test_what_a_kernel_reads_and_writes_is_found():
    assert told(accesses([work])[work]) == (
        "Reads outer: values; outer.inner: size. Writes other: size; outer.inner: rows, size."
    )
    assert told(accesses([halve])[halve]) == ""


def test_docstrings_are_told_anew():
    source = textwrap.dedent(
        '''
        def one(a):
            """One line."""


        def two(a):
            """Several.

            Args:
                a: It.

            Reads a: old.
            """
            return a
        '''
    )
    wanted = {"one": "Reads a: x.", "two": "Writes a: y."}
    new = rewritten(source, wanted)
    assert new.count("Reads a: x.") == new.count("Writes a: y.") == 1
    assert "old" not in new
    assert rewritten(new, wanted) == new
    assert telling("Reads what it is given.") == ""


@pytest.fixture(scope="module")
def found():
    return kernels()


def test_every_kernel_tells_what_its_source_says(found):
    access = accesses(found)
    differing = {
        f"{path.name}: {one.function.__name__}": (telling(one.function.__doc__ or ""), told(access[one]))
        for one, path in found.items()
        if telling(one.function.__doc__ or "") != told(access[one])
    }
    assert len(found) > 200
    assert differing == {}, "python tests/support/compilation/kernel_fields.py --write"
