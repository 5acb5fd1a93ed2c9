"""Suggestions for misspelt names, and the rules for names of keys and topics."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from keyword import iskeyword

#: Features of other simulators that have no counterpart, with what to use instead.
_ABSENT = {
    "restitution": "there is no restitution: what a bounce loses follows from dissipation"
    " (s/m; drake:hunt_crossley_dissipation in a URDF) and the speed of the impact",
}


def mend_of_absent(name: str) -> str | None:
    """Suggestion for a feature of other simulators without counterpart, such as ``<drake:restitution>``; else None."""
    return next((mend for absent, mend in _ABSENT.items() if absent in name.lower()), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Suggestion for an unknown ``name``: the most similar known name, or else ``otherwise``, or a list of all."""
    names = sorted(known)
    if not names:
        return "remove it: there is none to choose from"
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    if otherwise:
        return otherwise
    return "use one of " + ", ".join(f"'{known_name}'" for known_name in names)


def is_key(name: object) -> bool:
    """Whether a name can be a key of scene files and a keyword of programs."""
    is_word = isinstance(name, str) and name.isidentifier() and not iskeyword(name)
    return is_word and not str(name).startswith("_")


def topic_token(name: str) -> str:
    """Replace all characters of ``name`` that a topic name may not have."""
    token = re.sub(r"\W+", "_", name, flags=re.ASCII)
    return f"_{token}" if token[:1].isdigit() else token
