"""Names of simulations, and what their files in ``/dev/shm`` are called."""

from __future__ import annotations

import os
from pathlib import Path

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.shared_memory.layout import OWNER_LOCK, segment_path
from hydro_sim_core.shared_memory.locks import is_locked

SOURCE = "shared memory"
_LONGEST = 200


def path_of(name: str) -> str:
    """File of the segment of the simulation with this name.

    Raises:
        InputError: The name is none that a file could have.
    """
    if not isinstance(name, str) or not name.strip("/") or not _may_be_file(name):
        raise InputError(
            SOURCE,
            "name",
            f"{excerpt(name)} is no name of a simulation",
            "give that of its node, such as hydro_sim",
        )
    return segment_path(name)


def _may_be_file(name: str) -> bool:
    try:
        return "\0" not in name and len(name.encode()) <= _LONGEST
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def running_simulations() -> list[str]:
    """Names of the simulations that this user may open and that run."""
    example = Path(segment_path("x"))
    prefix = example.name[:-1]
    found = []
    for path in sorted(example.parent.glob(f"{prefix}*")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if is_locked(descriptor, OWNER_LOCK):
                found.append(path.name.removeprefix(prefix))
        finally:
            os.close(descriptor)
    return found
