"""Object files into this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm

_lock = threading.Lock()
#: Engines own the code that they loaded.
_engines: list[Any] = []


def bind(called: Mapping[str, int]) -> None:
    """Say where code that is loaded next finds what it calls.

    This is said for each anew: what is defined anew, as in a notebook, has the symbol of what was there.
    """
    for name, address in called.items():
        llvm.add_symbol(name, address)


def load_code(code: bytes, symbol: str, called: Mapping[str, int]) -> int:
    """Address of a function in an object file.

    Args:
        code: The object file.
        symbol: The function.
        called: Address of everything that it calls by symbol.
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
