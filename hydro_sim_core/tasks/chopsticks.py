"""Chopsticks (Elandt 2019, VIII-B): two sticks move small soft things into a bowl.

A hand holds one stick still and turns the other about a pivot, with little force. What falls is picked up again.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.poses import pose
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks.robot import GraspLost, Measurement, Script, TaskFailed, ToolArm
from hydro_sim_core.tasks.skills import SECURE, move_to, positions_at, wait, while_held
from hydro_sim_core.tasks.task import Outcome, Story, Task
from hydro_sim_core.tasks.variation import Draws

Array = NDArray[np.float64]

PALM, BOWL = "palm", "bowl"
#: Sticks, with the sign of y on the side of each in the palm.
STICKS = {"still_stick": 1.0, "moving_stick": -1.0}
JOINT = "stick_joint"
#: Half the distance of the sticks in the hand, their radius and length, m (urdf/chopsticks.urdf.xacro).
APART, RADIUS, LENGTH = 0.012, 0.003, 0.18
LEAN = math.atan2(APART - RADIUS, LENGTH)
#: How far from the hand things are held, m; by how much the sticks lean forward from upright, rad.
REACH, FORWARD = 0.172, math.radians(40.0)
#: What is moved, how wide it is, m, and where in the bowl it is let go, m.
MORSELS = {
    "tomato": (0.020, (-0.016, 0.010)),
    "tofu": (0.018, (0.016, 0.010)),
    "radish": (0.018, (0.0, -0.018)),
}
#: Room on either side of what is grasped, m.
ROOM = 0.005
#: Force of the moving stick, of a touch, N; how fast it grows, N/s, and the speed of the closing tip, m/s.
GRIP, TOUCH, FORCE_RATE, CLOSING_SPEED = 0.6, 0.05, 2.0, 0.03
#: Heights of what is carried above the table, and of what is let go, m.
HIGH, LOW = 0.09, 0.030
#: How often it tries to bring a thing.
TRIES = 3
#: Radius and height of the bowl's rim, m (urdf/meshes/tableware.py).
RIM_RADIUS, RIM_HEIGHT = 0.060, 0.035
#: Speed below which a thing is at rest, m/s, and the force that soft things bear, N.
AT_REST, HARDEST = 0.005, 2.0
#: Speed at which a thing may sink into the bowl, m/s: that after a fall of 25 mm. Let go of there it falls 13 mm.
FALLS = 0.7
#: Force of a stick below which it holds nothing, N: a quarter of what the lightest thing weighs.
LET_GO = 0.01


class Chopsticks(ToolArm):
    """A hand with two sticks.

    Args:
        model: World with the robot at its place.
        period: Time between two commands, s.

    Attributes:
        opening: Commanded angle of the moving stick, rad.
        squeeze: Force (N) at ``REACH`` with which it closes instead.
        side: What one of those is that hold.
    """

    side = "stick"

    def __init__(self, model: World, period: float) -> None:
        super().__init__(model, PALM, period)
        self.squeeze: float | None = None

    def start(self, measured: Measurement) -> None:
        """Begin where the robot stands."""
        super().start(measured)
        self.opening = self.kept_opening

    def grip_on(self, held: str) -> float:
        """Force with which the looser of the sticks presses on a link, N."""
        wrenches = self.measured.wrenches
        return float(min(side * wrenches[held, stick][1] for stick, side in STICKS.items()))

    def commands(self) -> dict[str, JointCommand]:
        """Commands of the coming period."""
        commands = super().commands()
        opening = self.opening if self.squeeze is None else self.kept_opening
        commands[JOINT] = JointCommand(opening, 0.0, -REACH * (self.squeeze or 0.0))
        return commands

    @property
    def kept_opening(self) -> float:
        """Angle of the moving stick (rad) that leaves it where it is."""
        return self.within_limits(JOINT, self.measured.positions[JOINT])


class ChopsticksTask:
    """The controller.

    Args:
        model: World of the scene, to plan in.
        period: Time between two commands, s.
    """

    def __init__(self, model: World, period: float) -> None:
        self._model = model
        self.robot = Chopsticks(model, period)

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        self.robot.start(measured)
        for morsel in MORSELS:
            self.robot.phase = f"carry the {morsel}"
            for X_WP in self._over_the_bowl(morsel):
                positions_at(self.robot, self._model, X_WP)  # known before anything moves
        for morsel in MORSELS:
            yield from self._bring(morsel)

    def _bring(self, morsel: str) -> Script:
        """Into the bowl, in several tries: what slips is picked again, what cannot be done is not tried again."""
        for tries_left in reversed(range(TRIES)):
            try:
                yield from self._pick(morsel)
                yield from while_held(self.robot, morsel, self._carry(morsel))
                yield from self._let_go(morsel)
                return
            except GraspLost:
                if not tries_left:
                    raise
                yield from self._let_go(morsel)

    def _pick(self, morsel: str) -> Script:
        """Close the sticks on it."""
        robot, width = self.robot, MORSELS[morsel][0]
        robot.phase = f"pick the {morsel}"
        X_WM = robot.measured.poses[morsel]
        if X_WM[2, 3] < 0.0:
            raise TaskFailed(f"the {morsel} has fallen off the table")
        yaw = facing(X_WM)
        yield from self._open(width + 2.0 * ROOM)
        for height in (HIGH, 0.0):
            X_WP = palm_around(X_WM[:3, 3] + [0.0, 0.0, height], yaw, width + 2.0 * ROOM)
            yield from move_to(robot, self._model, X_WP)
        while robot.grip_on(morsel) < TOUCH:
            robot.opening -= CLOSING_SPEED / REACH * robot.period
            if robot.opening < 0.0:
                raise GraspLost(f"there is no {morsel} between the sticks")
            robot.measured = yield robot.commands()
        robot.squeeze = TOUCH
        while robot.squeeze < GRIP:
            robot.squeeze = min(robot.squeeze + FORCE_RATE * robot.period, GRIP)
            robot.measured = yield robot.commands()
        yield from wait(robot, 0.2)
        if robot.grip_on(morsel) < SECURE * GRIP:
            raise GraspLost(f"no secure grasp of the {morsel}: {robot.grip_on(morsel):.2f} N of {GRIP:g} N")

    def _carry(self, morsel: str) -> Script:
        """Above its place in the bowl, and down."""
        robot = self.robot
        robot.phase = f"carry the {morsel}"
        yield from move_to(robot, self._model, pose([0.0, 0.0, HIGH]) @ robot.X_WT)
        for X_WP in self._over_the_bowl(morsel):
            yield from move_to(robot, self._model, X_WP)

    def _over_the_bowl(self, morsel: str) -> list[Array]:
        """Poses (4, 4) of the palm above a thing's place in the bowl, and where it is let go."""
        width, place = MORSELS[morsel]
        middle = self.robot.measured.poses[BOWL][:3, 3]
        return [palm_around(np.add(middle, [*place, height]), 0.0, width) for height in (HIGH, LOW)]

    def _let_go(self, morsel: str) -> Script:
        """Open the sticks, and leave upwards."""
        robot = self.robot
        robot.phase = f"let go of the {morsel}"
        robot.squeeze, robot.opening = None, robot.kept_opening
        yield from self._open(MORSELS[morsel][0] + 2.0 * ROOM)
        yield from wait(robot, 0.2)
        yield from move_to(robot, self._model, pose([0.0, 0.0, HIGH - LOW]) @ robot.X_WT)

    def _open(self, gap: float) -> Script:
        """Part the sticks to a gap (m) where things are held."""
        robot, goal = self.robot, opening_for(gap)
        step = CLOSING_SPEED / REACH * robot.period
        while abs(goal - robot.opening) > 1e-9:
            robot.opening += min(max(goal - robot.opening, -step), step)
            robot.measured = yield robot.commands()


