"""Callbacks that wait for other threads while the executor serves everybody else."""

from __future__ import annotations

import concurrent.futures
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
