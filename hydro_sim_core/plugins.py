"""Parts that other packages add to the tables, by entry points, and the code that rows of tables name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from hydro_sim_core.errors import InputError

T = TypeVar("T")


def load_plugins(group: str, kind: type[T], known: Iterable[Any], key: str = "name") -> list[T]:
    """The parts that installed packages add to a table.

    Args:
        group: Of their entry points, such as ``hydro_sim.shapes``.
        kind: What each entry point has to name.
        known: The rows that the table has already.
        key: Attribute by which rows are told apart.

    Raises:
        InputError: An entry point cannot be loaded, names something else, or has the name of another row.
    """
    names = {getattr(row, key) for row in known}
    found = []
    for point in entry_points(group=group):
        try:
            part = point.load()
        except (Exception, SystemExit) as error:  # a stranger's code may raise anything
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
            raise InputError(point.value, group, problem, "mend the package or remove it") from error
        if not isinstance(part, kind):
            raise InputError(point.value, group, f"is no {kind.__name__}", "let the entry point name one")
        name = getattr(part, key)
        if name in names:
            raise InputError(point.value, group, f"a second '{name}'", "give it another name")
        names.add(name)
        found.append(part)
    return found


def is_reference(text: object) -> bool:
    """Whether a text has the form ``module:NAME`` of what ``referred`` finds."""
    module, colon, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return bool(module and colon and name)


def referred(reference: str, where: str) -> Any:
    """What a row of a table names.

    Args:
        reference: ``module:NAME``.
        where: The row, for errors.

    Raises:
        InputError: There is no such module, it cannot be imported, or has no such name.
    """
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything
        problem = f"cannot be found ({type(error).__name__}: {error})"
        raise InputError(reference, where, problem, "mend the package that adds it") from error
