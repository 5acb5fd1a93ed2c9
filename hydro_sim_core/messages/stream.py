"""A topic and how its messages are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hydro_sim_core.simulation import Snapshot


@dataclass(frozen=True)
class Stream:
    """A topic of a running world.

    Attributes:
        topic: Its name: absolute, relative, or ``~/`` and below the node.
        type_name: Such as ``std_msgs/msg/String``.
        encode: Turns a snapshot of the world into a serialised message, or None where there is none to tell. Called
            by one thread at a time.
    """

    topic: str
    type_name: str
    encode: Callable[[Snapshot], bytes | None]
