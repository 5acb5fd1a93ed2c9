"""The two kinds of compiled function: kernels and entry points.

A *kernel* (``@kernel``) is compiled as part of each caller, like a static function in a C header: it has no machine
code of its own, and its types follow from the arguments of each call.

An *entry point* (``@entry``) is compiled once, separately, for the types in its annotations. Its machine code is kept
on disk and called from Python, or from kernels by its symbol. After an edit of a kernel, only the entry points that
contain it are compiled again.

    @kernel
    def distance(points, i, j): ...

    @entry
    def widest(cloud: Cloud, scale: float) -> float: ...

Neither decorator imports Numba: a program whose machine code is all on disk never imports it.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from ctypes import byref
from functools import cached_property, update_wrapper
from typing import Any, ClassVar, NamedTuple, cast, get_type_hints

from hydro_sim_core.compilation.arrays import Layout, NumberLayout, is_struct, layout_of

#: Kernels and entry points stay plain Python functions: for debuggers, documentation and GPU simulators.
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Kernel:
    """A function called by compiled code; see ``kernel``.

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
        """Numba type of this object; Numba reads this attribute of objects of unknown type."""
        from hydro_sim_core.compilation.compiler import dispatcher_type

        return dispatcher_type(self)

    def __call__(self, *args: Any) -> Any:
        """Call the kernel from Python; it is compiled for the arguments' types, again in every process.

        For tests and measurements; programs call entry points.
        """
        from hydro_sim_core.compilation.handles import Handle

        return self._alone(*(Handle(arg) if is_struct(type(arg)) else arg for arg in args))


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False) -> Any:
    """Make a function a kernel.

    Kernels own no memory: they work on scalars and arrays passed by the caller, and one that allocates does not
    compile. Division follows IEEE arithmetic (no ``ZeroDivisionError``) and nothing is reordered, so results are
    bit-identical on all processors. For sine and cosine there is ``arithmetic.sine_cosine``: those of ``math`` are the
    C library's, which differ.

    Args:
        function: The function; omitted when used as ``@kernel(inline=True)``.
        inline: Replace every call by the function's body: for small functions in loops that are to be vectorised.
    """
    if function is None:
        return lambda f: kernel(f, inline=inline)
    if not INTERPRETED:
        return Kernel(function, inline=inline)
    cast(Any, function).function = function  # as a kernel's, for programs that run it in Python
    return function


class Call(NamedTuple):
    """Everything needed to call an entry point.

    Attributes:
        passers: One function per parameter, which appends an argument to those of the C function, and returns an object
            that must live until the call returns, or None.
        code: The C function. It returns a status, and writes its result to the address in its last argument.
        make_result: Allocates the result; None for a function without result.
    """

    passers: tuple[Callable[[Any, list[Any]], Any], ...]
    code: Callable[..., int]
    make_result: Callable[[], Any] | None


