"""Shared memory of Fast DDS, large enough for messages of contact surfaces.

With its default segment of 512 KiB, which one message of contact markers fills, Fast DDS may go on sending fragments of
one message for as long as any reliable subscriber is stopped (by a debugger, say), and nobody receives the next ones.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

_PROFILE = Path(__file__).with_name("fast_dds.xml")
#: Where Fast DDS 2 and 3 look for a profile, in variables and in the working directory.
_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_FILES = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")
#: What makes rmw_fastrtps or Fast DDS choose other transports, with which the profile would clash.
_OTHER_TRANSPORTS = ("FASTDDS_BUILTIN_TRANSPORTS", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")


def choose_shared_memory(environment: MutableMapping[str, str]) -> bool:
    """Have Fast DDS use our profile, unless a user has chosen something of the kind. Call it before ``rclpy.init``.

    Args:
        environment: ``os.environ``.

    Returns:
        Whether the profile will be used, if the middleware is Fast DDS.
    """
    chosen = any(environment.get(name) for name in (*_VARIABLES, *_OTHER_TRANSPORTS))
    if chosen or any(Path(name).exists() for name in _FILES):
        return False
    for name in _VARIABLES:
        environment[name] = str(_PROFILE)
    return True
