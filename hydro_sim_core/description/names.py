"""Suggestions for misspelt names, and which names can be keys."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from keyword import iskeyword

#: What is looked for from other simulators and is not here under any name; then what there is instead.
_ABSENT = {
    "restitution": "there is no restitution: what a bounce loses follows from dissipation"
    " (s/m; drake:hunt_crossley_dissipation in a URDF) and the speed of the impact",
}


def mend_of_absent(name: str) -> str | None:
    """What to write in place of what other simulators have, such as ``<drake:restitution>``; else None."""
    return next((mend for absent, mend in _ABSENT.items() if absent in name.lower()), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown ``name``: try the nearest known one, else any of them."""
    names = sorted(known)
    if not names:
        return "remove it: there is none to choose from"
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return "use one of " + ", ".join(f"'{known_name}'" for known_name in names)


def is_key(name: object) -> bool:
    """Whether it can be a key of scene files and a keyword of programs."""
    is_word = isinstance(name, str) and name.isidentifier() and not iskeyword(name)
    return is_word and not str(name).startswith("_")
