"""Object files into this process."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import llvmlite.binding as llvm

#: Symbol of a word that machine code sets where Numba would raise an exception.
FAILED_SYMBOL = "hydro_sim.kernel_failed"
failed = ctypes.c_int64(0)

_lock = threading.Lock()
#: Engines own the code that they loaded.
_engines: list[Any] = []


def load_code(code: bytes, symbol: str) -> int:
    """Address of a function in an object file; later files may call it by its symbol.

    Args:
        code: The object file. What it calls by symbol must have been loaded before.
        symbol: The function.
    """
    with _lock:
        if not _engines:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            llvm.add_symbol(FAILED_SYMBOL, ctypes.addressof(failed))
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = int(engine.get_function_address(symbol))
        if not address:
            raise RuntimeError(f"{symbol}: is not in its object file")
        _engines.append(engine)
        llvm.add_symbol(symbol, address)
        return address
