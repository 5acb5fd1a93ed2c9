"""Writes the shells of Kinova's arms beside this file, lofted from joint frames and radii that Kinova publishes.

Joints along a limb and across it take turns. A limb ends flat at a joint along it, and in a drum at a joint across it.
Two drums share the axis of such a joint, side by side: the limb before it has the side of positive z in the joint's
frame, the limb behind it the other. So limbs bend sideways like a swan's neck, from their own axis into their half of
the elbow.

Shells from a joint along to a joint across lie in the frame of the first: the limb runs along -z to the second, whose
axis is parallel to y, and its drum is on the side of -y. A limb the other way round is the same shell, turned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from lofting import Surface, blended, drum, rounded, tube, turned, wrapped, write

#: What is left between shells and filled with a dark ring: half of it at a joint along, and at a joint across.
GROOVE, GAP = 0.003, 0.0015
#: How far a limb is half as thick as its drum's radius wide, in radii of the drum: there the other limb passes.
NECK = 1.05
FILLET = 0.014


class Limb(NamedTuple):
    """From a joint along to a joint across, m.

    Attributes:
        length: How far the second is.
        aside: How far it is beside the axis of the first.
        drum: Radius of the drum around it.
        half: Half the drum's height.
        radius: Of the limb at the first joint.
    """

    length: float
    aside: float
    drum: float
    half: float
    radius: float


GEN3 = {
    "gen3_shoulder": Limb(0.12838, 0.005375, 0.046, 0.0235, 0.045),
    "gen3_half_arm": Limb(0.21038, 0.006375, 0.046, 0.0235, 0.0425),
    "gen3_forearm": Limb(0.20843, 0.006375, 0.046, 0.0235, 0.036),
    "gen3_wrist": Limb(0.10593, 0.00017505, 0.0365, 0.0185, 0.0355),
}
JACO = {
    "jaco_shoulder": Limb(0.11875, 0.0016, 0.0400, 0.0200, 0.0400),
    "jaco_forearm": Limb(0.2073, 0.0114, 0.0385, 0.0200, 0.0300),
    "jaco_wrist": Limb(0.10375, 0.0, 0.0310, 0.0160, 0.0300),
}
#: Between two joints across, both 0.41 m apart: radius and half height of drums; radius and place of the middle.
UPPER_ARMS = {"gen3_bicep": (0.046, 0.0235, 0.042, -0.012), "jaco_arm": (0.0400, 0.0200, 0.0340, -0.010)}
UPPER_ARM = 0.41


def limb(shape: Limb) -> Surface:
    """The shell from a joint along to a joint across."""
    length, aside, radius, half, end = shape
    middle = aside - GAP - half
    neck = -length + NECK * radius
    waist = 0.5 * (neck - GROOVE)
    stations = [
        (-length, middle, 0.84 * radius, 0.93 * half),
        (0.5 * (neck - length), middle, 0.86 * radius, 0.94 * half),
        (neck, middle + 0.10 * (0.0 - middle), 0.90 * radius, 1.02 * half),
        (waist, 0.25 * middle, 0.5 * (0.92 * radius + end), 0.93 * end),
        (-GROOVE, 0.0, end, end),
    ]
    solid = blended(tube(2, stations, 2.5), drum(1, (0.0, middle, -length), radius, half), FILLET)
    along = np.concatenate([np.linspace(-length, neck, 9)[:-1], np.linspace(neck, -GROOVE - 1e-6, 14)])
    aside_there = np.interp(along, [s[0] for s in stations], [s[1] for s in stations])
    spine = np.column_stack([np.zeros_like(along), aside_there, along])
    return wrapped(solid, spine, flat_end=True)


def upper_arm(radius: float, half: float, middle_radius: float, middle: float) -> Surface:
    """The shell between two joints across, along -y of its link; both drums are on the side of -z."""
    side = -GAP - half
    neck = NECK * radius
    shoulder = [(0.0, side, 0.84 * radius, 0.93 * half), (-0.5 * neck, side, 0.86 * radius, 0.94 * half),
                (-neck, side + 0.10 * (middle - side), 0.90 * radius, 1.02 * half)]  # fmt: skip
    waist = [(-0.30 * UPPER_ARM, middle, middle_radius, 0.97 * middle_radius)]
    stations = shoulder + waist
    stations = [*((-UPPER_ARM - s[0], *s[1:]) for s in stations), *stations[::-1]]
    solid = tube(1, stations, 2.5)
    for place in (0.0, -UPPER_ARM):
        solid = blended(solid, drum(2, (0.0, place, side), radius, half), FILLET)
    ends = np.linspace(0.0, -neck, 8)
    along = np.concatenate([ends[:-1], np.linspace(-neck, -UPPER_ARM + neck, 12), -UPPER_ARM - ends[-2::-1]])
    aside = np.interp(along, [s[0] for s in stations], [s[1] for s in stations])
    return wrapped(solid, np.column_stack([np.zeros_like(along), along, aside]), count=34)


def fingers() -> dict[str, Surface]:
    """Both phalanges of a finger, each along z from its joint about x; y points to where it closes.

    The first ends within the knuckle of the second, whose joint is 0.044 m away and 3 mm behind.
    """
    first = [(0.0, 0.0, 0.0080, 0.0072), (0.014, -0.0004, 0.0076, 0.0062), (0.034, -0.0024, 0.0070, 0.0058),
             (0.044, -0.0030, 0.0060, 0.0052)]  # fmt: skip
    second = [(0.0, 0.0, 0.0072, 0.0062), (0.016, -0.0006, 0.0072, 0.0062), (0.030, 0.0002, 0.0066, 0.0050),
              (0.0365, 0.0014, 0.0056, 0.0040)]  # fmt: skip
    found = {}
    for name, stations, knuckle in (("first", first, 0.0088), ("second", second, 0.0072)):
        solid = blended(tube(2, stations, 3.0), drum(0, (0.0, 0.0, 0.0), knuckle, knuckle), 0.004)
        if name == "second":
            end, middle, half, radius = stations[-1]
            solid = blended(solid, drum(0, (0.0, middle, end), radius, half, 3.0), 0.002)
        along = np.linspace(0.0, stations[-1][0] - 1e-6, 14)
        behind = np.interp(along, [s[0] for s in stations], [s[1] for s in stations])
        spine = np.column_stack([np.zeros_like(along), behind, along])
        found[f"jaco_finger_{name}"] = wrapped(solid, spine, count=24, ends=6, flat_end=name == "first")
    return found


def bases() -> dict[str, Surface]:
    """What the arms stand on, up to the first joint, and what they end in."""
    gen3 = [(0.0, 0.006), (0.046, 0.006, 0.002), (0.046, 0.10, 0.3), (0.045, 0.15643 - GROOVE, 0.001),
            (0.0, 0.15643 - GROOVE)]  # fmt: skip
    bracelet = [(0.0, -0.061525), (0.033, -0.061525, 0.003), (0.035, -0.048, 0.02), (0.0345, -GROOVE, 0.001),
                (0.0, -GROOVE)]  # fmt: skip
    jaco = [(0.0, 0.006), (0.040, 0.006, 0.002), (0.040, 0.10, 0.3), (0.0395, 0.15675 - GROOVE, 0.001),
            (0.0, 0.15675 - GROOVE)]  # fmt: skip
    # The axes of the fingers are 0.031 m beside its own, in a rim from which half of their knuckles stand out.
    palm = [(0.0, -0.113), (0.0265, -0.113, 0.002), (0.0285, -0.1185, 0.002), (0.0365, -0.1185, 0.004),
            (0.0415, -0.095, 0.030), (0.034, -0.030, 0.05), (0.0300, -GROOVE, 0.001), (0.0, -GROOVE)]  # fmt: skip
    flange = [(0.0, -0.040), (0.039, -0.040, 0.002), (0.040, -0.024, 0.010), (0.0300, -GROOVE, 0.001),
              (0.0, -GROOVE)]  # fmt: skip
    cap = [(0.0, -0.004), (0.030, -0.004), (0.030, 0.0042, 0.0020), (0.020, 0.0056, 0.03), (0.0, 0.0058)]
    profiles = {"gen3_base": gen3, "gen3_bracelet": bracelet, "jaco_base": jaco, "jaco_palm": palm}
    profiles |= {"jaco_flange": flange, "joint_cap": cap}
    return {name: turned(rounded(profile, steps=6), 40) for name, profile in profiles.items()}


def surfaces() -> dict[str, Surface]:
    """All of them by the names of their files."""
    limbs = {name: limb(shape) for name, shape in {**GEN3, **JACO}.items()}
    return {
        **limbs,
        **{name: upper_arm(*shape) for name, shape in UPPER_ARMS.items()},
        **fingers(),
        **bases(),
    }


if __name__ == "__main__":
    write(surfaces())
