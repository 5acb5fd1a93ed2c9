"""Contact laws, by the names under which commands, messages and pages tell them."""

from __future__ import annotations

from typing import Final

#: Of two bodies one of which at least is compliant: its pressure field.
PRESSURE_FIELD: Final = "pressure field"
#: Of two rigid bodies: the pressure of one's stiff skin, which is no property of the bodies.
RIGID_SKIN: Final = "rigid skin"
#: Of two rigid bodies: their equivalent contact point; the pressure is the mean over the patch.
EQUIVALENT_POINT: Final = "equivalent point"
#: Of point clouds: Beker's soft minimum, which presses a little before contact.
SOFT_MINIMUM: Final = "soft minimum"
#: All of them. What is told of pressures is told of the first of them that is in contact.
LAWS: Final = (PRESSURE_FIELD, RIGID_SKIN, EQUIVALENT_POINT, SOFT_MINIMUM)


def law_of(a_is_rigid: bool, b_is_rigid: bool) -> str:
    """Law of two geometries that touch with faces."""
    return RIGID_SKIN if a_is_rigid and b_is_rigid else PRESSURE_FIELD
