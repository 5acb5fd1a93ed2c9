"""Loading of object files into this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm

_lock = threading.Lock()
#: LLVM's engines, kept alive because they own the loaded code.
_engines: list[Any] = []


def bind(called: Mapping[str, int]) -> None:
    """Set the addresses of the symbols that the code loaded next calls.

    The addresses are set before each load: a function defined again, as in a notebook, has the symbol of the old one.
    """
    for name, address in called.items():
        llvm.add_symbol(name, address)


def load_code(code: bytes, symbol: str, called: Mapping[str, int]) -> int:
    """Load an object file and return the address of a function in it.

    Args:
        code: The object file.
        symbol: Symbol of the function.
        called: Addresses by symbol of all functions that it calls.
    """
    with _lock:
        if not _engines:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        bind(called)
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = int(engine.get_function_address(symbol))
        if not address:
            raise RuntimeError(f"{symbol}: is not in its object file")
        _engines.append(engine)
        return address
