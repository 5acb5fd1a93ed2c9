"""What is varied: ``PATH=RANGE``, where a range lists values, or says how they are drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.yaml_source import parse_value
from hydro_sim_core.errors import InputError, excerpt

Array = NDArray[np.float64]

#: Largest number of values of an axis, and of samples of a sweep.
MOST = 1_000_000
_SPACED = re.compile(r"([^:(]+):([^:]+):([^:)]+)")
#: Numbers with colons between, of which there are not three.
_SLIP = re.compile(r"[-+.\deE]+(:[-+.\deE]+)+")
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
_SYNTAX = "write a:b:n, log(a:b:n), a,b,c, uniform(a,b), loguniform(a,b) or normal(mean,deviation)"


@dataclass(frozen=True)
class Axis:
    """A value that is varied.

    Attributes:
        path: Of the value in the scene, as ``--set`` takes it.
        text: The range as it was written.
        values: The values, of an axis of the grid; None if they are drawn.
        spread: Of an axis that is drawn, (low, high) or (mean, standard deviation).
        drawn: Name of its distribution; empty for an axis of the grid.
        is_log: Whether equal factors are equal distances.
    """

    path: str
    text: str
    values: tuple[Any, ...] | None = None
    spread: tuple[float, float] = (0.0, 0.0)
    drawn: str = ""
    is_log: bool = False

    def at(self, shares: Array) -> list[float]:
        """Values of an axis that is drawn, at these shares of its distribution, each in (0, 1)."""
        return [float(value) for value in _QUANTILES[self.drawn](*self.spread, shares)]


def _uniform(low: float, high: float, shares: Array) -> Array:
    return low + (high - low) * shares


def _loguniform(low: float, high: float, shares: Array) -> Array:
    return np.asarray(np.exp(_uniform(math.log(low), math.log(high), shares)))


def _normal(mean: float, deviation: float, shares: Array) -> Array:
    return np.asarray(mean + deviation * scipy.special.ndtri(shares))


_QUANTILES: dict[str, Callable[[float, float, Array], Array]] = {
    "uniform": _uniform,
    "loguniform": _loguniform,
    "normal": _normal,
}


def parse_axis(text: str) -> Axis:
    """Read ``PATH=RANGE``.

    Raises:
        InputError: It is written otherwise, or the range has no values.
    """
    path, equals, written = (part.strip() for part in text.partition("="))
    if not (path and equals and written):
        raise InputError(
            "--vary", excerpt(text), "is not PATH=RANGE", "write it as models.ball.friction=0.2:1:5"
        )
    call = _CALL.fullmatch(written)
    if call is None:
        spaced = _SPACED.fullmatch(written)
        if spaced is None and _SLIP.fullmatch(written):
            raise _wrong(path, f"'{written}' is no range", _SYNTAX)
        values = _spaced(path, spaced.groups()) if spaced else _listed(path, written)
        return Axis(path, written, values)
    name, inner = call.groups()
    if name == "log":
        spaced = _SPACED.fullmatch(inner)
        if spaced is None:
            raise _wrong(path, f"'{written}' is no range", "write log(a:b:n)")
        return Axis(path, written, _spaced(path, spaced.groups(), is_log=True), is_log=True)
    if name not in _QUANTILES:
        raise _wrong(path, f"'{name}' is no distribution", did_you_mean(name, ("log", *_QUANTILES)))
    return Axis(path, written, None, _spread(path, name, inner), name, name == "loguniform")


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Read all ``PATH=RANGE`` of a sweep.

    Raises:
        InputError: One is wrong, there is none, or two are of one path.
    """
    axes = tuple(parse_axis(text) for text in texts)
    if not axes:
        raise InputError("--vary", "", "nothing is varied", "give --vary PATH=RANGE")
    paths = [axis.path for axis in axes]
    for path in paths:
        if paths.count(path) > 1:
            raise _wrong(path, "is varied twice", "give each path one range")
    return axes


def _wrong(path: str, problem: str, mend: str) -> InputError:
    return InputError("--vary", path, problem, mend)


def _number(path: str, text: str) -> float | int:
    """A finite number; whole where it is written so."""
    try:
        value = parse_value(text)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_finite = is_number and math.isfinite(value)
    except (ValueError, OverflowError):  # whole numbers may have any number of digits
        is_finite = False
    if not is_finite:
        raise _wrong(path, f"'{text.strip()}' is no finite number", _SYNTAX)
    return value


def _spaced(path: str, parts: Sequence[str], is_log: bool = False) -> tuple[Any, ...]:
    """Equally spaced values; whole where ends and steps are."""
    first, last, count = (_number(path, part) for part in parts)
    if not isinstance(count, int) or not 1 <= count <= MOST:
        raise _wrong(path, f"{count} values cannot be", f"give a whole number from 1 to {MOST}")
    if is_log:
        if first <= 0.0 or last <= 0.0:
            raise _wrong(path, "a logarithmic range begins and ends above 0", "give other ends, or a:b:n")
        return tuple(float(value) for value in np.geomspace(first, last, count))
    if isinstance(first, int) and isinstance(last, int) and (last - first) % max(count - 1, 1) == 0:
        return tuple(first + k * (last - first) // max(count - 1, 1) for k in range(count))
    return tuple(float(value) for value in np.linspace(first, last, count))


def _listed(path: str, text: str) -> tuple[Any, ...]:
    """Values with commas between, each as ``--set`` takes it: a flow sequence of YAML without its brackets."""
    try:
        values = parse_value(f"[{text}]")
    except ValueError:
        values = None
    if not isinstance(values, list) or not values:
        raise _wrong(path, f"{excerpt(text)} is no range", _SYNTAX)
    return tuple(values)


def _spread(path: str, name: str, inner: str) -> tuple[float, float]:
    parts = inner.split(",")
    if len(parts) != 2:
        raise _wrong(path, f"{name} takes two numbers", _SYNTAX)
    first, second = (float(_number(path, part)) for part in parts)
    if name == "normal":
        if second < 0.0:
            raise _wrong(path, f"a standard deviation of {second:g} cannot be", "give 0 or more")
    elif not first < second or (name == "loguniform" and first <= 0.0):
        raise _wrong(
            path, f"{name}({first:g}, {second:g}) has no values", "give the lower end first, above 0 for log"
        )
    return first, second
