"""Skills that put parts together by what they feel: giving way and touching, with the motion kit's admittance.

A tool's frame is at the middle of its tip, z out of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.manipulation import Admittance, AdmittanceControl, ContactState
from hydro_sim_core.tasks.robot import Measurement, Script, TaskFailed, ToolArm

Array = NDArray[np.float64]


def give_way(
    robot: ToolArm,
    how: Admittance,
    feels: Callable[[], ContactState],
    until: Callable[[ContactState], bool],
    across: Callable[[ContactState], Array] | None = None,
) -> Script:
    """Move a tool along its axis by the force on it, and across as a path or that force tells, until a check holds.

    Args:
        robot: The robot.
        how: How it gives way.
        feels: Tells what the tool feels.
        until: Ends it when it holds, asked once a period.
        across: Tells the velocity (2,) across the axis, m/s, in place of giving way there.
    """
    control = AdmittanceControl(robot.X_WT, how, robot.period)
    while True:
        touch = feels()
        if until(touch):
            return
        X_WT = control.update(touch.force, touch.moment, across(touch) if across else None)
        robot.go_to(robot.towards(X_WT))
        robot.measured = yield robot.commands()


def touch_down(
    robot: ToolArm,
    tip: str,
    how: Admittance,
    feels: Callable[[], ContactState],
    farthest: float,
    found: list[Array],
) -> Script:
    """Lower a tool until it presses, and tell where it touches.

    Args:
        robot: The robot.
        tip: Link whose frame is that of the tool.
        how: How it gives way; it has touched once it is pressed with 0.8 of the push.
        feels: Tells what the tool feels.
        farthest: How far it may go, m.
        found: Out: the point (3,) of the touch in the world, m.

    Raises:
        TaskFailed: It touches nothing.
    """
    begin = feels().depth

    def pressed(touch: ContactState) -> bool:
        if touch.push >= 0.8 * how.push:
            X_WT = robot.measured.poses[tip]
            found.append(X_WT[:3, 3] + X_WT[:3, :2] @ touch.point)
            return True
        if touch.depth - begin > farthest:
            raise TaskFailed(f"nothing is there: {1e3 * farthest:.1f} mm were free")
        return False

    yield from give_way(robot, how, feels, pressed)


def pressed_beside(measured: Measurement, held: str, fixed: str) -> tuple[str, float]:
    """What presses hardest on what is held, beside what it belongs to: its link and force, N; "" and 0 if nothing."""
    forces = {
        (pair[1] if pair[0] == held else pair[0]): float(np.linalg.norm(wrench[:3]))
        for pair, wrench in measured.wrenches.items()
        if held in pair and fixed not in pair
    }
    other = max(forces, key=lambda link: forces[link], default="")
    return (other, forces[other]) if other and forces[other] > 0.0 else ("", 0.0)


def refuse_pressed_beside(measured: Measurement, held: str, fixed: str, hardest: float) -> None:
    """End a task in which what is held presses too hard on something else.

    Args:
        measured: What is measured.
        held: Link that is held.
        fixed: Link that it belongs to.
        hardest: Largest force on any other link, N.

    Raises:
        TaskFailed: It presses harder.
    """
    other, force = pressed_beside(measured, held, fixed)
    if force > hardest:
        raise TaskFailed(f"the {held} is pressed on {other} with {force:.0f} N")


def plane_through(points: list[Array], towards: Array) -> Array:
    """(3,) normal of the plane through three points, on the side of a direction (3,)."""
    normal = np.cross(points[1] - points[0], points[2] - points[0])
    normal /= np.linalg.norm(normal)
    return np.asarray(normal if normal @ towards > 0.0 else -normal)
