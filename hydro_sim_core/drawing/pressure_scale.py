"""The colour scale of contact pressure in RViz, the viewer, plots and recordings.

The scale is fixed and labelled, and does not adapt to the pressures in view: a colour is the same pressure in every
patch and at every instant of a run. ``chosen_scale`` finds its upper end for a scene.
"""

from __future__ import annotations

from numbers import Real
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.viridis import VIRIDIS
from hydro_sim_core.errors import InputError, excerpt

#: Upper end of the scale where nothing is known about the pressures, Pa.
DEFAULT_FULL_SCALE: Final = 20e3
#: Limits of the full scale, Pa: from an immeasurably small pressure to one that no body withstands.
LEAST: Final = 1e-3
LARGEST: Final = 1e12
#: Units of pressure in legends, with their size in Pa, from the largest.
_UNITS: Final = (("MPa", 1e6), ("kPa", 1e3), ("Pa", 1.0))

_OPAQUE = np.ones((len(VIRIDIS), 4), dtype=np.float32)
_OPAQUE[:, :3] = VIRIDIS / 255.0


class PressureScale:
    """Map from pressure to colour, linear from 0 to ``maximum`` and clamped outside.

    docs/decisions/0011-viewer.md gives the reasons for viridis.

    Args:
        maximum: Pressure at the upper end, Pa.

    Attributes:
        maximum: Pressure at the upper end, Pa.
        name: Name of the colour map.

    Raises:
        InputError: The maximum is outside 1e-3 to 1e12 Pa.
    """

    name: Final = "viridis"

    def __init__(self, maximum: float = DEFAULT_FULL_SCALE) -> None:
        is_number: bool = isinstance(maximum, Real)
        if not is_number or not LEAST <= maximum <= LARGEST:
            given = f"{float(maximum):g} Pa" if is_number else excerpt(maximum)
            problem = f"{given} at the upper end is not {LEAST:g} to {LARGEST:g}"
            raise InputError("pressure scale", "maximum", problem, f"try {DEFAULT_FULL_SCALE:g}")
        self.maximum = float(maximum)

    @property
    def unit(self) -> tuple[str, float]:
        """Unit in which the upper end is no long number, with its size in Pa."""
        return unit_of(self.maximum)

    def colours(self, pressures: NDArray[np.floating]) -> NDArray[np.float32]:
        """Opaque RGBA of each pressure: (N,) Pa to (N, 4), 0 to 1."""
        place = np.clip(pressures * (len(VIRIDIS) / self.maximum), 0.0, len(VIRIDIS) - 1.0)
        return _OPAQUE[place.astype(np.intp)]

    def table(self) -> NDArray[np.uint8]:
        """Colours (256, 3) of the scale at equal steps, as 8-bit sRGB."""
        return VIRIDIS


def unit_of(pressure: float) -> tuple[str, float]:
    """Unit in which a pressure (Pa) is no long number, with its size in Pa."""
    return next((unit for unit in _UNITS if pressure >= unit[1]), _UNITS[-1])


def in_unit(pressure: float, unit: tuple[str, float]) -> str:
    """Three digits of a pressure (Pa) in a unit, such as that of the scale."""
    return f"{float(f'{pressure / unit[1]:.3g}'):.12g}"  # rounded first, it has no power of ten
