"""Small arrays of a thread of its own, for kernels that run as a grid (see ``grids``): registers, or its stack.

They hold anything at first, and end with the function that made them: a kernel may pass them on, but return none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hydro_sim_core.compilation.instructions import Instruction
from hydro_sim_core.compilation.kernels import INTERPRETED


class LocalArray(Instruction):
    """Makes an array whose lengths are constants of the kernel."""

    @property
    def _numba_type_(self) -> Any:
        """Numba type of this object; Numba reads this attribute of objects of unknown type."""
        from hydro_sim_core.compilation.numba_local_arrays import LocalArrayType

        return LocalArrayType(self.name)


def _local_array(function: Callable[..., Any]) -> Any:
    return function if INTERPRETED else LocalArray(function)


@_local_array
def local_floats(*lengths: int) -> np.ndarray:
    """An array of floats."""
    return np.zeros(lengths)


@_local_array
def local_ints(*lengths: int) -> np.ndarray:
    """An array of ints."""
    return np.zeros(lengths, dtype=np.int64)
