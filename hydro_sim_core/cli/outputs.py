"""Files that commands write: one option, ``--out``, for every kind of file, told apart by its suffix.

``--json`` is short for the kind that scripts read: the report as JSON, whatever the file is called, or ``-`` for
standard output. No file is replaced without ``--overwrite``. This module imports nothing that reads scenes, so that
``doctor`` can use it where these do not work.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hydro_sim_core.errors import InputError

#: Suffixes of each kind of file that a command writes.
Kinds = Mapping[str, Collection[str]]
REPORT = (".json",)
PICTURE = (".png",)
#: Room for a report, bytes.
_TRIAL_SIZE = 2**16
#: Remedy for a file that exists.
REPLACE = "give another name, or --overwrite to replace it"
#: What ``--json -`` names.
STANDARD_OUTPUT = Path("-")


def optional(help_text: str, metavar: str | None = None, *names: str, **settings: Any) -> Any:
    """An option without a default value; what happens without it is for its help to say.

    Args:
        help_text: Its help.
        metavar: What its value is called there.
        names: Its names; by default that of the parameter.
        settings: Other settings of ``typer.Option``.
    """
    return typer.Option(*names, metavar=metavar, help=help_text, show_default=False, **settings)


JsonOption = Annotated[
    Path | None,
    optional("The report as JSON, like --out FILE.json; - for standard output.", "FILE", "--json"),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]


def out_option(kinds: Kinds) -> Any:
    """The option ``--out`` of a command that writes files of these kinds, each at most once."""
    repeated = "; may be repeated" if len(kinds) > 1 else ""
    return optional(f"Write {_listed(kinds)}{repeated}.", "FILE", "--out")


def files_to_write(
    out: list[Path] | None,
    overwrite: bool,
    kinds: Kinds,
    json: Path | None = None,
    other: Path | None = None,
) -> dict[str, Path]:
    """The file of each kind that is asked for, checked before anything runs for it.

    Args:
        out: Values of ``--out``.
        overwrite: Whether files may be replaced.
        kinds: What the command writes.
        json: Value of ``--json``.
        other: Another file that the command may write, checked with them.

    Raises:
        InputError: A suffix is of no kind, or a file cannot be written, would be replaced or is named twice.
        typer.BadParameter: Two files are of one kind.
    """
    given = [("report", json)] if json is not None else []
    given += [(_kind(path, kinds), path) for path in out or ()]
    found = dict(given)
    if len(found) < len(given):
        raise typer.BadParameter(f"one file for the {_first_repeated(given)} is enough")
    paths = [path for path in (*found.values(), other) if path not in (None, STANDARD_OUTPUT)]
    for path in paths:
        check_writable(path, overwrite)
    _check_distinct(paths)
    return found


def from_here(path: Path) -> Path:
    """The file of a path as it is now: what runs in this process may change the folder."""
    return path if path == STANDARD_OUTPUT else path.absolute()


def _check_distinct(paths: Iterable[Path]) -> None:
    """Refuse one file for two results; a device may take both."""
    seen: set[str] = set()
    for path in paths:
        place = os.path.realpath(path)
        if place in seen and (path.is_file() or not path.exists()):
            raise InputError(path, "", "would be written twice", "give each result a file of its own")
        seen.add(place)


def check_writable(path: Path, overwrite: bool = False, replace: str = REPLACE) -> None:
    """Refuse a file that cannot be written, before the run that would produce it.

    Args:
        path: The file.
        overwrite: Whether it may be replaced.
        replace: Remedy for one that exists and may not.

    Raises:
        InputError: The folder is missing, file or folder is not writeable, or the file exists and may not be replaced.
    """
    folder = path.parent
    if not folder.is_dir():
        raise InputError(path, "", f"there is no folder {folder}", "make it first")
    if path.is_dir():
        raise InputError(path, "", "is a folder", "give the name of a file")
    # A pipe waits for its reader, and a picture would take its place; /dev/stdout may be one too, and is meant.
    if path.is_fifo() and path.parent not in (Path("/dev"), Path("/dev/fd")):
        raise InputError(path, "", "is a pipe", "give another file")
    if path.is_file() and not overwrite:
        raise InputError(path, "", "exists already", replace)
    try:
        _try_to_write(path)
    except OSError as error:
        reason = (error.strerror or "may not be written").lower()
        raise InputError(path, "", f"cannot be written: {reason}", "give another file") from None


def _try_to_write(path: Path) -> None:
    """Write a little where a file will be: rights alone do not tell of full disks, ``/proc`` or ``/dev/full``.

    A file that exists stays as it is, a device that is no terminal gets an empty line, which changes no report, and a
    pipe is left to its reader, who may come later.

    Raises:
        OSError: Nothing can be written there.
    """
    if path.is_char_device():
        with path.open("ab", buffering=0) as device:
            if not device.isatty():
                device.write(b"\n")
    if path.is_file():
        path.open("ab").close()
    if path.is_file() or not path.exists():
        with tempfile.TemporaryFile(dir=path.parent, buffering=0) as trial:
            trial.write(bytes(_TRIAL_SIZE))


def _kind(path: Path, kinds: Kinds) -> str:
    suffix = path.suffix.lower()
    for kind, suffixes in kinds.items():
        if suffix in suffixes:
            return kind
    raise InputError(path, "", "has a name of no format that is written here", f"end it in {_listed(kinds)}")


def _listed(kinds: Kinds) -> str:
    *others, last = (f"{_either(suffixes)} for the {kind}" for kind, suffixes in kinds.items())
    return f"{', '.join(others)}, or {last}" if others else last


def _either(texts: Collection[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def _first_repeated(given: list[tuple[str, Path]]) -> str:
    kinds = [kind for kind, _ in given]
    return next(kind for kind in kinds if kinds.count(kind) > 1)


#: ``--out`` of commands that write nothing but a report.
ReportOutOption = Annotated[list[Path] | None, out_option({"report": REPORT})]
