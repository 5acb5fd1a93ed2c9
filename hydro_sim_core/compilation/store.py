"""Machine code on disk: found by what it was made from, checked before it is run.

A file is named by its entry point and by the digest of everything its code depends on (``dependencies``), so equal
sources find it from any checkout, environment or image, and a file never has to be updated. Its contents begin with
their own checksum: what a power cut, a bad disk or a stranger left behind is removed and compiled anew.

Files here are executable. A folder in which others may write is therefore not used.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from hydro_sim_core.compilation.dependencies import dependencies
from hydro_sim_core.compilation.kernels import Entry
from hydro_sim_core.compilation.targets import host, levels_of_this_machine

_LOG = logging.getLogger(__name__)
_MAGIC = b"hydro-sim machine code 1\n"
#: Files that were not used for this long are removed, s.
_KEEP_FOR = 30 * 24 * 3600.0
#: How old a file's time of use may be before it is renewed, s.
_RENEW_AFTER = 24 * 3600.0
#: Comes with a wheel: a folder a level of processors.
PREBUILT = Path(__file__).parent / "prebuilt"


def cache_root() -> Path:
    """Folder of compiled kernels and other derived data; ``HYDRO_SIM_CACHE_DIR`` overrides it."""
    override = os.environ.get("HYDRO_SIM_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    override = os.environ.get("XDG_CACHE_HOME")
    if override:
        return Path(override).absolute() / "hydro_sim"
    try:
        return Path.home() / ".cache" / "hydro_sim"
    except RuntimeError:
        # A user without an entry in the system's list and without HOME, as in containers.
        return Path(tempfile.gettempdir()) / f"hydro_sim-{os.getuid()}"


def make_private_folder(folder: Path) -> None:
    """Make a folder of the cache for its user alone: machine code is taken from none that others may write.

    Raises:
        OSError: It cannot be made.
    """
    root = cache_root()
    root.parent.mkdir(parents=True, exist_ok=True)
    for made in (*reversed([p for p in folder.parents if p.is_relative_to(root)]), folder):
        with suppress(FileExistsError):
            made.mkdir(mode=0o700)


@cache
def kernels_are_kept() -> bool:
    """Whether what is compiled now need not be compiled at the next start."""
    return _folder() is not None


def file_name(entry: Entry) -> str:
    """Name of an entry point's file."""
    return f"{_stem(entry)}-{dependencies(entry).digest}.o"


def _stem(entry: Entry) -> str:
    """What the names of an entry point's files have in common, whatever version they are of."""
    return entry.symbol.removeprefix("hydro_sim_core.")


def find(entry: Entry) -> Path | None:
    """File with an entry point's machine code, kept here or come with the wheel; None if there is none."""
    return next((path for path, _ in _places(entry) if path.exists()), None)


def load(entry: Entry) -> bytes | None:
    """Machine code of an entry point; None if there is none that is sound."""
    for path, removable in _places(entry):
        code = _read(path, removable=removable)
        if code is not None:
            return code
    return None


def _places(entry: Entry) -> list[tuple[Path, bool]]:
    """Where an entry point's machine code may be, best first, and whether damaged files may be removed there."""
    name, folder = file_name(entry), _folder()
    places = [] if folder is None else [(folder / name, True)]
    return places + [(PREBUILT / level / name, False) for level in levels_of_this_machine()]


def save(entry: Entry, code: bytes) -> None:
    """Keep machine code, if there is a folder to keep it in."""
    folder = _folder()
    if folder is None:
        return
    _remove_disused(folder, entry)
    try:
        write(folder / file_name(entry), code)
    except OSError as error:
        _LOG.warning(
            "%s: cannot be written (%s): kernels are compiled again at the next start", folder, error.strerror
        )


def write(path: Path, code: bytes) -> None:
    """Write machine code so that a file is whole or absent, even after a power cut.

    Raises:
        OSError: It cannot be written.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
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


def _read(path: Path, *, removable: bool) -> bytes | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOG.warning("%s: cannot be read (%s): its kernels are compiled anew", path, error.strerror)
        return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    code = content[head:]
    if content[:head] != _MAGIC + hashlib.sha256(code).digest():
        _LOG.warning(
            "%s: is damaged: its kernels are compiled anew%s", path, ", it is removed" if removable else ""
        )
        if removable:
            with suppress(OSError):
                path.unlink()
        return None
    if removable:
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _RENEW_AFTER:
                os.utime(path)
    return code


@cache
def _folder() -> Path | None:
    """The folder to keep machine code in, made if need be; None if there is none to be trusted."""
    root = cache_root()
    folder = root / "kernels" / host().folder
    try:
        make_private_folder(folder)  # what is there already is looked at below
    except OSError as error:
        _warn(root, f"cannot be written ({error.strerror})", "a folder that can")
        return None
    for used in (root, folder.parent, folder):
        found = used.stat()
        if found.st_uid not in (os.geteuid(), 0):
            _warn(used, "belongs to another user, and holds machine code", "a folder of your own")
            return None
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            _warn(
                used, "can be written by others, and holds machine code", "another folder, or 'chmod go-w' it"
            )
            return None
    return folder


def _warn(folder: Path, problem: str, mend: str) -> None:
    _LOG.warning(
        "%s: %s: kernels are compiled at every start; set HYDRO_SIM_CACHE_DIR to %s", folder, problem, mend
    )


def _remove_disused(folder: Path, entry: Entry) -> None:
    """Remove what older versions of an entry point left behind long ago."""
    with suppress(OSError):
        for path in folder.parent.glob(f"*/{_stem(entry)}-*.o"):
            if path.stat().st_mtime < time.time() - _KEEP_FOR:
                path.unlink()
