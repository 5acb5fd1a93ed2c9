"""How many edges the circles of round shapes get: enough by default, and a warning where a hint leaves few."""

from __future__ import annotations

import math
from dataclasses import replace

from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec

#: Edges around the largest circle of a shape without a hint. Cylinders and balls round this up, to 16; the half leaves
#: room for a margin, by which they are meshed larger. Capsules round down.
LEAST_EDGES = 15.5
#: Edges below which a circle is told to be a crude polygon.
CRUDE_EDGES = 8


def with_round_default(shape: ShapeSpec, proximity: ProximitySpec) -> ProximitySpec:
    """``proximity`` with a resolution hint that nobody gave made fine enough for the shape."""
    hint, radius = proximity.resolution_hint, _largest_radius(shape)
    if hint is None or radius is None:
        return proximity
    return replace(proximity, resolution_hint=min(hint, 2.0 * math.pi * radius / LEAST_EDGES))


def is_crude(shape: ShapeSpec, proximity: ProximitySpec) -> bool:
    """Whether the resolution hint makes fewer than ``CRUDE_EDGES`` edges around the largest circle of a shape."""
    hint, radius = proximity.resolution_hint, _largest_radius(shape)
    return hint is not None and radius is not None and 2.0 * math.pi * radius <= (CRUDE_EDGES - 1) * hint


def _largest_radius(shape: ShapeSpec) -> float | None:
    known = shape_types().get(shape.kind)
    if known is None or "resolution" not in known.options or len(shape.size) != known.num_lengths:
        return None
    return known.largest_radius(shape.size)
