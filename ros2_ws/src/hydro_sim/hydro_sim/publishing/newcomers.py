"""Who joins a topic while nothing new is published on it."""

from __future__ import annotations

import time
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks

#: How long the last message is repeated for those who join, s of wall time: discovery may take this long.
_REPEAT_FOR = 5.0


class Newcomers:
    """Tells whether somebody may still wait for the last message of a topic.

    Attributes:
        events: To be given to the topic's publisher. How many ever came is counted, not how many are there: a
            controller that goes while its successor comes would leave that number as it was.
    """

    def __init__(self) -> None:
        self.events = PublisherEventCallbacks(matched=self._matched)
        self._came = self._known = 0
        self._until = float("-inf")

    def _matched(self, info: Any) -> None:
        self._came = info.total_count

    def served(self) -> None:
        """All who are there have had a message: called after each, so that a silence finds out who is new."""
        self._known = self._came
        self._until = float("-inf")

    def waiting(self) -> bool:
        """During a silence: whether someone has subscribed within the last seconds."""
        known, now = self._known, time.monotonic()
        self._known = self._came
        if self._known > known:
            self._until = now + _REPEAT_FOR
        return now < self._until
