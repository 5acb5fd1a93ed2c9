"""The one scale of colours that contact pressure is shown on: in RViz, the viewer, plots and recordings.

The scale is fixed and labelled, never stretched to what happens to be in view: the same colour is the same pressure in
every patch, at every instant and in every picture.
"""

from __future__ import annotations

from numbers import Real
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.viridis import VIRIDIS
from hydro_sim_core.errors import InputError, excerpt

#: Pa
DEFAULT_FULL_SCALE: Final = 20e3
#: Pa: from what no sensor tells from nothing to what no body withstands.
_LEAST, _LARGEST = 1e-3, 1e12

_OPAQUE = np.ones((len(VIRIDIS), 4), dtype=np.float32)
_OPAQUE[:, :3] = VIRIDIS / 255.0


class PressureScale:
    """Maps pressure to colour, linearly from 0 to ``maximum``; beyond it, the end's colour.

    Why viridis is told in docs/decisions/0011-viewer.md.

    Args:
        maximum: Pressure at the upper end, Pa.

    Attributes:
        maximum: The same.
        name: Of the colour map.

    Raises:
        InputError: The maximum is not 1e-3 to 1e12.
    """

    name: Final = "viridis"

    def __init__(self, maximum: float = DEFAULT_FULL_SCALE) -> None:
        is_number: bool = isinstance(maximum, Real)
        if not is_number or not _LEAST <= maximum <= _LARGEST:
            given = f"{float(maximum):g} Pa" if is_number else excerpt(maximum)
            problem = f"{given} at the upper end is not {_LEAST:g} to {_LARGEST:g}"
            raise InputError("pressure scale", "maximum", problem, f"try {DEFAULT_FULL_SCALE:g}")
        self.maximum = float(maximum)

    def colours(self, pressures: NDArray[np.floating]) -> NDArray[np.float32]:
        """Opaque RGBA of each pressure: (N,) Pa to (N, 4), 0 to 1."""
        place = np.clip(pressures * (len(VIRIDIS) / self.maximum), 0.0, len(VIRIDIS) - 1.0)
        return _OPAQUE[place.astype(np.intp)]

    def table(self) -> NDArray[np.uint8]:
        """Every colour of the scale (256, 3) as 8-bit sRGB; each stands for an equal share of it."""
        return VIRIDIS
