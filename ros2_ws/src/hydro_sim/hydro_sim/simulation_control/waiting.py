"""Bridges between the executor's thread and others: callbacks that wait for them, and calls from them."""

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
        group: Callback group for waiting callbacks, in which they do not block others.

    Args:
        node: Whose executor runs the callbacks.
    """

    def __init__(self, node: Node) -> None:
        self.group = ReentrantCallbackGroup()
        self._wake = node.create_guard_condition(lambda: None, callback_group=self.group)

    async def __call__(self, awaited: concurrent.futures.Future[Any]) -> Any:
        """Await a future; return its result or raise its exception."""
        done = Future()

        def finish(_: object) -> None:
            done.set_result(None)
            # The executor resumes waiting coroutines only when it is woken.
            self._wake.trigger()

        awaited.add_done_callback(finish)
        await done
        return awaited.result()


class Calls:
    """Calls of other threads that the executor's thread carries out.

    Args:
        node: Node whose executor carries them out.
        waiting: Waits in calls that await futures.
    """

    def __init__(self, node: Node, waiting: Waiting) -> None:
        self._open: SimpleQueue[tuple[Callable[[], Awaitable[None]], concurrent.futures.Future[None]]]
        self._open = SimpleQueue()
        self._wake = node.create_guard_condition(self._serve, callback_group=waiting.group)

    def call(self, request: Callable[[], Awaitable[None]], timeout: float) -> None:
        """Have the executor carry out ``request``, and wait for its end; not for the executor's thread.

        Args:
            request: Makes the awaitable that the executor awaits.
            timeout: Longest wait, s.

        Raises:
            TimeoutError: It has not ended in time; it may end later.
            Exception: The exception of the request.
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
                answer.set_exception(error)  # raised in the calling thread
            else:
                answer.set_result(None)
