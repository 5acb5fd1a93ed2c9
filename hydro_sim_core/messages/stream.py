"""Streams: topics with the functions that encode their messages.

Plug-ins import this module while the tables of streams are built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.plugins import MEND_PACKAGE, guarded

if TYPE_CHECKING:
    from hydro_sim_core.messages.view import View
    from hydro_sim_core.simulation import Snapshot, World


#: Absolute, relative, or below the node.
_TOPIC = re.compile(r"(~/|/)?[A-Za-z_]\w*(/[A-Za-z_]\w*)*", re.ASCII)
_TYPE = re.compile(r"[a-z]\w*/msg/[A-Z]\w*", re.ASCII)


def _is_rate(value: object) -> bool:
    return isinstance(value, int | float) and 0.0 <= value <= 1e6


@dataclass(frozen=True)
class Stream:
    """A topic of a running world.

    Attributes:
        topic: Name of the topic: absolute, relative, or ``~/…`` below the node's name.
        type_name: Message type, such as ``std_msgs/msg/String``.
        encode: Turns a snapshot of the world into a serialised message, or None for no message. Called by one thread at
            a time.
        rate: Messages per second of simulated time, 0 for every step; None for the rate of its kind.
    """

    topic: str
    type_name: str
    encode: Callable[[Snapshot], bytes | None]
    rate: float | None = None

    def __post_init__(self) -> None:
        def refuse(attribute: str, mend: str) -> None:
            problem = f"{attribute}: {excerpt(getattr(self, attribute))} does not fit"
            raise InputError("Stream", f"{excerpt(self.topic)}", problem, mend)

        if not isinstance(self.topic, str) or not _TOPIC.fullmatch(self.topic):
            refuse("topic", "give a name as ROS knows them, of letters, digits, _ and /")
        if not isinstance(self.type_name, str) or not _TYPE.fullmatch(self.type_name):
            refuse("type_name", "write PACKAGE/msg/TYPE")
        if not (self.rate is None or _is_rate(self.rate)):
            refuse("rate", "give a number from 0 to 1e6, or None")


@dataclass(frozen=True)
class StreamKind:
    """A kind of streams with a common default rate.

    Attributes:
        name: Name of the kind and of its rate.
        streams: Makes the streams of a world and a ``View``.
        rate: Rate in a recording, messages per second of simulated time; 0 for every step, None for one at the start.
        parameter: Parameter of the node that sets the rate; without one, the node uses the rate of recordings.
        clock: Clock of that parameter's rate: simulated or real time.
        depth: Number of messages that the node keeps for late subscribers.
        simulated_parameter: Parameter of the node that, above 0, sets a rate in simulated time instead.
    """

    name: str
    streams: Callable[[World, View], Iterable[Stream]]
    rate: float | None
    parameter: str = ""
    clock: Literal["simulated", "real"] = "simulated"
    depth: int = 10
    simulated_parameter: str = ""

    def __post_init__(self) -> None:
        if not (self.rate is None or _is_rate(self.rate)):
            problem = f"rate: {excerpt(self.rate)} does not fit"
            raise InputError("StreamKind", f"'{self.name}'", problem, "give a number from 0 to 1e6, or None")
        if self.clock == "real" and not self.parameter:
            problem = "goes by real time, whose rate no recording has"
            raise InputError("StreamKind", f"'{self.name}'", problem, "name the parameter that is its rate")

    def made(self, world: World, view: View) -> list[Stream]:
        """The streams of a world; those of a plug-in fail with an ``InputError``, whatever it raises.

        Raises:
            InputError: They cannot be made.
        """
        where = f"stream '{self.name}'"
        streams = guarded(lambda: list(self.streams(world, view)), where, "streams")
        for stream in streams:
            if not isinstance(stream, Stream):
                raise InputError(
                    where, "streams", f"gives {excerpt(stream)}, which is no Stream", MEND_PACKAGE
                )
        return [replace(stream, encode=_checked(stream)) for stream in streams]


def _checked(stream: Stream) -> Callable[[Snapshot], bytes | None]:
    encode = stream.encode

    def checked(snapshot: Snapshot) -> bytes | None:
        message = guarded(lambda: encode(snapshot), f"topic '{stream.topic}'", "encode")
        if not (message is None or isinstance(message, bytes | bytearray | memoryview)):
            problem = f"gives {excerpt(message)}, which are no bytes"
            raise InputError(f"topic '{stream.topic}'", "encode", problem, MEND_PACKAGE)
        return message

    return checked