class Entry:
    """A separately compiled function; see ``entry``.

    Attributes:
        kernel: The function as a kernel.
        symbol: Name of the function in machine code.
        on_demand: Whether it is compiled and loaded when it is first called, and not with its callers.
    """

    #: All entry points by symbol, in the order of their definition.
    registry: ClassVar[dict[str, Entry]] = {}
    _lock = threading.RLock()

    def __init__(self, kernel: Kernel, *, on_demand: bool = False) -> None:
        self.kernel = kernel
        self.on_demand = on_demand
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
            TypeError: An annotation is missing or has no memory layout.
        """
        code = self.kernel.function.__code__
        names = code.co_varnames[: code.co_argcount]
        missing = [name for name in (*names, "return") if name not in self._hints]
        if missing:
            raise TypeError(f"{self.symbol}: {missing[0]} has no annotation")
        return tuple((name, layout_of(self._hints[name])) for name in names)

    @cached_property
    def result(self) -> NumberLayout | None:
        """Layout of the result; None for a function without result.

        Raises:
            TypeError: The result is not a number.
        """
        hint = self._hints["return"]
        layout = None if hint is type(None) else layout_of(hint)
        if not (layout is None or isinstance(layout, NumberLayout)):
            raise TypeError(f"{self.symbol}: returns {layout}; it must return a number or None")
        return layout

    @property
    def _numba_type_(self) -> Any:
        """Numba type of this object; Numba reads this attribute of objects of unknown type."""
        from hydro_sim_core.compilation import side_by_side
        from hydro_sim_core.compilation.numba_types import EntryType

        # Side by side there are no calls by symbol: arrays have strides, which these do not pass.
        return EntryType(self) if side_by_side.present() is None else self.kernel._numba_type_

    @property
    def is_loaded(self) -> bool:
        """Whether the machine code is in this process."""
        return self._address != 0

    @property
    def address(self) -> int:
        """Address of the machine code, which is loaded if needed, and compiled if it is not on disk."""
        if not self._address:
            self.load()
        return self._address

    @property
    def address_for_callers(self) -> int:
        """Address that machine code calls: its own, or that of a jump to it if it is on demand."""
        from hydro_sim_core.compilation.jumps import jump_to

        return jump_to(self) if self.on_demand else self.address

    def load(self) -> None:
        """Load the machine code into this process; compile it if it is not on disk."""
        from hydro_sim_core.compilation.builds import build

        with Entry._lock:
            self._address = self._address or build(self)
        if self.on_demand:
            from hydro_sim_core.compilation.jumps import lead_to

            lead_to(self, self._address)

    def __call__(self, *args: Any) -> Any:
        """Call the entry point from Python, with the GIL released.

        Raises:
            TypeError: An argument does not fit its annotation.
            IndexError: A kernel reported an error, such as a tuple index out of range.
            CompilationFailed: What it called on demand cannot be compiled.
        """
        if self._call is None:
            from hydro_sim_core.compilation.calls import make_call

            self._call = make_call(self)
        passers, code, make_result = self._call
        if len(args) != len(passers):
            raise TypeError(f"{self.symbol} takes {len(passers)} arguments; {len(args)} were given")
        values: list[Any] = []
        # Handles made here have to live until the call returns.
        kept = [pass_on(arg, values) for pass_on, arg in zip(passers, args, strict=True)]
        if make_result is None:
            status, result = code(*values), None
        else:
            place = make_result()
            status = code(*values, byref(place))
            result = place.value
        del kept
        if status:
            from hydro_sim_core.compilation.jumps import raise_failure

            raise_failure()
            raise IndexError(
                f"{self.symbol}: reached beyond the end of a tuple, or unpacked one of another length"
            )
        return result


def entry(function: Callable[..., Any] | None = None, *, on_demand: bool = False) -> Any:
    """Make a function an entry point, compiled for the types of its annotations; see ``arrays``.

    Args:
        function: The function; omitted when used as ``@entry(on_demand=True)``.
        on_demand: Compile and load it when it is first called: for what few programs need. Who knows that it will be
            called prepares it, see ``builds.prepare``, and loads it.
    """
    if function is None:
        return lambda f: entry(f, on_demand=on_demand)
    return function if INTERPRETED else Entry(Kernel(function, inline=False), on_demand=on_demand)


def entry_from_table(function: Callable[..., Any], module: str, name: str) -> Any:
    """Make an entry point of a function that is defined inside another one, for a row of a table.

    Args:
        function: The function; the kernels that it calls may be values of its closure.
        module: Module with a function ``make_entry(name)``, which makes the same entry point in another process.
        name: Argument of ``make_entry``.
    """
    function.__module__, function.__qualname__ = module, name
    return entry(function)


def entry_named(symbol: str) -> Entry:
    """The entry point with this symbol; if it does not exist yet, its module is imported or makes it."""
    if symbol not in Entry.registry:
        where, _, name = symbol.rpartition(".")
        module = importlib.import_module(where)
        if symbol not in Entry.registry and hasattr(module, "make_entry"):
            module.make_entry(name)
    return Entry.registry[symbol]
