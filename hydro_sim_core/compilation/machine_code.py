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
        bind(called)
        engine = _made_engine("")
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = int(engine.get_function_address(symbol))
        if not address:
            raise RuntimeError(f"{symbol}: is not in its object file")
        return address


def load_text(text: str, *names: str) -> tuple[int, ...]:
    """Compile a small module of LLVM's assembly language, and return the addresses of functions in it.

    Args:
        text: The module.
        *names: Names of the functions.
    """
    with _lock:
        engine = _made_engine(text)
        engine.finalize_object()
        return tuple(int(engine.get_function_address(name)) for name in names)


def _made_engine(text: str) -> Any:
    """An engine with a module, which is kept alive."""
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    _engines.append(llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine))
    return _engines[-1]
