"""A topic and how its messages are made; plug-ins import this while the tables are being put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from hydro_sim_core.messages.view import View
    from hydro_sim_core.simulation import Snapshot, World


@dataclass(frozen=True)
class Stream:
    """A topic of a running world.

    Attributes:
        topic: Its name: absolute, relative, or ``~/`` and below the node.
        type_name: Such as ``std_msgs/msg/String``.
        encode: Turns a snapshot of the world into a serialised message, or None where there is none to tell. Called
            by one thread at a time.
        rate: Its own, messages a second of simulated time, 0 for every step; None where it has that of its kind.
    """

    topic: str
    type_name: str
    encode: Callable[[Snapshot], bytes | None]
    rate: float | None = None


@dataclass(frozen=True)
class StreamKind:
    """Streams of one kind, which have one rate unless they say another.

    Attributes:
        name: Of the kind, and of its rate.
        streams: Makes them of a world and of how it is to be seen.
        rate: In a recording, messages a second of simulated time; 0 for every step, None for one at the start.
        parameter: Parameter of the node that is their rate; without it, the node has that of recordings.
        clock: Whether that rate is one of simulated time or of real time.
        depth: How many messages the node keeps for late readers.
    """

    name: str
    streams: Callable[[World, View], Iterable[Stream]]
    rate: float | None
    parameter: str = ""
    clock: Literal["simulated", "real"] = "simulated"
    depth: int = 10

    def __post_init__(self) -> None:
        if self.clock == "real" and not self.parameter:
            problem = "goes by real time, whose rate no recording has"
            raise InputError("StreamKind", f"'{self.name}'", problem, "name the parameter that is its rate")
