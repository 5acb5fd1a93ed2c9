"""Pencil turn (after Elandt 2019, figure 4): a pencil is turned within a grasp, against its scrubbing torque.

The hand lowers the pencil onto the edge of a stand and goes on: the edge holds the front back, and the pencil pivots
about the axis through both fingers. Friction of the patches has a moment about that axis, the scrubbing torque, which
contact at a point has not: the pencil turns as far as the edge turns it and no further, and keeps its angle when it is
off the edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.manipulation import MotionLimits
from hydro_sim_core.rotations import roll_pitch_yaw
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Robot, Script, TaskFailed
from hydro_sim_core.tasks.skills import move_tool, wait, while_held
from hydro_sim_core.tasks.task import Outcome, Story, Task, is_number
from hydro_sim_core.tasks.turner import GRIPPER, MIDDLE
from hydro_sim_core.tasks.variation import Draws, model_of

Array = NDArray[np.float64]

PENCIL, STAND = "pencil", "spatula_stand"
#: Where it is held in the pencil, whose x axis points to its tip, m.
HELD = pose([-0.045, 0.0, 0.0])
#: Height of the stand over its frame, m (urdf/rack.urdf.xacro).
STAND_TOP = 0.075
#: Force of each finger on it, N.
GRIP = 5.0
#: Turns that can be set, rad; beyond, the front of the pencil would come off the edge.
LEAST, MOST = 0.1, 0.7
#: How far the hand goes down at most, m, and how high over its start it is in the end, m.
FARTHEST, RAISED = 0.105, 0.04
#: Motion of the hand towards the edge and while the pencil turns, and away from it.
DOWN, UP = MotionLimits(speed=0.03), MotionLimits(speed=0.1)
#: Time to hold it before, and after, s.
HOLD = 0.3

#: How far the turn may be off in the end, rad, and how fast it may go on, rad/s.
NEAR, AT_REST = math.radians(2.0), 2e-3
#: How far the pencil may slide between the fingers, m; how high it has to be over the stand in the end, m.
STAYS, CLEAR = 0.005, 0.010


@dataclass(frozen=True)
class Settings:
    """What the controller is told.

    Attributes:
        turn: Angle by which the tip shall be turned up in the hand, rad.
    """

    turn: float = 0.6


class PencilTurn:
    """The controller.

    Args:
        model: World of the scene, for the arm's kinematics and dynamics.
        period: Time between two commands, s.
        settings: What it is told.
    """

    def __init__(self, model: World, period: float, settings: Settings) -> None:
        self.robot = Robot(model, GRIPPER, period)
        self._set = settings.turn

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        robot = self.robot
        robot.start(measured)
        robot.squeeze = GRIP
        robot.phase = "hold the pencil"
        yield from wait(robot, HOLD)
        # From where it was at the start: it may tilt a little when the fingers close.
        yield from while_held(robot, PENCIL, self._turn_to(pitch_in_hand(measured) + self._set))

    def _turn_to(self, goal: float) -> Script:
        """Turn it to a pitch in the hand, rad, and raise it."""
        robot = self.robot
        robot.phase = "turn the pencil"
        X_WT = robot.X_WT

        def turned() -> bool:
            return pitch_in_hand(robot.measured) >= goal

        yield from move_tool(robot, [_lifted(X_WT, -FARTHEST)], DOWN, until=turned)
        if not turned():
            left = goal - pitch_in_hand(robot.measured)
            if left >= self._set:
                raise TaskFailed("the pencil does not turn: there is no stand under it")
            raise TaskFailed(f"the pencil turns too little: {left:.2f} rad of {self._set:g} are left")
        robot.phase = "raise the pencil"
        yield from move_tool(robot, [_lifted(X_WT, RAISED)], UP)
        yield from wait(robot, HOLD)


def pitch_in_hand(measured: Measurement) -> float:
    """Angle of the pencil's tip above level in the palm, whose fingers point down, rad."""
    x = measured.poses[GRIPPER.palm][:3, :3].T @ measured.poses[PENCIL][:3, 0]
    return math.atan2(x[2], x[0])


def _lifted(X_WT: Array, height: float) -> Array:
    return np.asarray(pose([0.0, 0.0, height]) @ X_WT)


def start_at(X_WO: Array, pitch: float, along: float) -> dict[str, Any]:
    """Values of the scene by path for another start.

    Args:
        X_WO: (4, 4) pose of the pencil in the scene as it is.
        pitch: How much further up its tip is turned, rad.
        along: How much nearer to its tip it is held, m.
    """
    X_WO = X_WO @ HELD @ pose(rpy=[0.0, -pitch, 0.0]) @ pose([-along, 0.0, 0.0]) @ np.linalg.inv(HELD)
    return {
        "models.pencil.pose.xyz": X_WO[:3, 3].tolist(),
        "models.pencil.pose.rpy": roll_pitch_yaw(X_WO[:3, :3]).tolist(),
    }