def palm_around(place: Array, yaw: float, gap: float) -> Array:
    """Pose (4, 4) of the palm with the middle of a gap (m) between the sticks at a place (3,) in the world."""
    X_WP = pose(rpy=[0.0, -FORWARD, yaw])
    X_WP[:3, 3] = place - X_WP[:3, :3] @ middle_of(gap)
    return X_WP


def opening_for(gap: float) -> float:
    """Angle (rad) of the moving stick at which there is a gap (m) to the other one, ``REACH`` away from the hand."""
    still = APART - REACH * math.sin(LEAN)
    return LEAN - math.asin((still - 2.0 * RADIUS - gap + APART) / REACH)


def middle_of(gap: float) -> Array:
    """Middle (3,) of the gap (m) beside the still stick, in the palm."""
    return np.array([0.0, APART - REACH * math.sin(LEAN) - RADIUS - 0.5 * gap, -REACH * math.cos(LEAN)])


def facing(X_WM: Array) -> float:
    """The least turn about z (rad) after which the sticks face two sides of a block: within an eighth of a turn."""
    yaw = math.atan2(X_WM[1, 0], X_WM[0, 0])
    return yaw - 0.5 * math.pi * round(yaw / (0.5 * math.pi))


def variation(draws: Draws) -> None:
    """Starts within 1 cm and 5 degrees, friction within 20 %, stiffness within 30 %."""
    for name in MORSELS:
        draws.moved(name)
        draws.turned(name)
    links = [(name, name) for name in MORSELS]
    draws.properties("modulus", "modulus", links, 0.3)
    draws.properties("friction", "mu_dynamic", [*links, *(("hand", stick) for stick in STICKS)], 0.2)


