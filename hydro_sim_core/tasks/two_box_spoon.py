"""Two boxes and a spoon (Elandt 2019, VIII-B): they pick it up between them, roll it there, and carry it to a pose.

The gantry that carries the boxes moves along three axes and turns about two: it cannot turn the spoon about its handle.
The boxes do, by moving against each other: one up and one down, and the handle rolls between their faces.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.rotations import twist_between
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks.robot import Gripper, Measurement, Robot, Script, TaskFailed
from hydro_sim_core.tasks.skills import grasp, move_to, wait, while_held
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

SPOON = "spoon"
BOXES = Gripper("palm", ("left_push", "right_push"), ("left_box", "right_box"), (1.0, -1.0), ("box", "boxes"))
#: Joints that move the boxes up and down, in the order of the boxes, and how far, m (urdf/two_boxes.urdf.xacro).
LIFTS, FURTHEST = ("left_lift", "right_lift"), 0.0115
#: Middle of the boxes below the palm, m.
BELOW = 0.1
#: Where the handle is grasped in the spoon, and how much higher the middle of the boxes then is, m.
GRASP, HIGHER = (-0.095, 0.0, 0.0), 0.008
#: Force of each box on the handle, N.
GRIP = 12.0
#: Pose of the spoon at the end.
WANTED = pose([0.11, 0.0, 0.20], [math.radians(80.0), math.radians(-20.0), math.radians(50.0)])
#: How near it has to be, m and rad, how still, m/s.
NEAR, ALIGNED, AT_REST = 0.005, math.radians(3.0), 1e-3
#: Speed at which each box moves in the roll, m/s; how near the roll is to what is wanted, rad.
ROLL_SPEED, ROLLED = 0.006, math.radians(0.5)
#: How often it looks where the spoon is, and corrects.
LOOKS = 3


class Boxes(Robot):
    """Two boxes that press on each other, and move against each other.

    Attributes:
        shear: How far the left box has moved down, and the right one up, m.
    """

    def start(self, measured: Measurement) -> None:
        """Begin where the robot stands."""
        super().start(measured)
        self.shear = 0.0

    def commands(self) -> dict[str, JointCommand]:
        """Commands of the coming period."""
        commands = super().commands()
        for name, side in zip(LIFTS, BOXES.sides, strict=True):
            commands[name] = JointCommand(side * self.shear, 0.0, 0.0)
        return commands


class TwoBoxSpoon:
    """The controller.

    Args:
        model: World of the scene, to plan in.
        period: Time between two commands, s.
    """

    def __init__(self, model: World, period: float) -> None:
        self._model = model
        self.robot = Boxes(model, BOXES, period)

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        robot = self.robot
        robot.start(measured)
        yield from self._take_it()
        yield from while_held(robot, SPOON, self._use_it())

    def _take_it(self) -> Script:
        robot = self.robot
        robot.phase = "take the spoon"
        X_WS = robot.measured.poses[SPOON]
        place = X_WS[:3, :3] @ GRASP + X_WS[:3, 3]
        around = pose(place, [0.0, 0.0, math.atan2(X_WS[1, 0], X_WS[0, 0])])
        for above in (0.06, 0.0):
            yield from move_to(robot, self._model, pose([0.0, 0.0, BELOW + HIGHER + above]) @ around)
        yield from grasp(robot, SPOON, GRIP)

    def _use_it(self) -> Script:
        robot = self.robot
        robot.phase = "lift the spoon"
        high = pose([0.0, 0.0, 0.12]) @ robot.X_WT
        yield from move_to(robot, self._model, high)
        yield from wait(robot, 0.2)
        for _ in range(LOOKS):
            robot.phase = "roll the spoon"
            yield from self._roll()
            robot.phase = "carry the spoon"
            yield from move_to(robot, self._model, palm_for(WANTED, self._X_PS))
            yield from wait(robot, 0.3)

    def _roll(self) -> Script:
        """Move the boxes against each other until the spoon has turned about its handle as is wanted."""
        robot = self.robot
        while abs(left := roll_left(WANTED, self._X_PS)) > ROLLED:
            # The last half a degree of the way ten times as slowly.
            step = ROLL_SPEED * robot.period * min(1.0, abs(left) / math.radians(5.0))
            robot.shear += math.copysign(step, left)
            if abs(robot.shear) > FURTHEST:
                raise TaskFailed(
                    f"the spoon does not roll between the boxes: {math.degrees(left):.0f} degrees are left"
                )
            robot.measured = yield robot.commands()

    @property
    def _X_PS(self) -> Array:
        """Measured pose (4, 4) of the spoon in the palm."""
        poses = self.robot.measured.poses
        return np.asarray(np.linalg.inv(poses[BOXES.palm]) @ poses[SPOON])


def palm_for(X_WS: Array, X_PS: Array) -> Array:
    """Pose (4, 4) of a palm, turned about z and then about y, that takes a spoon where it shall be but for its roll.

    Args:
        X_WS: (4, 4) where the spoon shall be.
        X_PS: (4, 4) where it is in the palm.
    """
    to, along = X_WS[:3, 0], X_PS[:3, 0]
    # cos(pitch) z - sin(pitch) x = size cos(pitch + phase) is how far it points up.
    size, phase = math.hypot(along[0], along[2]), math.atan2(along[0], along[2])
    pitch = math.acos(min(max(to[2] / size, -1.0), 1.0)) - phase
    ahead = math.cos(pitch) * along[0] + math.sin(pitch) * along[2]
    yaw = math.atan2(to[1], to[0]) - math.atan2(along[1], ahead)
    X_WP = pose(rpy=[0.0, pitch, yaw])
    X_WP[:3, 3] = X_WS[:3, 3] - X_WP[:3, :3] @ X_PS[:3, 3]
    return X_WP


def roll_left(X_WS: Array, X_PS: Array) -> float:
    """Angle (rad) by which a spoon in the palm has yet to turn about its handle, see ``palm_for``."""
    R_WS = (palm_for(X_WS, X_PS) @ X_PS)[:3, :3]
    R = R_WS.T @ X_WS[:3, :3]
    return math.atan2(R[2, 1], R[2, 2])


def variation(draws: Draws) -> None:
    """Starts within 1 cm and 5 degrees, friction within 20 %, stiffness within 30 %."""
    draws.moved(SPOON)
    draws.turned(SPOON)
    boxes = [("boxes", link) for link in BOXES.links]
    draws.properties("modulus", "modulus", boxes, 0.3)
    draws.properties("friction", "mu_dynamic", [(SPOON, SPOON), *boxes], 0.2)


def follow(measured: Measurement) -> dict[str, float]:
    """How the spoon has turned about its handle between the boxes, where it is, and the force of the looser one."""
    X_PS = np.linalg.inv(measured.poses[BOXES.palm]) @ measured.poses[SPOON]
    grips = [
        abs(float(measured.wrenches[SPOON, link][1])) if (SPOON, link) in measured.wrenches else 0.0
        for link in BOXES.links
    ]
    return {
        "rolled, deg": math.degrees(math.atan2(X_PS[2, 1], X_PS[2, 2])),
        "off the place, m": float(np.linalg.norm(measured.poses[SPOON][:3, 3] - WANTED[:3, 3])),
        "grip, N": min(grips),
    }


def judge(story: Story) -> Outcome:
    """The spoon is where it shall be, turned as it shall be, and rests there between the boxes."""
    off = twist_between(story.later.poses[SPOON], WANTED, 1.0)
    distance, angle = float(np.linalg.norm(off[3:])), float(np.linalg.norm(off[:3]))
    speed = story.speed_of(SPOON)
    measures = {
        "off the place, m": distance,
        "off the direction, deg": math.degrees(angle),
        "rolled between the boxes, deg": follow(story.later)["rolled, deg"],
        "speed, m/s": speed,
    }
    asked = {
        f"it is {1e3 * distance:.1f} mm off its place": distance < NEAR,
        f"it is turned {math.degrees(angle):.1f} degrees off": angle < ALIGNED,
        f"it moves at {speed:.2g} m/s": speed < AT_REST,
    }
    return Outcome.of(asked, measures)


TASK = Task(
    summary="two boxes pick a spoon up, roll it between them and carry it to a pose (Elandt 2019, VIII-B)",
    scene="two_box_spoon",
    period=0.01,
    duration=30.0,
    controller=TwoBoxSpoon,
    variation=variation,
    judge=judge,
    follow=follow,
    shows=(SPOON, "left_box", "right_box", "palm"),
)
