"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown ``name``: try the nearest known one, else any of them."""
    names = sorted(known)
    if not names:
        return "remove it: there is none to choose from"
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return "use one of " + ", ".join(f"'{known_name}'" for known_name in names)
