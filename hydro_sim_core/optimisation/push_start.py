"""First guesses of a push in closed form: where a finger has to press so that the T moves as it should.

A body that slides slowly on a table moves along the normal of its limit surface (Goyal 1991), here an ellipsoid: the
force f and the moment m about the centre of mass move it with the twist (f, m / c^2) up to a factor, where c is the
mean distance of its footprint from that centre. A finger at p with the force f has the moment p x f. What no finger can
do in one push, since no side has the direction, takes two.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.planar_push.bodies import FRICTION, OUTLINE, RADIUS

Array = NDArray[np.float64]

#: Via points of a path; of them the first is where the finger starts.
VIA_POINTS = 7
#: Distance of the finger from the T at the start, m.
GAP = 0.015
#: Distances between places that are tried, and between those that are kept, m.
_SPACING, _APART = 0.005, 0.04
#: Least distance of a place from a corner, m: around corners smooth contact is too round, and the finger slips off.
_OFF_CORNERS = 0.012
#: Directions of force that are tried, as shares of the friction cone's half angle.
_SHARES = np.linspace(-0.8, 0.8, 5)
#: Largest angle between the wanted twist and one that a finger makes, with which a single push is tried.
_ALIGNED = math.cos(math.radians(10.0))
#: Lengths of the first of two pushes that are tried, m; and how much longer a path may be for a degree of agreement.
_LENGTHS = np.linspace(0.02, 0.16, 8)
_LONGER_A_RADIAN = 0.2


class Pushes(NamedTuple):
    """Places at which a finger may press on the T, and what it does there, in the frame of the T.

    Attributes:
        contacts: (N, 2) points of the outline, m.
        inward: (N, 2) unit normals into the T.
        twists: (N, S, 3) unit twists for S directions of force; angles count as lengths of ``radius``.
        radius: c, the mean distance of the footprint from the centre of mass, m.
    """

    contacts: Array
    inward: Array
    twists: Array
    radius: float


def first_guesses(goal: Array, most: int) -> list[Array]:
    """Via points (7, 2) of paths, m, whose push moves the T about towards the goal; the best first.

    The finger starts beside the T, touches it, and goes with it along the motion of constant twist to the goal.

    Args:
        goal: (3,) place and heading in the frame of the T, m and rad.
        most: So many, from places that are apart.
    """
    pushes, twist = possible_pushes(), planar_twist(goal)
    agreement = (pushes.twists @ _unit(twist, pushes.radius)).max(axis=1)
    kept: list[int] = []
    for k in np.argsort(-agreement).tolist():
        if all(np.linalg.norm(pushes.contacts[k] - pushes.contacts[i]) > _APART for i in kept):
            kept.append(k)
        if len(kept) == most:
            break
    return [_path(pushes, k, twist) for k in kept]


def next_goal(goal: Array) -> Array:
    """Where a push should bring the T, (3,): to the goal (3,) if one push may, else to where another one can go on."""
    pushes, twist = possible_pushes(), planar_twist(goal)
    if (pushes.twists @ _unit(twist, pushes.radius)).max() > _ALIGNED:
        return goal
    # Forces near the middle of the cone, so that the finger need not stick to its place by luck.
    units = pushes.twists[:, 1:-1].reshape(-1, 3)
    every = pushes.twists.reshape(-1, 3)
    best, found = math.inf, goal
    for unit in units:
        for length in _LENGTHS:
            middle = pose_after(length * unit / np.array([1.0, 1.0, pushes.radius]))
            rest = planar_twist(relative(middle, goal))
            scaled = rest * np.array([1.0, 1.0, pushes.radius])
            size = float(np.linalg.norm(scaled))
            angle = math.acos(min(1.0, float((every @ scaled).max()) / max(size, 1e-9)))
            cost = length + size + _LONGER_A_RADIAN * angle
            if cost < best:
                best, found = cost, middle
    return found


def planar_twist(goal: Array) -> Array:
    """Twist (3,) in the frame of the T, m and rad, whose constant motion of unit time ends at the goal (3,)."""
    half = 0.5 * goal[2]
    stretch = half / math.tan(half) if abs(half) > 1e-9 else 1.0
    along = np.array([[stretch, half], [-half, stretch]]) @ goal[:2]
    return np.array([along[0], along[1], goal[2]])


def pose_after(twist: Array) -> Array:
    """Place and heading (3,) after unit time of motion with a constant twist (3,)."""
    angle = twist[2]
    s = math.sin(angle) / angle if abs(angle) > 1e-9 else 1.0
    c = (1.0 - math.cos(angle)) / angle if abs(angle) > 1e-9 else 0.5 * angle
    return np.append(np.array([[s, -c], [c, s]]) @ twist[:2], angle)


def placed(pose: Array, points: Array) -> Array:
    """Points (..., 2) of the frame at a pose (3,), in the frame in which the pose is."""
    return np.asarray(points @ _turn(pose[2]).T + pose[:2])


def relative(pose: Array, other: Array) -> Array:
    """A pose (3,) as seen from another."""
    turn = (other[2] - pose[2] + math.pi) % (2.0 * math.pi) - math.pi
    return np.append(_turn(pose[2]).T @ (other[:2] - pose[:2]), turn)


@cache
def possible_pushes() -> Pushes:
    """Places on the outline at which a finger finds room, from the gap at the start to the touch."""
    contacts, normals = [], []
    for a, b in zip(OUTLINE, np.roll(OUTLINE, -1, axis=0), strict=True):
        length = float(np.linalg.norm(b - a))
        inward = _turn(0.5 * math.pi) @ (b - a) / length
        count = max(1, int(length / _SPACING))
        for share in (np.arange(count) + 0.5) / count:
            if min(share, 1.0 - share) * length < _OFF_CORNERS:
                continue
            contact = a + share * (b - a)
            if all(_distance(contact - (RADIUS + gap) * inward) > RADIUS - 1e-6 for gap in (0.0, GAP)):
                contacts.append(contact)
                normals.append(inward)
    radius, points, inward = mean_radius(), np.array(contacts), np.array(normals)
    twists = []
    for share in _SHARES:
        force = inward @ _turn(share * math.atan(FRICTION)).T
        moment = points[:, 0] * force[:, 1] - points[:, 1] * force[:, 0]
        twist = np.column_stack([force, moment / radius])
        twists.append(twist / np.linalg.norm(twist, axis=1)[:, None])
    return Pushes(points, inward, np.stack(twists, axis=1), radius)


def mean_radius() -> float:
    """Mean distance of the footprint from the centre of mass, m, by the midpoint rule."""
    steps = np.arange(-0.2, 0.2, 0.002) + 0.001
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    return float(np.linalg.norm(grid[_inside(grid)], axis=1).mean())


def _inside(points: Array) -> NDArray[np.bool_]:
    """Which points (N, 2) are in the outline, by the crossings of a ray."""
    a, b = OUTLINE, np.roll(OUTLINE, -1, axis=0)
    x, y = points[:, :1], points[:, 1:]
    spans = (a[:, 1] > y) != (b[:, 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1])
    return np.asarray(np.count_nonzero(spans & (x < crossing), axis=1) % 2 == 1)


def _distance(point: Array) -> float:
    """Distance of a point (2,) from the outline, m."""
    edges = np.roll(OUTLINE, -1, axis=0) - OUTLINE
    share = np.clip(np.sum((point - OUTLINE) * edges, axis=1) / np.sum(edges * edges, axis=1), 0.0, 1.0)
    return float(np.linalg.norm(OUTLINE + share[:, None] * edges - point, axis=1).min())


def _unit(twist: Array, radius: float) -> Array:
    scaled = twist * np.array([1.0, 1.0, radius])
    return np.asarray(scaled / max(float(np.linalg.norm(scaled)), 1e-12))


def _turn(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _path(pushes: Pushes, k: int, twist: Array) -> Array:
    contact, inward = pushes.contacts[k], pushes.inward[k]
    touch = contact - RADIUS * inward
    times = np.linspace(0.0, 1.0, VIA_POINTS - 1)
    return np.array([touch - GAP * inward, *(placed(pose_after(time * twist), touch) for time in times)])
