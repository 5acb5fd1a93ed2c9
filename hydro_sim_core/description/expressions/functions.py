"""Functions and constants of expressions: those of Python and of ``math`` that robots are described with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import add as _add
from typing import Any

from hydro_sim_core.description.expressions.budget import Budget
from hydro_sim_core.description.expressions.operators import plain
from hydro_sim_core.description.expressions.values import (
    MOST_UNITS,
    PLAIN,
    ExpressionError,
    Function,
    Namespace,
    hashable_items,
    items_of,
    type_name,
    whole,
)

#: Functions of ``math`` that take and make numbers of bounded size.
_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "degrees", "dist", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod",
    "frexp", "fsum", "gamma", "gcd", "hypot", "isclose", "isfinite", "isinf", "isnan", "isqrt",
    "ldexp", "lgamma", "log", "log10", "log1p", "log2", "modf", "nextafter", "pow", "radians",
    "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "ulp",
)  # fmt: skip
#: Functions of ``math`` that make whole numbers which grow fast, with the largest argument.
_GROWING = {"factorial": 400, "comb": 2000, "perm": 400}
_CONSTANTS = ("e", "inf", "nan", "pi", "tau")
#: Names that a bare expression may use beside those of ``math``; all are also names of ``python``.
_BARE = [
    "list",
    "dict",
    "map",
    "len",
    "str",
    "float",
    "int",
    "bool",
    "min",
    "max",
    "round",
    "sorted",
    "range",
]


def math_names() -> dict[str, object]:
    """Functions and constants of ``math``."""
    names: dict[str, object] = {name: getattr(math, name) for name in _CONSTANTS}
    for name in _MATH:
        names[name] = Function(name, _of_numbers(getattr(math, name)))
    for name, most in _GROWING.items():
        names[name] = Function(name, _bounded(getattr(math, name), most))
    return names


def python_names(budget: Budget) -> dict[str, object]:
    """Functions of Python.

    Args:
        budget: What the functions spend that call others.
    """
    calls: dict[str, Callable[..., object]] = {
        "abs": abs,
        "all": lambda values: all(items_of(values)),
        "any": lambda values: any(items_of(values)),
        "divmod": divmod,
        "enumerate": lambda values, start=0: list(enumerate(items_of(values), whole(start))),
        "filter": lambda choice, values: [
            item for item in items_of(values) if (item if choice is None else _called(budget, choice, item))
        ],
        "isinstance": _is_instance,
        "len": _length,
        "map": lambda function, *values: [
            _called(budget, function, *items) for items in zip(*map(items_of, values), strict=False)
        ],
        "max": lambda *values, **named: _extreme(budget, max, values, named),
        "min": lambda *values, **named: _extreme(budget, min, values, named),
        "ord": ord,
        "range": _range,
        "repr": lambda value: repr(plain(value)),
        "reversed": lambda values: list(reversed(list(items_of(values)))),
        "round": _round,
        "sorted": lambda values, **named: sorted(items_of(values), **_sort_keys(budget, named)),
        "sum": lambda values, start=0: _sum(budget, values, start),
        "zip": lambda *values: list(zip(*map(items_of, values), strict=False)),
    }
    kinds: dict[str, tuple[type, Callable[..., object]]] = {
        "bool": (bool, lambda value=False: bool(plain(value))),
        "dict": (dict, _dict),
        "float": (float, lambda value=0.0: float(value)),
        "frozenset": (frozenset, lambda values=(): frozenset(hashable_items(items_of(values)))),
        "int": (int, lambda value=0, *base, **named: int(value, *base, **named)),
        "list": (list, lambda values=(): list(items_of(values))),
        "set": (set, lambda values=(): set(hashable_items(items_of(values)))),
        "str": (str, lambda value="": str(value if isinstance(value, Function) else plain(value))),
        "tuple": (tuple, lambda values=(): tuple(items_of(values))),
    }
    names: dict[str, object] = {name: Function(name, call) for name, call in calls.items()}
    names |= {name: Function(name, call, kind) for name, (kind, call) in kinds.items()}
    by_kind = {kind: names[name] for name, (kind, _) in kinds.items()}
    names["type"] = Function("type", lambda value: _type_of(value, by_kind))
    return names


def global_names(budget: Budget) -> dict[str, object]:
    """All names that an expression finds without a property of the file: Python's, and those of ``math``."""
    python, mathematics = python_names(budget), math_names()
    return {
        **mathematics,
        **{name: python[name] for name in _BARE},
        "python": Namespace("python", python),
        "math": Namespace("math", mathematics),
    }


def _called(budget: Budget, function: object, *arguments: object) -> object:
    if not isinstance(function, Function):
        raise ExpressionError(f"{type_name(function)} is no function")
    budget.spend()
    return budget.accept(function.call(*arguments))


def _of_numbers(function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object, **named: object) -> object:
        for argument in arguments:
            if not isinstance(argument, (int, float, list, tuple)):
                raise ExpressionError(f"{type_name(argument)} is no number")
        return function(*arguments, **named)

    return call


def _bounded(function: Callable[..., int], most: int) -> Callable[..., int]:
    return lambda *arguments: function(*(whole(argument, most) for argument in arguments))


def _round(number: Any, ndigits: int | None = None) -> object:
    return round(number) if ndigits is None else round(number, whole(ndigits, 400))


def _range(*bounds: int) -> range:
    made = range(*(whole(bound, 2**62) for bound in bounds))
    if len(made) > MOST_UNITS:
        raise ExpressionError("a range becomes too large")
    return made


def _length(value: object) -> int:
    items = items_of(value)
    return len(items)  # type: ignore[arg-type]


def _sum(budget: Budget, values: object, start: object) -> object:
    total = plain(start)
    for item in items_of(values):
        total = budget.accept(_add(total, plain(item)))
    return total


def _extreme(
    budget: Budget, choose: Callable[..., object], values: tuple[object, ...], named: dict[str, object]
) -> object:
    candidates: Iterable[object] = items_of(values[0]) if len(values) == 1 else values
    default = {"default": named.pop("default")} if "default" in named else {}
    return choose(candidates, **_sort_keys(budget, named), **default)


def _sort_keys(budget: Budget, named: dict[str, object]) -> dict[str, Any]:
    """Keywords of ``sorted``, ``min`` and ``max``, with a key that Python can call."""
    unknown = set(named) - {"key", "reverse"}
    if unknown:
        raise ExpressionError(f"'{min(unknown)}' is no keyword here")
    keywords: dict[str, Any] = dict(named)
    if keywords.get("key") is not None:
        function = keywords["key"]
        keywords["key"] = lambda item: _called(budget, function, item)
    return keywords


def _dict(values: object = (), **named: object) -> dict[object, object]:
    made: dict[object, object] = {}
    if isinstance(values, dict):
        made.update(values)
    else:
        for pair in hashable_items(items_of(values)):
            key, value = items_of(pair)
            made[key] = value
    made.update(named)
    return made


def _is_instance(value: object, kinds: object) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    types = [kind.kind for kind in wanted if isinstance(kind, Function) and kind.kind is not None]
    if len(types) != len(wanted):
        raise ExpressionError("isinstance takes a type, such as str")
    return isinstance(value, tuple(types))


def _type_of(value: object, by_kind: dict[type, object]) -> object:
    plain(value)
    for kind in (bool, *PLAIN):
        if isinstance(value, kind) and kind in by_kind:
            return by_kind[kind]
    raise ExpressionError(f"{type_name(value)} has no type here")
