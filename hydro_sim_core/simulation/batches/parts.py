"""What all that a batch does needs: which of its worlds are meant, and that no other thread steps them meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.batches.cpu import CpuWorlds
from hydro_sim_core.simulation.batches.side_by_side import SideBySideWorlds, on_host
from hydro_sim_core.simulation.world.fixed_attributes import FixedAttributes
from hydro_sim_core.simulation.world.world import World

#: What errors name as their source.
SOURCE = "BatchWorld"


class BatchParts(FixedAttributes):
    """Base class of what makes up ``BatchWorld``, which see for the attributes."""

    n: int
    world: World
    scene_of: NDArray[np.int64]
    _scenes: Sequence[World]
    _worlds: CpuWorlds | SideBySideWorlds
    _stepping: threading.Lock

    @contextmanager
    def _alone(self, asker: str) -> Iterator[None]:
        """Let no other thread step the batch meanwhile.

        Raises:
            InputError: One does.
        """
        if not self._stepping.acquire(blocking=False):
            raise InputError(asker, "batch", "is stepped by another thread", "give each thread its own")
        try:
            yield
        finally:
            self._stepping.release()

    def _chosen(self, worlds: Any) -> list[int]:
        """Numbers of the worlds that are chosen by numbers or by a mask; None are all."""
        if worlds is None:
            return list(range(self.n))
        chosen = np.atleast_1d(self._array(worlds))
        if chosen.dtype.kind == "b":
            if chosen.shape != (self.n,):
                problem = f"are a mask of shape {chosen.shape} for {self.n} worlds"
                raise InputError(SOURCE, "worlds", problem, f"give one of shape ({self.n},), or numbers")
            chosen = np.flatnonzero(chosen)
        if not chosen.size:
            return []
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or np.any((chosen < 0) | (chosen >= self.n)):
            raise self._none_of_these(worlds)
        return [int(one) for one in chosen]

    def _one(self, world: Any) -> int:
        """Number of one world."""
        chosen = self._array(world)
        if chosen.dtype.kind not in "iu" or chosen.ndim or not 0 <= chosen < self.n:
            mend = f"give a number below {self.n}"
            if chosen.dtype.kind == "b":
                mend += ", such as those that numpy.flatnonzero makes of a mask"
            raise InputError(SOURCE, f"world {excerpt(world)}", "is none of these", mend)
        return int(chosen)

    def _array(self, numbers: Any) -> NDArray[Any]:
        """Numbers or a mask of worlds, from whatever library, as an array of NumPy."""
        given = array_of(self._worlds.numpy, numbers)
        if given is None:
            raise self._none_of_these(numbers)
        array: NDArray[Any] = on_host(given)
        return array

    def _none_of_these(self, worlds: Any) -> InputError:
        mend = f"give numbers below {self.n}, or a mask of shape ({self.n},)"
        return InputError(SOURCE, f"worlds {excerpt(worlds)}", "are none of these", mend)


def array_of(numpy: Any, values: Any) -> Any | None:
    """Values from whatever library as an array of ``numpy``, or None of what is none."""
    try:
        return numpy.asarray(values)
    except (TypeError, ValueError):
        return None


def finite_numbers(numpy: Any, asker: str, name: str, values: Any, shape: tuple[int, int]) -> Any:
    """Finite numbers of this shape, from whatever library.

    Raises:
        InputError: They are others.
    """
    given = array_of(numpy, values)
    if given is None or given.dtype.kind not in "fiu":
        raise InputError(asker, name, "is not an array of real numbers", f"give numbers of shape {shape}")
    if given.shape != shape:
        raise InputError(asker, name, f"has shape {given.shape}", f"give {shape}")
    if not bool(numpy.isfinite(given).all()):
        raise InputError(asker, name, "holds NaN or infinity", "give finite numbers")
    return given.astype(float)
