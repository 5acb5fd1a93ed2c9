"""Slip control (Masterjohn 2022, V-C): the pitch of a spatula is set by the force alone with which its handle is held.

The weight of the blade turns the spatula about the fingers, and friction on both sides of the handle holds it, the more
the harder they press: with a little less force than holds it, it sinks. So it can only sink, and the grip is its brake.
What friction can carry is many times the weight: the spatula turns, and stays between the fingers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.messages.bubbles import make_camera
from hydro_sim_core.messages.view import Bubble
from hydro_sim_core.rotations import roll_pitch_yaw
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.pitch_feedback import (
    PitchFeedback,
    PitchFromMembrane,
    PitchFromWrench,
    angle_in,
    axes_of,
    held_model,
)
from hydro_sim_core.tasks.robot import Measurement, Robot, Script, TaskFailed
from hydro_sim_core.tasks.skills import wait
from hydro_sim_core.tasks.task import Outcome, Story, Task, is_number
from hydro_sim_core.tasks.turner import GRIPPER, MIDDLE, X_SH
from hydro_sim_core.tasks.variation import Draws, model_of

Array = NDArray[np.float64]

HANDLE = "handle"
#: How near the pitch has to be, rad, and how soon, s.
NEAR, SOON = 0.02, 3.0
#: Speed of the spatula at its end (rad/s) below which it is at rest: friction creeps a little.
AT_REST = 0.01
#: How far the middle of the handle may move between the fingers, m.
STAYS = 0.02

#: Force of each finger, N: that of a secure grip, from where on the slip is searched for, and the least.
SECURE, SEARCH, LEAST = 30.0, 14.0, 2.0
#: How fast the grip is loosened to where the search begins, in the search, and tightened at most, N/s.
RELAX, LOOSEN, TIGHTEN = 150.0, 25.0, 60.0
#: Rate at which it slips, rad/s.
SLIPS = -0.05
#: Largest rate of the slip, rad/s; how fast it grows and falls, rad/s^2; the share of what is left that it turns in a
#: second, 1/s.
FASTEST, HASTEN, BRAKE, SHARE = 0.8, 3.0, 1.5, 8.0
#: Force for a rate that is off, N per rad/s, and for an angle that it was off by, N per rad.
PER_RATE, PER_ANGLE = 5.0, 14.0
#: How far above the set pitch the grip is tightened, rad: so much it still turns.
AHEAD = 0.03
#: How far above it is aimed at, rad: the spatula can only sink, and creeps on by 1 mrad/s while it is held.
ABOVE = 0.006
#: Time that a force takes to have an effect, s.
LAG = 0.025
#: How fast it is tightened for an angle that is left, N/s per rad, and to at least what share of the force of the slip.
STIFFEN, FIRM = 2.5e3, 1.3
#: Time to hold it before, and after, s.
BEFORE, AFTER = 0.3, 0.4
#: Largest way, m, by which the handle is held off its middle at the start: further back, and higher or lower.
FURTHER_BACK, HIGHER = 0.01, 0.005


@dataclass(frozen=True)
class Settings:
    """What the controller is told.

    Attributes:
        pitch: Set pitch of the handle, rad: of its end towards the blade, above level.
        feedback: What tells the pitch, ``wrench`` or ``membrane``.
        depth_noise: White noise of each pixel of the images of the membranes, standard deviation, m; of the cameras
            that are simulated, and known to the controller.
    """

    pitch: float = -0.5
    feedback: str = "wrench"
    depth_noise: float = 0.0


class SlipControl:
    """The controller.

    Args:
        model: World of the scene, to plan in.
        period: Time between two commands, s.
        settings: What it is told.
        bubbles: Soft-bubble fingers that it looks through.
    """

    def __init__(self, model: World, period: float, settings: Settings, bubbles: tuple[Bubble, ...]) -> None:
        self.robot = Robot(model, GRIPPER, period)
        self._set = settings.pitch
        self._feedback: PitchFeedback
        if bubbles:
            cameras = {bubble.link: make_camera(bubble, model)[0] for bubble in bubbles}
            frames = {bubble.link: bubble.frame for bubble in bubbles}
            self._feedback = PitchFromMembrane(cameras, frames, GRIPPER, period, settings.depth_noise)
        else:
            held = held_model(model, "spatula", HANDLE)
            self._feedback = PitchFromWrench(held, HANDLE, GRIPPER, MIDDLE[:3, 3], period)

    def script(self, measured: Measurement) -> Script:
        """The whole task."""
        robot, feedback = self.robot, self._feedback
        robot.start(measured)
        robot.squeeze = SECURE
        robot.phase = "hold the spatula"
        yield from wait(robot, BEFORE)
        feedback.see(robot.measured)
        if feedback.pitch < self._set - NEAR:
            raise TaskFailed(
                f"the set pitch of {self._set:g} rad is above the spatula's of {feedback.pitch:.2f}: it can only sink"
            )
        while feedback.pitch > self._set + 0.7 * NEAR:
            robot.phase = "let the spatula slip"
            yield from self._find_the_slip()
            yield from self._slip()
            robot.phase = "hold the spatula"
            yield from self._tighten()
        # It is asked to stay there from then on: whoever judges has to see it.
        while robot.measured.time < measured.time + SOON:
            yield from self._see()

    def _find_the_slip(self) -> Script:
        """Loosen the grip until the spatula slips."""
        robot, feedback = self.robot, self._feedback
        while feedback.rate > SLIPS:
            if self._force <= LEAST:
                raise TaskFailed(f"the spatula does not slip: {LEAST:g} N hold it")
            rate = RELAX if self._force > SEARCH else LOOSEN
            robot.squeeze = max(self._force - rate * robot.period, LEAST)
            yield from self._see()

    def _slip(self) -> Script:
        """Let it turn at a rate that falls with what is left, from the force on at which it slips."""
        robot, feedback = self.robot, self._feedback
        balance, fastest, ahead = self._force, 0.0, min(AHEAD, 0.3 * self._left)
        while (left := self._left - ahead) > (0.3 * ahead if feedback.rate > SLIPS else 0.0):
            fastest = min(fastest + HASTEN * robot.period, FASTEST)
            wanted = -min(fastest, math.sqrt(2.0 * BRAKE * left), SHARE * left)
            off = wanted - feedback.rate  # above 0: it turns too fast
            balance += PER_ANGLE * off * robot.period
            robot.squeeze = min(max(balance + PER_RATE * off, LEAST), SECURE)
            yield from self._see()

    def _tighten(self) -> Script:
        """Tighten the grip as long as the spatula is above the set pitch.

        Fingers that close slide along the sides of the handle. Friction that works against this is missing where it
        keeps the spatula from turning: so it sinks as long as they close.
        """
        robot, balance = self.robot, self._force
        for _ in range(round(AFTER / robot.period)):
            is_firm = self._force >= FIRM * balance
            rate = STIFFEN * max(self._left, 0.0 if is_firm else 0.2 * NEAR)
            robot.squeeze = min(self._force + min(TIGHTEN, rate) * robot.period, SECURE)
            yield from self._see()

    @property
    def _left(self) -> float:
        """How far the pitch will be above what is aimed at when a change of the force has an effect, rad."""
        return self._feedback.pitch + LAG * self._feedback.rate - self._set - ABOVE

    @property
    def _force(self) -> float:
        return self.robot.squeeze or 0.0

    def _see(self) -> Script:
        robot, feedback = self.robot, self._feedback
        robot.measured = yield robot.commands()
        feedback.see(robot.measured)
        if not feedback.holds:
            raise TaskFailed("lost the grasp of the spatula")


def start_at(scene: LoadedScene, pitch: float, along: float = 0.0, higher: float = 0.0) -> dict[str, Any]:
    """Values of the scene by path for another start.

    Args:
        scene: The scene.
        pitch: Pitch of the handle, rad.
        along: How much further from the blade it is held, m.
        higher: How much higher the handle lies between the fingers, across itself, m.
    """
    start = model_of(scene, "spatula").pose
    X_WH = pose(start.xyz, start.rpy) @ X_SH
    is_now = math.atan2(X_WH[2, 0], math.hypot(X_WH[0, 0], X_WH[1, 0]))
    X_WS = (
        X_WH
        @ pose([along, 0.0, 0.0], [0.0, is_now - pitch, 0.0])
        @ pose([0.0, 0.0, higher])
        @ np.linalg.inv(X_SH)
    )
    return {
        "models.spatula.pose.xyz": X_WS[:3, 3].tolist(),
        "models.spatula.pose.rpy": roll_pitch_yaw(X_WS[:3, :3]).tolist(),
    }


def variation(draws: Draws) -> None:
    """Starts within 1 cm along the handle, 5 mm across and 0.4 rad, friction within 20 %, stiffness within 30 %."""
    pitch = draws.between("pitch, rad", -0.2, 0.6)
    along = draws.between("held further back, mm", -FURTHER_BACK, FURTHER_BACK, 1e3)
    fingers = [("arm", link) for link in GRIPPER.links]
    draws.properties("modulus", "modulus", fingers[:1], 0.3)
    # That of both bubbles, which come from one mould.
    same = draws.values[f"models.arm.links.{GRIPPER.links[0]}.modulus"]
    draws.values[f"models.arm.links.{GRIPPER.links[1]}.modulus"] = same
    ((change, share),) = (one for one in draws.drawn.items() if one[0].startswith("modulus"))
    del draws.drawn[change]
    draws.drawn["modulus of the bubbles, %"] = share
    draws.properties("friction", "mu_dynamic", [("spatula", HANDLE), *fingers], 0.2)
    higher = draws.between("handle higher, mm", -HIGHER, HIGHER, 1e3)
    draws.values |= start_at(draws.scene, pitch, along, higher)


def follow(measured: Measurement) -> dict[str, float]:
    """Pitch of the handle, where its middle is between the fingers, and the grip."""
    X_WP, X_WH = measured.poses[GRIPPER.palm], measured.poses[HANDLE]
    off = X_WH[:3, 3] - (X_WP @ MIDDLE)[:3, 3]
    grip = [
        side * measured.wrenches[HANDLE, link][1]
        for link, side in zip(GRIPPER.links, GRIPPER.sides, strict=True)
    ]
    return {
        "pitch, rad": angle_in(axes_of(X_WP), -X_WH[:3, 2]),
        "off the fingers, m": float(np.linalg.norm(off)),
        "grip, N": float(min(grip)),
    }


def judge(story: Story, set_pitch: float) -> Outcome:
    """The pitch is near the set one soon and stays there, at rest between the fingers."""
    course = [
        (point["time, s"] - story.before.time, point["pitch, rad"] - set_pitch) for point in story.course
    ]
    far = [time for time, off in course if abs(off) > NEAR]
    settled = far[-1] if far else 0.0
    end, later = follow(story.end), follow(story.later)
    off = later["pitch, rad"] - set_pitch
    rate = (later["pitch, rad"] - end["pitch, rad"]) / (story.later.time - story.end.time)
    moved = later["off the fingers, m"]
    measures = {
        "off the set pitch, rad": off,
        "settled after, s": settled,
        "furthest below the set pitch, rad": max(0.0, -min(off for _, off in course)),
        "rate, rad/s": rate,
        "off the fingers, m": moved,
    }
    asked = {
        f"it is {off:.3f} rad off the set pitch": abs(off) <= NEAR,
        f"it has settled after {settled:.2f} s": settled <= SOON,
        f"it turns at {rate:.2g} rad/s": abs(rate) < AT_REST,
        f"its handle is {moved:.3f} m off the fingers": moved < STAYS,
    }
    return Outcome.of(asked, measures)


#: Largest noise of their depth that can be set, m.
MOST_NOISE = 2e-3
#: Images of the membranes, of a quarter of the pixels of the real camera.
BUBBLES = tuple(
    Bubble(
        f"{side}_finger",
        f"{side}_bubble_camera",
        image_size=(160, 120),
        field_of_view=1.082,
        depth_encoding="32FC1",
    )
    for side in ("left", "right")
)


def slip_task(told: Mapping[str, Any]) -> Task:
    """The task with settings of its controller.

    Raises:
        InputError: A value does not fit.
    """
    settings = replace(Settings(), **told)
    source = "slip_control"
    feedbacks = {"wrench": (), "membrane": BUBBLES}
    if not isinstance(settings.feedback, str) or settings.feedback not in feedbacks:
        mend = did_you_mean(str(settings.feedback), feedbacks)
        raise InputError(source, "controller.feedback", f"{excerpt(settings.feedback)} is none", mend)
    if not is_number(settings.pitch, -1.4, 1.4):
        mend = "give a number from -1.4 to 1.4, rad"
        raise InputError(source, "controller.pitch", f"{excerpt(settings.pitch)} is no pitch to set", mend)
    noise = settings.depth_noise
    if not is_number(noise, 0.0, MOST_NOISE):
        mend = f"give a number from 0 to {MOST_NOISE:g}, m"
        raise InputError(source, "controller.depth_noise", f"{excerpt(noise)} is no noise of an image", mend)
    if noise and settings.feedback != "membrane":
        mend = "add controller.feedback=membrane"
        raise InputError(source, "controller.depth_noise", "there are no images without membranes", mend)
    bubbles = tuple(replace(bubble, depth_noise=float(noise)) for bubble in feedbacks[settings.feedback])
    return Task(
        summary="an arm lets a spatula slip to a set pitch by its grip alone (Masterjohn 2022, V-C)",
        scene="slip_control",
        period=0.01,
        duration=8.0,
        controller=lambda model, period: SlipControl(model, period, settings, bubbles),
        variation=variation,
        judge=lambda story: judge(story, float(settings.pitch)),
        follow=follow,
        bubbles=bubbles,
        shows=("spatula", HANDLE, "gripper", "link_1"),
        settings=vars(settings),
        variants={"feedback from the membranes": {"feedback": "membrane"}},
        told=lambda other: slip_task({**told, **other}),
    )


TASK = slip_task({})
