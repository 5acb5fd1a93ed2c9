"""Peg in hole: an arm puts a peg of 8 mm into a hole that is 51 µm wider all around, where it does not know its place.

It knows where the mouth of the hole should be within 1 mm, and how it should be turned within 2 degrees. It touches the
face around the hole at three places, which tells its plane, searches the mouth along a spiral, and lets the hole lead
the peg in.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.manipulation import Admittance, ContactState, ForceGuard, SpiralSearch, contact_state
from hydro_sim_core.rotations import roll_pitch_yaw
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.insertion import (
    give_way,
    plane_through,
    pressed_beside,
    refuse_pressed_beside,
    touch_down,
)
from hydro_sim_core.tasks.robot import Measurement, Script, TaskFailed, ToolArm
from hydro_sim_core.tasks.skills import move_tool, wait, watched
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

BLOCK, PEG, FLANGE = "block", "peg", "end_effector_link"
#: Where the mouth of the hole should be in the world, z out of it.
BELIEVED = pose([0.45, 0.0, 0.055])
#: How far it is from there, m and rad; how much higher or lower at most, m.
OFF, TILTED, HIGHER = 1e-3, math.radians(2.0), 0.5e-3

#: Radius of the peg, of the hole, m, and the width of its chamfer (urdf/meshes/turned_parts.py).
PEG_RADIUS, HOLE_RADIUS, CHAMFER = 4.0e-3, 4.051e-3, 0.5e-3
#: Radius of the edge of the peg's tip, m.
EDGE = 0.5e-3
#: How deep it shall be, m; the largest force, N, and overlap, m.
DEEP, HARDEST, MOST_OVERLAP = 0.020, 30.0, 10e-6

#: Where the face is touched, from the middle, m; from how high above where it should be, m; how far down at most, m.
AROUND, ABOVE, DOWN = 0.016, 0.003, 0.006
#: Force of a touch, in the search and while it goes in, N.
TOUCH, SEARCH, INSERT = 3.0, 3.0, 10.0
#: Speed towards what is about to be touched, m/s.
SLOWLY = 0.006
#: Pitch of the spiral: less than the chamfer catches on both sides, m; its speed, m/s; how far it goes, m.
PITCH, SEARCH_SPEED, FARTHEST = 0.6e-3, 0.006, 2.0e-3
#: How deep the tip is under the face when it is in the mouth, m.
IN_MOUTH = 0.15e-3
#: Time without 0.1 mm of progress after which the peg is stuck, s.
PATIENCE = 1.5


class PegInHole:
    """The controller.

    Args:
        model: World of the scene, for the arm's kinematics and dynamics.
        period: Time between two commands, s.
    """

    def __init__(self, model: World, period: float) -> None:
        self.robot = ToolArm(model, FLANGE, period)
        self._guard = ForceGuard(HARDEST)
        self._normal: Array = BELIEVED[:3, 2]
        self._face: Array = BELIEVED[:3, 3]

    def script(self, measured: Measurement) -> Script:
        """The whole task, as long as nothing presses too hard: on the way through the air, too."""
        self.robot.start(measured)
        self.robot.hold_tool(PEG)
        yield from watched(self._feel, self._steps())

    def _steps(self) -> Script:
        robot = self.robot
        robot.phase = "touch the face"
        yield from self._find_the_face()
        robot.phase = "find the hole"
        yield from self._find_the_hole()
        robot.phase = "insert the peg"
        yield from self._insert()
        robot.phase = "let go of the push"
        done = robot.measured.time + 0.3
        yield from give_way(
            robot, Admittance(0.0, across=700.0), self._feel, lambda _: robot.measured.time > done
        )

    def _feel(self) -> ContactState:
        """What the peg feels; more than it may is an end."""
        measured = self.robot.measured
        refuse_pressed_beside(measured, PEG, BLOCK, HARDEST)
        depth = float((self._face - measured.poses[PEG][:3, 3]) @ self._normal)
        wrench = measured.wrenches[BLOCK, PEG]
        touch = contact_state(wrench[:3], wrench[3:], PEG_RADIUS, depth)
        if self._guard.update(measured.time, touch.force):
            force = float(np.linalg.norm(touch.force))
            raise TaskFailed(f"pressed with {force:.0f} N ({touch.kind})")
        return touch

    def _find_the_face(self) -> Script:
        """ContactState it at three places."""
        points: list[Array] = []
        how = Admittance(TOUCH, fastest=SLOWLY)
        for angle in np.radians([90.0, 210.0, 330.0]):
            place = self._above(AROUND * np.array([math.cos(angle), math.sin(angle)]), ABOVE)
            yield from move_tool(self.robot, [place])
            yield from wait(self.robot, 0.1)
            yield from touch_down(self.robot, PEG, how, self._feel, DOWN, points)
            yield from move_tool(self.robot, [self._lifted(ABOVE)])
        self._normal = plane_through(points, BELIEVED[:3, 2])
        off = BELIEVED[:3, 3] - points[0]
        self._face = BELIEVED[:3, 3] - self._normal * (self._normal @ off)

    def _find_the_hole(self) -> Script:
        """Slide along a spiral with the tip flat on the face, until it drops into the mouth."""
        spiral = SpiralSearch(PITCH, SEARCH_SPEED)
        yield from move_tool(self.robot, [self._above(np.zeros(2), 0.5e-3)])
        yield from wait(self.robot, 0.1)

        def across(touch: ContactState) -> Array:
            # Only once the tip is on the face.
            return spiral.velocity(self.robot.period) if touch.push > 0.5 * SEARCH else np.zeros(2)

        def found(touch: ContactState) -> bool:
            if spiral.radius > FARTHEST:
                raise TaskFailed(
                    f"no hole within {1e3 * FARTHEST:.1f} mm of where it should be ({touch.kind})"
                )
            return touch.depth > IN_MOUTH

        yield from give_way(self.robot, Admittance(SEARCH, fastest=SLOWLY), self._feel, found, across)

    def _insert(self) -> Script:
        """Push, and give way to what pushes across and turns."""
        deepest, since = -math.inf, self.robot.measured.time

        def inside(touch: ContactState) -> bool:
            nonlocal deepest, since
            if touch.depth > deepest + 0.1e-3:
                deepest, since = touch.depth, self.robot.measured.time
            if self.robot.measured.time > since + PATIENCE:
                raise TaskFailed(f"the peg is stuck {1e3 * deepest:.1f} mm deep ({touch.kind})")
            return touch.depth >= DEEP + 0.3e-3

        how = Admittance(INSERT, across=700.0, turning=20.0, fastest=0.012)
        yield from give_way(self.robot, how, self._feel, inside)

    def _above(self, place: Array, height: float) -> Array:
        """Pose (4, 4) of a tool that points into the face, at a place (2,) on it, m, and a height above it, m."""
        x = np.array([1.0, 0.0, 0.0])
        x = x - (x @ self._normal) * self._normal
        x /= np.linalg.norm(x)
        X_WT = np.eye(4)
        X_WT[:3, :3] = np.column_stack([x, np.cross(-self._normal, x), -self._normal])
        X_WT[:3, 3] = self._face + height * self._normal + place[0] * x - place[1] * X_WT[:3, 1]
        return X_WT

    def _lifted(self, height: float) -> Array:
        """The tool's pose a little higher."""
        X_WT = self.robot.X_WT.copy()
        X_WT[:3, 3] += height * self._normal
        return X_WT


