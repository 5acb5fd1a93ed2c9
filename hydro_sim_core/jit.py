"""How hot functions are compiled: one decorator for every kernel.

Kernels are plain functions on scalars and preallocated arrays. They hold no reference to the interpreter
(``nogil``) and are cached on disk, so only the first start on a machine compiles. ``numba.cuda`` kernels call the
same dispatchers as device functions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

_PACKAGE = Path(__file__).parent
#: Rooms whose kernels a room may call. Numba invalidates a cached kernel only when its own file changes, not when a
#: callee's does; the cache folder is therefore named by the contents of everything a kernel can call.
_ROOMS_BELOW = {
    "geometry": ("geometry",),
    "contact": ("geometry", "contact"),
    "dynamics": ("dynamics",),
    "solvers": ("geometry", "contact", "dynamics", "solvers"),
}


def cache_root() -> Path:
    """Folder that holds compiled kernels and other derived data; ``HYDRO_SIM_CACHE_DIR`` overrides it."""
    override = os.environ.get("HYDRO_SIM_CACHE_DIR")
    if override:
        return Path(override)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hydro_sim"


@cache
def _kernel_cache_dir(room: str) -> Path:
    rooms = _ROOMS_BELOW.get(room, (*_ROOMS_BELOW["solvers"], room))
    digest = hashlib.sha256(numba.__version__.encode())
    digest.update(Path(__file__).read_bytes())  # options are not part of Numba's own key
    for name in rooms:
        for path in sorted((_PACKAGE / name).rglob("*.py")):
            digest.update(path.read_bytes())
    return cache_root() / "kernels" / f"{room}-{digest.hexdigest()[:16]}"


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile ``function`` in nopython mode, without the GIL, cached on disk.

    Kernels own no memory, so they are compiled without Numba's reference counting (its private option ``_nrt``):
    otherwise every array view and every struct of arrays passed on costs atomic operations, several times the
    arithmetic of a contact face. Such a kernel fails to compile if it allocates.

    Division follows IEEE arithmetic (no Python ``ZeroDivisionError`` branch in loops) and ``fastmath`` stays off, so
    results are bit-identical across instruction sets.

    Args:
        function: The function to compile; omitted when used as ``@kernel(inline="always")``.
        **options: Further ``numba.njit`` options.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    room = Path(function.__code__.co_filename).resolve().relative_to(_PACKAGE).parts[0]
    # Typed loosely: neither the cache folder nor the private option is part of Numba's declared interface.
    config: Any = numba.config
    compile_function: Any = numba.njit
    previous = config.CACHE_DIR
    try:
        # The cache locator reads this global when the dispatcher is made, not when it compiles.
        config.CACHE_DIR = str(_kernel_cache_dir(room))
        return compile_function(nogil=True, error_model="numpy", cache=True, _nrt=False, **options)(function)
    finally:
        config.CACHE_DIR = previous
