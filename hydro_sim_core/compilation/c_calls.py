"""Entry points as C functions, in LLVM's types.

An array is passed as its address and its lengths, a struct as its address. The return value is the status; the result
is written to the address in the last argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir

from hydro_sim_core.compilation.arrays import ArrayLayout, Layout, NumberLayout

if TYPE_CHECKING:
    from hydro_sim_core.compilation.kernels import Entry

BYTE_POINTER = ir.IntType(8).as_pointer()
WORD = ir.IntType(64)
#: Type of the status that an entry point returns: zero, or another number after an error.
STATUS = ir.IntType(32)


def c_types(layout: Layout) -> list[Any]:
    """LLVM types of an argument in C."""
    match layout:
        case ArrayLayout():
            return [BYTE_POINTER] + layout.ndim * [WORD]
        case NumberLayout(kind):
            return [{float: ir.DoubleType(), int: WORD, bool: ir.IntType(8)}[kind]]
    return [BYTE_POINTER]


def c_function_type(entry: Entry) -> Any:
    """LLVM type of an entry point as a C function."""
    arguments = [llvm_type for _, layout in entry.parameters for llvm_type in c_types(layout)]
    return ir.FunctionType(STATUS, arguments if entry.result is None else [*arguments, BYTE_POINTER])
