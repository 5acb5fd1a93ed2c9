"""Calls of machine code from Python through ``ctypes``, with the GIL released."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from hydro_sim_core.compilation.arrays import (
    ArrayLayout,
    EntryLayout,
    Layout,
    NumberLayout,
    StructLayout,
)
from hydro_sim_core.compilation.handles import Handle, address_of, address_of_entry, as_handle
from hydro_sim_core.compilation.kernels import Call, Entry

_NUMBERS: dict[type, Any] = {float: ctypes.c_double, int: ctypes.c_int64, bool: ctypes.c_bool}


def make_call(entry: Entry) -> Call:
    """Prepare calls of an entry point, whose machine code must be loaded."""
    passers = tuple(_passer(name, layout) for name, layout in entry.parameters)
    return Call(
        passers,
        c_prototype(entry)(entry.address),
        None if entry.result is None else _NUMBERS[entry.result.kind],
    )


def _passer(name: str, layout: Layout) -> Callable[[Any, list[Any]], Any]:
    def pass_struct(arg: Any, values: list[Any]) -> Any:
        is_handle = type(arg) is Handle and arg.layout is layout
        handle = arg if is_handle else as_handle(arg, layout, name)  # type: ignore[arg-type]
        values.append(handle.address)
        return handle

    def pass_array(arg: Any, values: list[Any]) -> None:
        layout.check(arg, name)  # type: ignore[union-attr]
        values.append(address_of(arg))
        values.extend(arg.shape)

    def pass_int(arg: Any, values: list[Any]) -> None:
        small = type(arg) is int and -(2**63) <= arg < 2**63
        values.append(arg if small else layout.number(arg, name))  # type: ignore[union-attr]

    def pass_number(arg: Any, values: list[Any]) -> None:
        values.append(arg if type(arg) is kind else layout.number(arg, name))  # type: ignore[union-attr]

    def pass_entry(arg: Any, values: list[Any]) -> None:
        values.append(address_of_entry(arg, layout, name))  # type: ignore[arg-type]

    match layout:
        case StructLayout():
            return pass_struct
        case ArrayLayout():
            return pass_array
        case EntryLayout():
            return pass_entry
        case NumberLayout(kind):
            return pass_int if kind is int else pass_number


def c_prototype(entry: Entry) -> Any:
    """The type in ``ctypes`` of an entry point as a C function."""
    arguments: list[Any] = []
    for _, layout in entry.parameters:
        match layout:
            case NumberLayout(kind):
                arguments.append(_NUMBERS[kind])
            case ArrayLayout():
                arguments += [ctypes.c_void_p] + layout.ndim * [ctypes.c_int64]
            case _:
                arguments.append(ctypes.c_void_p)
    if entry.result is not None:
        arguments.append(ctypes.c_void_p)
    return ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)
