"""Registry of hostile inputs: by group and name, what writes the files and which command reads them.

A module in ``support/hostile/inputs`` adds its own with :func:`case` or :func:`add`; nothing else has to be changed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from support.hostile import inputs

#: Writes the files of a case into a folder and returns the arguments of ``hydro-sim``, which runs in that folder.
Writer = Callable[[Path], Sequence[str]]
#: A file that no case may make: payloads that run a command touch it, by this name in the folder of the case.
CANARY = "PWNED"


class Case(NamedTuple):
    """A hostile input.

    Attributes:
        group: Kind of file.
        name: Name within the group.
        write: Writes the files.
        makes: Names of files that the command may make.
    """

    group: str
    name: str
    write: Writer
    makes: tuple[str, ...] = ()


_CASES: dict[tuple[str, str], Case] = {}


def add(group: str, name: str, write: Writer, makes: Sequence[str] = ()) -> None:
    """Add a case.

    Raises:
        ValueError: The group has one of this name.
    """
    if (group, name) in _CASES:
        raise ValueError(f"two cases {group}: {name}")
    _CASES[group, name] = Case(group, name, write, tuple(makes))


def case(group: str, name: str, makes: Sequence[str] = ()) -> Callable[[Writer], Writer]:
    """Add the decorated writer as a case."""

    def decorate(write: Writer) -> Writer:
        add(group, name, write, makes)
        return write

    return decorate


def all_cases() -> dict[str, list[Case]]:
    """All cases by group, in the order in which they were added."""
    for module in pkgutil.iter_modules(inputs.__path__):
        importlib.import_module(f"{inputs.__name__}.{module.name}")
    groups: dict[str, list[Case]] = {}
    for one in _CASES.values():
        groups.setdefault(one.group, []).append(one)
    return groups
