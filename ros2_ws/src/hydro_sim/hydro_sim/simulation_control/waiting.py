"""Between the executor's thread and others: callbacks that wait for them, and calls that come from them."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future


class Waiting:
    """Makes futures of other threads awaitable in callbacks of a node.

    Attributes:
        group: For callbacks that wait: in it they keep no other callback waiting.

    Args:
        node: Whose executor runs the callbacks.
    """

    def __init__(self, node: Node) -> None:
        self.group = ReentrantCallbackGroup()
        self._wake = node.create_guard_condition(lambda: None, callback_group=self.group)

    async def __call__(self, awaited: concurrent.futures.Future[Any]) -> Any:
        """Result of a future; raises what it holds."""
        done = Future()

        def finish(_: object) -> None:
            done.set_result(None)
            # The executor looks at what awaits only when something happens.
            self._wake.trigger()

        awaited.add_done_callback(finish)
        await done
        return awaited.result()


class Calls:
    """Calls of other threads that the executor's thread has to carry out.

    Args:
        node: Whose executor carries them out.
        waiting: For calls that wait themselves.
    """

    def __init__(self, node: Node, waiting: Waiting) -> None:
        self._open: SimpleQueue[tuple[Callable[[], Awaitable[None]], concurrent.futures.Future[None]]]
        self._open = SimpleQueue()
        self._wake = node.create_guard_condition(self._serve, callback_group=waiting.group)

    def call(self, request: Callable[[], Awaitable[None]], timeout: float) -> None:
        """Have ``request`` carried out and wait for its end; never called by the executor's thread.

        Args:
            request: Makes what the executor awaits.
            timeout: How long to wait, s.

        Raises:
            TimeoutError: It has not ended in time; it may still do so.
            Exception: What the request raised.
        """
        answer: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._open.put((request, answer))
        self._wake.trigger()
        answer.result(timeout)

    async def _serve(self) -> None:
        while not self._open.empty():
            request, answer = self._open.get()
            try:
                await request()
            except BaseException as error:
                answer.set_exception(error)  # it is the caller's
            else:
                answer.set_result(None)
