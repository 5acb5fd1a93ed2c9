"""Jumps to entry points on demand, by which callers reach them wherever they are, and whether they are there yet."""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir

from hydro_sim_core.compilation.c_calls import c_function_type
from hydro_sim_core.compilation.calls import c_prototype
from hydro_sim_core.compilation.kernels import Entry
from hydro_sim_core.compilation.machine_code import load_text

#: Where each jump leads, with what has to live as long as it may be taken.
_jumps: dict[Entry, tuple[int, ctypes.c_void_p, Any]] = {}
#: Why entry points could not be loaded when they were called, until somebody is told.
_failures: list[BaseException] = []


def jump_to(entry: Entry) -> int:
    """Address of a function that calls an entry point on demand, and has it loaded at its first call."""
    if entry not in _jumps:
        prototype = c_prototype(entry)
        loads = prototype(lambda *args: _load_and_call(entry, prototype, args))
        jump, place = _made_jump(entry)
        target = ctypes.c_void_p.from_address(place)
        target.value = entry.address if entry.is_loaded else ctypes.cast(loads, ctypes.c_void_p).value
        _jumps[entry] = jump, target, loads
    return _jumps[entry][0]


def lead_to(entry: Entry, address: int) -> None:
    """Let the jump to an entry point that has been loaded lead to it, if there is a jump."""
    if entry in _jumps:
        _jumps[entry][1].value = address


def raise_failure() -> None:
    """Raise why an entry point could not be loaded when it was called; nothing if that is not what went wrong."""
    if _failures:
        raise _failures.pop()


def _load_and_call(entry: Entry, prototype: Any, args: tuple[Any, ...]) -> int:
    try:
        status: int = prototype(entry.address)(*args)
        return status
    except BaseException as error:  # machine code is between here and whoever may handle it, Ctrl-C as well
        _failures.append(error)
        return 1


def _made_jump(entry: Entry) -> tuple[int, int]:
    """Addresses of a function that calls what another address points to, and of that."""
    kind = c_function_type(entry)
    module = ir.Module(f"jump to {entry.symbol}")
    target = ir.GlobalVariable(module, kind.as_pointer(), "target")
    target.initializer = ir.Constant(kind.as_pointer(), None)
    target.linkage = "internal"
    jump = ir.Function(module, kind, "jump")
    builder = ir.IRBuilder(jump.append_basic_block())
    builder.ret(builder.call(builder.load(target), jump.args, tail=True))
    place = ir.Function(module, ir.FunctionType(target.type, []), "place")
    ir.IRBuilder(place.append_basic_block()).ret(target)
    at_jump, at_place = load_text(str(module), "jump", "place")
    return at_jump, ctypes.CFUNCTYPE(ctypes.c_size_t)(at_place)()
