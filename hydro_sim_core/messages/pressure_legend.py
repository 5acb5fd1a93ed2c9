"""Legend of the pressure scale as markers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.marker_message import TEXT_VIEW_FACING, TRIANGLE_LIST, Marker

_BAR_CELLS = 32
_BAR_LENGTH = 0.20  # m
_BAR_WIDTH = 0.012  # m
_TEXT_HEIGHT = 0.012  # m


def legend(scale: PressureScale, position: tuple[float, float, float]) -> list[Marker]:
    """Markers of a coloured bar along x from ``position`` (m), its end and middle values in kPa, and a title."""
    x, y, z = position
    bar = Marker("legend", 0, TRIANGLE_LIST, position=position, points=_bar(), colours=_bar_colours(scale))
    title = f"contact pressure, {scale.maximum / 1e3:g} kPa full scale"
    markers = [bar, _text(1, title, (x + _BAR_LENGTH / 2, y, z + 0.03))]
    for number, fraction in enumerate((0.0, 0.5, 1.0)):
        at = (x + fraction * _BAR_LENGTH, y, z - 0.012)
        markers.append(_text(2 + number, f"{fraction * scale.maximum / 1e3:g}", at))
    return markers


def _bar() -> NDArray[np.float64]:
    edges = np.linspace(0.0, _BAR_LENGTH, _BAR_CELLS + 1)
    left, right = edges[:-1], edges[1:]
    points = np.zeros((_BAR_CELLS, 6, 3))
    points[:, :, 0] = np.stack([left, right, right, left, right, left], axis=1)
    points[:, [2, 4, 5], 2] = _BAR_WIDTH
    return points.reshape(-1, 3)


def _bar_colours(scale: PressureScale) -> NDArray[np.float32]:
    middles = (np.arange(_BAR_CELLS) + 0.5) / _BAR_CELLS * scale.maximum
    return np.repeat(scale.colours(middles), 6, axis=0)


def _text(number: int, text: str, position: tuple[float, float, float]) -> Marker:
    scale = (0.0, 0.0, _TEXT_HEIGHT)
    return Marker("legend", number, TEXT_VIEW_FACING, position=position, scale=scale, text=text)
