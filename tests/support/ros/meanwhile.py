"""What another client does while the world of a change is being made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def do_meanwhile(control: Any, act: Callable[[], Any]) -> None:
    """Call ``act`` once, when the next change of a simulation makes its world."""
    inner = control._make
    has_acted = []

    async def make(build: Any, base: Any) -> Any:
        if not has_acted:
            has_acted.append(True)
            act()
        return await inner(build, base)

    control._make = make
