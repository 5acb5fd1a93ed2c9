"""Places in descriptions that errors refer to: an element of a file or a line of a program."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hydro_sim_core.errors import InputError, shortened

#: This package, whose stack frames are not part of a user's program.
_DESCRIPTION = __name__.rpartition(".")[0]


class Place(Protocol):
    """A place in a description, which makes errors that refer to it."""

    def error(self, problem: str, mend: str) -> InputError:
        """The error to raise."""


@dataclass(frozen=True)
class CallSite:
    """A line of a program that builds a scene.

    Attributes:
        source: File and line, ``grasp.py:12``.
        element: Name of the part that is built there.
    """

    source: str
    element: str

    def error(self, problem: str, mend: str) -> InputError:
        """The error to raise."""
        return InputError(self.source, self.element, problem, mend)


def call_site(element: str) -> CallSite:
    """The innermost line of the call stack outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_DESCRIPTION):
        frame = frame.f_back
    return CallSite(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}", shortened(element))


def is_call_site(source: str) -> bool:
    """Whether a source is a line of a program, as ``call_site`` writes it, and no file."""
    return source.rpartition(":")[2].isdecimal()
