"""Pulls of links as ``std_msgs/Float64MultiArray``, a type that every ROS installation has.

``layout.dim`` has one entry a link: ``label`` is its name, and ``size`` how many numbers of ``data`` are about it, one
link after the other. 0 lets go of it. 6 are the point in the link's frame and the target in the world, m; 8 have
stiffness (N/m) and damping (N s/m) too, which otherwise are the defaults of ``World.pull``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.simulation.world.pulls import Pull

PULL = "std_msgs/msg/Float64MultiArray"
#: Possible numbers about a link.
LET_GO, PLACES, ALL = 0, 6, 8


def encode_pulls(pulls: Sequence[Pull], released: Iterable[str]) -> bytes:
    """The serialised message with pulls and with links that are let go."""
    links = [(pull.link, ALL) for pull in pulls] + [(link, LET_GO) for link in released]
    data = [number for pull in pulls for number in (*pull.point, *pull.target, pull.stiffness, pull.damping)]
    writer = CdrWriter()
    writer.uint32(len(links))
    for link, size in links:
        writer.string(link)
        writer.uint32(size, size)
    writer.uint32(0, len(data))
    if data:
        writer.float64(*data)
    return writer.bytes()
