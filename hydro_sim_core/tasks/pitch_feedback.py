"""The pitch of a handle between two Soft-bubble fingers: from the forces on them, or from images of their membranes.

Both know the hand's pose, from the positions of the robot's joints, and nothing of the handle's but what is told at the
start. The pitch is the angle of the handle above level, about the axis through both fingers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.sensors import BubbleCamera
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Gripper, Measurement

Array = NDArray[np.float64]


class Axes(NamedTuple):
    """Directions in the world, (3,) each: level along the fingers, upwards, and the axis about which pitch grows."""

    forward: Array
    up: Array
    axis: Array


def axes_of(X_WP: Array) -> Axes:
    """Axes of a grip, given the pose of the palm, whose fingers point along -z and close along y."""
    across = X_WP[:3, 1]
    up = np.array([0.0, 0.0, 1.0]) - across[2] * across
    up /= np.linalg.norm(up)
    forward = np.cross(across, up)
    if forward @ X_WP[:3, 2] > 0.0:
        forward = -forward
    return Axes(forward, up, np.cross(forward, up))


def angle_in(axes: Axes, direction: Array) -> float:
    """Angle of a direction (3,) above level, rad."""
    return math.atan2(direction @ axes.up, direction @ axes.forward)


class PitchFeedback(Protocol):
    """Protocol of what tells the pitch.

    Attributes:
        pitch: rad.
        rate: rad/s.
        holds: Whether there is still something between the fingers.
    """

    pitch: float
    rate: float
    holds: bool

    def see(self, measured: Measurement) -> None:
        """Take in the next measurement; the first is of something that is held."""


@dataclass(frozen=True)
class Held:
    """Inertia of what is held.

    Attributes:
        mass: kg.
        p_HC: (3,) centre of mass in the frame of the handle, m.
        inertia: About the centre of mass and the axis through the fingers, kg m^2.
        gravity: m/s^2.
    """

    mass: float
    p_HC: Array
    inertia: float
    gravity: float


def held_model(model: World, name: str, handle: str) -> Held:
    """Inertia of a model of a world.

    Args:
        model: The world.
        name: Name of the model.
        handle: Link of its handle, whose y axis is that through the fingers.
    """
    (robot,) = (
        robot
        for section, robot in zip(model.scene.spec.models, model.scene.robots, strict=True)
        if section.name == name
    )
    bodies = []
    for link in robot.links:
        if link.inertial is not None:
            X_WL = model.frame_pose(link.name)
            turned = X_WL[:3, :3] @ link.inertial.I_LCo @ X_WL[:3, :3].T
            bodies.append((link.inertial.mass, (X_WL @ np.append(link.inertial.p_LCo, 1.0))[:3], turned))
    mass = sum(m for m, _, _ in bodies)
    p_WC = sum(m * p for m, p, _ in bodies) / mass
    X_WH = model.frame_pose(handle)
    axis = X_WH[:3, 1]
    inertia = sum(
        axis @ turned @ axis + m * float(np.sum(np.cross(axis, p - p_WC) ** 2)) for m, p, turned in bodies
    )
    gravity = float(np.linalg.norm(model.scene.spec.gravity))
    return Held(float(mass), X_WH[:3, :3].T @ (p_WC - X_WH[:3, 3]), float(inertia), gravity)


class PitchFromWrench:
    """The pitch from the wrenches on the fingers.

    The weight has a moment about the grip that depends on the pitch, but hardly so near level. There the pitch is what
    the forces make of it, which accelerate the centre of mass where they are not the weight, and the moment tells how
    far the handle has slid forward between the fingers. An extended Kalman filter has pitch, rate and slide for its
    state. Where it begins is told by one look at the handle. What it weighs is measured while it is held still: of a
    weight that is off by a few percent the pitch would be off by more than a hundredth of a radian.

    Args:
        held: What is held; mass and inertia are scaled by what it weighs.
        handle: Link of the handle, whose z axis points away from what it carries.
        gripper: The gripper.
        p_PG: (3,) middle between the fingers in the palm, m.
        period: Time between two measurements, s.
    """

    #: Standard deviations: of the moment, N m; of the rate's change in a period, rad/s, and the share of a change of
    #: acceleration from one period to the next that adds to it; of the slide in a turn of a radian, m.
    MOMENT, RATE, SHARE, SLIDE = 5e-4, 3e-2, 0.5, 1e-3
    #: Angle above level below which the moment tells too little to find the side, rad.
    RIGHT_ABOVE = 0.1
    #: Below this force of the looser finger (N) nothing is held.
    LEAST = 0.5

    def __init__(self, held: Held, handle: str, gripper: Gripper, p_PG: Array, period: float) -> None:
        self._held, self._handle, self._gripper = held, handle, gripper
        self._p_PG, self._period = p_PG, period
        self._begun = False
        self.pitch, self.rate, self.holds = 0.0, 0.0, True
        self._slid = 0.0
        self._P = np.diag([1e-6, 1e-8, 1e-8])

    def see(self, measured: Measurement) -> None:
        X_WP = measured.poses[self._gripper.palm]
        axes = axes_of(X_WP)
        force, moment, grip = self._load(measured, X_WP, axes)
        if not self._begun:
            self._look(measured.poses[self._handle], X_WP, axes)
            self._weigh(float(force[1]))
            return
        self.holds = grip > self.LEAST
        self._predict(force)
        self._correct(force, moment)

    def _look(self, X_WH: Array, X_WP: Array, axes: Axes) -> None:
        """Where the handle and the centre of mass are at the start."""
        self._begun = True
        self.pitch = self._highest = angle_in(axes, -X_WH[:3, 2])
        arm = (X_WH @ np.append(self._held.p_HC, 1.0))[:3] - (X_WP @ np.append(self._p_PG, 1.0))[:3]
        self._reach = float(np.hypot(arm @ axes.forward, arm @ axes.up))
        self._ahead = angle_in(axes, arm) - self.pitch
        self._before = 0.0

    def _weigh(self, weight: float) -> None:
        """Take mass and inertia to be what the fingers bear, N."""
        held = self._held
        share = weight / (held.mass * held.gravity)
        if share > 0.0:
            self._held = replace(held, mass=share * held.mass, inertia=share * held.inertia)

    def _load(self, measured: Measurement, X_WP: Array, axes: Axes) -> tuple[Array, float, float]:
        """Force (2,) of the fingers forward and up, their moment about the grip, and the looser one's grip."""
        p_WG = (X_WP @ np.append(self._p_PG, 1.0))[:3]
        force, moment, grips = np.zeros(3), np.zeros(3), []
        for link, side in zip(self._gripper.links, self._gripper.sides, strict=True):
            X_WF, wrench = measured.poses[link], measured.wrenches[self._handle, link]
            f, m = X_WF[:3, :3] @ wrench[:3], X_WF[:3, :3] @ wrench[3:]
            force -= f
            moment -= m + np.cross(X_WF[:3, 3] - p_WG, f)
            grips.append(side * float(X_WP[:3, 1] @ f))
        return np.array([force @ axes.forward, force @ axes.up]), float(moment @ axes.axis), min(grips)

    def _predict(self, force: Array) -> None:
        """Go on for a period with the acceleration that the forces tell."""
        held, dt = self._held, self._period
        angle = self.pitch + self._ahead
        across = np.array([-math.sin(angle), math.cos(angle)])
        now = float(across @ (force - [0.0, held.mass * held.gravity])) / (held.mass * self._reach)
        acceleration = 0.5 * (self._before + now)
        spread = self.RATE + self.SHARE * dt * abs(now - self._before)
        self._before = now
        self.pitch += dt * self.rate + 0.5 * dt**2 * acceleration
        self.rate += dt * acceleration
        F = np.array([[1.0, dt, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        kick = np.array([0.5 * dt, 1.0, 0.0])
        self._P = F @ self._P @ F.T + spread**2 * np.outer(kick, kick)
        self._P[2, 2] += self.SLIDE**2 * dt * abs(self.rate)

    def _correct(self, force: Array, moment: float) -> None:
        """Compare the moment with the one that pitch and slide would have."""
        angle, reach = self.pitch + self._ahead, self._reach
        c, s = math.cos(angle), math.sin(angle)
        ahead, above = reach * c + self._slid, reach * s
        expected = ahead * force[1] - above * force[0] + self._held.inertia * self._before
        slope = np.array([-above * force[1] - reach * c * force[0], 0.0, force[1]])
        gain = self._P @ slope / (slope @ self._P @ slope + self.MOMENT**2)
        self.pitch, self.rate, self._slid = np.array([self.pitch, self.rate, self._slid]) + gain * (
            moment - expected
        )
        self._P = self._P - np.outer(gain, slope) @ self._P
        self.rate = min(self.rate, 0.0)  # it can only sink
        if self.pitch > self._highest:
            self.pitch = self._highest
            # Right above level, less of a moment seems to be higher up, and is below level.
            if 0.0 < angle < self.RIGHT_ABOVE and moment < expected - 3.0 * self.MOMENT:
                self.pitch = -angle - self._ahead


class PitchFromMembrane:
    """The pitch from depth images of the membranes alone.

    Where a membrane touches a rigid handle it has its form: curved across the handle, straight along it. So the pitch
    is the direction of least curvature of a quadratic fitted to what has been pushed in. The direction in which the
    patch is longest is off by up to 0.04 rad, towards the length of the bubble.

    Args:
        cameras: Cameras by finger.
        gripper: The gripper.
        frames: Frames of the cameras, by finger.
        period: Time between two measurements, s.
        noise: White noise of each pixel of the images, standard deviation, m.
    """

    #: What the membrane is pushed in at least where something touches it, m.
    PUSHED = 2e-4
    #: Side of the square over which a noisy image is averaged to find where it is pushed in, pixels, and by how many
    #: standard deviations of the average it then has to be pushed in further.
    WINDOW, SURE = 11, 4.0
    #: Standard deviation of the pitch from one pair of images, rad: without noise, and what a m of noise adds.
    SPREAD, PER_NOISE = 5e-4, 3.5
    #: That of the rate's change in a period, rad/s, to weigh noisy images.
    RATE = 3e-2
    #: Fewer pixels than this are no handle.
    LEAST = 60
    #: Curvature below which it is no handle, 1/m, but the other bubble; that of the handle is 83 and more.
    LEAST_CURVED = 40.0
    #: Share of a difference between what is seen and what was expected, of the pitch and of the rate: the largest.
    GAINS = 0.7, 0.35

    def __init__(
        self,
        cameras: Mapping[str, BubbleCamera],
        frames: Mapping[str, str],
        gripper: Gripper,
        period: float,
        noise: float = 0.0,
    ) -> None:
        self._cameras, self._frames, self._gripper, self._period = cameras, frames, gripper, period
        self._rays = {link: camera.camera.rays() for link, camera in cameras.items()}
        self._window = self.WINDOW if noise > 0.0 else 1
        self._unsure = self.SURE * noise
        self._gains = self.GAINS
        if noise > 0.0:
            steady = steady_gains(self.RATE * period / (self.SPREAD + self.PER_NOISE * noise))
            self._gains = min(self.GAINS[0], steady[0]), min(self.GAINS[1], steady[1])
        self._begun = False
        self.pitch, self.rate, self.holds = 0.0, 0.0, True

    def see(self, measured: Measurement) -> None:
        axes = axes_of(measured.poses[self._gripper.palm])
        seen = [self._direction(link, measured) for link in self._gripper.links]
        directions = [direction for direction in seen if direction is not None]
        self.holds = len(directions) == len(seen)
        if not directions:
            return
        angles = [self._pitch_of(axes, direction) for direction in directions]
        pitch = float(np.mean(angles))
        if not self._begun:
            self.pitch, self._begun = pitch, True
            return
        expected = self.pitch + self._period * self.rate
        off = pitch - expected
        self.pitch = expected + self._gains[0] * off
        self.rate += self._gains[1] * off / self._period

    def _direction(self, link: str, measured: Measurement) -> Array | None:
        """Direction (3,) of the handle in the world, one of both; None where no handle has pushed the membrane in."""
        camera = self._cameras[link]
        depth = measured.images[link].astype(float)
        pushed = pushed_in(camera.rest_depth - depth, self.PUSHED, self._window, self._unsure)
        if np.count_nonzero(pushed) < self.LEAST:
            return None
        points = depth[pushed][:, None] * self._rays[link][pushed]
        R_WC = measured.poses[self._frames[link]][:3, :3]
        # Along the rim of the bubble, and across it.
        R_CR = camera.cap.rim_axes
        x, z, y = (points - points.mean(axis=0)).dot(R_CR).T
        terms = np.column_stack([np.ones_like(x), x, z, x * x, x * z, z * z])
        _, _, _, xx, xz, zz = np.linalg.lstsq(terms, y, rcond=None)[0]
        curvatures, directions = np.linalg.eigh([[2.0 * xx, xz], [xz, 2.0 * zz]])
        if np.abs(curvatures).max() < self.LEAST_CURVED:
            return None
        straight = directions[:, np.argmin(np.abs(curvatures))]
        return np.asarray(R_WC @ R_CR[:, :2] @ straight)

    @staticmethod
    def _pitch_of(axes: Axes, direction: Array) -> float:
        """Of both directions of a line, the one that points forward."""
        return angle_in(axes, direction if direction @ axes.forward > 0.0 else -direction)


def pushed_in(depression: Array, least: float, window: int, unsure: float) -> NDArray[np.bool_]:
    """Where a membrane is pushed in, on average over the pixels around that see it.

    Args:
        depression: (H, W) what each pixel is pushed in, m; NaN where it does not see the membrane.
        least: Average that counts, m.
        window: Side of the square of those pixels, odd.
        unsure: What a single pixel would have to be pushed in further, for its noise, m; less for an average.
    """
    seen = np.isfinite(depression)
    total = square_sums(np.where(seen, depression, 0.0), window)
    count = square_sums(seen.astype(float), window).round()
    return np.asarray(seen & (total > least * count + unsure * np.sqrt(count)))


def square_sums(values: Array, window: int) -> Array:
    """Sums (H, W) over squares around each element, of an odd side; outside there are zeros."""
    if window == 1:
        return values
    half = window // 2
    rows, columns = values.shape
    sums = np.zeros((rows + window, columns + window))
    sums[half + 1 : half + 1 + rows, half + 1 : half + 1 + columns] = values
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    return np.asarray(
        sums[window:, window:] - sums[:-window, window:] - sums[window:, :-window] + sums[:-window, :-window]
    )


def steady_gains(index: float) -> tuple[float, float]:
    """Gains of position and rate, the latter times the period, with which a Kalman filter of these two ends.

    Args:
        index: Tracking index: standard deviation of the rate's change in a period, times the period, over that of a
            measured position.
    """
    r = (4.0 + index - math.sqrt(8.0 * index + index * index)) / 4.0
    alpha = 1.0 - r * r
    return alpha, 2.0 * (2.0 - alpha) - 4.0 * math.sqrt(1.0 - alpha)
