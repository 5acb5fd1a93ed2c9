"""How long making the geometry of a world may take.

A mesh is bounded by itself; a description that states thousands of them, or one at thousands of scales, is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hydro_sim_core.allowed_seconds import allowed_seconds
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.tetrahedralisation import TIME_LIMIT

#: Processor time for the geometry of a world, s. Of the public robots that were tried the worst needs 24 s.
MOST_SECONDS = 60.0

#: Environment variable with another such time.
VARIABLE = "HYDRO_SIM_GEOMETRY_SECONDS"


class GeometryTime:
    """What is left of the time for the geometry of a world.

    Filling surfaces with tetrahedra, in processes of their own, may take as long again as one surface may.

    Raises:
        InputError: The environment variable is no number of seconds.
    """

    def __init__(self) -> None:
        self._seconds = allowed_seconds(VARIABLE, MOST_SECONDS)
        self._meshing_seconds = max(self._seconds, TIME_LIMIT)
        self._taken = self._meshing_taken = 0.0
        self._count = 0

    @contextmanager
    def spent(self, source: str, element: str) -> Iterator[None]:
        """Count the time that a geometry takes.

        Args:
            source: Description that states it, for errors.
            element: Its link and name, for errors.

        Raises:
            InputError: Nothing is left for it.
        """
        self._check(source, element)
        self._count += 1
        began, meshing_began = time.thread_time(), _time_of_children()
        try:
            yield
        finally:
            self._taken += time.thread_time() - began
            self._meshing_taken += _time_of_children() - meshing_began

    def _check(self, source: str, element: str) -> None:
        taken, most, mend = self._taken, self._seconds, "use fewer or simpler meshes"
        if self._meshing_taken >= self._meshing_seconds:
            # What has been filled is kept in the cache.
            taken, most, mend = (
                self._meshing_taken,
                self._meshing_seconds,
                "load it again, which goes on from there",
            )
        if taken >= most:
            problem = (
                f"is not made: the geometry of a world may take {most:g} s of the processor, "
                f"and has taken {taken:.1f} s (shapes: {self._count})"
            )
            raise InputError(source, element, problem, f"{mend}, or set {VARIABLE} to more seconds")


def _time_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system
