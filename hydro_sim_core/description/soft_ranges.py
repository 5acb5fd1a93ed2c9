"""Ranges of the parameters of smooth contact, of scene files and programs: beyond them numbers overflow or lose digits.

They are wide: what is refused here is a wrong unit or a slip.
"""

from __future__ import annotations

#: Least and most of every parameter, in the units of ``SoftContactModel``; ``damping_blend`` may be 0 too.
SOFT_RANGES: dict[str, tuple[float, float]] = {
    "stiffness": (1e-6, 1e15),
    "mu": (0.0, 1e6),
    "dissipation_velocity": (1e-9, 1e12),
    "stiction_velocity": (1e-12, 1e6),
    # Its root is a length.
    "epsilon1": (1e-24, 1e12),
    "epsilon2": (1e-12, 1e6),
    "epsilon3": (1e-12, 1e6),
    "damping_blend": (1e-6, 0.999),
}
#: Of the selection of a few points; the values that it selects from are scaled to 1.
SELECTION_RANGE = 1e-9, 1e9
