"""``InputError``, the one error type for bad input, and a check of counts."""

from __future__ import annotations

import operator
import re
import reprlib

#: Characters that move a cursor, change colours or the direction of writing, or hide; ends of lines aside.
_CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_SPACE = re.compile(r"\s*[\t\n\v\f\r]\s*")


def printable(text: str) -> str:
    """Text with control characters escaped, as ``\\x1b``, so that a terminal shows and does not obey them."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """Input to the simulator is wrong, and the caller can correct it.

    Every loader, parameter check and command check raises this and nothing else for bad input, so a caller
    (command line, node, script) can print one line instead of a traceback.

    Its text is one line without control characters, whatever the input holds.

    Args:
        source: File, topic or function the input came from.
        element: The wrong part of the source (``link 'wrist'``, ``line 12``, ``command[3]``).
        problem: Description of the error, as a short clause.
        mend: Remedy, as an imperative clause.
    """

    def __init__(self, source: object, element: str, problem: str, mend: str) -> None:
        self.source = _in_line(str(source))
        self.element = _in_line(element)
        self.problem = _in_line(problem)
        self.mend = _in_line(mend)
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.source}: {self.element}" if self.element else self.source
        return f"{where}: {self.problem}; {self.mend}"

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        return type(self), (self.source, self.element, self.problem, self.mend)


def _in_line(text: str) -> str:
    return printable(_SPACE.sub(" ", text))


class MissingFile(InputError):
    """A file that the input names does not exist."""


class UnknownFormat(InputError):
    """A file that the input names is in a format that no reader supports."""


def excerpt(value: object) -> str:
    """``value`` as text for an error message: on one line, truncated if long."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # a whole number of more digits than Python turns into text
        return "a number of thousands of digits"


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


def told_apart(number: float, other: float) -> tuple[str, str]:
    """Two numbers as text, with three digits or as many more as tell them apart."""
    for digits in range(3, 18):
        texts = f"{number:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
