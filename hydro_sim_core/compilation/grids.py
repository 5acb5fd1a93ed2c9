"""Grids: kernels that many threads run at once, each with its number, on an NVIDIA GPU or, to test without, here.

A kernel of a grid takes a struct of arrays and numbers, without further structs in it, and the number of the thread.
All threads see the same struct, and the order in which they run is not known. What a thread needs for itself are
``local_arrays``. Kernels are compiled once, not for every scene: the struct is a table in the program's memory, and its
arrays may have any length.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import struct as binary
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hydro_sim_core.compilation.arrays import ArrayLayout, NumberLayout, struct_layout
from hydro_sim_core.compilation.builds import CompilationFailed
from hydro_sim_core.compilation.dependencies import reached_by
from hydro_sim_core.compilation.gpu_programs import host_engine, kept_code, loaded

#: Threads of a block.
THREADS = 128
#: Name of the variable that holds the struct.
TABLE = "hydro_table"
_WORD = 8
_FORMATS = {float: "=d", int: "=q", bool: "=q"}
#: Sources that determine, beside those of kernels, what becomes of a grid.
_TRANSLATORS = (
    "side_by_side.py",
    "ptx.py",
    "grid_code.py",
    "numba_local_arrays.py",
    "numba_types.py",
    "compiler.py",
)


@dataclass(frozen=True)
class Grid:
    """Kernels of one program.

    Attributes:
        module: Module in which the grid stands, for the process that compiles it.
        name: Its name there.
        struct: Class of the struct that all of them take.
        kernels: The kernels.
    """

    module: str
    name: str
    struct: type
    kernels: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        """Names of the kernels, by which they are launched."""
        return [one.__name__ for one in self.kernels]

    @property
    def words(self) -> int:
        """Words of 8 bytes in the struct."""
        fields = struct_layout(self.struct).fields
        return sum(1 + f.ndim if isinstance(f, ArrayLayout) else 1 for _, f in fields)


class GridProgram(Protocol):
    """Runs the kernels of a grid."""

    def place(self, struct: Any) -> None:
        """Let the kernels launched from now on see this struct; its arrays must live until they are done."""

    def launch(self, name: str, n: int) -> None:
        """Run ``n`` threads of a kernel; returns before a GPU has done it."""


class CudaGrid:
    """A grid on the present GPU, in CuPy's current stream.

    Args:
        cupy: CuPy.
        grid: The grid.
        code: PTX of it.
    """

    def __init__(self, cupy: Any, grid: Grid, code: bytes) -> None:
        self._cupy = cupy
        self._module, self._kernels = loaded(cupy, code, grid.names)
        self._there = self._module.get_global(TABLE)
        self._table = _Table(grid.struct, lambda array: array.data.ptr)

    def place(self, struct: Any) -> None:
        """Send the struct to the GPU; see ``GridProgram``."""
        self._table.write(struct)
        words, stream = self._table.words, self._cupy.cuda.get_current_stream()
        # Memory that is not pinned is read before the call returns: it may be written anew at once.
        runtime = self._cupy.cuda.runtime
        runtime.memcpyAsync(
            self._there.ptr, words.ctypes.data, words.nbytes, runtime.memcpyHostToDevice, stream.ptr
        )

    def launch(self, name: str, n: int) -> None:
        """Run ``n`` threads; see ``GridProgram``."""
        if n > 0:
            self._kernels[name]((math.ceil(n / THREADS),), (THREADS,), (np.int64(n),))


class HostGrid:
    """The same grid on this machine's processor, one thread after another.

    Args:
        grid: The grid.
        code: Object file, see ``grid_code.object_code``.
    """

    def __init__(self, grid: Grid, code: bytes) -> None:
        self._engine = host_engine(code)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64)
        self._kernels = {name: kind(self._engine.get_function_address(name)) for name in grid.names}
        self._there = self._engine.get_global_value_address(TABLE)
        self._table = _Table(grid.struct, lambda array: array.ctypes.data)

    def place(self, struct: Any) -> None:
        """Write the struct where the kernels read it; see ``GridProgram``."""
        self._table.write(struct)
        ctypes.memmove(self._there, self._table.words.ctypes.data, self._table.words.nbytes)

    def launch(self, name: str, n: int) -> None:
        """Run ``n`` threads; see ``GridProgram``."""
        self._kernels[name](n)


class _Table:
    """Words of a struct without further structs: addresses and lengths of its arrays, numbers.

    Only what has changed is written anew: a struct has many fields, of which a launch changes few.

    Args:
        struct: Class of the struct.
        address_of: Address of an array, NumPy's or a GPU's.
    """

    def __init__(self, struct: type, address_of: Callable[[Any], int]) -> None:
        self._address_of = address_of
        self._fields, self._values, begin = [], [], 0
        for name, layout in struct_layout(struct).fields:
            if not isinstance(layout, ArrayLayout | NumberLayout):
                raise TypeError(f"{name}: {layout} cannot be a field of a grid's struct")
            self._fields.append((name, layout, begin))
            self._values.append(self)  # nothing that could be a field
            begin += 1 + layout.ndim if isinstance(layout, ArrayLayout) else 1
        self.words = np.zeros(begin, dtype=np.int64)

    def write(self, struct: Any) -> None:
        """Write a struct.

        Raises:
            TypeError: A field does not fit its annotation.
        """
        for i, value in enumerate(struct):
            if value is self._values[i]:
                continue
            name, layout, begin = self._fields[i]
            if isinstance(layout, NumberLayout):
                packed = binary.pack(_FORMATS[layout.kind], layout.number(value, name))
            else:
                if value.dtype != layout.dtype or value.ndim != layout.ndim or not value.flags.c_contiguous:
                    raise TypeError(f"{name} is an array {value.dtype}, {value.shape}; it must be {layout}")
                packed = binary.pack(f"={1 + layout.ndim}q", self._address_of(value), *value.shape)
            self.words[begin : begin + len(packed) // _WORD] = np.frombuffer(packed, dtype=np.int64)
            self._values[i] = value


def stored_code(grid: Grid, processor: str) -> bytes:
    """PTX of a grid for a GPU's processor, from disk if it is there; else compiled, which takes a while, and kept.

    Raises:
        CompilationFailed: It cannot be compiled.
    """
    name = grid.name.lower()
    told = f"compiling {name} for the GPU, once for all scenes"
    return kept_code(f"{name}-{digest_of(grid)}-{processor}", told, lambda: _compiled(grid, processor))


def digest_of(grid: Grid) -> str:
    """Digest of all that a grid's code depends on."""
    digest = hashlib.sha256(repr((grid.names, str(struct_layout(grid.struct)), THREADS)).encode())
    for one in grid.kernels:
        digest.update(reached_by(one).digest.encode())
    digest.update(repr((version("llvmlite"), version("numba"))).encode())
    for name in _TRANSLATORS:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()[:24]


def _compiled(grid: Grid, processor: str) -> bytes:
    """PTX of a grid, by a process of its own: LLVM's options for GPUs hold for all that a process compiles."""
    code = "hydro_sim_core.compilation.grid_code"
    command = [sys.executable, "-P", "-m", code, grid.module, grid.name, processor]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise CompilationFailed(done.stderr.decode(errors="replace").strip())
    return done.stdout
