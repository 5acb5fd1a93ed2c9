"""ROS 2 message definitions without a ROS installation."""

from __future__ import annotations

from functools import cache
from typing import Any

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from hydro_sim_core.assets import folder


class MessageTypes:
    """The standard messages of ROS 2 Jazzy and those of hydro_sim_msgs."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.ROS2_JAZZY)
        ours: dict[str, Any] = {}
        for path in sorted(folder("msg").glob("*.msg")):
            ours.update(get_types_from_msg(path.read_text(), f"hydro_sim_msgs/msg/{path.stem}"))
        self._store.register(ours)

    def __contains__(self, type_name: str) -> bool:
        return type_name in self._store.types

    def definition(self, type_name: str) -> str:
        """The definition with all definitions that it refers to, as text in the encoding ``ros2msg``."""
        return self._store.generate_msgdef(type_name, ros_version=2)[0]

    def type_hash(self, type_name: str) -> str:
        """The type hash by which ROS 2 distinguishes versions of a definition (REP 2011)."""
        return self._store.hash_rihs01(type_name)


@cache
def message_types() -> MessageTypes:
    """The definitions, read at the first call."""
    return MessageTypes()
