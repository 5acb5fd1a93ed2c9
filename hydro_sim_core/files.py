"""Bounded reading of files that may come from strangers: regular files alone, and not more than fits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hydro_sim_core.errors import InputError, MissingFile

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_regular_file(
    path: Path,
    limit: int,
    *,
    source: object = None,
    element: str = "",
    mend: str = "name a readable file",
    excess: str = "check that it is the right file",
) -> bytes:
    """Contents of a regular file of at most ``limit`` bytes.

    Devices, pipes and sockets can block for ever or never end, also behind a symbolic link, so they are not opened.

    Args:
        path: The file.
        limit: Largest size, bytes.
        source: What names the file, for errors; the file itself by default.
        element: The part of the source that names the file.
        mend: Remedy if the file cannot be read.
        excess: Remedy if the file is too large.

    Raises:
        MissingFile: There is no such file.
        InputError: It is no regular file, cannot be read, or is too large.
    """
    where = path if source is None else source
    with open_regular_file(path, limit, source=source, element=element, mend=mend, excess=excess) as file:
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise InputError(where, element, f"'{path}' cannot be read ({error.strerror})", mend) from None
    if content is None:  # a file of /proc that waits for more
        raise InputError(where, element, f"'{path}' cannot be read (it has no contents yet)", mend)
    if len(content) > limit:  # files of /proc tell no size, and others may grow
        raise _too_large(path, limit, source, element, excess)
    return content


@contextmanager
def open_regular_file(
    path: Path,
    limit: int,
    *,
    source: object = None,
    element: str = "",
    mend: str = "name a readable file",
    excess: str = "check that it is the right file",
) -> Iterator[BinaryIO]:
    """Like :func:`read_regular_file`, but open, for readers that seek; only the size at opening is checked."""
    where = path if source is None else source
    named = "" if source is None else f"'{path}' "
    try:
        # Looked at before it is opened, as opening a device may already do something, and again once it is open.
        _refuse_other_kinds(os.stat(path), where, element, named, mend)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        problem = f"there is no file {named}".strip() if named else "no such file"
        raise MissingFile(where, element, problem, "check the path") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(where, element, f"{named}cannot be read ({reason})", mend) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _refuse_other_kinds(status, where, element, named, mend)
        if status.st_size > limit:
            raise _too_large(path, limit, source, element, excess)
        yield file


def _refuse_other_kinds(status: os.stat_result, where: object, element: str, named: str, mend: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(status.st_mode)), "no regular file")
        raise InputError(where, element, f"{named}is {kind}", mend)


def _too_large(path: Path, limit: int, source: object, element: str, excess: str) -> InputError:
    named = "the file" if source is None else f"'{path}'"
    return InputError(
        path if source is None else source, element, f"{named} is larger than {_size(limit)}", excess
    )


def _size(count: int) -> str:
    return f"{count / 2**20:g} MB" if count >= 2**20 else f"{count / 2**10:g} kB"
