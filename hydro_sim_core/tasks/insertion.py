"""Parts of controllers that put parts together by what they feel: yielding, touching, searching.

A tool's frame is at the middle of its tip, z out of it. Wrenches are those of what it touches on the tool, about that
point in its axes, as a sensor in the wrist tells them once it is told where the tip is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.tasks.robot import Script, TaskFailed, ToolArm

Array = NDArray[np.float64]
Kind = Literal["free", "edge", "face", "wall", "wedged"]

#: Force below which nothing is touched, N.
FREE = 0.5
#: Share of the tip's radius beyond which the middle of the pressure is at its edge.
AT_EDGE = 0.7
#: Time in which a wanted velocity is reached, s: what is felt changes from one period to the next.
SMOOTHING = 0.02


@dataclass(frozen=True)
class Touch:
    """What a round tool feels.

    Attributes:
        kind: ``free``; ``edge`` or ``face``, of the tip, where that is pressed; ``wall`` along the side; ``wedged``
            where no single contact along the side has this moment: two of them hold the tool from both sides.
        force: (3,) N.
        moment: (3,) N m.
        point: (2,) middle of the pressure on the tip, m; where there is none, 0.
        depth: How far the tip is below a face, m.
    """

    kind: Kind
    force: Array
    moment: Array
    point: Array
    depth: float

    @property
    def push(self) -> float:
        """Force along the axis against the tip, N."""
        return float(-self.force[2])


def feel(wrench: Array, radius: float, depth: float) -> Touch:
    """Tell from a wrench what touches a round tool where.

    Args:
        wrench: (6,) force (N) and moment (N m) on the tool about the middle of its tip, in its axes.
        radius: Of the tool, m.
        depth: How far it is below the face around a hole, m; below 0 where it is above.
    """
    force, moment = wrench[:3], wrench[3:]
    push, across = -float(force[2]), float(np.hypot(force[0], force[1]))
    nowhere = np.zeros(2)
    if math.hypot(push, across) < FREE and float(np.linalg.norm(moment)) < FREE * radius:
        return Touch("free", force, moment, nowhere, depth)
    if push >= across and np.hypot(moment[0], moment[1]) <= radius * push:
        point = np.array([moment[1], -moment[0]]) / push
        at_edge = float(np.hypot(*point)) > AT_EDGE * radius
        return Touch("edge" if at_edge else "face", force, moment, point, depth)
    if across < FREE * radius / max(depth, radius):
        return Touch("wedged", force, moment, nowhere, depth)
    # A force across the axis at a height z has the moment z times it; z falls into the tool.
    height = float(moment[1] * force[0] - moment[0] * force[1]) / across**2
    single = -max(depth, 0.0) - radius <= height <= radius
    return Touch("wall" if single else "wedged", force, moment, nowhere, depth)


@dataclass(frozen=True)
class Yielding:
    """How a tool gives way: speeds per force.

    Attributes:
        push: Force along the axis that it goes for, N.
        along: Force along the axis per speed, N s/m.
        across: Force across it per speed, N s/m; infinite for none.
        turning: Moment across the axis per rate, N m s/rad; infinite for none.
        spin: Rate about the axis that it keeps, rad/s.
        fastest: Largest speed, m/s.
        quickest: Largest rate, rad/s.
    """

    push: float
    along: float = 700.0
    across: float = math.inf
    turning: float = math.inf
    spin: float = 0.0
    fastest: float = 0.008
    quickest: float = 0.1


class Spiral:
    """An Archimedean spiral that is followed at a constant speed.

    Args:
        pitch: Distance between its turns, m.
        speed: m/s.
    """

    def __init__(self, pitch: float, speed: float) -> None:
        self._rise, self._speed, self._angle = pitch / (2.0 * math.pi), speed, 0.0

    @property
    def radius(self) -> float:
        """Distance from where it began, m."""
        return self._rise * self._angle

    def velocity(self, duration: float) -> Array:
        """(2,) mean velocity over the coming time (s), m/s."""
        before = self._place()
        self._angle += self._speed * duration / (self._rise * math.hypot(1.0, self._angle))
        return (self._place() - before) / duration

    def _place(self) -> Array:
        return self.radius * np.array([math.cos(self._angle), math.sin(self._angle)])


def give_way(
    robot: ToolArm,
    how: Yielding,
    feels: Callable[[], Touch],
    until: Callable[[Touch], bool],
    across: Callable[[Touch], Array] | None = None,
) -> Script:
    """Move a tool along its axis by the force on it, and across as a path or that force tells, until a check holds.

    Args:
        robot: The robot.
        how: How it gives way.
        feels: Tells what the tool feels.
        until: Ends it when it holds, asked once a period.
        across: Tells the velocity (2,) across the axis, m/s, in place of giving way there.
    """
    twist, X_WT = np.zeros(6), robot.X_WT
    share = min(1.0, robot.period / SMOOTHING)
    while True:
        touch = feels()
        if until(touch):
            return
        wanted = np.zeros(6)
        wanted[:2] = np.clip(touch.moment[:2] / how.turning, -how.quickest, how.quickest)
        wanted[2] = how.spin
        wanted[3:5] = across(touch) if across else touch.force[:2] / how.across
        wanted[5] = (how.push - touch.push) / how.along
        wanted[3:] = np.clip(wanted[3:], -how.fastest, how.fastest)
        twist += share * (wanted - twist)
        X_WT = _moved(X_WT, twist * robot.period)
        robot.go_to(robot.towards(X_WT))
        robot.measured = yield robot.commands()


def _moved(X_WT: Array, motion: Array) -> Array:
    """A pose (4, 4) after a small turn (rad) and shift (m) in its own axes, (6,)."""
    x, y, z = motion[:3]
    turn = np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])
    # Of a skewed matrix the nearest rotation, to keep it one over many periods.
    u, _, vt = np.linalg.svd(X_WT[:3, :3] @ turn)
    moved = X_WT.copy()
    moved[:3, :3] = u @ vt
    moved[:3, 3] += X_WT[:3, :3] @ motion[3:]
    return moved


def touch_down(
    robot: ToolArm, tip: str, how: Yielding, feels: Callable[[], Touch], farthest: float, found: list[Array]
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

    def pressed(touch: Touch) -> bool:
        if touch.push >= 0.8 * how.push:
            X_WT = robot.measured.poses[tip]
            found.append(X_WT[:3, 3] + X_WT[:3, :2] @ touch.point)
            return True
        if touch.depth - begin > farthest:
            raise TaskFailed(f"nothing is there: {1e3 * farthest:.1f} mm were free")
        return False

    yield from give_way(robot, how, feels, pressed)


def plane_through(points: list[Array], towards: Array) -> Array:
    """(3,) normal of the plane through three points, on the side of a direction (3,)."""
    normal = np.cross(points[1] - points[0], points[2] - points[0])
    normal /= np.linalg.norm(normal)
    return np.asarray(normal if normal @ towards > 0.0 else -normal)
