"""Repairs of descriptions: what other programs read, although no body can be like that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal

from hydro_sim_core.description.spec import Repair
from hydro_sim_core.errors import InputError

_LOG = logging.getLogger(__name__)

#: What is done about what cannot be: an error, a repair with a warning, or a repair.
Policy = Literal["strict", "warn", "silent"]
#: Most repairs that the warning names.
_MOST_NAMED = 3


class Repairs:
    """Repairs of one description while it is read.

    Args:
        policy: What is done about what cannot be.

    Attributes:
        policy: What is done about what cannot be.
        undrawn: Links whose visual shapes cannot be had, and why; nothing is refused for those.
        edits: What makes the same changes to the document, to be called when all of it is read.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.undrawn: dict[str, str] = {}
        self.edits: list[Callable[[], object]] = []
        self._done: dict[Repair, None] = {}

    @property
    def done(self) -> tuple[Repair, ...]:
        """What was changed, in the order of the file."""
        return tuple(self._done)

    def mend(self, error: InputError, became: str, edit: Callable[[], object]) -> None:
        """Note a change in place of an error.

        Args:
            error: What cannot be.
            became: What is taken instead, in words.
            edit: Makes the change to the document.

        Raises:
            InputError: ``error``, where there shall be no repairs.
        """
        if self.policy == "strict":
            raise error
        repair = Repair(error.element, error.problem, became)
        if repair not in self._done:
            self._done[repair] = None
            self.edits.append(edit)

    def tell(self, source: object) -> None:
        """Log one warning of what was repaired, and one of what is not drawn, unless it is to be silent."""
        if self.policy == "silent":
            return
        tell(source, self.done)
        if self.undrawn:
            link, problem = next(iter(self.undrawn.items()))
            _LOG.warning(
                "%s: visual shapes of %s cannot be had, and are drawn as the collision shapes of their links: %s: %s",
                source,
                _count(len(self.undrawn), "link"),
                link,
                problem,
            )


def tell(source: object, repairs: Iterable[Repair]) -> None:
    """Log one warning of repairs, if there are any."""
    words = [str(repair) for repair in repairs]
    if not words:
        return
    named = [
        *words[:_MOST_NAMED],
        *([f"{len(words) - _MOST_NAMED} more"] if len(words) > _MOST_NAMED else []),
    ]
    _LOG.warning(
        "%s: %s (repair: strict refuses them, and hydro-sim check lists them): %s",
        source,
        _count(len(words), "repair"),
        "; ".join(named),
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
