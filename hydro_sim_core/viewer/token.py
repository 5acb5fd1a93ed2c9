"""The token that browsers need: given, made for one run, or this user's own, which stays the same from run to run."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from hydro_sim_core.compilation import cache_root, make_private_folder
from hydro_sim_core.errors import InputError

#: Value that switches the token off, on purpose.
NO_TOKEN: Final = "none"
#: Environment variable with the token; unlike arguments of a program, other users cannot read it.
TOKEN_VARIABLE: Final = "HYDRO_SIM_VIEW_TOKEN"
#: What can stand unchanged in a URL and in a cookie, and is not guessed at once.
_VALID = re.compile(r"[A-Za-z0-9_.~-]{8,128}")
_BYTES = 24  # of entropy in a token that is made
_FILE = "viewer_token"


def choose_token(given: str | None, own: bool) -> str | None:
    """The token of a viewer; None if it asks for none.

    Args:
        given: Token that was asked for, or "none" for none; None to use that of the environment variable, else to
            make one.
        own: Whether a token that is made is this user's own: it stays the same, so that an open page finds the next
            run. Otherwise it is new each time.

    Raises:
        InputError: The given token cannot be one.
    """
    source, given = ("viewer", given) if given else (TOKEN_VARIABLE, os.environ.get(TOKEN_VARIABLE))
    if given == NO_TOKEN:
        return None
    if not given:
        return _own_token() if own else _new_token()
    if not _VALID.fullmatch(given):
        problem = "is not 8 to 128 letters, digits or any of _ . ~ -"
        raise InputError(source, "token", problem, f"give another one, or '{NO_TOKEN}' for none")
    return given


def _new_token() -> str:
    return secrets.token_urlsafe(_BYTES)


def _own_token() -> str:
    """The token in this user's file; a new one if there is none that only this user can read."""
    path = cache_root() / _FILE
    token = _read(path)
    if token is None:
        with suppress(OSError):  # a read-only home, or another run was quicker
            _write(path, _new_token())
        token = _read(path)
    return token or _new_token()


def _read(path: Path) -> str | None:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
                return None
            text = file.read(1024).decode("ascii", "replace").strip()
    except OSError:
        return None
    return text if _VALID.fullmatch(text) else None


def _write(path: Path, token: str) -> None:
    """Write the file at once and whole, unless another run has just done so."""
    make_private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_FILE)  # readable by its owner only
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(token)
        if path.exists():  # not one that ``_read`` takes
            os.replace(name, path)
        else:
            os.link(name, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
