"""Contact patches as RViz markers: faces coloured by pressure, edges, points, wrenches, and words where too coarse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, FaceArrays
from hydro_sim_core.contact.laws import EQUIVALENT_POINT, SOFT_MINIMUM
from hydro_sim_core.drawing.focus import Focus
from hydro_sim_core.drawing.patch_surface import PatchFaces, join_faces, patch_faces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.contact_arrows import ContactArrows
from hydro_sim_core.messages.marker_message import (
    DELETE,
    LINE_LIST,
    SPHERE_LIST,
    TRIANGLE_LIST,
    Marker,
    encode_marker_array,
    text_marker,
)
from hydro_sim_core.messages.pressure_legend import legend
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

Array = NDArray[np.float64]

_EDGE_RGBA = (0.05, 0.05, 0.05, 1.0)
#: Colour of the edges of patches that should not be trusted; not in the pressure scale.
_WARNING_RGBA = (1.0, 0.25, 0.05, 1.0)
#: Of equivalent contact points and the hulls of their patches: on any body and on any background.
_POINT_RGBA = (1.0, 1.0, 1.0, 1.0)
# In sizes of the scene's focus.
_EDGE_WIDTH = 0.001
_OUTLINE_WIDTH = 0.004
_POINT_DIAMETER = 0.02
_WEIGHT_DIAMETER = 0.012
_TEXT_HEIGHT = 0.03
_TEXT_RISE = 0.25  # above the middle of the patch
_LIFT = 0.001  # of faces out of the stiffer body
_LONGEST_ARROW = 0.6
_LEGEND_WIDTH = 0.55
#: How many times steeper the pressure of the stiffer of two bodies rises.
_STIFFER = 3.0
#: Lower left corner of the legend from the middle of the focus: beside what is handled, and a little higher.
_LEGEND_AT = (0.1, 0.0, 0.42)
#: Simulated time between two evaluations of contact quality, s: it costs more than the markers and changes slowly.
_QUALITY_PERIOD = 1.0
_SMALLEST_CAPACITY = 64  # triangles or edges
#: Messages that delete a marker that is no longer shown. A subscriber that takes a second for each of the large ones
#: before misses what the publisher's short queue has dropped meanwhile.
_DELETIONS = 300


class ContactMarkers:
    """Serialises the contacts of one instant as a MarkerArray.

    RViz updates a marker in place only while its point count stays the same. Each pair of bodies therefore
    has a capacity that only grows, by doubling, and unused triangles and edges are collapsed to a point. When
    a contact ends, several messages in a row delete its markers: one may be lost, and a patch would stay for ever.

    An arrow of the force on B ends at the centre of pressure. An equivalent contact point is a white ball, and the hull
    of its patch has a white outline, so that both are seen where the patch is a line or a point. Where the force should
    not be trusted the edges turn red and a text, in a namespace of its own, says why.

    Args:
        scale: Colour scale.
        frame_id: Frame in which patches are given.
        focus: Region of the scene that is looked at; its size is that of letters and arrows.
        legend_position: (3,) position of the legend in that frame, m; None puts it beside the focus.
    """

    def __init__(
        self,
        scale: PressureScale,
        frame_id: str,
        focus: Focus,
        legend_position: tuple[float, float, float] | None = None,
    ) -> None:
        self._scale = scale
        self._frame_id = frame_id
        self._size = focus.size
        x, y, z = (focus.centre + focus.size * np.array(_LEGEND_AT)).tolist()
        self._legend = legend(scale, legend_position or (x, y, z), _LEGEND_WIDTH * focus.size)
        self._arrows = ContactArrows(_LONGEST_ARROW * focus.size)
        self._capacity: dict[tuple[str, str], int] = {}
        self._deletions: dict[tuple[str, int, int], int] = {}
        self._problems: dict[str, str] = {}
        self._looked = float("-inf")

    def encode(self, contacts: Iterable[ContactPatch], stamp: tuple[int, int]) -> bytes:
        """Serialise ``contacts`` (``ContactPatch``) at ``stamp`` (seconds, nanoseconds)."""
        patches = tuple(contacts)
        self._look_at_quality(patches, stamp[0] + 1e-9 * stamp[1])
        surfaces: dict[str, list[PatchFaces]] = {}
        touching: dict[str, list[ContactPatch]] = {}
        for patch in patches:
            faces = patch_faces(self._lifted(patch.faces), patch.pressing)
            if len(faces.counts):
                pair = f"{patch.name_a} on {patch.name_b}"
                surfaces.setdefault(pair, []).append(faces)
                touching.setdefault(pair, []).append(patch)

        markers = [
            marker
            for pair, parts in surfaces.items()
            for marker in self._pair_markers(pair, join_faces(parts))
        ]
        for pair, alike in touching.items():
            if points := [patch.centroid for patch in alike if patch.law == EQUIVALENT_POINT]:
                markers += self._point_markers(pair, np.array(points), join_faces(surfaces[pair]))
            if soft := [patch for patch in alike if patch.law == SOFT_MINIMUM]:
                markers.append(self._weight_marker(pair, soft))
        markers += self._arrows.markers(list(touching.items()))
        ended = self._ended({(marker.ns, marker.id, marker.type) for marker in markers})
        return encode_marker_array([*markers, *ended, *self._legend], self._frame_id, stamp)

    def _ended(self, shown: set[tuple[str, int, int]]) -> list[Marker]:
        """What deletes markers that were shown before."""
        ended = sorted(key for key in self._deletions if key not in shown)
        left = {key: self._deletions[key] - 1 for key in ended}
        self._deletions = {key: count for key, count in left.items() if count} | dict.fromkeys(
            shown, _DELETIONS
        )
        return [Marker(*key, DELETE) for key in ended]

    def _lifted(self, faces: FaceArrays) -> FaceArrays:
        """The faces a little out of the stiffer body, on whose surface they lie: it would show through them."""
        slope_a, slope_b = faces.gradients.T
        # Out of A is along the normal, out of B against it; between two that give way alike faces lie inside both.
        # Those of two rigid bodies lie on both: B, which may be the ground, would flicker through them.
        out_of_b = (slope_b > _STIFFER * slope_a) | (np.isinf(slope_a) & np.isinf(slope_b))
        outwards = (slope_a > _STIFFER * slope_b) * 1.0 - out_of_b
        shift = (_LIFT * self._size * outwards)[:, None] * faces.normals
        return replace(faces, vertices=faces.vertices + shift[:, None], centroids=faces.centroids + shift)

    def _look_at_quality(self, patches: tuple[ContactPatch, ...], now: float) -> None:
        if 0.0 <= now - self._looked < _QUALITY_PERIOD:  # negative after a reset
            return
        self._looked = now
        self._problems = {}
        for warning in ContactSummary(patches).warnings:
            self._problems.setdefault(warning.bodies, warning.problem)  # the most serious comes first

    def _pair_markers(self, pair: str, faces: PatchFaces) -> list[Marker]:
        triangles = faces.vertices[faces.triangles].reshape(-1, 9)
        pressures = faces.pressures[faces.triangles]
        edges = faces.vertices[faces.edges].reshape(-1, 6)

        corners = self._filled("faces", pair, triangles, faces.vertices[0])
        padding = len(corners) // 3 - len(triangles)
        colours = self._scale.colours(np.pad(pressures, ((0, padding), (0, 0))).ravel())
        ends = self._filled("edges", pair, edges, faces.vertices[0])
        problem = self._problems.get(pair)
        rgba = _WARNING_RGBA if problem else _EDGE_RGBA
        markers = [
            Marker(f"faces/{pair}", 0, TRIANGLE_LIST, points=corners, colours=colours),
            Marker(
                f"edges/{pair}",
                0,
                LINE_LIST,
                scale=(_EDGE_WIDTH * self._size, 0.0, 0.0),
                rgba=rgba,
                points=ends,
            ),
        ]
        if problem:
            x, y, z = triangles.reshape(-1, 3).mean(axis=0).tolist()
            at = (x, y, z + _TEXT_RISE * self._size)
            text = text_marker(f"quality/{pair}", 0, problem, at, _TEXT_HEIGHT * self._size, rgba)
            markers.append(text)
        return markers

    def _point_markers(self, pair: str, points: Array, faces: PatchFaces) -> list[Marker]:
        """Equivalent contact points (N, 3), m, and the outlines of their patches."""
        balls = self._filled("points", pair, points, points[0])
        outline = faces.vertices[faces.outline].reshape(-1, 6)
        ends = self._filled("outlines", pair, outline, faces.vertices[0])
        width, size = _OUTLINE_WIDTH * self._size, _POINT_DIAMETER * self._size
        return [
            Marker(f"outlines/{pair}", 0, LINE_LIST, scale=(width, 0.0, 0.0), rgba=_POINT_RGBA, points=ends),
            Marker(
                f"points/{pair}", 0, SPHERE_LIST, scale=(size, size, size), rgba=_POINT_RGBA, points=balls
            ),
        ]

    def _weight_marker(self, pair: str, patches: list[ContactPatch]) -> Marker:
        """The points of clouds that press, the more opaque the more of the force each one has."""
        shares = np.concatenate([patch.face_forces for patch in patches])
        balls = np.concatenate([patch.centroids for patch in patches])
        filled = self._filled("weights", pair, balls, balls[0])
        colours = np.ones((len(filled), 4), dtype=np.float32)
        colours[:, 3] = 0.0
        colours[: len(shares), 3] = shares / max(float(shares.max()), np.finfo(float).tiny)
        size = _WEIGHT_DIAMETER * self._size
        return Marker(
            f"weights/{pair}", 0, SPHERE_LIST, scale=(size, size, size), points=filled, colours=colours
        )

    def _filled(self, kind: str, pair: str, rows: Array, filler: Array) -> Array:
        """Points (N, 3) of rows with one or more points each, filled up to the capacity by ``filler`` (3,)."""
        padding = self._grow((kind, pair), len(rows)) - len(rows)
        return np.concatenate([rows, np.tile(filler, (padding, rows.shape[1] // 3))]).reshape(-1, 3)

    def _grow(self, key: tuple[str, str], needed: int) -> int:
        capacity = self._capacity.get(key, _SMALLEST_CAPACITY)
        while capacity < needed:
            capacity *= 2
        self._capacity[key] = capacity
        return capacity
