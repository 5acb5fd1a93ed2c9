"""Plug-ins: table rows from the entry points of installed packages, and import of the code that rows refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from hydro_sim_core.errors import InputError

T = TypeVar("T")

#: What to do about a package whose code does not do what its table asks for.
MEND_PACKAGE = "mend the package that adds it"


def load_plugins(group: str, kind: type[T], known: Iterable[Any], key: str = "name") -> list[T]:
    """Rows that installed packages add to a table.

    Args:
        group: Group of the entry points, such as ``hydro_sim.shapes``.
        kind: Type of the object that each entry point has to name.
        known: Rows already in the table.
        key: Attribute that identifies a row.

    Raises:
        InputError: An entry point cannot be loaded, names an object of another type, or has the key of another row.
    """
    names = [getattr(row, key) for row in known]
    return list(_loaded(group, kind, names, lambda point, part: str(getattr(part, key))).values())


def load_named(group: str, kind: type[T], known: Iterable[str]) -> dict[str, T]:
    """What installed packages add to a table under the names of their entry points.

    Args:
        group: Group of the entry points, such as ``hydro_sim.tasks``.
        kind: Type of the object that each entry point has to name.
        known: Names already in the table.

    Raises:
        InputError: An entry point cannot be loaded, names an object of another type, or has a name already there.
    """
    return _loaded(group, kind, known, lambda point, part: point.name)


def _loaded(
    group: str, kind: type[T], known: Iterable[str], name_of: Callable[[EntryPoint, T], str]
) -> dict[str, T]:
    """Parts of the entry points of a group, by names that nothing else has."""
    taken = set(known)
    found: dict[str, T] = {}
    for point in entry_points(group=group):
        try:
            part = point.load()
        except (Exception, SystemExit) as error:  # code of a plug-in may raise anything
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
            raise InputError(point.value, group, problem, _mend_of_loading(error)) from error
        if not isinstance(part, kind):
            raise InputError(point.value, group, f"is no {kind.__name__}", "let the entry point name one")
        name = name_of(point, part)
        if name in taken or name in found:
            raise InputError(point.value, group, f"a second '{name}'", "give it another name")
        found[name] = part
    return found


def _mend_of_loading(error: BaseException) -> str:
    """What to do about an entry point that cannot be loaded.

    Tables are read while the engine is imported, so that a row which imports more of it than it may finds half of it.
    """
    module = error.name or "" if isinstance(error, ImportError) else ""
    if module.partition(".")[0] == "hydro_sim_core":
        return "mend the package: a row's module may import at its top only what docs/extending.md lists"
    return "mend the package or remove it"


def is_reference(text: object) -> bool:
    """Whether a value is a reference ``module:NAME``, as ``referred`` takes it."""
    module, colon, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return bool(module and colon and name)


def referred(reference: str, where: str) -> Any:
    """Import the object that a row of a table refers to.

    Args:
        reference: ``module:NAME``.
        where: Name of the row in error messages.

    Raises:
        InputError: The module does not exist, cannot be imported, or has no attribute of this name.
    """
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # code of a plug-in may raise anything
        problem = f"cannot be found ({type(error).__name__}: {error})"
        raise InputError(reference, where, problem, MEND_PACKAGE) from error


def guarded(function: Callable[[], T], source: str, where: str) -> T:
    """Call the code of a row, and turn what it raises into one error that names the row.

    Args:
        function: The call.
        source: Reference or name of the code in error messages.
        where: Name of the row in error messages.

    Raises:
        InputError: The code raises it itself, or anything else.
    """
    try:
        return function()
    except InputError:
        raise
    except Exception as error:  # code of a plug-in may raise anything
        problem = f"does not work ({type(error).__name__}: {error})"
        raise InputError(source, where, problem, MEND_PACKAGE) from error
