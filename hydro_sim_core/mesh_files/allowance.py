"""How much processor time the mesh files of one description may take together.

A file is bounded by itself; a description that names many files, each just below that bound, is not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.allowed_seconds import allowed_seconds
from hydro_sim_core.errors import InputError

#: Processor time for the mesh files of one description, s. The worst public robots need 0.9 s with all they show.
MOST_SECONDS = 6.0

#: Environment variable with another such time.
VARIABLE = "HYDRO_SIM_MESH_SECONDS"

#: Most bytes of surfaces that are kept for a description that names their files again.
_KEPT_BYTES = 2**28

Surface = tuple[NDArray[np.float64], NDArray[np.int64]]


class Allowance:
    """What is left for the mesh files of a description, and the surfaces that were read for it.

    Args:
        description: Name of the description, for errors.
        seconds: Processor time for its files, s.
    """

    def __init__(self, description: str, seconds: float) -> None:
        self._description = description
        self._seconds = self._left = seconds
        self._files = 0
        self._surfaces: dict[Path, Surface] = {}

    @property
    def left(self) -> float:
        """Processor time that is left, s; not positive when there is none."""
        return self._left

    def spend(self, seconds: float) -> None:
        """Take processor time from what is left."""
        self._left -= seconds

    @contextmanager
    def file(self, path: Path) -> Iterator[None]:
        """Count the time that this thread takes to read a file.

        Raises:
            InputError: Nothing is left for it.
        """
        if self._left <= 0.0:
            raise self.error(path)
        self._files += 1
        began = time.thread_time()
        try:
            yield
        finally:
            self.spend(time.thread_time() - began)

    def surface(self, path: Path, read: Callable[[], Surface]) -> Surface:
        """The surface of a file, which is read once; its arrays must not be changed.

        Raises:
            InputError: Nothing is left for it, or it cannot be read.
        """
        if path not in self._surfaces:
            with self.file(path):
                surface = read()
            for array in surface:
                array.setflags(write=False)
            kept = sum(array.nbytes for one in (surface, *self._surfaces.values()) for array in one)
            if kept > _KEPT_BYTES:
                self._surfaces.clear()
            self._surfaces[path] = surface
        return self._surfaces[path]

    def error(self, path: Path) -> InputError:
        """The error of a file for which nothing is left."""
        problem = (
            f"is not read: the mesh files of {self._description} may take {self._seconds:g} s of the processor "
            f"together, and have taken {self._seconds - self._left:.1f} s (files: {self._files})"
        )
        return InputError(path, "", problem, f"simplify the meshes, or set {VARIABLE} to more seconds")


_current: ContextVar[Allowance | None] = ContextVar("allowance of mesh files", default=None)


@contextmanager
def shared_allowance(description: object) -> Iterator[None]:
    """Give all mesh files that this thread reads within the context one allowance.

    Within another such context there is nothing to do: the outer one is for the whole.

    Args:
        description: What names the files, for errors.

    Raises:
        InputError: The environment variable is no number of seconds.
    """
    if _current.get() is not None:
        yield
        return
    token = _current.set(Allowance(str(description), allowed_seconds(VARIABLE, MOST_SECONDS)))
    try:
        yield
    finally:
        _current.reset(token)


def current_allowance() -> Allowance:
    """The allowance of the description that is being read; one without end for a file by itself."""
    return _current.get() or Allowance("", math.inf)