def variation(draws: Draws) -> None:
    """The hole 1 mm off and tilted by 2 degrees, both in any direction, and half a millimetre higher or lower."""
    towards = draws.between("off towards, deg", -math.pi, math.pi, 180.0 / math.pi)
    about = draws.between("tilted about, deg", -math.pi, math.pi, 180.0 / math.pi)
    higher = draws.between("higher, mm", -HIGHER, HIGHER, 1e3)
    draws.values |= {
        "models.block.pose.xyz": (
            BELIEVED[:3, 3] + [OFF * math.cos(towards), OFF * math.sin(towards), higher]
        ).tolist(),
        "models.block.pose.rpy": roll_pitch_yaw(_turn(about, TILTED)).tolist(),
    }
    draws.properties("friction", "mu_dynamic", [("block", BLOCK), ("arm", PEG)], 0.2)


def _turn(about: float, angle: float) -> Array:
    """Rotation (3, 3) by an angle about a level axis at another, rad."""
    to = pose(rpy=[0.0, 0.0, about])[:3, :3]
    return np.asarray(to @ pose(rpy=[angle, 0.0, 0.0])[:3, :3] @ to.T)


# --- what is a success

#: A peg with a round edge is what a ball of that edge's radius covers while its middle goes through a core, a cylinder
#: with a sharp edge. So how deep the block is in the peg is that radius less the distance between core and block. They
#: are nearest to each other at the edge of the core or at one of two edges of the block: along straight lines of the
#: core's side and end the distance to cone, wall or face of the block is least at an end.
_CORE = PEG_RADIUS - EDGE
#: Radius and height of the edges of the block, m.
_EDGES = ((HOLE_RADIUS + CHAMFER, 0.0), (HOLE_RADIUS, -CHAMFER))
#: Points around an edge, and how many in place of one that is near the deepest.
_AROUND, _FINER = 256, 16
_ANGLES = 2.0 * math.pi * np.arange(_AROUND) / _AROUND
_BESIDE = math.pi / _AROUND * ((2.0 * np.arange(_FINER) + 1.0) / _FINER - 1.0)


def _missed(apart: float) -> float:
    """How much deeper than points on an edge, that many radians apart, another of its points may be, m.

    Along a circle of radius r no distance d bends up by more than r (1 + r / d) m/rad^2, whatever it is to. While the
    overlap is less than half of the radius of the peg's edge, d is more than the other half.
    """
    largest = HOLE_RADIUS + CHAMFER
    return 0.5 * largest * (1.0 + largest / (0.5 * EDGE)) * (0.5 * apart) ** 2


_MISSED = _missed(2.0 * math.pi / _AROUND)


