"""An M16 bolt and its nut: an arm holds one, starts it on the other, which is not quite where it should be, and screws.

It lowers what it holds onto the end of what stands, turns it under a light push until the thread catches, wherever
that begins, and goes on turning while the thread leads it. Which of the two is held makes no difference: each has its
frame in the middle of the end that meets the other, z out of it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry.thread_fit import ThreadFit
from hydro_sim_core.manipulation import Admittance, ContactState, ForceGuard, contact_state
from hydro_sim_core.rotations import roll_pitch_yaw
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.insertion import give_way, pressed_beside, refuse_pressed_beside, touch_down
from hydro_sim_core.tasks.robot import Measurement, Script, TaskFailed, ToolArm
from hydro_sim_core.tasks.skills import move_tool, wait, watched
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

BOLT, NUT, FLANGE = "bolt", "nut", "end_effector_link"
#: Where the end of what stands should be in the world, z out of it.
BELIEVED = pose([0.45, 0.0, 0.055])
#: How far it is from there, m and rad; how much higher or lower at most, m.
OFF, TILTED, HIGHER = 0.7e-3, math.radians(1.0), 0.3e-3

#: Thread, m (urdf/meshes/turned_parts.py).
PITCH, LENGTH, HEIGHT = 2e-3, 16e-3, 8e-3
FIT = ThreadFit(16e-3, PITCH, LENGTH, HEIGHT, clearance=1e-4, chamfer=1.2e-3)
#: Lower end of the bolt, and of the nut, with z up, in the frames of their links.
X_BL, X_NL = pose([0.0, 0.0, -LENGTH]), pose(rpy=[math.pi, 0.0, 0.0])

#: Force of the first touch and while it is turned, N; the largest force, N, and moment about the axis, N m.
TOUCH, PUSH, HARDEST, TOUGHEST = 2.0, 2.5, 30.0, 0.3
#: From how high above the end it goes down, m, how far at most, m, and how fast, m/s.
ABOVE, DOWN, SLOWLY = 0.003, 0.008, 0.006
#: Rate at which it is turned, rad/s.
SPIN = 0.8
#: Turns within which the thread has to catch, and by which it then is screwed.
CATCH, SCREWED = 2.0, 1.75
#: Forces per speed and moment per rate with which what is held gives way to what pushes it along
#: and across its axis and tilts it, N s/m, N m s/rad.
ALONG, ACROSS, TURNING = 1000.0, 1000.0, 10.0
#: The thread leads it once half a turn lowers it by half a pitch, give or take the first share, during so many
#: turns; no more where that is off by the second share.
LED, LOST, FOR = 0.15, 0.5, 0.25
#: Largest deviation of the advance in a turn, and largest overlap, as shares of the pitch.
OFF_PITCH, MOST_OVERLAP = 0.01, 0.02
#: Turns at the end that do not count.
STOPPING = 0.01
#: How far one shall be in the other in the end, m, and off its axis at most: more is beside it, far below its end.
ON, ASIDE = 1.5 * PITCH, 0.5e-3


@dataclass(frozen=True)
class Parts:
    """Which of bolt and nut an arm holds, and which stands.

    Attributes:
        held: Link of the one.
        fixed: Link of the other.
        model: Model of that in the scene.
        goes: How what is held goes: ``on``, or ``in``.
    """

    held: str
    fixed: str
    model: str
    goes: str


class Advance:
    """How far a part has been turned and lowered.

    Args:
        X_WH: (4, 4) its first pose.

    Attributes:
        turns: Turned about its axis.
    """

    def __init__(self, X_WH: Array) -> None:
        self._X_WH, self.turns = X_WH, 0.0
        self._course: deque[tuple[float, float]] = deque()
        self._before = math.nan

    def look(self, X_WH: Array) -> float:
        """Take note of a new pose (4, 4), and tell by how much the last half turn has lowered it, m; NaN before one."""
        R = self._X_WH[:3, :3].T @ X_WH[:3, :3]
        self.turns += math.atan2(R[1, 0], R[0, 0]) / (2.0 * math.pi)
        self._X_WH = X_WH
        height = float(X_WH[:3, 3] @ BELIEVED[:3, 2])
        self._course.append((self.turns, height))
        while self._course[0][0] <= self.turns - 0.5:
            self._before = self._course.popleft()[1]
        return self._before - height


class Screwing:
    """The controller.

    Args:
        parts: What it holds and what stands.
        model: World of the scene, for the arm's kinematics and dynamics.
        period: Time between two commands, s.
    """

    def __init__(self, parts: Parts, model: World, period: float) -> None:
        self.parts = parts
        self.robot = ToolArm(model, FLANGE, period)
        self._guard = ForceGuard(HARDEST)

    def script(self, measured: Measurement) -> Script:
        """The whole task, as long as nothing presses or turns too hard: on the way through the air, too."""
        self.robot.start(measured)
        self.robot.hold_tool(self.parts.held)
        yield from watched(self._feel, self._steps())

    def _steps(self) -> Script:
        robot, held = self.robot, self.parts.held
        robot.phase = f"lower the {held}"
        yield from move_tool(robot, [BELIEVED @ pose([0.0, 0.0, ABOVE], [math.pi, 0.0, 0.0])])
        yield from wait(robot, 0.1)
        how = Admittance(TOUCH, across=ACROSS, fastest=SLOWLY)
        yield from touch_down(robot, held, how, self._feel, DOWN, [])
        robot.phase = "start the thread"
        how = Admittance(PUSH, along=ALONG, across=ACROSS, turning=TURNING, spin=SPIN, fastest=0.012)
        yield from give_way(robot, how, self._feel, self._screwed())
        robot.phase = "let go of the push"
        done = robot.measured.time + 0.3
        how = Admittance(0.0, along=ALONG, across=ACROSS, turning=TURNING)
        yield from give_way(robot, how, self._feel, lambda _: robot.measured.time > done)

    def _screwed(self) -> Callable[[ContactState], bool]:
        """Follows what is held, and tells when it is screwed far enough.

        Raises:
            TaskFailed: The thread does not catch, or is not followed any more.
        """
        robot, held = self.robot, self.parts.held
        advance = Advance(robot.measured.poses[held])
        begun, caught = 0.0, False

        def done(touch: ContactState) -> bool:
            nonlocal begun, caught
            lead = advance.look(robot.measured.poses[held]) / (0.5 * PITCH)
            off = abs(lead - 1.0)
            if not caught:
                if not off <= LED:
                    begun = advance.turns
                if advance.turns - begun >= FOR:
                    robot.phase, caught = f"screw the {held} {self.parts.goes}", True
                elif advance.turns > CATCH:
                    raise TaskFailed(f"the thread does not catch in {CATCH:g} turns ({touch.kind})")
            elif off > LOST:
                goes = f"{lead * PITCH * 1e3:.2f} mm a turn after {advance.turns - begun:.2f} turns"
                raise TaskFailed(
                    f"the {held} does not follow the thread: it goes down by {goes} ({touch.kind})"
                )
            return caught and advance.turns >= begun + SCREWED

        return done

    def _feel(self) -> ContactState:
        """What the held part feels; more than it may is an end."""
        measured, held = self.robot.measured, self.parts.held
        refuse_pressed_beside(measured, held, self.parts.fixed, HARDEST)
        depth = float((BELIEVED[:3, 3] - measured.poses[held][:3, 3]) @ BELIEVED[:3, 2])
        wrench = measured.wrenches[self.parts.fixed, held]
        touch = contact_state(wrench[:3], wrench[3:], 0.5 * FIT.diameter, depth)
        moment = abs(float(touch.moment[2]))
        if self._guard.update(measured.time, touch.force):
            force = float(np.linalg.norm(touch.force))
            raise TaskFailed(f"pressed with {force:.0f} N ({touch.kind})")
        if moment > TOUGHEST:
            raise TaskFailed(f"turned with {moment:.2f} N m ({touch.kind})")
        return touch


def vary(parts: Parts, draws: Draws) -> None:
    """What stands off and tilted in any direction, higher or lower, with its thread begun anywhere."""
    towards = draws.between("off towards, deg", -math.pi, math.pi, 180.0 / math.pi)
    about = draws.between("tilted about, deg", -math.pi, math.pi, 180.0 / math.pi)
    higher = draws.between("higher, mm", -HIGHER, HIGHER, 1e3)
    begins = draws.between("thread begins at, deg", -math.pi, math.pi, 180.0 / math.pi)
    to = pose(rpy=[0.0, 0.0, about])[:3, :3]
    R_WF = to @ pose(rpy=[TILTED, 0.0, 0.0])[:3, :3] @ to.T @ pose(rpy=[0.0, 0.0, begins])[:3, :3]
    off = [OFF * math.cos(towards), OFF * math.sin(towards), higher]
    draws.values |= {
        f"models.{parts.model}.pose.xyz": (BELIEVED[:3, 3] + off).tolist(),
        f"models.{parts.model}.pose.rpy": roll_pitch_yaw(R_WF).tolist(),
    }
    links = [(parts.model, parts.fixed), ("arm", parts.held)]
    draws.properties("friction", "mu_dynamic", links, 0.2)
    draws.properties("modulus", "modulus", [one for one in links if one[1] == NUT], 0.3)


# --- what is a success


def follow(parts: Parts, measured: Measurement) -> dict[str, float]:
    """Where the nut is on the bolt, force and moment on what is held, and how far the true threads overlap."""
    X_BN = np.linalg.inv(measured.poses[BOLT]) @ measured.poses[NUT]
    wrench = measured.wrenches[parts.fixed, parts.held]
    return {
        "force, N": float(np.linalg.norm(wrench[:3])),
        "along the bolt, N": float(-wrench[2]),
        "beside, N": pressed_beside(measured, parts.held, parts.fixed)[1],
        "moment, N m": float(-wrench[5]),
        # Screwed together the nut's heading on the bolt falls; it is the same again after a turn.
        "heading, turns": -math.atan2(X_BN[1, 0], X_BN[0, 0]) / (2.0 * math.pi),
        "depth, mm": -1e3 * float(X_BN[2, 3]),
        "tilt, deg": math.degrees(math.acos(min(1.0, float(-X_BN[2, 2])))),
        "overlap, um": 1e6 * max(0.0, FIT.overlap(np.linalg.inv(X_BL) @ X_BN @ X_NL)),
    }


def judge(parts: Parts, story: Story) -> Outcome:
    """In its last turn it went down by a pitch, it stays there, and threads never were pressed too much."""
    turned = np.unwrap([point["heading, turns"] for point in story.course], period=1.0)
    depth = 1e-3 * np.array([point["depth, mm"] for point in story.course])
    # Where the arm stops it may creep on while the push is let go of.
    last = int(np.argmax(turned >= turned.max() - STOPPING))
    began = turned[last] - 1.0
    is_on = began > turned[0]
    first = int(np.argmax(turned >= began))
    advance = float((depth[last] - depth[first]) / (turned[last] - turned[first])) if is_on else 0.0
    most = {
        name: max(abs(point[name]) for point in story.course)
        for name in ("force, N", "beside, N", "moment, N m", "overlap, um")
    }
    stays = 1e-3 * follow(parts, story.later)["depth, mm"]
    X_BN = np.linalg.inv(story.later.poses[BOLT]) @ story.later.poses[NUT]
    aside = math.hypot(*X_BN[:2, 3])
    measures = {
        "advance, mm a turn": 1e3 * advance,
        "turns": float(turned[last] - turned[0]),
        "depth, mm": 1e3 * stays,
        "peak force, N": most["force, N"],
        "peak moment, N m": most["moment, N m"],
        "overlap, um": most["overlap, um"],
    }
    asked = {
        f"it went down by {1e3 * advance:.3f} mm in its last turn": abs(advance - PITCH) <= OFF_PITCH * PITCH,
        f"it is {1e3 * stays:.1f} mm {parts.goes} the {parts.fixed}": stays >= ON,
        f"it is {1e3 * aside:.1f} mm off the axis of the {parts.fixed}": aside <= ASIDE,
        f"it was pressed with {most['force, N']:.1f} N": most["force, N"] <= HARDEST,
        f"it was pressed with {most['beside, N']:.1f} N on something else": most["beside, N"] <= HARDEST,
        f"it was turned with {most['moment, N m']:.2f} N m": most["moment, N m"] <= TOUGHEST,
        f"the threads went {most['overlap, um']:.0f} µm into each other": most["overlap, um"]
        <= 1e6 * MOST_OVERLAP * PITCH,
    }
    return Outcome.of(asked, measures)


def screwing_task(parts: Parts, scene: str, summary: str) -> Task:
    """The task of screwing one part onto or into the other.

    Args:
        parts: What is held and what stands.
        scene: Name of the shipped scene.
        summary: In one line.
    """
    return Task(
        summary=summary,
        scene=scene,
        period=0.008,
        duration=30.0,
        controller=partial(Screwing, parts),
        variation=partial(vary, parts),
        judge=partial(judge, parts),
        follow=partial(follow, parts),
        shows=(BOLT, NUT),
    )
