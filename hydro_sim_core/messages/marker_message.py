"""Serialisation of ``visualization_msgs/MarkerArray`` from NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.messages.cdr import CdrWriter

# Values of the constants in Marker.msg.
ARROW: Final = 0
LINE_LIST: Final = 5
SPHERE_LIST: Final = 7
TEXT_VIEW_FACING: Final = 9
TRIANGLE_LIST: Final = 11
ADD: Final = 0
DELETE: Final = 2

_NO_POINTS = np.zeros((0, 3))
_NO_COLOURS = np.zeros((0, 4), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Marker:
    """The fields of a Marker that this node sets; the rest keep the message's defaults.

    Attributes:
        ns: Namespace; (ns, id) names the marker in RViz.
        id: Number of the marker within the namespace.
        type: One of the constants above.
        action: ``ADD`` or ``DELETE``.
        position: Origin of the marker in its frame, m; the points are relative to it.
        scale: Size, by the type, m: line width in x; of spheres their diameter in all three; text height in z and
            width of a space in x; of an arrow diameters of shaft in x and head in y, and length of the head in z.
        rgba: Colour of the marker; its alpha multiplies that of ``colours``.
        points: (N, 3) float64, m.
        colours: (N, 4) float32, one colour a point; (0, 4) for ``rgba`` alone.
        text: Text of a ``TEXT_VIEW_FACING`` marker.
    """

    ns: str
    id: int
    type: int
    action: int = ADD
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    rgba: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    points: NDArray[np.float64] = field(default_factory=lambda: _NO_POINTS)
    colours: NDArray[np.float32] = field(default_factory=lambda: _NO_COLOURS)
    text: str = ""


def text_marker(
    ns: str,
    number: int,
    text: str,
    position: tuple[float, float, float],
    height: float,
    rgba: tuple[float, float, float, float],
) -> Marker:
    """Words that face the viewer, in letters of ``height`` (m) around ``position`` (m)."""
    # RViz takes x for the width of a space; without it spaces are those of letters a metre high.
    return Marker(ns, number, TEXT_VIEW_FACING, ADD, position, (0.6 * height, 0.0, height), rgba, text=text)


def encode_marker_array(markers: Sequence[Marker], frame_id: str, stamp: tuple[int, int]) -> bytes:
    """Serialise ``markers`` for ``Publisher.publish``.

    Args:
        markers: Markers in the order of the message.
        frame_id: Frame of every marker.
        stamp: Time of every marker, (seconds, nanoseconds).
    """
    writer = CdrWriter()
    writer.uint32(len(markers))
    for marker in markers:
        _write_marker(writer, marker, frame_id, stamp)
    return writer.bytes()


def _write_marker(writer: CdrWriter, marker: Marker, frame_id: str, stamp: tuple[int, int]) -> None:
    writer.header(frame_id, stamp)
    writer.string(marker.ns)
    writer.int32(marker.id, marker.type, marker.action)
    writer.float64(*marker.position, 0.0, 0.0, 0.0, 1.0)
    writer.float64(*marker.scale)
    writer.float32(*marker.rgba)
    writer.int32(0)  # lifetime: unlimited
    writer.uint32(0)
    writer.boolean(False)  # frame_locked
    writer.rows(marker.points)
    writer.rows(marker.colours)
    writer.string("")  # texture_resource
    writer.header("", (0, 0))  # texture
    writer.string("")
    writer.uint32(0)
    writer.uint32(0)  # uv_coordinates
    writer.string(marker.text)
    writer.string("")  # mesh_resource
    writer.string("")  # mesh_file
    writer.uint32(0)
    writer.boolean(False)  # mesh_use_embedded_materials