def variation(draws: Draws) -> None:
    """Pencil and stand within 1 cm and 5 degrees, friction within 20 %, stiffness within 30 %."""
    start = model_of(draws.scene, PENCIL).pose
    pitch = math.radians(draws.between("pitch, deg", -5.0, 5.0))
    along = draws.between("held nearer to the tip, mm", -0.01, 0.01, 1e3)
    draws.values |= start_at(pose(start.xyz, start.rpy), pitch, along)
    x, y, z = model_of(draws.scene, "stand").pose.xyz
    away = draws.between("stand further away, mm", -0.01, 0.01, 1e3)
    yaw = math.radians(draws.between("stand about z, deg", -5.0, 5.0))
    draws.values |= {"models.stand.pose.xyz": [x + away, y, z], "models.stand.pose.rpy": [0.0, 0.0, yaw]}
    fingers = [("arm", link) for link in GRIPPER.links]
    draws.properties("modulus", "modulus", fingers, 0.3)
    draws.properties("friction", "mu_dynamic", [(PENCIL, PENCIL), ("stand", STAND), *fingers], 0.2)


def follow(measured: Measurement) -> dict[str, float]:
    """Angle of the pencil in the hand, the moment that turns it, and where on it the middle between the fingers is."""
    X_WP, X_WO = measured.poses[GRIPPER.palm], measured.poses[PENCIL]
    p_WM = (X_WP @ MIDDLE)[:3, 3]
    moment = np.zeros(3)
    for link in GRIPPER.links:
        X_WF, wrench = measured.poses[link], measured.wrenches[PENCIL, link]
        force, about = X_WF[:3, :3] @ wrench[:3], X_WF[:3, :3] @ wrench[3:]
        moment += about + np.cross(X_WF[:3, 3] - p_WM, force)
    p_OM = X_WO[:3, :3].T @ (p_WM - X_WO[:3, 3])
    return {
        "pitch in the hand, rad": pitch_in_hand(measured),
        "scrubbing torque, N m": float(-X_WP[:3, 1] @ moment),
        "held at, m": float(p_OM[0]),
        "off its axis, m": float(np.hypot(*p_OM[1:])),
    }


def judge(story: Story, set_turn: float) -> Outcome:
    """The pencil has turned by the set angle, keeps it, and is where it was between the fingers, off the stand."""
    first, end, later = (follow(one) for one in (story.before, story.end, story.later))
    pitch = "pitch in the hand, rad"
    turn = later[pitch] - first[pitch]
    rate = (later[pitch] - end[pitch]) / (story.later.time - story.end.time)
    slid = max(
        abs(point["held at, m"] - first["held at, m"]) + point["off its axis, m"] for point in story.course
    )
    over = float(story.later.poses[PENCIL][2, 3] - story.later.poses[STAND][2, 3]) - STAND_TOP
    measures = {
        "turned, rad": turn,
        "off the set turn, rad": turn - set_turn,
        "rate, rad/s": rate,
        "largest scrubbing torque, N m": max(abs(point["scrubbing torque, N m"]) for point in story.course),
        "slid, m": slid,
        "over the stand, m": over,
    }
    asked = {
        f"it is turned by {turn:.3f} rad": abs(turn - set_turn) <= NEAR,
        f"it turns at {rate:.2g} rad/s": abs(rate) < AT_REST,
        f"it slid by {1e3 * slid:.1f} mm between the fingers": slid < STAYS,
        f"it is {1e3 * over:.0f} mm over the stand": over > CLEAR,
    }
    return Outcome.of(asked, measures)


def pencil_task(told: Mapping[str, Any]) -> Task:
    """The task with settings of its controller.

    Raises:
        InputError: A value does not fit.
    """
    settings = replace(Settings(), **told)
    if not is_number(settings.turn, LEAST, MOST):
        mend = f"give a number from {LEAST:g} to {MOST:g}, rad"
        raise InputError(
            "pencil_turn", "controller.turn", f"{excerpt(settings.turn)} is no turn to set", mend
        )
    return Task(
        summary="an arm turns a pencil within its grasp, on the edge of a stand (after Elandt 2019, figure 4)",
        scene="pencil_turn",
        period=0.01,
        duration=15.0,
        controller=lambda model, period: PencilTurn(model, period, settings),
        variation=variation,
        judge=lambda story: judge(story, float(settings.turn)),
        follow=follow,
        shows=(PENCIL, STAND, GRIPPER.palm),
        settings=vars(settings),
        told=lambda other: pencil_task({**told, **other}),
    )


TASK = pencil_task({})
