"""Names of message types."""

from __future__ import annotations


def type_name(message_type: type) -> str:
    """Name of a message type, such as ``std_msgs/msg/Float64``."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"
