"""Output files of pictures, written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydro_sim_core.errors import InputError


def check_picture_file(path: Path, suffixes: Collection[str]) -> None:
    """Check that a picture can be written to a file, before anything runs for it.

    Raises:
        InputError: Its name has another suffix, its folder is missing, or it is not writable.
    """
    if path.suffix.lower() not in suffixes:
        endings = " or ".join(suffixes)
        raise InputError(path, "", "has a name of no format that is written here", f"end it in {endings}")
    if not path.parent.is_dir():
        raise InputError(path, "", f"there is no folder {path.parent}", "make it first")
    if path.is_dir():
        raise InputError(path, "", "is a folder", "give the name of a file")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(path, "", "may not be written", "give another file")


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Path of a temporary file beside ``path``, which replaces it at the end or is removed after an error.

    Raises:
        InputError: It cannot be written.
    """
    aside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield aside
        aside.replace(path)
    except OSError as error:
        problem = (error.strerror or "cannot be written").lower()
        raise InputError(path, "", problem, "give a file on a disk with room") from None
    finally:
        aside.unlink(missing_ok=True)


def write_picture(path: Path, png: bytes) -> None:
    """Write a picture.

    Raises:
        InputError: It cannot be written.
    """
    with written_aside(path) as aside:
        aside.write_bytes(png)


def pillow(asker: str) -> Any:
    """The module ``PIL.Image``.

    Raises:
        InputError: It is missing.
    """
    try:
        from PIL import Image
    except ImportError:
        problem, mend = f"{asker} needs Pillow, which is missing", "pip install 'hydro-sim-core[pictures]'"
        raise InputError("pictures", "", problem, mend) from None
    return Image
