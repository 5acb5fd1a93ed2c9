"""Checks of numbers passed by callers; each raises ``InputError``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.errors import InputError, excerpt

#: Default edge length of a primitive's mesh, m.
DEFAULT_RESOLUTION = 0.02

#: Largest number of elements in a geometry; more are taken for an error in the resolution hint.
MAX_ELEMENTS = 10**7

#: Largest magnitude of coordinates and pressures: products of a few larger ones leave the range of floating-point
#: numbers.
LARGEST_NUMBER = 1e30


def positive(source: str, element: str, value: Any, *, finite: bool = True) -> float:
    """Return ``value`` as a float, or raise unless it is a number above zero (and below infinity)."""
    number = _number(source, element, value)
    if not number > 0.0 or (finite and not math.isfinite(number)):
        raise InputError(source, element, f"is {number:g}", "give a positive finite number")
    return number


def non_negative(source: str, element: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is a finite number of zero or more."""
    number = _number(source, element, value)
    if not 0.0 <= number < math.inf:
        raise InputError(source, element, f"is {number:g}", "give a finite number of zero or more")
    return number


def lengths(source: str, values: tuple[Any, ...]) -> NDArray[np.float64]:
    """Return three positive lengths (3,), given as three numbers or as one sequence of three."""
    if len(values) == 1 and np.ndim(values[0]) == 1:
        values = tuple(values[0])
    if len(values) != 3:
        raise InputError(source, "size", f"has {len(values)} entries", "give three lengths: x, y, z")
    return np.array([positive(source, f"size[{i}]", value) for i, value in enumerate(values)])


def element_budget(
    source: str, resolution: float, count: float, mend: str = "give a coarser resolution"
) -> None:
    """Raise if a mesh at ``resolution`` would have more than ``MAX_ELEMENTS`` elements."""
    if not count <= MAX_ELEMENTS:
        raise InputError(
            source,
            "resolution",
            f"{resolution:g} m would make {count:.2g} elements, the limit is {MAX_ELEMENTS:.0e}",
            mend,
        )


def real_numbers(source: str, element: str, values: ArrayLike, mend: str) -> NDArray[Any]:
    """Return ``values`` as an array of integers or floats, of any shape."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(source, element, "has rows of different lengths", mend) from None
    if array.dtype.kind not in "fiu":
        raise InputError(source, element, f"holds {array.dtype.name}, not real numbers", mend)
    return array


def float_rows(source: str, element: str, values: ArrayLike, width: int) -> NDArray[np.float64]:
    """Return ``values`` as a new C-contiguous (N, width) float array of at most ``LARGEST_NUMBER``."""
    mend = f"give shape (N, {width})"
    rows = np.array(real_numbers(source, element, values, mend), dtype=np.float64, order="C")
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InputError(source, element, f"has shape {rows.shape}", mend)
    bad = np.flatnonzero(~(np.abs(rows) <= LARGEST_NUMBER).all(axis=1))
    if bad.size:
        mend = f"give finite numbers of at most {LARGEST_NUMBER:g}"
        raise InputError(source, f"{element}[{bad[0]}]", f"is {rows[bad[0]].tolist()}", mend)
    return rows


def index_rows(
    source: str, element: str, values: ArrayLike, width: int, num_vertices: int, *, distinct: bool = True
) -> NDArray[np.int64]:
    """Return ``values`` as a new C-contiguous (M, width) array of vertex indices, M at least 1.

    Unless ``distinct`` is false, no row may repeat an index.
    """
    mend = f"give shape (M, {width}) with M >= 1"
    raw = real_numbers(source, element, values, mend)
    if raw.ndim != 2 or raw.shape[1] != width or raw.shape[0] == 0:
        raise InputError(source, element, f"has shape {raw.shape}", mend)
    if not np.issubdtype(raw.dtype, np.integer):
        raise InputError(source, element, f"has type {raw.dtype}", "give integer vertex indices")
    bad = np.flatnonzero(((raw < 0) | (raw >= num_vertices)).any(axis=1))
    if bad.size:
        row = raw[bad[0]].tolist()
        problem = f"is {row}, but there are {num_vertices} vertices"
        raise InputError(source, f"{element}[{bad[0]}]", problem, f"use indices 0 to {num_vertices - 1}")
    rows = np.array(raw, dtype=np.int64, order="C")
    if not distinct:
        return rows
    ordered = np.sort(rows, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bad.size:
        row = rows[bad[0]].tolist()
        raise InputError(source, f"{element}[{bad[0]}]", f"{row} repeats a vertex", "remove the element")
    return rows


def _number(source: str, element: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(source, element, f"{excerpt(value)} is not a number", "give a number") from None
