"""Receives commands in a thread of its own, by the shortest way from the middleware to their callbacks."""

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

_SPIN_PERIOD = 0.1  # s, how late ``close`` is noticed at most


class Receiver:
    """Subscriptions that no service, parameter or timer of the node holds up.

    The events executor runs a callback as soon as its message is there, where the others first build a list of
    everything that might happen; but it knows no guard conditions. So what it serves is on a hidden node of its own.
    An rclpy without it, as the first of Jazzy are, serves that node by the single-threaded executor, a little later.

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
        """Have ``callback`` called with every message on a topic.

        Args:
            message_type: Type of the topic.
            topic: Resolved name.
            callback: Runs in the receiver's thread.
            qos: Of the subscription.
            event_callbacks: Run there too.
        """

        def receive(message: Any) -> None:
            if self._listening:
                callback(message)

        self._node.create_subscription(message_type, topic, receive, qos, event_callbacks=event_callbacks)

    def start(self) -> None:
        """Call callbacks from now on."""
        self._listening = True

    def stop(self) -> None:
        """Drop what comes, until the next ``start``: kept, it would act on a robot that is activated much later."""
        self._listening = False

    def close(self) -> None:
        """Leave the graph."""
        self._closing.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()

    def _run(self) -> None:
        # Its ``spin`` ends only with the context.
        while not self._closing.is_set():
            try:
                self._executor.spin_once(timeout_sec=_SPIN_PERIOD)
            except Exception as error:
                # A mistake of ours in one callback must not make the node deaf to all commands.
                self._logger.error(f"a command was dropped by an error: {type(error).__name__}: {error}")


def _make_executor(context: Context) -> Executor:
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
