"""Legend of the pressure scale as markers: a sign that stands in the scene and can be read from both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.pressure_scale import PressureScale, in_unit
from hydro_sim_core.drawing.stroke_font import text_strokes, text_width
from hydro_sim_core.messages.marker_message import LINE_LIST, TRIANGLE_LIST, Marker

Array = NDArray[np.float64]
_CELLS = 32
# In widths of the sign, from its lower left corner.
_HEIGHT = 0.36
_BAR = (0.07, 0.15, 0.86, 0.09)  # x, y, width and height
_TITLE_AT = (0.07, 0.275)
_LABELS_Y = 0.065
_LETTER_HEIGHT = 0.041
_STROKE = 0.007
#: Distances of bar and letters from the middle of the sign: nearer ones would flicker from afar.
_BAR_LIFT, _LETTER_LIFT = 0.005, 0.010
_PLATE_RGBA = np.array([0.97, 0.97, 0.97, 1.0], dtype=np.float32)
_INK_RGBA = (0.08, 0.08, 0.08, 1.0)


def legend(scale: PressureScale, position: tuple[float, float, float], width: float) -> list[Marker]:
    """Markers of the legend: a light plate in the x-z plane, a coloured bar, and dark letters.

    It brings its own background, for texts that turn to the viewer have none, and RViz's colours are everybody's own.

    Args:
        scale: Colour scale.
        position: Lower left corner, seen against y, m.
        width: Width of the sign, m.
    """
    plate = _rectangle(0.0, 0.0, 1.0, _HEIGHT)
    cell = _BAR[2] / _CELLS
    cells = np.concatenate([_rectangle(_BAR[0] + i * cell, _BAR[1], cell, _BAR[3]) for i in range(_CELLS)])
    middles = (np.arange(_CELLS) + 0.5) / _CELLS * scale.maximum
    faces = np.concatenate([_in_space(plate, 0.0), _both_sides(cells, _BAR_LIFT)])
    cell_colours = np.repeat(scale.colours(middles), len(cells) // _CELLS, axis=0)
    colours = np.concatenate([np.tile(_PLATE_RGBA, (len(plate), 1)), cell_colours, cell_colours])
    letters = _both_sides(np.concatenate([_line(*words) for words in legend_words(scale)]), _LETTER_LIFT)
    size = (_STROKE * width, 0.0, 0.0)
    ink = Marker(
        "legend", 1, LINE_LIST, position=position, scale=size, rgba=_INK_RGBA, points=width * letters
    )
    return [Marker("legend", 0, TRIANGLE_LIST, position=position, points=width * faces, colours=colours), ink]


def legend_words(scale: PressureScale) -> list[tuple[str, float, float]]:
    """The words of the legend, each with the place of its lower left corner in widths of the sign."""
    x, _, length, _ = _BAR
    words = [(f"contact pressure, {scale.unit[0]}", *_TITLE_AT)]
    for fraction in (0.0, 0.5, 1.0):
        text = in_unit(fraction * scale.maximum, scale.unit)
        words.append((text, x + fraction * (length - _LETTER_HEIGHT * text_width(text)), _LABELS_Y))
    return words


def _line(text: str, x: float, y: float) -> Array:
    """(N, 2) ends of the strokes of a text."""
    return (_LETTER_HEIGHT * text_strokes(text) + (x, y)).reshape(-1, 2)


def _rectangle(x: float, y: float, width: float, height: float) -> Array:
    """(6, 2) corners of two triangles."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], dtype=float)
    return corners * (width, height) + (x, y)


def _both_sides(points: Array, lift: float) -> Array:
    """(2 N, 3) points in front of the sign, and again behind it, where they run the other way."""
    return np.concatenate([_in_space(points, -lift), _in_space(points * (-1.0, 1.0) + (1.0, 0.0), lift)])


def _in_space(points: Array, y: float) -> Array:
    return np.stack([points[:, 0], np.full(len(points), y), points[:, 1]], axis=1)
