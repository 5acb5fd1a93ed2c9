"""Cache of meshes on disk, addressed by a digest of their input."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from hydro_sim_core.compilation import cache_root, make_private_folder
from hydro_sim_core.geometry.geometry import FloatArray, IntArray

_LOG = logging.getLogger(__name__)

#: Version of the format; to be increased whenever the meaning of the stored data changes.
_FORMAT = 4


def load_arrays(
    vertices: FloatArray,
    triangles: IntArray,
    options: Mapping[str, object],
    check: Callable[[dict[str, np.ndarray]], None],
) -> dict[str, np.ndarray] | None:
    """Arrays that were stored for this surface and pass a check, which raises for others, or None."""
    path = _path(vertices, triangles, options)
    if not path.exists():
        return None
    try:
        with np.load(path) as stored:
            arrays = dict(stored)
        check(arrays)
    except Exception as error:  # a damaged archive raises anything
        _LOG.warning("%s is damaged (%s): the mesh is made again", path, type(error).__name__)
        return None
    return arrays


def store_arrays(
    vertices: FloatArray,
    triangles: IntArray,
    options: Mapping[str, object],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Store the arrays; if the folder cannot be written, they are computed again next time."""
    path = _path(vertices, triangles, options)
    temporary = ""
    try:
        make_private_folder(path.parent)
        # Two processes may store at the same time: each writes its own file and renames it.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
    except OSError as error:
        _LOG.warning("%s cannot be written (%s): the mesh is made again next time", path, error.strerror)
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def _path(vertices: FloatArray, triangles: IntArray, options: Mapping[str, object]) -> Path:
    digest = hashlib.sha256(json.dumps([_FORMAT, options], sort_keys=True).encode())
    for array in (vertices, triangles):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return cache_root() / "meshes" / f"{digest.hexdigest()[:32]}.npz"


def check_solid(arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays that are no tetrahedral mesh.

    Raises:
        ValueError: They are none.
    """
    vertices, tetrahedra = arrays["vertices"], arrays["tetrahedra"]
    if arrays["repairs"].dtype.kind != "U":
        raise ValueError("repairs")
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
        raise ValueError("vertices")
    if tetrahedra.ndim != 2 or tetrahedra.shape[1] != 4 or tetrahedra.dtype != np.int64:
        raise ValueError("tetrahedra")
    if tetrahedra.min() < 0 or tetrahedra.max() >= len(vertices):
        raise ValueError("tetrahedra")
