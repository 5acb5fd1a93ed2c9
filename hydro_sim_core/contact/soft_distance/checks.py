"""Checks of arrays and parameters from users; what JAX traces is not known, and passes those of values."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.description.soft_ranges import SOFT_RANGES
from hydro_sim_core.errors import InputError, excerpt

#: An array of any library that follows the array API standard: NumPy, CuPy, JAX.
AnyArray = Any


def check_numbers(source: str, name: str, array: AnyArray) -> None:
    """Check that an array has 64 bits and finite numbers, where these are known.

    Raises:
        InputError: It has not.
    """
    if not array_api_compat.is_array_api_obj(array):
        problem = f"is a {type(array).__name__} and no array"
        raise InputError(source, name, problem, "give an array of the library of the clouds")
    check_bits(source, name, array)
    xp = array_api_compat.array_namespace(array)
    if not is_traced(array) and not holds(xp.all(xp.isfinite(array))):
        raise InputError(source, name, "holds NaN or infinity", "give finite numbers")


def check_bits(source: str, name: str, array: AnyArray) -> None:
    """Check that an array is of numbers of 64 bits.

    Raises:
        InputError: It is not.
    """
    xp = array_api_compat.array_namespace(array)
    if array.dtype != xp.float64:
        mend = "give float64"
        if array_api_compat.is_jax_array(array) and not sys.modules["jax"].config.jax_enable_x64:
            mend = 'call jax.config.update("jax_enable_x64", True) before JAX makes its first array'
        raise InputError(source, name, f"is an array of {array.dtype}", mend)


def check_libraries(source: str, **arrays: AnyArray) -> None:
    """Check that arrays, by their names, are of one library.

    Raises:
        InputError: They are not.
    """
    # To ask for the library of an array takes 10 us.
    if len({type(array) for array in arrays.values()}) <= 1:
        return
    kinds = {name: array_api_compat.array_namespace(array) for name, array in arrays.items()}
    first, *others = kinds
    for name in others:
        if kinds[name] is not kinds[first]:
            problem = f"is an array of {_library(kinds[name])}, and {first} of {_library(kinds[first])}"
            mend = "give arrays of one library; as_arrays_of converts a cloud or a system"
            raise InputError(source, name, problem, mend)


def _library(namespace: Any) -> str:
    return str(namespace.__name__).removeprefix("array_api_compat.")


def is_traced(value: Any) -> bool:
    """Whether JAX traces a value, so that it is not known."""
    return array_api_compat.is_jax_array(value) and isinstance(value, sys.modules["jax"].core.Tracer)


def holds(condition: AnyArray) -> bool:
    """Whether a condition (0-dimensional) holds; one that is not known counts as held.

    While JAX traces a function, it traces conditions on known arrays too.
    """
    return is_traced(condition) or bool(condition)


def check_parameter(value: Any, source: str, element: str, quantity: str = "") -> None:
    """Check a parameter of smooth contact by the range of its quantity, which is ``element`` if not given.

    Raises:
        InputError: It is no number, or outside of the range.
    """
    quantity = quantity or element
    check_range(value, source, element, SOFT_RANGES[quantity], or_zero=quantity == "damping_blend")


def check_range(
    value: Any, source: str, element: str, bounds: tuple[float, float], *, or_zero: bool = False
) -> None:
    """Check a number by the least and the most that it may be; one that JAX traces passes.

    Raises:
        InputError: It is no number, or outside.
    """
    if is_traced(value) and value.ndim == 0:
        return
    number = as_number(value, source, element)
    if not (bounds[0] <= number <= bounds[1] or (or_zero and number == 0.0)):
        mend = f"give {'0, or ' if or_zero else ''}{bounds[0]:g} to {bounds[1]:g}"
        raise InputError(source, element, f"is {number:g}", mend)


def as_number(value: Any, source: str, element: str) -> float:
    """A real number as a float.

    Raises:
        InputError: It is none.
    """
    if not isinstance(value, str | bytes) and getattr(value, "ndim", 0) == 0:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise InputError(source, element, f"is {excerpt(value)}", "give a number")


def checked_array(values: Any, source: str, element: str) -> AnyArray:
    """An array of an array API library as it is, and anything else as one of NumPy.

    Raises:
        InputError: It is none of real numbers.
    """
    if array_api_compat.is_array_api_obj(values) and not array_api_compat.is_numpy_array(values):
        return values
    with contextlib.suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind in "fiu":
            return array if array is values else array.astype(float)
    problem = f"is {excerpt(values)}"
    raise InputError(source, element, problem, "give an array of numbers, or lists of one length")


def checked_indices(values: Any, source: str, element: str, rows: int) -> NDArray[np.int64]:
    """Indices of corners (T, K), as an array of NumPy, checked against the number of rows that they refer to.

    Raises:
        InputError: They are no whole numbers in rows of one length, or refer to rows that are not there.
    """
    array = np.asarray(checked_array(values, source, element))
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64) == array
    if array.ndim != 2 or not whole.all():
        problem = f"has shape {array.shape}" if array.ndim != 2 else f"has {array[~whole][0]:g}"
        raise InputError(source, element, problem, "give rows of as many whole numbers each")
    if array.size and not (array.min() >= 0 and array.max() < rows):
        wrong = int(array.min() if array.min() < 0 else array.max())
        raise InputError(
            source, element, f"refers to vertex {wrong}", f"give 0 to {rows - 1}, as there are {rows}"
        )
    return array.astype(np.int64, copy=False)


def checked_pose(X: AnyArray, source: str, element: str) -> AnyArray:
    """Return ``X`` after checks: all for a NumPy array or sequence, only those of shape and bits for other arrays.

    Values of other libraries may be on a device or traced for differentiation, so that reading them is slow or
    impossible.
    """
    if not array_api_compat.is_array_api_obj(X) or array_api_compat.is_numpy_array(X):
        return as_pose(X, source, element)
    if X.shape != (4, 4):
        raise InputError(source, element, f"has shape {X.shape}", "give a (4, 4) homogeneous transform")
    check_bits(source, element, X)
    return X
