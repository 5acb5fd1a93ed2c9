"""Contact wrenches as markers: an arrow of the force that ends at the centre of pressure, its size, the moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.messages.marker_message import ARROW, Marker, text_marker

Array = NDArray[np.float64]
_FORCE_RGBA = (0.85, 0.15, 0.10, 1.0)
_MOMENT_RGBA = (0.95, 0.60, 0.05, 1.0)
#: Of neither a light nor a dark background, for texts of RViz have none of their own.
_TEXT_RGBA = (0.85, 0.35, 0.10, 1.0)
# In lengths of the longest arrow.
_SHAFT, _HEAD, _HEAD_LENGTH, _TEXT_HEIGHT, _SHORTEST = 0.022, 0.06, 0.10, 0.08, 0.02
#: Lever at which a force has a moment with an arrow as long as its own.
_LEVER = 0.1
_LEAST = 1e-3  # N, of the longest arrow before any force was larger
#: Share of the scale that no force has reached for so many markers, before the scale falls: two seconds or so.
_SMALL, _PATIENCE = 0.1, 60


class ContactArrows:
    """Markers of contact wrenches, with one scale for all, in steps of 1, 2 and 5.

    The scale grows at once, and falls when forces have been far smaller for many markers, as after an impact. A length
    then stands for the same force as long as possible, whatever the scene's forces are, and the arrows of two contacts
    can be compared.

    Args:
        longest: Length of the longest arrow, m.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._full_force = self._lately = _LEAST
        self._small = 0  # markers since there was a force of a good part of the scale

    def markers(self, pairs: Sequence[tuple[str, Sequence[ContactPatch]]]) -> list[Marker]:
        """Markers of the wrenches between pairs of bodies.

        Args:
            pairs: Name of each pair, and its patches.
        """
        wrenches = [(name, *wrench_at_centre(patches)) for name, patches in pairs]
        sizes = (
            max(norm(force), norm(moment) / (_LEVER * self._longest)) for _, _, force, moment in wrenches
        )
        self._rescale(max(sizes, default=0.0))
        return [
            marker
            for name, centre, force, moment in wrenches
            for marker in (
                *self._force(name, centre, force),
                *self._moment(name, centre, moment),
            )
        ]

    def _rescale(self, largest: float) -> None:
        """Choose the scale for wrenches of which the largest is as long as an arrow of ``largest`` (N)."""
        if largest >= _SMALL * self._full_force:
            self._full_force = max(self._full_force, _round_up(largest))
            self._small, self._lately = 0, _LEAST
        elif largest > 0.0:
            self._small += 1
            self._lately = max(self._lately, _round_up(largest))
            if self._small >= _PATIENCE:
                self._full_force, self._small, self._lately = self._lately, 0, _LEAST

    def _force(self, name: str, centre: Array, force: Array) -> list[Marker]:
        reach = force * (self._longest / self._full_force)
        if norm(reach) < _SHORTEST * self._longest:
            return []
        tail = centre - reach
        x, y, z = (tail - reach * (_TEXT_HEIGHT * self._longest / norm(reach))).tolist()
        words = f"{norm(force):.2g} N" if norm(force) < 10.0 else f"{norm(force):.0f} N"
        text = text_marker(f"force/{name}", 1, words, (x, y, z), _TEXT_HEIGHT * self._longest, _TEXT_RGBA)
        return [self._arrow(f"force/{name}", tail, centre, _FORCE_RGBA), text]

    def _moment(self, name: str, centre: Array, moment: Array) -> list[Marker]:
        reach = moment / (_LEVER * self._full_force)
        if norm(reach) < _SHORTEST * self._longest:
            return []
        return [self._arrow(f"moment/{name}", centre, centre + reach, _MOMENT_RGBA)]

    def _arrow(self, ns: str, start: Array, end: Array, rgba: tuple[float, float, float, float]) -> Marker:
        # A head longer than the arrow would turn it round.
        head = min(_HEAD_LENGTH * self._longest, 0.5 * norm(end - start))
        size = (_SHAFT * self._longest, _HEAD * self._longest, head)
        return Marker(ns, 0, ARROW, scale=size, rgba=rgba, points=np.stack([start, end]))


def wrench_at_centre(patches: Sequence[ContactPatch]) -> tuple[Array, Array, Array]:
    """Centre of pressure (m) of the patches of a pair of bodies, and force (N) and moment (N m) on B about it.

    The patches transmit force; all in the world frame.
    """
    weights = np.concatenate([patch.face_forces for patch in patches])
    centre = weights @ np.concatenate([patch.centroids for patch in patches]) / weights.sum()
    force = np.sum([patch.force_on_b for patch in patches], axis=0)
    moment = np.sum([patch.moment_on_b(centre) for patch in patches], axis=0)
    return centre, force, moment


def norm(vector: Array) -> float:
    """Length of a vector."""
    return float(np.linalg.norm(vector))


def _round_up(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten, of those from ``_LEAST`` on."""
    value = max(value, _LEAST)
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(digit * power for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= value))
