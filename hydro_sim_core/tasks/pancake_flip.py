"""Pancake flip (Masterjohn 2022, V-B): an arm takes a spatula from its stand and turns a pancake over on the stove.

The blade slides under the pancake until it takes it along, and then, faster than friction can follow, a little further.
Tipped back, the pancake slides to the heel of the blade. On the stove the blade turns about its lower edge: the pancake
slides off until its rim stands on the stove, the blade comes after it, and the pancake falls over to the other side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.manipulation import MotionLimits
from hydro_sim_core.manipulation.cartesian_motion import fastest_share
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Robot, Script, TaskFailed
from hydro_sim_core.tasks.skills import (
    follow_tool,
    grasp,
    move_to,
    move_tool,
    wait,
    while_held,
)
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.turner import ALONG, GRIPPER
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

#: Force of each finger on the handle, N.
GRIP = 30.0

# The blade of the spatula, as urdf/turner.urdf.xacro has it.
HALF_LENGTH, HALF_WIDTH = 0.055, 0.050
HEEL = pose([-HALF_LENGTH, 0.0, 0.0])

#: Radius of the pancake and half its thickness, and of the stove with its height, m.
RADIUS, HALF_THICKNESS = 0.055, 0.008
STOVE_RADIUS, STOVE_HEIGHT = 0.15, 0.10
#: Nose down while the blade is pushed under the pancake, nose up not to lose it, and to let it slide to the heel, rad.
DIP, SAFE, STEEP = math.radians(4.0), math.radians(-7.0), math.radians(-15.0)
#: Force on the spatula at which its tip has touched the stove, N.
TOUCH = 1.0
#: Through the air.
CALMLY = MotionLimits(speed=0.12)
#: What the arm can do along its reach; to take the pancake along, and to get further under it than friction allows.
SLOWLY = MotionLimits(speed=0.1)
SUDDENLY = MotionLimits(speed=0.175, acceleration=4.0, jerk=100.0, braking=0.2)
#: With something loose on the blade.
GENTLY = MotionLimits(speed=0.08, acceleration=0.5, angular_speed=0.25, angular_acceleration=1.0)
#: Height of the lower edge over the stove while the blade turns, m.
EDGE = 0.003
#: Angles between which the lower edge follows the rim of the pancake, rad.
SLIDES, UNDER_RIM = math.radians(20.0), math.radians(60.0)
#: Surfaces that slide on each other: models with links.
SURFACES = (("stove", "stove"), ("pancake", "pancake"), ("spatula", "spatula"), ("spatula", "handle"))
#: How far the blade turns, rad, and how long it takes, s.
TURN, TURN_TIME = math.radians(105.0), 4.5


class PancakeFlip:
    """The controller.

    Args:
        model: World of the scene, to plan in.
        period: Time between two commands, s.
    """

    def __init__(self, model: World, period: float) -> None:
        self._model = model
        self.robot = Robot(model, GRIPPER, period)
        self._X_WO = model.frame_pose("stove") @ pose([0.0, 0.0, STOVE_HEIGHT])

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        robot = self.robot
        robot.start(measured)
        yield from self._take_the_spatula()
        yield from while_held(robot, "handle", self._use_it())

    def _take_the_spatula(self) -> Script:
        robot = self.robot
        robot.phase = "take the spatula"
        X_WS = robot.measured.poses["spatula"]
        yield from move_to(robot, self._model, ALONG.hand(X_WS, before=0.13))
        yield from move_tool(robot, [ALONG.hand(X_WS)], CALMLY)
        yield from grasp(robot, "handle", GRIP)
        robot.hold_tool("spatula")
        yield from move_tool(robot, [lifted(robot.X_WT, 0.1)], CALMLY)

    def _use_it(self) -> Script:
        yield from self._touch_the_stove()
        yield from self._get_under_the_pancake()
        yield from self._lift_it()
        yield from self._turn_it_over()
        yield from self._leave()

    def _touch_the_stove(self) -> Script:
        robot = self.robot
        robot.phase = "touch the stove"
        pancake = robot.measured.poses["pancake"][:3, 3]
        before = self._on_stove(pancake[0] - 0.15, pancake[1], 0.05, DIP)
        yield from move_to(robot, self._model, shifted(before, [-0.09, 0.0, 0.0]))
        yield from wait(robot, 0.2)
        # It has turned in the grasp a little by now.
        robot.hold_tool("spatula")
        yield from move_tool(robot, [before], CALMLY)
        load = robot.load_of("handle")[2]

        def touched() -> bool:
            return bool(robot.load_of("handle")[2] > load + TOUCH)

        yield from move_tool(robot, [lifted(before, -0.06)], MotionLimits(speed=0.04), until=touched)
        if not touched():
            raise TaskFailed("the blade touches nothing where the stove should be")
        # Where it touches, and no further.
        yield from move_tool(robot, [lifted(robot.measured.poses["spatula"], 5e-4)], MotionLimits(speed=0.02))

    def _get_under_the_pancake(self) -> Script:
        robot = self.robot
        robot.phase = "get under the pancake"
        pancake = robot.measured.poses["pancake"][:3, 3]
        begin = robot.X_WT
        # The pancake comes along from where its middle is over the tip.
        to_the_middle = pancake[0] - begin[0, 3] - HALF_LENGTH
        under = shifted(begin, [to_the_middle, 0.0, 0.0])
        yield from move_tool(robot, [under], SLOWLY)
        yield from move_tool(robot, [shifted(under, [0.12, 0.0, 0.0])], SUDDENLY)

    def _lift_it(self) -> Script:
        robot = self.robot
        robot.phase = "lift the pancake"
        x, y = robot.X_WT[:2, 3]
        tipped = self._on_stove(x, y, 0.002, 0.0) @ HEEL @ pose(rpy=[0.0, SAFE, 0.0]) @ np.linalg.inv(HEEL)
        high = shifted(tipped, [-0.06, 0.0, 0.06])
        yield from move_tool(robot, [tipped, high, high @ pose(rpy=[0.0, STEEP - SAFE, 0.0])], GENTLY)
        yield from wait(robot, 0.3)

    def _turn_it_over(self) -> Script:
        robot = self.robot
        robot.phase = "turn the pancake over"
        x, y = self._X_WO[:2, 3]
        # It falls over to the middle of the stove, from where the edge has followed its rim.
        edge = y + 2.0 * RADIUS
        level = math.radians(-4.0)
        above, low = (self._on_stove(x, edge + HALF_WIDTH, height, level) for height in (0.04, EDGE))
        yield from move_tool(robot, [above, low], CALMLY)
        course = fastest_share(1.5 / TURN_TIME, 8.0 / TURN_TIME**2, 60.0 / TURN_TIME**3)

        def turned(time: float) -> Array:
            angle = course.at(time)[0] * TURN
            # From where the pancake slides off on, its rim stands on the stove, and the edge goes there.
            share = min(max((angle - SLIDES) / (UNDER_RIM - SLIDES), 0.0), 1.0)
            X_WE = self._on_stove(x, edge - share * RADIUS, EDGE, 0.0) @ pose(rpy=[angle, 0.0, 0.0])
            return np.asarray(X_WE @ pose([0.0, HALF_WIDTH, 0.0], [0.0, level, 0.0]))

        yield from follow_tool(robot, turned, course.duration)
        yield from move_tool(robot, [shifted(robot.X_WT, [0.0, -0.04, 0.012])], CALMLY)

    def _leave(self) -> Script:
        robot = self.robot
        robot.phase = "leave"
        yield from move_tool(robot, [shifted(robot.X_WT, [-0.045, 0.075, 0.15])], CALMLY)
        yield from wait(robot, 0.5)

    def _on_stove(self, x: float, y: float, height: float, pitch: float) -> Array:
        """Pose of the spatula at a place of the world, so high over the stove."""
        return pose([x, y, self._X_WO[2, 3] + height], [0.0, pitch, 0.0])


def variation(draws: Draws) -> None:
    """Starts within 1 cm and 5 degrees, friction within 20 %, stiffness within 30 %."""
    draws.moved("spatula")
    draws.moved("pancake")
    draws.turned("spatula")
    draws.properties("modulus", "modulus", [("pancake", "pancake")], 0.3)
    draws.properties("friction", "mu_dynamic", SURFACES, 0.2)


def judge(story: Story) -> Outcome:
    """The other face is up, on the stove, and rests there."""
    later = story.later
    was, at_last = (measured.poses["pancake"] for measured in (story.before, later))
    turn = math.degrees(math.acos(np.clip(was[:3, 2] @ at_last[:3, 2], -1.0, 1.0)))
    X_OP = np.linalg.inv(later.poses["stove"]) @ at_last
    off_middle = float(np.hypot(*X_OP[:2, 3]))
    # It gives way where it lies, so that its middle is never as high over the stove as half its thickness.
    height = float(X_OP[2, 3]) - STOVE_HEIGHT
    lies = 0.0 < height < HALF_THICKNESS
    speed = story.speed_of("pancake")
    measures = {
        "turned, deg": turn,
        "off the middle of the stove, m": off_middle,
        "above the stove, m": height,
        "speed, m/s": speed,
    }
    asked = {
        f"it is turned by {turn:.0f} degrees": turn > 170.0,
        f"it is {off_middle:.3f} m off the middle of the stove": off_middle < STOVE_RADIUS,
        f"its middle is {1e3 * height:.1f} mm above the stove, where it lies lower": lies,
        f"it moves at {speed:.2g} m/s": speed < 1e-3,
    }
    return Outcome.of(asked, measures)


TASK = Task(
    summary="an arm takes a spatula and turns a pancake over on the stove (Masterjohn 2022, V-B)",
    scene="pancake_flip",
    period=0.01,
    duration=60.0,
    controller=PancakeFlip,
    variation=variation,
    judge=judge,
    shows=("stove", "spatula", "handle", "spatula_stand", "gripper"),
)


def shifted(X_WS: Array, by: list[float]) -> Array:
    """A pose moved along the world's axes, m."""
    return np.asarray(pose(by) @ X_WS)


def lifted(X_WS: Array, height: float) -> Array:
    return shifted(X_WS, [0.0, 0.0, height])
