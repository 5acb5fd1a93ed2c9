"""Messages of a recorded topic as objects, by the definition that the file itself holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import MessageIndex, RecordedTopic

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")

#: Decoded messages kept of a topic, so that looking back costs little.
_KEPT = 128
#: How many messages back a name is looked for that the newest lacks: several programs may write to one topic.
_LOOK_BACK = 50


class TopicReader:
    """Decoded messages of a topic by time.

    Args:
        index: The file.
        topic: One of its topics.

    Raises:
        InputError: The messages are not those of ROS 2, or their definition cannot be read.
    """

    def __init__(self, index: MessageIndex, topic: RecordedTopic) -> None:
        self.topic = topic
        self._index = index
        if topic.encoding != "cdr" or topic.definition_encoding != "ros2msg":
            problem = f"is encoded as '{topic.encoding}' and defined in '{topic.definition_encoding}'"
            raise self.error(problem, "give a recording of ROS 2 messages (cdr, ros2msg)")
        self._store = get_typestore(Stores.EMPTY)
        try:
            self._store.register(get_types_from_msg(topic.definition, topic.type_name))
        except Exception as error:  # whatever the parser makes of it
            raise self.error(
                f"has a definition that cannot be read ({_line(error)})", "record it again"
            ) from None
        self.message = lru_cache(maxsize=_KEPT)(self._decode)

    def row_at(self, time: int) -> int:
        """Row of the newest message that is not after ``time`` (ns); -1 where there is none."""
        return int(np.searchsorted(self.topic.times, time, side="right")) - 1

    def at(self, time: int) -> Any | None:
        """The newest message that is not after ``time`` (ns); None where there is none.

        Raises:
            InputError: The file is damaged there.
        """
        row = self.row_at(time)
        return self.message(row) if row >= 0 else None

    def newest(
        self, time: int, wanted: frozenset[Name], entries: Callable[[Any], Iterable[tuple[Name, Value]]]
    ) -> dict[Name, Value]:
        """The newest value of every name that is not after ``time`` (ns), from several messages if need be.

        Args:
            time: ns.
            wanted: Once these are found, no older message is looked at.
            entries: Names and values in a message.

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
        except Exception as error:  # whatever the decoder makes of damage
            problem = f"message {row} does not fit its definition ({_line(error)})"
            raise self.error(problem, "record it again") from None

    def error(self, problem: str, mend: str) -> InputError:
        """What to raise about the topic."""
        return InputError(self._index.path, f"topic '{self.topic.name}'", problem, mend)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