def _deepest(X: Array, radius: float, height: float, inside: Callable[[Array, Array], Array]) -> float:
    """How deep the deepest point of an edge of one body is inside the other, m, if that is above 0.

    Args:
        X: (4, 4) pose of the one in the other.
        radius: Of the edge, m.
        height: Of the edge on the axis, m.
        inside: How deep points at radii and heights of the other (N,), m, are in it, m.
    """

    def depths(angles: Array) -> Array:
        spokes = np.outer(np.cos(angles), X[:3, 0]) + np.outer(np.sin(angles), X[:3, 1])
        points = radius * spokes + (X[:3, 3] + height * X[:3, 2])
        return inside(np.hypot(points[:, 0], points[:, 1]), points[:, 2])

    coarse = depths(_ANGLES)
    near = _ANGLES[coarse > max(0.0, coarse.max()) - _MISSED]
    return float(depths(np.add.outer(near, _BESIDE).ravel()).max()) if len(near) else 0.0


def _in_peg(radii: Array, heights: Array) -> Array:
    """How deep points (N,) are in the peg, m; less than 0 outside of it."""
    aside, above = radii - _CORE, heights + EDGE
    outside = np.hypot(np.maximum(aside, 0.0), np.maximum(above, 0.0))
    return np.asarray(EDGE - outside - np.minimum(np.maximum(aside, above), 0.0))


def _ball_in_block(radii: Array, heights: Array) -> Array:
    """How deep balls of the radius of the peg's edge around points (N,) are in the block, m; less than 0 outside."""
    out, up = radii - HOLE_RADIUS, heights + CHAMFER
    along = np.clip(0.5 * (out + up), 0.0, CHAMFER)
    chamfer = np.hypot(out - along, up - along)
    face = np.hypot(np.maximum(CHAMFER - out, 0.0), heights)
    wall = np.hypot(out, np.maximum(up, 0.0))
    is_inside = (out > np.maximum(up, 0.0)) & (heights < 0.0)
    distance = np.minimum(np.minimum(chamfer, face), wall)
    return np.asarray(EDGE + np.where(is_inside, distance, -distance))


def overlap(X_BP: Array) -> float:
    """How deep the deepest point of the block is in the peg, as they are meant and not as they are meshed, m.

    It is at most 26 nm more as long as it is less than a quarter of a millimetre. The block has no outer edge here.

    Args:
        X_BP: (4, 4) pose of the peg in the block.
    """
    leans = math.hypot(X_BP[0, 2], X_BP[1, 2])
    if X_BP[2, 2] < 0.0 and X_BP[2, 3] > leans * PEG_RADIUS:
        return 0.0  # all of the peg is above the face
    X_PB = np.asarray(np.linalg.inv(X_BP), dtype=np.float64)
    of_block = (_deepest(X_PB, radius, height, _in_peg) for radius, height in _EDGES)
    return max(0.0, _deepest(X_BP, _CORE, -EDGE, _ball_in_block), *of_block)


def follow(measured: Measurement) -> dict[str, float]:
    """Force on the peg, how deep it is (NaN beside the mouth), and how far it overlaps with the block."""
    X_BP = np.linalg.inv(measured.poses[BLOCK]) @ measured.poses[PEG]
    force = measured.wrenches[BLOCK, PEG][:3]
    is_within = math.hypot(*X_BP[:2, 3]) < HOLE_RADIUS + CHAMFER
    return {
        "force, N": float(np.linalg.norm(force)),
        "along the peg, N": float(-force[2]),
        "beside the block, N": pressed_beside(measured, PEG, BLOCK)[1],
        "depth, mm": -1e3 * float(X_BP[2, 3]) if is_within else math.nan,
        "overlap, um": 1e6 * overlap(X_BP),
    }


def judge(story: Story) -> Outcome:
    """The peg is deep inside and stays there, never was pressed too hard, and nowhere went into the block."""
    peak, beside = (
        max(point[name] for point in story.course) for name in ("force, N", "beside the block, N")
    )
    overlapped = 1e-6 * max(point["overlap, um"] for point in story.course)
    depth = 1e-3 * float(np.min([follow(at)["depth, mm"] for at in (story.end, story.later)]))
    where = "beside the hole" if math.isnan(depth) else f"{1e3 * depth:.1f} mm deep"
    measures = {"depth, mm": 1e3 * depth, "peak force, N": peak, "overlap, um": 1e6 * overlapped}
    asked = {
        f"it is {where}": depth >= DEEP,
        f"it was pressed with {peak:.1f} N": peak <= HARDEST,
        f"it was pressed with {beside:.1f} N on something else": beside <= HARDEST,
        f"it went {1e6 * overlapped:.1f} µm into the block": overlapped <= MOST_OVERLAP,
    }
    return Outcome.of(asked, measures)


TASK = Task(
    summary="an arm puts a peg of 8 mm into a hole 51 µm wider, 1 mm and 2 degrees off",
    scene="peg_in_hole",
    period=0.004,
    duration=30.0,
    controller=PegInHole,
    variation=variation,
    judge=judge,
    follow=follow,
    shows=(BLOCK, PEG),
)
