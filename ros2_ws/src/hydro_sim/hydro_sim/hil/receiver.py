"""Receiver of commands in a thread of its own, with the lowest latency from the middleware to the callbacks."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

_SPIN_PERIOD = 0.1  # s, largest delay until ``close`` is noticed


class Receiver:
    """Subscriptions that services, parameters and timers of the node cannot delay.

    The events executor runs a callback as soon as its message arrives, while other executors first build a wait set of
    all entities; but it does not support guard conditions. It therefore serves a hidden node of its own. With an rclpy
    that lacks it, such as the first ones of Jazzy, the single-threaded executor serves that node, with slightly more
    latency.

    Args:
        node: The node that commands are sent to; topics are resolved by it.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._node = rclpy.create_node(
            f"_{node.get_name()}_commands",
            namespace=node.get_namespace(),
            context=node.context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = _make_executor(node.context)
        self._executor.add_node(self._node)
        self._listening = False
        self._closing = Event()
        self._thread = Thread(target=self._run, name="command-receiver", daemon=True)
        self._thread.start()

    def subscribe(
        self,
        message_type: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        event_callbacks: SubscriptionEventCallbacks,
    ) -> None:
        """Subscribe to a topic.

        Args:
            message_type: Type of the topic.
            topic: Resolved name of the topic.
            callback: Called with every message in the receiver's thread.
            qos: QoS profile of the subscription.
            event_callbacks: Callbacks of events, in the same thread.
        """

        def receive(message: Any) -> None:
            if self._listening:
                callback(message)

        self._node.create_subscription(message_type, topic, receive, qos, event_callbacks=event_callbacks)

    def start(self) -> None:
        """Run callbacks from now on."""
        self._listening = True

    def stop(self) -> None:
        """Drop messages until the next ``start``; queued ones would act on a robot that is activated much later."""
        self._listening = False

    def close(self) -> None:
        """Destroy the node and end the thread."""
        self._closing.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()

    def _run(self) -> None:
        # The events executor's ``spin`` ends only with the context.
        while not self._closing.is_set():
            try:
                self._executor.spin_once(timeout_sec=_SPIN_PERIOD)
            except Exception as error:
                # A bug in one callback must not stop the reception of all commands.
                self._logger.error(f"a command was dropped by an error: {type(error).__name__}: {error}")


def _make_executor(context: Context) -> Executor:
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
