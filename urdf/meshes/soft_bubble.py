"""Writes the meshes of a gripper with Soft-bubble fingers beside this file: body, housing, rim, jaw and membrane.

The housing, the jaw and the membrane are those of the right finger, in its frame; the left one is turned about z.
"""

from __future__ import annotations

import numpy as np
from lofting import Surface, lofted, spline, superellipse, swept, write

#: Semi-axes of the ellipsoid of a bubble, m, and its centre; published (Punyo), like the sizes below.
BUBBLE = (0.04165, 0.04165, 0.0625)
CENTRE = (0.0, 0.041665, -0.1095)
#: The rim of the membrane behind the contact plane, and the back of the finger.
RIM, BACK = 0.030, 0.0886
#: Edge lengths of the gripper's body, which reaches from its mounting face along -z.
BODY = (0.050, 0.146, 0.0725)


def _across_y(sections: list[tuple[float, ...]], count: int, exponent: float) -> Surface:
    """A loft along y through superellipses: place, half widths in x and z, middle in z."""
    rings = []
    for place, a, b, middle in sections:
        outline = superellipse(a, b, exponent, count)
        rings.append(np.column_stack([outline[:, 0], np.full(count, place), middle - outline[:, 1]]))
    return lofted(rings)


def membrane(count: int = 48, steps: int = 14) -> Surface:
    """The cap of the ellipsoid in front of the rim, closed by a flat face that the housing hides."""
    a, depth, b = BUBBLE
    # From the rim to the apex, which is nearest to the other finger.
    angles = np.linspace(np.arccos((CENTRE[1] - RIM) / depth), 0.0, steps)
    sections = [(CENTRE[1] - depth * np.cos(t), a * np.sin(t), b * np.sin(t), CENTRE[2]) for t in angles[:-1]]
    around = _across_y(sections[::-1], count, 2.0)
    rings = np.split(around.vertices[1:-1], len(sections))
    return lofted([np.array([[0.0, CENTRE[1] - depth, CENTRE[2]]]), *rings])


def housing(count: int = 48) -> Surface:
    """The rounded box behind the rim: wide at the membrane, narrow at the camera."""
    sections = [(0.0315, 0.0415, 0.0615, -0.1095), (0.0328, 0.0430, 0.0630, -0.1095), (0.044, 0.0430, 0.0630, -0.1095),
                (0.052, 0.0424, 0.0624, -0.1092), (0.064, 0.0390, 0.0585, -0.1075), (0.076, 0.0335, 0.0530, -0.1035),
                (BACK - 0.004, 0.0305, 0.0500, -0.1005), (BACK - 0.001, 0.0292, 0.0487, -0.1003),
                (BACK, 0.0270, 0.0465, -0.1000)]  # fmt: skip
    return _across_y(sections, count, 3.6)


def rim(count: int = 48) -> Surface:
    """The dark oval that clamps the membrane."""
    sections = [(0.0285, 0.0400, 0.0600, -0.1095), (0.0283, 0.0410, 0.0612, -0.1095), (0.0290, 0.0421, 0.0622, -0.1095),
                (0.0305, 0.0424, 0.0626, -0.1095), (0.0335, 0.0420, 0.0622, -0.1095)]  # fmt: skip
    return _across_y(sections, count, 2.4)


def jaw() -> Surface:
    """The bracket from the gripper's slot to the housing."""
    knots = [
        (0.020, 0.006),
        (0.020, -0.006),
        (0.023, -0.020),
        (0.036, -0.036),
        (0.052, -0.048),
        (0.060, -0.066),
    ]
    spine = np.insert(spline(knots, 20), 0, 0.0, axis=1)
    return swept(spine, [superellipse(0.0165, 0.0075, 5.0, 24)] * len(spine), (1.0, 0.0, 0.0))


def body(count: int = 64) -> dict[str, Surface]:
    """The gripper's body with rounded edges, and the rail below it on which the jaws slide."""
    x, y, z = (0.5 * BODY[0], 0.5 * BODY[1], BODY[2])

    def block(a: float, b: float, bottom: float, top: float, edge: float) -> Surface:
        insets = edge * (1.0 - np.sin(np.linspace(0.0, 0.5 * np.pi, 4)))
        heights = edge * (1.0 - np.cos(np.linspace(0.0, 0.5 * np.pi, 4)))
        levels = [
            *zip(bottom + heights, insets, strict=True),
            *zip(top - heights[::-1], insets[::-1], strict=True),
        ]
        outline = superellipse(1.0, 1.0, 9.0, count)
        return lofted([np.column_stack([outline * [a - inset, b - inset], np.full(count, level)])
                       for level, inset in levels])  # fmt: skip

    return {
        "wsg50_body": block(x, y, -z, 0.0, 0.004),
        "wsg50_rail": block(0.0185, y - 0.006, -z - 0.0025, -z + 0.004, 0.001),
    }


def surfaces() -> dict[str, Surface]:
    """All of them by the names of their files."""
    finger = {"membrane": membrane(), "housing": housing(), "rim": rim(), "jaw": jaw()}
    return {**{f"bubble_{name}": surface for name, surface in finger.items()}, **body()}


if __name__ == "__main__":
    write(surfaces())
