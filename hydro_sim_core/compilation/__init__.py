"""Compiled functions: definition, compilation by Numba, cache on disk and calls."""

from hydro_sim_core.compilation.arrays import (
    Bool1D,
    Bool2D,
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    EntryLayout,
    Float1D,
    Float2D,
    Float3D,
    Int1D,
    Int2D,
    Int3D,
)
from hydro_sim_core.compilation.builds import CompilationFailed, make_ready, prepare
from hydro_sim_core.compilation.handles import Handle
from hydro_sim_core.compilation.kernels import Entry, entry, entry_from_table, kernel
from hydro_sim_core.compilation.store import cache_root, kernels_are_kept, make_private_folder

__all__ = [
    "Bool1D",
    "Bool2D",
    "CompilationFailed",
    "ConstBool1D",
    "ConstFloat1D",
    "ConstFloat2D",
    "ConstFloat3D",
    "ConstInt1D",
    "ConstInt2D",
    "Entry",
    "EntryLayout",
    "Float1D",
    "Float2D",
    "Float3D",
    "Handle",
    "Int1D",
    "Int2D",
    "Int3D",
    "cache_root",
    "entry",
    "entry_from_table",
    "kernel",
    "kernels_are_kept",
    "make_private_folder",
    "make_ready",
    "prepare",
]
