"""``InputError``, the one error type for bad input, and a check of counts."""

from __future__ import annotations

import operator
import reprlib


class InputError(ValueError):
    """Input to the simulator is wrong, and the caller can correct it.

    Every loader, parameter check and command check raises this and nothing else for bad input, so a caller
    (command line, node, script) can print one line instead of a traceback.

    Args:
        source: File, topic or function the input came from.
        element: The wrong part of the source (``link 'wrist'``, ``line 12``, ``command[3]``).
        problem: Description of the error, as a short clause.
        mend: Remedy, as an imperative clause.
    """

    def __init__(self, source: object, element: str, problem: str, mend: str) -> None:
        self.source = str(source)
        self.element = element
        self.problem = problem
        self.mend = mend
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.source}: {self.element}" if self.element else self.source
        return f"{where}: {self.problem}; {self.mend}"

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        return type(self), (self.source, self.element, self.problem, self.mend)


class MissingFile(InputError):
    """A file that the input names does not exist."""


class UnknownFormat(InputError):
    """A file that the input names is in a format that no reader supports."""


def excerpt(value: object) -> str:
    """``value`` as text for an error message: on one line, truncated if long."""
    return " ".join(reprlib.repr(value).split())


def shortened(text: str, most: int = 200) -> str:
    """``text`` on one line, truncated to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def whole_number(source: str, element: str, value: int, least: int) -> int:
    """Check a count.

    Raises:
        InputError: The value is not a whole number, or is below ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(
            source, element, f"{excerpt(value)} is not a whole number", f"give {least} or more"
        ) from None
    if number < least:
        raise InputError(source, element, f"{number} is too small", f"give {least} or more")
    return number
