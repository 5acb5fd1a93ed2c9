"""Margins of compliant bodies: given, or by a rule from the size of the body."""

from __future__ import annotations

from collections.abc import Callable

from hydro_sim_core.geometry.checks import non_negative
from hydro_sim_core.geometry.geometry import FloatArray

#: Function from the vertices (N, 3) of a body, m, and its modulus, Pa, to its margin, m.
MarginRule = Callable[[FloatArray, float], float]
#: A margin, m, or the rule for it.
Margin = float | MarginRule


def margin_of(source: str, margin: Margin, vertices: FloatArray, modulus: float) -> float:
    """The margin of a body with these vertices and this modulus, m.

    Raises:
        InputError: It is negative or not finite.
    """
    return non_negative(source, "margin", margin(vertices, modulus) if callable(margin) else margin)
