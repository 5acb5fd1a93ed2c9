"""Indices of arrays in kernels: never negative, so that no code counts them from the end.

Numba adds the length to every index that may be negative, a handful of instructions for each access to an array whose
index has been read from another one. Kernels have no such index. With the variable ``HYDRO_SIM_CHECK_INDICES`` set,
code is compiled that ends the process, with the kernel's name, at the first index that is negative or beyond the end;
``make test-indices`` runs tests that way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np import arrayobj

#: Whether every index is checked.
CHECKED = bool(os.environ.get("HYDRO_SIM_CHECK_INDICES"))
#: Functions of the C library that checks call.
CALLED = frozenset({"abort", "puts"}) if CHECKED else frozenset()


@contextmanager
def plain_indices() -> Iterator[None]:
    """Let Numba take indices as they are."""
    own = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = _checked if CHECKED else _plain
    try:
        yield
    finally:
        arrayobj.fix_integer_index = own


def _plain(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    return context.cast(builder, index, kind, types.intp)


def _checked(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    index = _plain(context, builder, kind, index, size)
    with builder.if_then(builder.icmp_unsigned(">=", index, size), likely=False):
        text = context.insert_const_string(
            builder.module, f"index out of range in {_named(builder.function)}"
        )
        _call(builder, "puts", ir.IntType(32), text)
        _call(builder, "abort", ir.VoidType())
    return index


def _named(function: Any) -> str:
    """The kernel's name in that of its machine code, where the length of each part stands before it."""
    parts, rest = [], function.name.removeprefix("_ZN")
    while found := re.match(r"\d+", rest):
        begin, length = found.end(), int(found.group())
        parts.append(rest[begin : begin + length])
        rest = rest[begin + length :]
    return ".".join(parts) or str(function.name)


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> None:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)
