"""What the machine code of an entry point depends on, and a digest of it.

Looked at are the functions that it reaches, not the files they stand in: an edit of a kernel concerns the entry points
that contain it, and neither comments nor docstrings nor neighbours in the same file concern any. Of other entry points
only the signature counts, since they are called by their symbol.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from hydro_sim_core.compilation.arrays import EntryLayout, Layout, StructLayout
from hydro_sim_core.compilation.kernels import Entry, Kernel, entry_named

#: Sources of this package that decide what machine code is made of a kernel.
_TRANSLATORS = ("arrays.py", "compiler.py", "numba_types.py")


@dataclass(frozen=True)
class Dependencies:
    """What an entry point's machine code depends on.

    Attributes:
        digest: Of everything below, of the signature and of how kernels are translated.
        kernels: Kernels that it contains, its own first.
        entries: Other entry points that it calls.
    """

    digest: str
    kernels: tuple[Kernel, ...]
    entries: tuple[Entry, ...]


@cache
def dependencies(entry: Entry) -> Dependencies:
    """Follow an entry point's calls."""
    kernels: dict[Kernel, None] = {}
    entries: dict[Entry, None] = {}
    digest = hashlib.sha256(_translators())
    digest.update(signature(entry).encode())

    def visit(kernel: Kernel) -> None:
        if kernel in kernels:
            return
        kernels[kernel] = None
        function = kernel.function
        digest.update(repr((repr(kernel), kernel.inline, kernel.constants)).encode())
        _add_code(digest, function.__code__)
        for name, value in sorted(_names(function).items()):
            digest.update(f"{name}={_described(value)};".encode())
            if isinstance(value, Kernel):
                visit(value)
            elif isinstance(value, Entry):
                entries[value] = None

    visit(entry.kernel)
    return Dependencies(digest.hexdigest()[:24], tuple(kernels), tuple(entries))


def signature(entry: Entry) -> str:
    """An entry point's symbol, the layout of its arguments and result, and the signatures of entry points passed."""
    parameters = ", ".join(f"{name}: {layout}" for name, layout in entry.parameters)
    passed = sorted(like for _, layout in entry.parameters for like in _passed_entries(layout))
    return "; ".join(
        [
            f"{entry.symbol}({parameters}) -> {entry.result}",
            *(signature(entry_named(like)) for like in passed),
        ]
    )


def _passed_entries(layout: Layout) -> set[str]:
    """Entry points like which one is passed in a value of this layout."""
    match layout:
        case EntryLayout(like):
            return {like}
        case StructLayout():
            return {like for _, field in layout.fields for like in _passed_entries(field)}
    return set()


@cache
def _translators() -> bytes:
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for name in _TRANSLATORS:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.digest()


def _add_code(digest: Any, code: CodeType) -> None:
    """Everything that a function does; not where it stands, and not what its docstring says."""
    constants = list(code.co_consts)
    if constants and isinstance(constants[0], str):
        constants[0] = None
    nested = [constant for constant in constants if isinstance(constant, CodeType)]
    plain = [constant for constant in constants if not isinstance(constant, CodeType)]
    digest.update(repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, plain)).encode())
    for constant in nested:
        _add_code(digest, constant)


def _names(function: Any) -> dict[str, Any]:
    """Values that a function's names have outside it."""
    found: dict[str, Any] = {}
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        found |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    cells = function.__closure__ or ()
    return found | {
        name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)
    }


def _described(value: Any) -> str:
    match value:
        case Entry():
            return signature(value)
        case Kernel():
            return repr(value)
        case enum.Enum():
            return repr(value.value)
        case bool() | int() | float() | str() | None | np.generic():
            return repr(value)
        case tuple():
            return f"({','.join(_described(item) for item in value)})"
        case np.ndarray():
            return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
        case ModuleType():
            return value.__name__
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
