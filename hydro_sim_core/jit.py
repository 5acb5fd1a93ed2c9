"""How hot functions are compiled: one decorator for every kernel.

Kernels are plain functions on scalars and preallocated arrays. They hold no reference to the interpreter
(``nogil``) and are cached on disk, so only the first start on a machine compiles; where the folder cannot be written
every start does. ``numba.cuda`` kernels call the same dispatchers as device functions.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import UserProvidedCacheLocator

_LOG = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parent
#: Rooms whose kernels a room may call. Numba invalidates a cached kernel only when its own file changes, not when a
#: callee's does; the cache folder is therefore named by the contents of everything a kernel can call.
_ROOMS_BELOW = {
    "geometry": ("geometry",),
    "contact": ("geometry", "contact"),
    "dynamics": ("dynamics",),
    "solvers": ("geometry", "contact", "dynamics", "solvers"),
    "experiments": ("geometry", "contact", "dynamics", "solvers", "simulation", "experiments"),
}
#: What tells a module whose contents end up in compiled code, and the modules that one takes names from.
_COMPILED = re.compile(rb"import kernel\b|\bNamedTuple\b")
_IMPORTED = re.compile(rb"^from (hydro_sim_core\.[\w.]+) import", re.MULTILINE)
#: Kernels of other versions of a room are removed when they were not used for this long, s.
_KEEP_FOR = 30 * 24 * 3600.0
#: Cache roots that could not be written to.
_unwritable: set[Path] = set()


def cache_root() -> Path:
    """Folder that holds compiled kernels and other derived data; ``HYDRO_SIM_CACHE_DIR`` overrides it."""
    override = os.environ.get("HYDRO_SIM_CACHE_DIR")
    if override:
        return Path(override)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hydro_sim"


def kernels_are_kept() -> bool:
    """Whether what is compiled now need not be compiled at the next start."""
    return not _unwritable


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
    path = Path(function.__code__.co_filename).resolve()
    # Typed loosely: neither the cache folder nor the private option is part of Numba's declared interface.
    config: Any = numba.config
    compile_function: Any = numba.njit
    previous = config.CACHE_DIR
    try:
        # The cache locator reads this global when the dispatcher is made, not when it compiles.
        config.CACHE_DIR = str(_kernel_cache_dir(path.relative_to(_PACKAGE).parts[0]))
        # Where this locator fails Numba tries the source tree next, whose cache knows nothing of changed callees.
        kept = UserProvidedCacheLocator.from_function(function, str(path)) is not None
        if not kept:
            _warn_once(cache_root())
        return compile_function(nogil=True, error_model="numpy", cache=kept, _nrt=False, **options)(function)
    finally:
        config.CACHE_DIR = previous


@cache
def _kernel_cache_dir(room: str) -> Path:
    """Folder of a room's kernels, marked as used; it may not exist where it cannot be written."""
    folder = cache_root() / "kernels" / f"{room}-{_fingerprint(room)}"
    with suppress(OSError):
        if not folder.exists():
            _remove_disused(folder.parent, room)
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    return folder


def _fingerprint(room: str) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    # Options are not part of Numba's own key, nor is how a handle is unpacked.
    for name in ("jit.py", "handles.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    rooms = _ROOMS_BELOW.get(room, (*_ROOMS_BELOW["solvers"], room))
    for source in _compiled_sources(rooms):
        digest.update(source)
    return digest.hexdigest()[:16]


@cache
def _compiled_sources(rooms: tuple[str, ...]) -> tuple[bytes, ...]:
    """Contents of the modules in ``rooms`` that their kernels depend on: an edit elsewhere compiles nothing anew.

    They hold kernels or the structs that kernels read (a signature does not tell two fields of one type apart), or such
    a module imports them for their constants.
    """
    paths = [path for room in rooms for path in sorted((_PACKAGE / room).rglob("*.py"))]
    sources = {path: path.read_bytes() for path in paths}
    by_name = {_module_name(path): path for path in sources}
    open_ends = [path for path, source in sources.items() if _COMPILED.search(source)]
    wanted = set(open_ends)
    while open_ends:
        imported = {match.decode() for match in _IMPORTED.findall(sources[open_ends.pop()])}
        found = {by_name[name] for name in imported & by_name.keys()} - wanted
        wanted |= found
        open_ends += found
    return tuple(source for path, source in sources.items() if path in wanted)


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _remove_disused(kernels: Path, room: str) -> None:
    for folder in kernels.glob(f"{room}-*"):
        if folder.stat().st_mtime < time.time() - _KEEP_FOR:
            shutil.rmtree(folder, ignore_errors=True)


def _warn_once(root: Path) -> None:
    if root not in _unwritable:
        _unwritable.add(root)
        _LOG.warning(
            "%s cannot be written: kernels are compiled at every start; set HYDRO_SIM_CACHE_DIR to a folder that can",
            root,
        )
