"""How a nut sits on its bolt, by threads that are round, whatever mesh or law of contact they touch by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry.geometry import FloatArray

#: Edges of a profile within a pitch, as shares of it: crest, falling flank, root, rising flank.
_EDGES = np.array([0.0, 2.0, 7.0, 11.0, 16.0]) / 16.0
#: Half planes around the axis, and places on sides of the profile (their numbers, and shares of the way along them), at
#: which an overlap is looked for: on edges of the bolt, and about where edges of the nut are.
AROUND = 48
#: Where the ends of both threads meet an overlap may be as narrow as a degree: of so many places it is looked for in so
#: many half planes on both sides.
_DEEPEST, _BETWEEN = 12, 48
_SIDES, _SHARES = np.array([0, 1, 1, 1, 3, 3]), np.array([0.0, 0.0, 0.5, 0.9, 0.1, 0.5])


@dataclass(frozen=True)
class ThreadFit:
    """A bolt and a nut with the basic profile of ISO 68-1, as ``metric_bolt`` and ``metric_nut`` make them.

    In every half plane through the axis each is bounded by straight sides between the edges of its thread, which a
    chamfer moves towards its own material: the profile of a mesh with one row on a flank, and not a cone.

    Attributes:
        diameter: Major diameter D, m.
        pitch: Pitch P, m.
        length: Of the bolt, m.
        height: Of the nut, m.
        clearance: How much closer to the axis the profile of the bolt is than that of the nut, m.
        chamfer: Of both ends of both, m.
    """

    diameter: float
    pitch: float
    length: float
    height: float
    clearance: float
    chamfer: float

    @property
    def minor(self) -> float:
        """Radius of the crest of the nut, m."""
        return 0.5 * self.diameter - 0.625 * math.sqrt(0.75) * self.pitch

    @property
    def crest(self) -> float:
        """Radius of the crest of the bolt, m."""
        return 0.5 * self.diameter - self.clearance

    def overlap(self, X_BN: FloatArray) -> float:
        """How far the bolt's thread is inside the nut's, across its sides, m.

        Args:
            X_BN: (4, 4) pose of the nut in the bolt, each with its lower end at z = 0 and the beginning of a root of
                the nut, or a crest of the bolt, on the x axis there.

        Returns:
            Negative by the least gap without contact, and minus infinity where the nut is not on the bolt.
        """
        # No point of an end is further from its plane than the nut is wide.
        reach = self.diameter * math.hypot(X_BN[0, 2], X_BN[1, 2])
        heights = self._on_bolt[:, 2] - X_BN[2, 3]
        (near,) = np.nonzero((heights > -reach) & (heights < self.height + reach))
        depth = self._depth_in_nut(X_BN, self._on_bolt[near])
        if not np.any(depth > -math.inf):
            return -math.inf
        deepest = near[np.argsort(depth)[-_DEEPEST:]]
        theta, turn, place = self._places
        theta, turn, place = theta[deepest, None], turn[deepest, None], place[deepest, None]
        theta = theta + (2.0 * math.pi / AROUND) * np.linspace(-1.0, 1.0, 2 * _BETWEEN + 1)
        between = self._depth_in_nut(X_BN, self._points(theta, turn, place).reshape(-1, 3))
        return float(max(depth.max(), between.max()))

    def _depth_in_nut(self, X_BN: FloatArray, p_BQ: FloatArray) -> FloatArray:
        """How deep points (K, 3) of the bolt are in the nut (K,), m; minus infinity beyond its ends."""
        x, y, z = ((p_BQ - X_BN[:3, 3]) @ X_BN[:3, :3]).T
        is_in = (z > 0.0) & (z < self.height)
        depth = np.full(len(p_BQ), -math.inf)
        depth[is_in] = self._depth(np.hypot(x, y)[is_in], np.arctan2(y, x)[is_in], z[is_in])
        return depth

    def _depth(self, r: FloatArray, theta: FloatArray, z: FloatArray) -> FloatArray:
        """How deep points are in the nut, m, given by radii, angles and heights between its ends, of one shape (K,)."""
        edges = np.concatenate([_EDGES[-2:-1] - 1.0, _EDGES, _EDGES[1:2] + 1.0]) * self.pitch
        along = (z - self.pitch * theta / (2.0 * math.pi)) % self.pitch
        side = np.clip(np.searchsorted(_EDGES * self.pitch, along, side="right"), 1, 4)
        # The side that is met from here along the radius is between the second and the third.
        heights = np.clip(z - along + edges[side + np.arange(-1, 3)[:, None]], 0.0, self.height)
        bore = self._bore(heights, theta)
        rise = np.diff(heights, axis=0)
        # One beyond an end has come together on it, and stands in nobody's way.
        slope = np.where(rise > 0.0, np.diff(bore, axis=0) / np.where(rise > 0.0, rise, 1.0), np.nan)
        depth = (r - bore[:-1] - slope * (z - heights[:-1])) / np.hypot(1.0, slope)
        # Around an edge of the nut the nearer side counts.
        beside = [
            np.where(slope[0] < slope[1], depth[0], np.inf),
            np.where(slope[1] < slope[2], depth[2], np.inf),
        ]
        # Close to an end of the nut it is less far out through that.
        return np.asarray(np.minimum.reduce([depth[1], *beside, z, self.height - z]))

    def _bore(self, z: FloatArray, theta: FloatArray) -> FloatArray:
        """Radius of the nut at edges of its thread, m, of any shape."""
        cone = self.minor + self.chamfer - np.minimum(z, self.height - z)
        return np.maximum(self._profile(z, theta), cone)

    def _rod(self, z: FloatArray, theta: FloatArray) -> FloatArray:
        """Radius of the bolt at edges of its thread, m, of any shape."""
        cone = 0.5 * self.diameter - self.chamfer + np.minimum(z, self.length - z)
        return np.minimum(self._profile(z, theta) - self.clearance, cone)

    def _profile(self, z: FloatArray, theta: FloatArray) -> FloatArray:
        """Radius of the nut's thread at heights and angles, m, of any shape, without its chamfers."""
        off = z - self.pitch * (0.0625 + theta / (2.0 * math.pi))
        off = np.abs((off / self.pitch + 0.5) % 1.0 - 0.5) * self.pitch
        flank = 0.5 * self.diameter - math.sqrt(3.0) * (off - self.pitch / 16.0)
        return np.clip(flank, self.minor, 0.5 * self.diameter)

    @cached_property
    def _on_bolt(self) -> FloatArray:
        """Points (N, 3) of the bolt, m: between straight sides the deepest is close to an edge of either."""
        return self._points(*self._places)

    @cached_property
    def _places(self) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
        """Angle, turn and place on the profile (N,) of each of them."""
        turns = np.arange(-1.0, math.ceil(self.length / self.pitch) + 1)
        theta = (2.0 * math.pi / AROUND) * np.arange(AROUND, dtype=np.float64)
        grid = np.meshgrid(theta, turns, np.arange(len(_SIDES)), indexing="ij")
        theta, turns, place = (axis.ravel() for axis in grid)
        # Sides beyond an end have come together on it.
        _, first = np.unique(self._points(theta, turns, place), axis=0, return_index=True)
        return theta[first], turns[first], place[first]

    def _points(self, theta: FloatArray, turn: FloatArray, place: NDArray[np.int64]) -> FloatArray:
        """Points (..., 3) of the bolt, m, at angles, in turns and at places of the profile that broadcast."""
        raised = self.pitch * (turn + theta / (2.0 * math.pi))
        side = _SIDES[place]
        begin, end = (
            np.clip(raised + self.pitch * at, 0.0, self.length) for at in (_EDGES[side], _EDGES[side + 1])
        )
        r_begin, r_end = self._rod(begin, theta), self._rod(end, theta)
        r = r_begin + _SHARES[place] * (r_end - r_begin)
        z = begin + _SHARES[place] * (end - begin)
        return np.stack(np.broadcast_arrays(r * np.cos(theta), r * np.sin(theta), z), axis=-1)
