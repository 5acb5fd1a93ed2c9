"""Operators of expressions, each with a bound on what it makes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from hydro_sim_core.description.expressions.values import (
    MOST_BITS,
    PLAIN,
    ExpressionError,
    Function,
    check_length,
    type_name,
    units_of,
    whole,
)

#: One conversion of ``'…' % value``; width and precision have at most two digits.
_CONVERSION = re.compile(r"%(?:\(\w+\))?[#0 +-]*(?:\d{1,2}(?!\d))?(?:\.\d{0,2}(?!\d))?[diouxXeEfFgGcrsa%]")


def _multiply(a: Any, b: Any) -> object:
    for many, count in ((a, b), (b, a)):
        if isinstance(many, str | list | tuple) and isinstance(count, int):
            check_length(8 * units_of(many) * max(whole(count), 0))
    return a * b


def power(a: Any, b: Any) -> object:
    """``a ** b``; whole numbers are refused before they grow."""
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and a.bit_length() * abs(b) > 2 * MOST_BITS:
        raise ExpressionError("a whole number becomes too large")
    return a**b


def _modulo(a: Any, b: Any) -> object:
    if isinstance(a, str):
        rest = _CONVERSION.sub("", a)
        if "%" in rest:
            raise ExpressionError("this '%' format is not available here")
        check_length(len(a) + 128 * a.count("%") + a.count("%") * 8 * units_of(b))
    return a % b


def _shift_left(a: Any, b: Any) -> object:
    return whole(a) << whole(b, MOST_BITS)


BINARY: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: power,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}

UNARY: dict[type[ast.unaryop], Callable[[Any], object]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def plain(value: object) -> object:
    """``value``, if operators may take it.

    Raises:
        ExpressionError: It is a function, a name space or an element of the file.
    """
    if not isinstance(value, (*PLAIN, Function)):
        raise ExpressionError(f"{type_name(value)} is no number, text, list or dict")
    return value
