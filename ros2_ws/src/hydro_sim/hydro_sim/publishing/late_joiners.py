"""Late joiners: subscribers that join a topic while nothing new is published on it."""

from __future__ import annotations

import time
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks

#: Time for which the last message is repeated for late joiners, s of wall time: discovery may take this long.
_REPEAT_FOR = 5.0


class LateJoiners:
    """Tracks whether a subscriber may still need the last message of a topic.

    Attributes:
        events: Event callbacks for the topic's publisher. They count all subscribers so far, not the present ones,
            whose number is unchanged when a controller is replaced by its successor.
    """

    def __init__(self) -> None:
        self.events = PublisherEventCallbacks(matched=self._matched)
        self._came = self._known = 0
        self._until = float("-inf")

    def _matched(self, info: Any) -> None:
        self._came = info.total_count

    def served(self) -> None:
        """Mark the present subscribers as served; called after each message."""
        self._known = self._came
        self._until = float("-inf")

    def waiting(self) -> bool:
        """Whether, without new messages, a subscriber has joined within the last seconds."""
        known, now = self._known, time.monotonic()
        self._known = self._came
        if self._known > known:
            self._until = now + _REPEAT_FOR
        return now < self._until
