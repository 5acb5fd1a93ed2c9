"""Contents of a kernel: its bytecode and the values of the global and closure names that it uses.

Both are captured at first access and kept: the compiler gets these values and no later ones, so that machine code
matches its digest even if a program reassigns module variables. A value is refused if its description would not
determine what the compiler makes of it.
"""

from __future__ import annotations

import dis
import enum
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from types import BuiltinFunctionType, CellType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from hydro_sim_core.compilation.arrays import is_struct
from hydro_sim_core.compilation.instructions import Instruction
from hydro_sim_core.compilation.kernels import Entry, Kernel

#: Packages that Numba implements itself: the name of a function and Numba's version determine its machine code.
_LIBRARIES = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator"})
_PLAIN = (bool, int, float, complex, str, bytes, NoneType, EllipsisType)
#: Values of these types, and of libraries, are always described; others only if the bytecode shows that the name is
#: read, since the same name may belong to an attribute. Analysing bytecode takes long.
_CERTAIN = (Kernel, Entry, Instruction, np.ndarray, np.generic, *_PLAIN)
#: Size in bytes beyond which Numba writes the address of an array into machine code instead of its values.
_LARGEST_ARRAY = 1_000_000


@dataclass(frozen=True)
class Contents:
    """Contents of a kernel.

    Attributes:
        function: The kernel's function with the captured values of its names.
        digest: Digest of the bytecode and of these values, without those of the called functions.
        called: Kernels and entry points among the values, in order of discovery.
    """

    function: FunctionType
    digest: bytes
    called: tuple[Kernel | Entry, ...]


@cache
def contents(kernel: Kernel) -> Contents:
    """Contents of a kernel, captured at the first call.

    Raises:
        TypeError: The kernel uses a value that does not determine its machine code.
    """
    return _Look(kernel).contents()


