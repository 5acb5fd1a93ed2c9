"""The one colour scale that contact pressure is shown on, and its legend.

The scale is fixed and labelled, never stretched to what happens to be in view: the same colour is the same
pressure in every patch, at every instant and in every screenshot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.messages.marker_message import TEXT_VIEW_FACING, TRIANGLE_LIST, Marker

#: Colours at equal distances along the scale, dark to bright, so that it also reads in grey.
_STOPS = np.array(
    [[0.10, 0.11, 0.38], [0.12, 0.42, 0.69], [0.16, 0.68, 0.55], [0.78, 0.80, 0.20], [1.00, 0.93, 0.70]]
)
_BAR_CELLS = 32
_BAR_LENGTH = 0.20  # m
_BAR_WIDTH = 0.012  # m
_TEXT_HEIGHT = 0.012  # m


class PressureScale:
    """Maps pressure to colour, linearly from 0 to ``maximum`` (Pa); beyond it, the end's colour."""

    def __init__(self, maximum: float) -> None:
        self.maximum = maximum

    def colours(self, pressures: NDArray[np.float64]) -> NDArray[np.float32]:
        """Opaque RGBA of each pressure: (N,) Pa to (N, 4)."""
        stops = np.linspace(0.0, self.maximum, len(_STOPS))
        rgba = np.ones((len(pressures), 4), dtype=np.float32)
        for channel in range(3):
            rgba[:, channel] = np.interp(pressures, stops, _STOPS[:, channel])
        return rgba

    def legend(self, position: tuple[float, float, float]) -> list[Marker]:
        """A coloured bar along x from ``position`` (m), its end and middle values in kPa, and a title."""
        x, y, z = position
        markers = [
            Marker("legend", 0, TRIANGLE_LIST, position=position, points=_bar(), colours=self._bar_colours()),
            _text(
                1,
                f"contact pressure, {self.maximum / 1e3:g} kPa full scale",
                (x + _BAR_LENGTH / 2, y, z + 0.03),
            ),
        ]
        for number, fraction in enumerate((0.0, 0.5, 1.0)):
            at = (x + fraction * _BAR_LENGTH, y, z - 0.012)
            markers.append(_text(2 + number, f"{fraction * self.maximum / 1e3:g}", at))
        return markers

    def _bar_colours(self) -> NDArray[np.float32]:
        middles = (np.arange(_BAR_CELLS) + 0.5) / _BAR_CELLS * self.maximum
        return np.repeat(self.colours(middles), 6, axis=0)


def _bar() -> NDArray[np.float64]:
    edges = np.linspace(0.0, _BAR_LENGTH, _BAR_CELLS + 1)
    left, right = edges[:-1], edges[1:]
    points = np.zeros((_BAR_CELLS, 6, 3))
    points[:, :, 0] = np.stack([left, right, right, left, right, left], axis=1)
    points[:, [2, 4, 5], 2] = _BAR_WIDTH
    return points.reshape(-1, 3)


def _text(number: int, text: str, position: tuple[float, float, float]) -> Marker:
    scale = (0.0, 0.0, _TEXT_HEIGHT)
    return Marker("legend", number, TEXT_VIEW_FACING, position=position, scale=scale, text=text)
