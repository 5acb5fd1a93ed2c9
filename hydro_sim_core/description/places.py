"""Where a description says something, so that an error can name it: an element of a file or a line of a program."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hydro_sim_core.errors import InputError, shortened

#: Package whose own frames are no place that a user wrote.
_DESCRIPTION = __name__.rpartition(".")[0]


class Place(Protocol):
    """Something that can say what is wrong with itself."""

    def error(self, problem: str, mend: str) -> InputError:
        """The error to raise."""


@dataclass(frozen=True)
class CallSite:
    """A line of a program that builds a scene.

    Attributes:
        source: File and line, ``grasp.py:12``.
        element: What is built there.
    """

    source: str
    element: str

    def error(self, problem: str, mend: str) -> InputError:
        """The error to raise."""
        return InputError(self.source, self.element, problem, mend)


def call_site(element: str) -> CallSite:
    """The line outside of this room that called into it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_DESCRIPTION):
        frame = frame.f_back
    return CallSite(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}", shortened(element))
