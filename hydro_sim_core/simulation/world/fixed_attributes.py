"""Attributes that cannot be assigned: what a world tells of itself, and names that it does not have."""

from __future__ import annotations

import difflib
from typing import Any, ClassVar

from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.errors import shortened


class FixedAttributes:
    """Base class of what refuses assignments to its attributes once it is made, as they would change nothing.

    Methods may be replaced, and names that begin with an underscore are the class's own.
    """

    #: What to use instead, by the name of the attribute.
    _instead: ClassVar[dict[str, str]] = {}
    #: Whether all public attributes have their values.
    _is_made = False

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] == "_" or not self._is_made or callable(getattr(type(self), name, None)):
            object.__setattr__(self, name, value)
            return
        kind = type(self).__name__
        known = [known for known in dir(self) if known[0] != "_"]
        problem = "cannot be assigned" if name in known else f"is no attribute of a {kind}"
        raise AttributeError(
            f"{kind}: {shortened(name)}: {problem}; {self._mend(name, known)}", name=name, obj=self
        )

    def _mend(self, name: str, known: list[str]) -> str:
        if name in self._instead:
            return self._instead[name]
        if name in known:
            return "it tells what the scene says: change that, or call a method"
        if name in SceneSpec.model_fields:
            return f'make another with scene.with_({{"{name}": …}})'
        close = difflib.get_close_matches(name, known, n=1)
        return f"did you mean '{close[0]}'?" if close else "keep it in a variable of your own"