class _Look:
    """Capture of a kernel: freezes and describes every value."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._function: Any = kernel.function
        self._called: list[Kernel | Entry] = []

    def contents(self) -> Contents:
        """Freeze and describe all values."""
        function = self._function
        digest = hashlib.sha256(repr((repr(self._kernel), self._kernel.inline)).encode())
        for code in _codes(function.__code__):
            digest.update(_described_code(code).encode())

        def keep(values: dict[str, Any], *, certain: bool) -> dict[str, Any]:
            kept = {}
            for name, value in sorted(values.items()):
                if certain or isinstance(value, _CERTAIN) or _is_of_library(value) or name in self._reads:
                    kept[name], text = self._keep(value, name)
                    digest.update(f"{name}={text};".encode())
            return kept

        names = {name for code in _codes(function.__code__) for name in code.co_names}
        found = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        outside = keep(found, certain=False)
        closure = keep({name: cell.cell_contents for name, cell in cells}, certain=True)
        parameters = function.__code__.co_varnames
        defaults = function.__defaults__ or ()
        last = parameters[: function.__code__.co_argcount][-len(defaults) :] if defaults else ()
        positional = keep(dict(zip(last, defaults, strict=True)), certain=True)
        keyword = keep(function.__kwdefaults__ or {}, certain=True)

        outside |= {"__name__": function.__module__, "__builtins__": function.__builtins__}
        frozen = FunctionType(
            function.__code__,
            outside,
            function.__name__,
            tuple(positional[name] for name in last) or None,
            tuple(CellType(closure[name]) for name in function.__code__.co_freevars),
        )
        frozen.__kwdefaults__ = keyword or None
        frozen.__qualname__, frozen.__doc__ = function.__qualname__, function.__doc__
        return Contents(frozen, digest.digest(), tuple(self._called))

    @cached_property
    def _reads(self) -> dict[str, set[tuple[str, ...]]]:
        """Global and closure names that the bytecode reads, and the attribute chains that it reads from each."""
        found: dict[str, set[tuple[str, ...]]] = {}
        for code in _codes(self._function.__code__):
            path: list[str] | None = None
            name = ""
            for instruction in [*dis.get_instructions(code), None]:
                operation = instruction.opname if instruction else ""
                if operation == "EXTENDED_ARG":
                    continue
                if path is not None and operation in ("LOAD_ATTR", "LOAD_METHOD"):
                    path.append(instruction.argval)  # type: ignore[union-attr]
                    continue
                if path is not None:
                    found.setdefault(name, set()).add(tuple(path))
                    path = None
                if operation in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
                    name, path = instruction.argval, []  # type: ignore[union-attr]
        return found

    def _keep(self, value: Any, name: str) -> tuple[Any, str]:
        """The frozen value that the compiler gets, and its description."""
        match value:
            case Kernel() | Entry():
                self._called.append(value)
                return value, f"called {len(self._called)}"
            case Instruction():
                return value, repr(value)
            case ModuleType():
                return self._keep_module(value, name)
            case np.ndarray():
                return self._keep_array(value, name)
            case np.generic() if not value.dtype.hasobject:
                return value, f"{value.dtype.descr}{value.tobytes().hex()}"
            case enum.Enum():
                return value, f"{_full_name(type(value))}.{value.name}={self._keep(value.value, name)[1]}"
            case enum.EnumMeta():
                members: dict[str, Any] = dict(value.__members__)
                texts = [self._keep(member, f"{name}.{key}")[1] for key, member in members.items()]
                return value, f"{_full_name(value)}{texts}"
            case tuple():
                items = [self._keep(item, f"{name}[{i}]") for i, item in enumerate(value)]
                frozen = [item for item, _ in items]
                text = ",".join(text for _, text in items)
                if not is_struct(type(value)):
                    return tuple(frozen), f"({text})"
                return type(value)._make(frozen), f"{self._described_struct(type(value), name)}({text})"  # type: ignore[attr-defined]
        if type(value) in _PLAIN:
            return value, f"{type(value).__name__} {value!r}"
        if is_struct(value):
            return value, self._described_struct(value, name)
        if _is_of_library(value):
            return value, _full_name(value)
        raise TypeError(
            f"{self._kernel!r} uses {name}, a {type(value).__name__}: what machine code becomes of that cannot be "
            "told; use numbers, tuples, enums, small arrays, kernels and entry points"
        )

    def _keep_array(self, array: np.ndarray, name: str) -> tuple[np.ndarray, str]:
        if array.dtype.hasobject or array.nbytes > _LARGEST_ARRAY:
            raise TypeError(
                f"{self._kernel!r} uses {name}, a large array or one of objects: pass it to the kernel"
            )
        frozen = array.copy(order="K")
        frozen.setflags(write=array.flags.writeable)
        content = hashlib.sha256(frozen.tobytes(order="A")).hexdigest()
        return frozen, f"{frozen.dtype.descr}{frozen.shape}{frozen.strides}{content}"

    def _keep_module(self, module: ModuleType, name: str) -> tuple[ModuleType, str]:
        if _is_of_library(module):
            return module, f"module {module.__name__}"
        frozen, texts = ModuleType(module.__name__), []
        paths = self._reads.get(name.partition(".")[0], {()})
        own = tuple(name.split(".")[1:])
        read = {path[len(own) :] for path in paths if path[: len(own)] == own}
        if () in read:
            raise TypeError(f"{self._kernel!r} uses {name}, a module, other than by its attributes")
        for attribute in sorted({path[0] for path in read}):
            if not hasattr(module, attribute):
                raise TypeError(f"{self._kernel!r} uses {name}.{attribute}, which does not exist")
            value, text = self._keep(getattr(module, attribute), f"{name}.{attribute}")
            setattr(frozen, attribute, value)
            texts.append(f"{attribute}={text}")
        return frozen, f"module {module.__name__}{texts}"

    def _described_struct(self, struct: Any, name: str) -> str:
        defaults = {
            field: self._keep(value, f"{name}.{field}")[1] for field, value in struct._field_defaults.items()
        }
        return f"{_full_name(struct)}{struct._fields}{defaults}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Code of a function and of all functions nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _described_code(code: CodeType) -> str:
    """Description of a function's behaviour, without its location in the file and its docstring."""
    constants = list(code.co_consts)
    is_function = not code.co_name.startswith("<")  # lambdas and comprehensions have no docstring
    if is_function and constants and isinstance(constants[0], str):
        constants[0] = None
    return repr(
        (
            code.co_code,
            code.co_flags,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            code.co_exceptiontable,
            [_described_constant(constant) for constant in constants],
        )
    )


def _described_constant(constant: Any) -> str:
    match constant:
        case CodeType():
            return "code"
        case frozenset():
            return f"set{sorted(map(_described_constant, constant))}"
        case tuple():
            return f"({','.join(map(_described_constant, constant))})"
    return repr(constant)


def _full_name(value: Any) -> str:
    return f"{getattr(value, '__module__', 'numpy')}.{getattr(value, '__qualname__', value.__name__)}"


def _is_of_library(value: Any) -> bool:
    """Whether a value is a module, class or function that Numba implements itself."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value
    if not isinstance(value, type | FunctionType | BuiltinFunctionType):
        return False
    return (value.__module__ or "").partition(".")[0] in _LIBRARIES
