"""Mug pick: an arm takes a mug by its handle and sets it down on the middle of a plate.

The fingers come from above and from the side, so that neither the mug's wall nor the rim of the plate is in their way.
The mug's weight turns it in the grasp a little, for its handle is off its middle: so the arm looks at it again before
it sets it down.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.manipulation import Grasp, MotionLimits
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Robot, Script, TaskFailed
from hydro_sim_core.tasks.skills import grasp, let_go, move_to, move_tool, positions_at, wait, while_held
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.turner import GRIPPER, MIDDLE
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

MUG, PLATE, BASE = "mug", "plate", "base_link"
#: Force of each finger on the handle, N.
GRIP = 20.0
#: Opening of each finger at which soft ones have met without a handle between them, m.
MET = -0.006
#: Middle of the handle where it is grasped in the mug, as urdf/mug.urdf.xacro has it, m.
HANDLE = pose([0.067, 0.0, 0.055])
#: How far down the fingers point, rad, and how much nearer to their tips than their middle they hold the handle, m.
DOWN, TO_THE_TIP = math.radians(40.0), 0.015
#: Where the fingers hold it in the palm, m.
BETWEEN = MIDDLE[:3, 3] - [0.0, 0.0, TO_THE_TIP]
#: The hand that holds the mug: its fingers point down and at the mug, one on each side of the handle.
BY_THE_HANDLE = Grasp(
    "by the handle",
    HANDLE,
    pose(rpy=[0.0, math.pi / 2.0 - DOWN, 0.0]) @ np.linalg.inv(pose(BETWEEN)),
    np.array([0.0, 0.0, -1.0]),
)
#: Opening of each finger before the grasp and after it, m; how fast they let go, m/s.
OPEN, LETTING_GO = 0.030, 0.02
#: How far off the fingers wait before the handle, m; how high the mug is lifted, m.
BEFORE, LIFT = 0.11, 0.10
#: Height of the plate's middle and the radius of all of it, m (urdf/plate.urdf.xacro).
PLATE_TOP, PLATE_RADIUS = 0.006, 0.110
#: How high over the plate it is looked at again, and how far down it may go to touch it, m.
OVER, FARTHEST = 0.03, 0.01
#: Share of the weight that has to rest on the plate.
RESTS = 0.5
CALMLY = MotionLimits(speed=0.25, angular_speed=1.0)
SLOWLY = MotionLimits(speed=0.03)

#: How far the mug may be off the middle of the plate, m, its handle off its direction and its axis off upright, deg.
NEAR, TURNED, UPRIGHT = 0.010, 5.0, 1.0
#: Force of a finger on it from which on it is still held, N: a little of what it weighs.
HELD = 0.05
#: How high it has to be lifted, how far its handle may move between the fingers, m; how fast it may sink, m/s.
HIGH, STAYS, FALLS = 0.05, 0.010, 0.3
#: From here on over what is under it, it is in the air, m.
CLEAR = 0.002


class MugPick:
    """The controller.

    Args:
        model: World of the scene, to plan in.
        period: Time between two commands, s.
    """

    def __init__(self, model: World, period: float) -> None:
        self._model = model
        self.robot = Robot(model, GRIPPER, period)

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        robot = self.robot
        robot.start(measured)
        robot.phase = "carry the mug"
        over = _lifted(place_of(measured), LIFT)
        positions_at(robot, self._model, BY_THE_HANDLE.hand(over))  # known before anything moves
        robot.phase = "take the mug"
        yield from self._take_the_mug()
        yield from while_held(robot, MUG, self._carry_it())
        robot.phase = "let go of the mug"
        yield from self._let_go()

    def _take_the_mug(self) -> Script:
        robot = self.robot
        X_WM = robot.measured.poses[MUG]
        robot.opening = OPEN
        yield from move_to(robot, self._model, BY_THE_HANDLE.hand(X_WM, before=BEFORE))
        yield from move_tool(robot, [BY_THE_HANDLE.hand(X_WM)], CALMLY)
        yield from grasp(robot, MUG, GRIP, met=MET)

    def _carry_it(self) -> Script:
        robot = self.robot
        robot.phase = "lift the mug"
        robot.hold_tool(MUG)
        X_WM = robot.X_WT
        yield from move_tool(robot, [_lifted(X_WM, LIFT)], CALMLY)
        robot.phase = "carry the mug"
        over = _lifted(place_of(robot.measured), OVER)
        yield from move_tool(robot, [_lifted(over, LIFT - OVER), over], CALMLY)
        yield from wait(robot, 0.2)
        robot.hold_tool(MUG)
        yield from move_tool(robot, [over], SLOWLY)
        robot.phase = "set the mug down"
        yield from self._set_down(over)

    def _set_down(self, over: Array) -> Script:
        """Lower it until the plate carries half of it."""
        robot = self.robot
        weight = robot.load_of(MUG)[2]

        def rests() -> bool:
            return bool(robot.load_of(MUG)[2] / weight < 1.0 - RESTS)

        yield from move_tool(robot, [_lifted(over, -OVER - FARTHEST)], SLOWLY, until=rests)
        if not rests():
            raise TaskFailed("there is no plate under the mug")
        yield from wait(robot, 0.1)

    def _let_go(self) -> Script:
        robot = self.robot
        yield from let_go(robot, OPEN, LETTING_GO)
        robot.X_PT = np.eye(4)
        yield from move_tool(robot, [robot.X_WT @ pose([0.0, 0.0, BEFORE])], CALMLY)


def place_of(measured: Measurement) -> Array:
    """Pose (4, 4) that the mug shall have: on the middle of the plate, upright, its handle towards the arm."""
    x, y, z = measured.poses[PLATE][:3, 3]
    base = measured.poses[BASE][:3, 3]
    return pose([x, y, z + PLATE_TOP], [0.0, 0.0, math.atan2(base[1] - y, base[0] - x)])


def _lifted(X_WM: Array, height: float) -> Array:
    return np.asarray(pose([0.0, 0.0, height]) @ X_WM)


def variation(draws: Draws) -> None:
    """Mug and plate within 1 cm, the mug within 5 degrees, friction within 20 %, stiffness within 30 %."""
    draws.moved(MUG)
    draws.moved(PLATE)
    draws.turned(MUG)
    fingers = [("arm", link) for link in GRIPPER.links]
    draws.properties("modulus", "modulus", fingers, 0.3)
    draws.properties("friction", "mu_dynamic", [(MUG, MUG), (PLATE, PLATE), *fingers], 0.2)


def follow(measured: Measurement) -> dict[str, float]:
    """Height of the mug and how far it is clear of what is under it, and where its handle is between the fingers."""
    X_WM, X_WP = measured.poses[MUG], measured.poses[PLATE]
    height = float(X_WM[2, 3])
    is_over_the_plate = math.dist(X_WM[:2, 3], X_WP[:2, 3]) < PLATE_RADIUS
    under = float(X_WP[2, 3]) + PLATE_TOP if is_over_the_plate else 0.0
    p_PH = (np.linalg.inv(measured.poses[GRIPPER.palm]) @ X_WM @ HANDLE)[:3, 3]
    return {
        "height, m": height,
        "clear, m": height - under,
        "off the fingers, m": float(np.linalg.norm(p_PH - BETWEEN)),
    }


def judge(story: Story) -> Outcome:
    """The mug stands on the middle of the plate, let go and at rest; it was held by its handle and never fell."""
    later = story.later
    X_SM = np.linalg.inv(place_of(story.before)) @ later.poses[MUG]
    X_PM = np.linalg.inv(later.poses[PLATE]) @ later.poses[MUG]
    off = float(np.hypot(*X_PM[:2, 3]))
    turned = math.degrees(abs(math.atan2(X_SM[1, 0], X_SM[0, 0])))
    leans = math.degrees(math.acos(min(1.0, float(X_SM[2, 2]))))
    above = follow(later)["clear, m"]
    pushed = math.dist(story.before.poses[PLATE][:3, 3], later.poses[PLATE][:3, 3])
    speed = story.speed_of(MUG)
    left = max(float(np.linalg.norm(later.wrenches[MUG, link][:3])) for link in GRIPPER.links)
    highest = max(point["clear, m"] for point in story.course)
    slid = max(
        (point["off the fingers, m"] for point in story.course if point["clear, m"] > CLEAR), default=0.0
    )
    sank = max(
        (before["height, m"] - after["height, m"]) / (after["time, s"] - before["time, s"])
        for before, after in pairwise(story.course)
    )
    measures = {
        "off the middle of the plate, m": off,
        "handle off its direction, deg": turned,
        "leans, deg": leans,
        "highest, m": highest,
        "handle off the fingers, m": slid,
        "sank at, m/s": sank,
        "plate pushed, m": pushed,
        "speed, m/s": speed,
        "force left, N": left,
    }
    asked = {
        f"it was lifted by {highest:.3f} m": highest > HIGH,
        f"its handle was {slid:.3f} m off the fingers in the air": slid < STAYS,
        f"it fell at {sank:.2f} m/s": sank < FALLS,
        f"it is {off:.3f} m off the middle of the plate": off < NEAR and abs(above) < CLEAR,
        f"its handle is {turned:.1f} degrees off its direction": turned < TURNED,
        f"it leans by {leans:.1f} degrees": leans < UPRIGHT,
        f"the plate was pushed by {pushed:.3f} m": pushed < NEAR,
        f"it moves at {speed:.2g} m/s": speed < 1e-3,
        f"a finger still presses on it with {left:.2g} N": left < HELD,
    }
    return Outcome.of(asked, measures)


TASK = Task(
    summary="an arm takes a mug by its handle and sets it down on a plate",
    scene="mug_pick",
    period=0.01,
    duration=30.0,
    controller=MugPick,
    variation=variation,
    judge=judge,
    follow=follow,
    shows=(MUG, PLATE, GRIPPER.palm),
)
