"""Who joins a topic while nothing new is published on it."""

from __future__ import annotations

import time

from rclpy.publisher import Publisher

#: How long the last message is repeated for those who join, s of wall time: discovery may take this long.
_REPEAT_FOR = 5.0


class Newcomers:
    """Tells whether somebody may still wait for the last message of a topic.

    Args:
        publisher: Of the topic.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._known = 0
        self._until = float("-inf")

    def served(self) -> None:
        """All who are there have had a message: called after each, so that a silence finds out who is new."""
        self._known = self._publisher.get_subscription_count()
        self._until = float("-inf")

    def waiting(self) -> bool:
        """During a silence: whether someone has subscribed within the last seconds."""
        known, now = self._known, time.monotonic()
        self._known = self._publisher.get_subscription_count()
        if self._known > known:
            self._until = now + _REPEAT_FOR
        return now < self._until
