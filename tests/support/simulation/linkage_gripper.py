"""A gripper whose knuckle drives five mimic joints, as those of a Robotiq 2F-85 are joined; sizes are our own.

The knuckles turn about ``-y``; the finger tips turn back as much, so that the pads stay parallel. With the knuckle at
``q`` each pad is ``R_X cos q - R_Z sin q + ROOM`` from the middle.
"""

from __future__ import annotations

import math
from pathlib import Path

#: From knuckle to tip in the plane of the finger, and the pad's distance from the middle without that, m.
R_X, R_Z, ROOM = 0.035, 0.045, 0.0075
#: Limits of the knuckle, rad, and its effort, N m.
RANGE, EFFORT = (0.0, 0.8), 50.0
_PIVOT, _PAD = 0.03, 0.0225


def half_gap(q: float) -> float:
    """Distance of each pad from the middle, m."""
    return R_X * math.cos(q) - R_Z * math.sin(q) + ROOM


def effort_for(force: float, q: float) -> float:
    """Effort at the knuckle that balances a force on each pad, N m: that of the power of both."""
    return 2.0 * force * (R_X * math.sin(q) + R_Z * math.cos(q))


def _link(name: str, mass: float = 0.03, extra: str = "") -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 0.01"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>{extra}</link>'
    )


def _joint(
    name: str, kind: str, parent: str, child: str, xyz: str, inside: str = "", rpy: str = "0 0 0"
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{inside}</joint>'
    )


def _knuckle(multiplier: int | None, knuckle: str, effort: float) -> str:
    lower, upper = RANGE if multiplier in (None, 1) else (-RANGE[1], -RANGE[0])
    law = "" if multiplier is None else f'<mimic joint="{knuckle}" multiplier="{multiplier}"/>'
    limit = f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="0.5"/>'
    return f'<axis xyz="0 -1 0"/>{law}{limit}'


def _side(name: str, sign: int, knuckle: str, effort: float) -> str:
    """Knuckle, inner knuckle, finger and tip of a side; ``sign`` is that of x there."""
    x = sign * _PIVOT
    own = None if sign > 0 else -1
    pad = (
        f'<collision><origin xyz="{-sign * (_PAD - 0.005)} 0 0.015"/><geometry><box size="0.01 0.02 0.03"/></geometry>'
        "<drake:proximity_properties><drake:compliant_hydroelastic/>"
        '<drake:hydroelastic_modulus value="1e7"/><drake:mu_dynamic value="0.8"/></drake:proximity_properties>'
        "</collision>"
    )
    first = knuckle if sign > 0 else f"{name}_knuckle_joint"
    return "".join(
        (
            _link(f"{name}_knuckle"),
            _link(f"{name}_inner_knuckle"),
            _link(f"{name}_finger"),
            _link(f"{name}_tip", extra=pad),
            _joint(
                first, "revolute", "palm", f"{name}_knuckle", f"{x} 0 0.05", _knuckle(own, knuckle, effort)
            ),
            _joint(
                f"{name}_inner_knuckle_joint",
                *("revolute", "palm", f"{name}_inner_knuckle", f"{0.4 * x} 0 0.06"),
                _knuckle(sign, knuckle, effort),
            ),
            _joint(
                f"{name}_finger_joint", "fixed", f"{name}_knuckle", f"{name}_finger", f"{sign * 0.03} 0 0"
            ),
            _joint(
                f"{name}_tip_joint",
                *("revolute", f"{name}_finger", f"{name}_tip", f"{sign * (R_X - 0.03)} 0 {R_Z}"),
                _knuckle(-sign, knuckle, effort),
            ),
        )
    )


def gripper_urdf(knuckle: str = "knuckle_joint", effort: float = EFFORT, extra: str = "") -> str:
    """The gripper, pointing down, on a slide ``lift`` that carries it up from 0.3 m above the world.

    Args:
        knuckle: Name of the joint that drives it.
        effort: Its effort limit, and that of the mimic joints, N m.
        extra: More elements.
    """
    slide = '<axis xyz="0 0 1"/><limit lower="-0.2" upper="0.2" effort="500" velocity="1"/>'
    return (
        '<robot name="hand" xmlns:drake="http://drake.mit.edu"><link name="world"/>'
        + _link("carriage", 1.0)
        + _link("palm", 0.5)
        + _joint("lift", "prismatic", "world", "carriage", "0 0 0.3", slide)
        + _joint("palm_joint", "fixed", "carriage", "palm", "0 0 0", rpy="3.141592653589793 0 0")
        + _side("left", 1, knuckle, effort)
        + _side("right", -1, knuckle, effort)
        + extra
        + "</robot>"
    )


def block_urdf(size: float, mass: float) -> str:
    """A rigid cube with its origin in the middle; lengths in m, mass in kg."""
    inertia = mass * size**2 / 6.0
    return (
        f'<robot name="block"><link name="block"><inertial><mass value="{mass}"/><inertia ixx="{inertia}" '
        f'iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        f'<box size="{size} {size} {size}"/></geometry></collision></link></robot>'
    )


SCENE = """name: hand
time_step: 0.001
gravity: [0, 0, -9.81]
models:
  - {name: hand, urdf: hand.urdf, drives: all, positions: {lift: -0.15}}
  - {name: block, urdf: block.urdf, base: floating, pose: {xyz: [0.004, 0, 0.0249]}}
environment:
  - {name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}
"""


def write_scene(folder: Path, mass: float = 0.1) -> Path:
    """Files of the gripper above a block of 50 mm, 4 mm beside its middle on the ground, and of their scene."""
    (folder / "hand.urdf").write_text(gripper_urdf())
    (folder / "block.urdf").write_text(block_urdf(0.05, mass))
    scene = folder / "hand.yaml"
    scene.write_text(SCENE)
    return scene
