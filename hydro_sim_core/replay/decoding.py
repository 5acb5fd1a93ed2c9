"""Decoder of recorded messages, by the message definitions in the file itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.recording import MessageIndex, RecordedTopic

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")

#: Size of the cache of decoded messages of a topic.
_KEPT = 128
#: Definitions of known packages have up to 60 000 characters, and parsing takes its time.
_LONGEST_DEFINITION = 250_000
#: How many messages back to search for a name that the newest message lacks; a topic may have several publishers.
_LOOK_BACK = 50


class TopicReader:
    """Decoded messages of a topic by time.

    Args:
        index: The file.
        topic: One of its topics.

    Raises:
        InputError: The messages are not ROS 2 messages, or their definition cannot be read.
    """

    def __init__(self, index: MessageIndex, topic: RecordedTopic) -> None:
        self.topic = topic
        self._index = index
        if topic.encoding != "cdr" or topic.definition_encoding != "ros2msg":
            problem = f"is encoded as '{topic.encoding}' and defined in '{topic.definition_encoding}'"
            raise self.error(problem, "give a recording of ROS 2 messages (cdr, ros2msg)")
        try:
            self._store = _types(topic.definition, topic.type_name)
        except Exception as error:  # the parser may raise anything
            raise self.error(
                f"has a definition that cannot be read ({_line(error)})", "record it again"
            ) from None
        self.message = lru_cache(maxsize=_KEPT)(self._decode)

    def row_at(self, time: int) -> int:
        """Row of the newest message not after ``time`` (ns); -1 if there is none."""
        return int(np.searchsorted(self.topic.times, time, side="right")) - 1

    def at(self, time: int) -> Any | None:
        """The newest message not after ``time`` (ns); None if there is none.

        Raises:
            InputError: The file is damaged there.
        """
        row = self.row_at(time)
        return self.message(row) if row >= 0 else None

    def newest(
        self, time: int, wanted: frozenset[Name], entries: Callable[[Any], Iterable[tuple[Name, Value]]]
    ) -> dict[Name, Value]:
        """The newest value of every name not after ``time`` (ns), from several messages if needed.

        Args:
            time: Time, ns.
            wanted: Names to find; the search ends when it has all of them.
            entries: Returns names and values of a message.

        Raises:
            InputError: The file is damaged there.
        """
        found: dict[Name, Value] = {}
        last = self.row_at(time)
        for row in range(last, max(-1, last - _LOOK_BACK), -1):
            found = {**dict(entries(self.message(row))), **found}
            if wanted <= found.keys():
                break
        return found

    def _decode(self, row: int) -> Any:
        data = self._index.read(self.topic, row)
        try:
            return self._store.deserialize_cdr(data, self.topic.type_name)
        except Exception as error:  # damaged data may raise anything in the decoder
            problem = f"message {row} does not fit its definition ({_line(error)})"
            raise self.error(problem, "record it again") from None

    def error(self, problem: str, mend: str) -> InputError:
        """An exception about the topic, to be raised."""
        return InputError(self._index.path, f"topic '{shortened(self.topic.name)}'", problem, mend)


@lru_cache(maxsize=64)
def _types(definition: str, type_name: str) -> Typestore:
    """Types of a definition, which several topics may have."""
    if len(definition) > _LONGEST_DEFINITION:
        raise ValueError(f"it has {len(definition)} characters")
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(definition, type_name))
    return store


def _line(error: Exception) -> str:
    return shortened(str(error)) or type(error).__name__
