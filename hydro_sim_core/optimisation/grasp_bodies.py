"""A box between two pads that a hand lifts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY = 9.81
#: When the lift begins and ends, and when the schedule ends, s.
BEGIN, END, DURATION = 0.1, 0.7, 0.8
#: Sizes of the box and of a pad, m; mass of a finger, kg; damping of its joint, N s/m; modulus of the pads, Pa.
BOX, PAD = (0.05, 0.05, 0.12), (0.03, 0.01, 0.04)
_FINGER, _DAMPING, _MODULUS = 0.1, 20.0, 1e7
#: Time step in the pressure field, and time that the grasp has to come to rest first, s.
TIME_STEP, _SETTLE = 2e-3, 0.2
#: Share of the fastest fall at which a lift is too fast.
_MOST_FALL = 0.9


@dataclass(frozen=True)
class Lift:
    """What is lifted, and how far; from rest to rest in 0.6 s with the least jerk.

    Attributes:
        mass: kg.
        friction: Coefficient between box and pads.
        height: m.

    Raises:
        InputError: A value is not positive and finite, or the box would be thrown: its weight would vanish at the top.
    """

    mass: float = 0.3
    friction: float = 0.5
    height: float = 0.3

    def __post_init__(self) -> None:
        for name, most in (("mass", 5.0), ("friction", 2.0), ("height", 1.0)):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0.0 < value <= most):
                mend = f"give a number above 0, at most {most:g}"
                raise InputError("optimize grasp", name, f"is {value:g}", mend)
        most = _MOST_FALL * GRAVITY / float(self._shape(np.array([0.5 - math.sqrt(1.0 / 12.0)]))[0])
        if self.height > most:
            problem = f"is {self.height:g} m, from which the box would fly at the end"
            raise InputError("optimize grasp", "height", problem, f"give at most {most:.2g}")

    def acceleration(self, time: Array) -> Array:
        """Acceleration of the hand upwards (N,) at times (N,), m/s^2."""
        return self.height * self._shape((time - BEGIN) / (END - BEGIN))

    def velocity(self, time: Array) -> Array:
        """Velocity of the hand upwards (N,) at times (N,), m/s."""
        s = np.clip((time - BEGIN) / (END - BEGIN), 0.0, 1.0)
        return np.asarray(self.height * 30.0 * s**2 * (1.0 - s) ** 2 / (END - BEGIN))

    def least_force(self, time: Array) -> Array:
        """What each finger has to press with at least (N,), N: Coulomb's friction on both sides carries the box."""
        return np.asarray(self.mass * (GRAVITY + self.acceleration(time)) / (2.0 * self.friction))

    @staticmethod
    def _shape(s: Array) -> Array:
        """Acceleration for a height of 1 m at shares (N,) of the lift."""
        s = np.clip(s, 0.0, 1.0)
        return np.asarray(60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (END - BEGIN) ** 2)


def grasp_world(lift: Lift, in_hand: bool) -> World:
    """The hand and the box.

    Args:
        lift: What is lifted.
        in_hand: Whether the hand is fixed, and the box slides along z in it; otherwise the hand is led, and the box is
            free.
    """
    scene = SceneBuilder(
        "grasp",
        time_step=TIME_STEP,
        gravity=(0.0, 0.0, -GRAVITY),
        contact={"friction": lift.friction, "compliance": "rigid"},
    )
    hand = scene.add_model("hand", base="fixed" if in_hand else "kinematic")
    hand.add_link("palm")
    for name, side in (("left", -1.0), ("right", 1.0)):
        pad = hand.add_link(name, mass=_FINGER)
        pad.add_shape("box", size=PAD, compliance="compliant", modulus=_MODULUS)
        hand.add_joint(
            f"{name}_pad",
            "prismatic",
            "palm",
            name,
            xyz=(0.0, side * 0.5 * (BOX[1] + PAD[1]), 0.0),
            axis=(0.0, -side, 0.0),
            lower=-0.1,
            upper=0.1,
            damping=_DAMPING,
        )
    if in_hand:
        thing = hand.add_link("thing", mass=lift.mass)
        hand.add_joint("slip", "prismatic", "palm", "thing", axis=(0.0, 0.0, 1.0), lower=-1.0, upper=1.0)
    else:
        thing = scene.add_body("thing", mass=lift.mass)
    thing.add_shape("box", size=BOX)
    scene.exclude_contact("left", "right")
    return World(scene.build())


class RealGrasp:
    """The lift in the pressure field, from a grasp at rest.

    Args:
        lift: What is lifted.
    """

    def __init__(self, lift: Lift) -> None:
        self._world = grasp_world(lift, in_hand=False)
        self.steps = round(DURATION / TIME_STEP)
        times: Array = TIME_STEP * np.arange(self.steps + 1, dtype=np.float64)
        self._rises = 0.5 * (lift.velocity(times[1:]) + lift.velocity(times[:-1]))
        firm = 3.0 * float(lift.least_force(np.array([0.0]))[0])
        self._press(firm)
        self._world.step(round(_SETTLE / TIME_STEP))
        self._start = self._world.save_state()

    def slips(self, forces: Array) -> Array:
        """How far (N,) the box has slipped down in the hand after each step, m, by the force (N,) of each finger, N."""
        world = self._world
        world.restore_state(self._start)
        begin, slips = self._height(), np.empty(self.steps)
        for number, (force, rise) in enumerate(zip(forces, self._rises, strict=True)):
            self._press(float(force))
            world.move("hand", V_WB=(0.0, 0.0, 0.0, 0.0, 0.0, float(rise)))
            world.step()
            slips[number] = begin - self._height()
        return slips

    def _press(self, force: float) -> None:
        self._world.set_command({"left_pad": force, "right_pad": force})

    def _height(self) -> float:
        """Height of the box above the hand, m."""
        return float(self._world.frame_pose("thing")[2, 3] - self._world.frame_pose("palm")[2, 3])