def is_inside(measured: Measurement, morsel: str) -> bool:
    """Whether the middle of a thing is within the bowl's rim, and below it."""
    X_BM = np.linalg.inv(measured.poses[BOWL]) @ measured.poses[morsel]
    return math.hypot(*X_BM[:2, 3]) < RIM_RADIUS and 0.0 < X_BM[2, 3] < RIM_HEIGHT


def over_bowl(measured: Measurement, morsel: str) -> float:
    """Height of the middle of a thing over the bowl, m; NaN beside it."""
    way = measured.poses[morsel][:3, 3] - measured.poses[BOWL][:3, 3]
    return float(way[2]) if math.hypot(way[0], way[1]) < RIM_RADIUS else math.nan


def follow(measured: Measurement) -> dict[str, float]:
    """How many things are in the bowl, how high those over it are, and how hard the sticks press on one."""
    forces = [
        float(np.linalg.norm(measured.wrenches[morsel, stick][:3])) for morsel in MORSELS for stick in STICKS
    ]
    return {
        "in the bowl, pieces": float(sum(is_inside(measured, morsel) for morsel in MORSELS)),
        "force, N": max(forces),
        **{f"{morsel} over the bowl, m": over_bowl(measured, morsel) for morsel in MORSELS},
    }


def judge(story: Story) -> Outcome:
    """All is in the bowl, let go, and rests there, and nothing was squashed or dropped."""
    outside = [morsel for morsel in MORSELS if not is_inside(story.later, morsel)]
    speeds = [story.speed_of(morsel) for morsel in MORSELS]
    peak = max(point["force, N"] for point in story.course)
    left = follow(story.later)["force, N"]
    sank = max(
        (
            (before[name] - after[name]) / (after["time, s"] - before["time, s"])
            for before, after in pairwise(story.course)
            for name in (f"{morsel} over the bowl, m" for morsel in MORSELS)
            if not math.isnan(before[name] - after[name])
        ),
        default=0.0,
    )
    measures = {
        "in the bowl, pieces": float(len(MORSELS) - len(outside)),
        "speed, m/s": max(speeds),
        "peak force, N": peak,
        "force left, N": left,
        "sank at, m/s": sank,
    }
    asked = {
        f"not in the bowl: {', '.join(outside)}": not outside,
        f"a stick still presses on one with {left:.2g} N": left < LET_GO,
        f"one moves at {max(speeds):.2g} m/s": max(speeds) < AT_REST,
        f"one was pressed with {peak:.1f} N": peak <= HARDEST,
        f"one fell at {sank:.2f} m/s": sank < FALLS,
    }
    return Outcome.of(asked, measures)


TASK = Task(
    summary="two chopsticks move a tomato, tofu and a radish into a bowl (Elandt 2019, VIII-B)",
    scene="chopsticks",
    period=0.01,
    duration=60.0,
    controller=ChopsticksTask,
    variation=variation,
    judge=judge,
    follow=follow,
    shows=(*MORSELS, BOWL, "still_stick"),
)
