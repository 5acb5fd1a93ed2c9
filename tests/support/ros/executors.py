"""A node of a test's own, and its executor."""

from contextlib import contextmanager

import rclpy
from rclpy.executors import SingleThreadedExecutor


@contextmanager
def executor_in(domain):
    """A node of the test's own in a domain, and its executor."""
    context = rclpy.Context()
    context.init(domain_id=domain)
    own = rclpy.create_node("task_controller", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(own)
    yield own, executor
    executor.shutdown()
    own.destroy_node()
    context.shutdown()
