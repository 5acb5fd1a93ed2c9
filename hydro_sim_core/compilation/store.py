"""Cache of machine code on disk: addressed by a digest of its sources, verified before it is loaded.

A file is named by its entry point and by the digest of everything its code depends on (``dependencies``), so equal
sources find it from any checkout, environment or image, and a file never has to be updated. A file begins with a
checksum of its contents: files damaged by a power cut or a bad disk are removed and compiled again.

The files hold code that is executed. Folders and files that other users can write are therefore not used. Files that
came with a wheel are trusted like the Python sources beside them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
import time
from contextlib import suppress
from errno import EPERM
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hydro_sim_core.compilation.dependencies import dependencies
from hydro_sim_core.compilation.kernels import Entry
from hydro_sim_core.compilation.targets import Target, host, levels, levels_of_this_machine

_LOG = logging.getLogger(__name__)
_MAGIC = b"hydro-sim machine code 1\n"
#: Age since last use at which files are removed, s.
_KEEP_FOR = 30 * 24 * 3600.0
#: Age at which a file's time of last use is updated, s.
_RENEW_AFTER = 24 * 3600.0
#: Machine code in a wheel: one folder per processor level.
PREBUILT = Path(__file__).parent / "prebuilt"


def cache_root() -> Path:
    """Folder of compiled kernels and other derived data; the variable ``HYDRO_SIM_CACHE_DIR`` overrides it."""
    override = os.environ.get("HYDRO_SIM_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    override = os.environ.get("XDG_CACHE_HOME")
    if override:
        return Path(override).absolute() / "hydro_sim"
    try:
        return Path.home() / ".cache" / "hydro_sim"
    except RuntimeError:
        # A user without an entry in the password database and without HOME, as in containers.
        return Path(tempfile.gettempdir()) / f"hydro_sim-{os.getuid()}"


def make_private_folder(folder: Path) -> None:
    """Make a folder of the cache that only its user can write: code from other folders is not used.

    Raises:
        OSError: The folder cannot be made.
    """
    root = cache_root()
    root.parent.mkdir(parents=True, exist_ok=True)
    for made in (*reversed([p for p in folder.parents if p.is_relative_to(root)]), folder):
        with suppress(FileExistsError):
            made.mkdir(mode=0o700)


@cache
def kernels_are_kept() -> bool:
    """Whether code compiled now is kept for the next start; looks only, and makes no folder."""
    root = cache_root()
    folder = root / "kernels" / host().folder
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    try:
        for path in (root, folder.parent, folder):
            if os.path.lexists(path):
                _refuse_writable_by_others(path.stat(), path)
    except OSError:
        return False
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def file_name(entry: Entry) -> str:
    """Name of an entry point's file."""
    return f"{_stem(entry)}-{dependencies(entry).digest}.o"


def _stem(entry: Entry) -> str:
    """Common stem of the names of an entry point's files, for all versions of it."""
    return entry.symbol.removeprefix("hydro_sim_core.")


class _Place(NamedTuple):
    """A possible location of machine code.

    Attributes:
        path: Path of the file.
        is_kept: Whether ``save`` wrote the file; if not, it came with a wheel.
    """

    path: Path
    is_kept: bool


def load(entry: Entry, target: Target | None = None) -> bytes | None:
    """Machine code of an entry point from the cache or the wheel; None if there is no intact file.

    Args:
        entry: The entry point.
        target: Target processor; None accepts any code that runs on this machine.
    """
    return next((code for place in _places(entry, target) if (code := _read(place)) is not None), None)


def _places(entry: Entry, target: Target | None) -> list[_Place]:
    """Possible locations of an entry point's machine code, best first."""
    targets = [host(), *levels_of_this_machine()] if target is None else [target]
    name = file_name(entry)
    places = []
    for one in targets:
        with suppress(OSError):
            places.append(_Place(_folder(one) / name, is_kept=True))
    # A target with other features than the level's is not the level, even if it has the same name.
    return places + [_Place(PREBUILT / one.cpu / name, is_kept=False) for one in targets if one in levels()]


def save(entry: Entry, code: bytes, target: Target) -> None:
    """Write machine code to the cache, if there is a usable folder."""
    try:
        folder = _folder(target, make=True)
        _remove_disused(folder, entry)
        write(folder / file_name(entry), code)
    except OSError as error:
        _warn_once(str(error.filename or cache_root()), error.strerror or "")


@cache
def _warn_once(place: str, problem: str) -> None:
    _LOG.warning(
        "%s: %s: kernels cannot be kept and are compiled again at the next start; set HYDRO_SIM_CACHE_DIR to a folder "
        "of your own",
        place,
        problem,
    )


def write(path: Path, code: bytes) -> None:
    """Write machine code atomically: the file is complete or absent, even after a power cut.

    Raises:
        OSError: The file cannot be written.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path.parent)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read_kept(path: Path) -> bytes | None:
    """Content of a file of the cache that ``write`` wrote; None if there is none that can be trusted."""
    return _read(_Place(path, True))


def _read(place: _Place) -> bytes | None:
    path, is_kept = place
    try:
        # The opened file is checked, not the path, which may name another file by then. Opening a FIFO must not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (os.O_NOFOLLOW if is_kept else 0))
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if is_kept:
                _refuse_writable_by_others(found, path)
            content = file.read()
            if is_kept and found.st_mtime < time.time() - _RENEW_AFTER:
                with suppress(OSError):
                    os.utime(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOG.warning("%s: cannot be read (%s): its kernels are compiled anew", path, error.strerror)
        return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    code = content[head:]
    if content[:head] == _MAGIC + hashlib.sha256(code).digest():
        return code
    _LOG.warning(
        "%s: is damaged: its kernels are compiled anew%s", path, ", it is removed" if is_kept else ""
    )
    if is_kept:
        with suppress(OSError):
            path.unlink()
    return None


#: Folders that exist and are trusted, with all symbolic links resolved.
_folders: dict[Target, Path] = {}


def _folder(target: Target, *, make: bool = False) -> Path:
    """The cache folder of machine code for a target.

    Raises:
        OSError: The folder does not exist, cannot be made, or is not trusted.
    """
    if target not in _folders:
        root = cache_root()
        folder = root / "kernels" / target.folder
        if make:
            make_private_folder(folder)  # an existing folder is checked below
        # Links are resolved once, so that a link changed later has no effect.
        resolved = [path.resolve(strict=True) for path in (root, folder.parent, folder)]
        for path in resolved:
            _refuse_writable_by_others(path.stat(), path)
        _folders[target] = resolved[-1]
    return _folders[target]


def _refuse_writable_by_others(found: os.stat_result, path: Path) -> None:
    """Refuse a file or folder that users other than this one and root may have written.

    Raises:
        PermissionError: Other users may have written it.
    """
    if found.st_uid not in (os.geteuid(), 0):
        raise PermissionError(EPERM, "belongs to another user, and holds machine code", str(path))
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(
            EPERM, "can be written by others ('chmod go-w'), and holds machine code", str(path)
        )


def _remove_disused(folder: Path, entry: Entry) -> None:
    """Remove files of older versions of an entry point that were not used for long."""
    with suppress(OSError):
        for path in folder.parent.glob(f"*/{_stem(entry)}-*.o"):
            if path.stat().st_mtime < time.time() - _KEEP_FOR:
                path.unlink()
