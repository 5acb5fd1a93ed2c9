"""What a query tells besides the faces: entries of ``QueryScratch.report``."""

from __future__ import annotations

#: Pressure times area of polygons rejected because a pressure gradient points against the normal, N, of which only the
#: part along ``QueryScratch.ahead`` counts, as thin bodies have a far side.
DROPPED_FORCE = 0
#: 1 if one body lies inside the other; only checked if there are no polygons.
OVERLAPS = 1
