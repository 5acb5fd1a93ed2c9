"""The two kinds of compiled function.

A *kernel* (``@kernel``) is part of whoever calls it, like a static function in a C header: it has no code of its own,
and is typed anew for the arguments of each caller.

An *entry point* (``@entry``) is compiled for the types that its annotations say, alone, once: it has machine code of
its own, which is kept on disk, called from Python, and called from kernels by its symbol. An edit compiles anew just
the entry points that contain the edited kernel.

    @kernel
    def distance(points, i, j): ...

    @entry
    def widest(cloud: Cloud, scale: float) -> float: ...

Neither imports Numba: where all code is found on disk, nothing does.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from ctypes import byref
from functools import cached_property, update_wrapper
from typing import Any, ClassVar, NamedTuple, get_type_hints

from hydro_sim_core.compilation.arrays import Layout, NumberLayout, is_struct, layout_of

#: Kernels and entry points stay the Python functions that they are: for debuggers, documentation and simulators
#: of GPUs.
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Kernel:
    """A function for compiled code; see ``kernel``.

    Attributes:
        function: The Python function.
        inline: Whether every call is replaced by the function's body.
    """

    def __init__(self, function: Callable[..., Any], *, inline: bool) -> None:
        self.function = function
        self.inline = inline
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self.function.__module__}.{self.function.__qualname__}>"

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object for calls from other kernels."""
        from hydro_sim_core.compilation.compiler import make_dispatcher

        return make_dispatcher(self)

    @cached_property
    def _alone(self) -> Any:
        from hydro_sim_core.compilation.compiler import make_callable

        return make_callable(self)

    @property
    def _numba_type_(self) -> Any:
        """Where Numba looks for the type of an object that it does not know."""
        from hydro_sim_core.compilation.compiler import dispatcher_type

        return dispatcher_type(self)

    def __call__(self, *args: Any) -> Any:
        """Call the kernel from Python: it is compiled for the arguments' types, at each start anew.

        For tests and measurements; what a program calls is an entry point.
        """
        from hydro_sim_core.compilation.handles import Handle

        return self._alone(*(Handle(arg) if is_struct(type(arg)) else arg for arg in args))


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False) -> Any:
    """Make a function a kernel.

    Kernels own no memory: they work on scalars and arrays that they are given, and one that allocates does not compile.
    Division follows IEEE arithmetic (no ``ZeroDivisionError``) and nothing is reordered, so results are bit-identical
    on all processors. For sine and cosine there is ``arithmetic.sine_cosine``: those of ``math`` are the C library's,
    which differ.

    Args:
        function: The function; omitted when used as ``@kernel(inline=True)``.
        inline: Replace every call by the function's body: for small functions in loops that are to be vectorised.
    """
    if function is None:
        return lambda f: kernel(f, inline=inline)
    return function if INTERPRETED else Kernel(function, inline=inline)


class Call(NamedTuple):
    """What it takes to call an entry point.

    Attributes:
        passers: For every parameter, what appends an argument to those of the C function, and returns what must live
            until that has been called.
        code: The C function. It returns a status, and writes its result where its last argument points.
        make_result: Makes a place for the result; None where there is none.
    """

    passers: tuple[Callable[[Any, list[Any]], Any], ...]
    code: Callable[..., int]
    make_result: Callable[[], Any] | None


class Entry:
    """An entry point; see ``entry``.

    Attributes:
        kernel: What is compiled.
        symbol: Its name in machine code.
    """

    #: All entry points by symbol, in the order of their definition.
    registry: ClassVar[dict[str, Entry]] = {}
    _lock = threading.RLock()

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        function = kernel.function
        self.symbol = f"{function.__module__}.{function.__qualname__}"
        self._address = 0
        self._call: Call | None = None
        update_wrapper(self, function)
        Entry.registry[self.symbol] = self

    def __repr__(self) -> str:
        return f"<entry point {self.symbol}>"

    def __reduce__(self) -> Any:
        return entry_named, (self.symbol,)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.kernel.function, include_extras=True)

    @cached_property
    def parameters(self) -> tuple[tuple[str, Layout], ...]:
        """Name and layout of every parameter.

        Raises:
            TypeError: An annotation is missing or says nothing about memory.
        """
        code = self.kernel.function.__code__
        names = code.co_varnames[: code.co_argcount]
        missing = [name for name in (*names, "return") if name not in self._hints]
        if missing:
            raise TypeError(f"{self.symbol}: {missing[0]} has no annotation")
        return tuple((name, layout_of(self._hints[name])) for name in names)

    @cached_property
    def result(self) -> NumberLayout | None:
        """Layout of the result; None where there is none.

        Raises:
            TypeError: It is no number.
        """
        hint = self._hints["return"]
        layout = None if hint is type(None) else layout_of(hint)
        if not (layout is None or isinstance(layout, NumberLayout)):
            raise TypeError(f"{self.symbol}: returns {layout}; it must return a number or None")
        return layout

    @property
    def _numba_type_(self) -> Any:
        """Where Numba looks for the type of an object that it does not know."""
        from hydro_sim_core.compilation.numba_types import EntryType

        return EntryType(self)

    @property
    def is_loaded(self) -> bool:
        """Whether the machine code is in this process."""
        return self._address != 0

    @property
    def address(self) -> int:
        """Address of the machine code, which is loaded, and compiled if it is found nowhere."""
        if not self._address:
            self.load()
        return self._address

    def load(self) -> None:
        """Bring the machine code into this process; compile it if it is found nowhere."""
        from hydro_sim_core.compilation.builds import build

        with Entry._lock:
            self._address = self._address or build(self)

    def __call__(self, *args: Any) -> Any:
        """Call the entry point from Python; other Python threads run meanwhile.

        Raises:
            TypeError: An argument is not what its annotation says.
            IndexError: A kernel went wrong.
        """
        if self._call is None:
            from hydro_sim_core.compilation.calls import make_call

            self._call = make_call(self)
        passers, code, make_result = self._call
        if len(args) != len(passers):
            raise TypeError(f"{self.symbol} takes {len(passers)} arguments; {len(args)} were given")
        values: list[Any] = []
        # Handles that are made here live until the call is done.
        kept = [pass_on(arg, values) for pass_on, arg in zip(passers, args, strict=True)]
        if make_result is None:
            status, result = code(*values), None
        else:
            place = make_result()
            status = code(*values, byref(place))
            result = place.value
        del kept
        if status:
            raise IndexError(
                f"{self.symbol}: reached beyond the end of a tuple, or unpacked one of another length"
            )
        return result


def entry(function: Callable[..., Any]) -> Any:
    """Make a function an entry point. Its annotations say what it is compiled for; see ``arrays``."""
    return function if INTERPRETED else Entry(Kernel(function, inline=False))


def entry_from_table(function: Callable[..., Any], module: str, name: str) -> Any:
    """Make a function that was made within another one, for a row of a table, an entry point.

    Args:
        function: The function; the kernels that it calls may be values of its closure.
        module: The module that has ``make_entry(name)``, which makes it in another process.
        name: Its name there.
    """
    function.__module__, function.__qualname__ = module, name
    return entry(function)


def entry_named(symbol: str) -> Entry:
    """The entry point with this symbol; its module is imported, or has to make it, if need be."""
    if symbol not in Entry.registry:
        where, _, name = symbol.rpartition(".")
        module = importlib.import_module(where)
        if symbol not in Entry.registry and hasattr(module, "make_entry"):
            module.make_entry(name)
    return Entry.registry[symbol]
