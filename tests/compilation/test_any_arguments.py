"""Kernels that take ``*arguments``: what a table of kernels is called by."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.compilation import ConstFloat1D, Float1D, entry, kernel


@kernel
def nothing(number, *arguments):
    pass


@kernel
def add(x, factor, out):
    out[0] += factor * x[0]


@kernel
def multiply(x, factor, out):
    out[0] *= factor * x[1]


def first_of(number, own, others):
    """Call ``own`` for a number, and pass everything on to ``others`` for the rest."""

    @kernel
    def choose(wanted, *arguments):
        if wanted == number:
            own(*arguments)
        else:
            others(wanted, *arguments)

    return choose


choose = first_of(3, add, first_of(5, multiply, nothing))


@entry
def change(wanted: int, x: ConstFloat1D, factor: float, out: Float1D) -> None:
    choose(wanted, x, factor, out)
    choose(7, x, factor, out)


@pytest.mark.parametrize(("wanted", "result"), [(3, 21.0), (5, 30.0), (4, 1.0)])
def test_each_number_has_its_kernel(wanted, result):
    """Closures of one function are kernels of their own, whose numbers and kernels are part of the code."""
    out = np.ones(1)
    change(wanted, np.array([2.0, 3.0]), 10.0, out)
    assert out[0] == result
