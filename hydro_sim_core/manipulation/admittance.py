"""Admittance: a tool that gives way to the forces on it by where it is commanded to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_array, as_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation.checks import LARGEST, number_within, of_kind
from hydro_sim_core.rotations import matrix_of_turn

Array = NDArray[np.float64]

#: Time in which a wanted velocity is reached, s: what is felt changes from one period to the next.
SMOOTHING = 0.02
#: Share by which the speed of a path may be above the largest by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Admittance:
    """How a tool gives way: speeds per force, along its axis z, which points out of it, and across.

    Attributes:
        push: Force along the axis that it goes for, N.
        along: Force along the axis per speed, N s/m.
        across: Force across it per speed, N s/m; infinite for none.
        turning: Moment across the axis per rate, N m s/rad; infinite for none.
        spin: Rate about the axis that it keeps, rad/s.
        fastest: Largest speed, m/s, along and across together: what would be faster is slowed in its direction.
        quickest: Largest rate across the axis, rad/s, in the same way.

    Raises:
        InputError: Push or spin is not finite, or another one no number above 0.
    """

    push: float
    along: float = 700.0
    across: float = math.inf
    turning: float = math.inf
    spin: float = 0.0
    fastest: float = 0.008
    quickest: float = 0.1

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            given, is_either = getattr(self, name), name in ("push", "spin")
            least, most = (-LARGEST, LARGEST) if is_either else (0.0, math.inf)
            mend = "give a finite number" if is_either else "give a number above 0"
            value = number_within("Admittance", name, given, least, most, mend, above=not is_either)
            object.__setattr__(self, name, value)


class AdmittanceControl:
    """Moves a tool by the force and moment on it, as ``Admittance`` says.

    A velocity per force, and no inertia: on something stiff, what is commanded goes on by what is pressed too little.
    Velocities are smoothed over 0.02 s.

    Args:
        X_WT: (4, 4) pose of the tool, z out of it, from which it begins.
        how: How it gives way.
        period: Time between two poses, s.

    Attributes:
        X_WT: (4, 4) commanded pose of the tool.

    Raises:
        InputError: The pose is none, or the period no number above 0.
    """

    def __init__(self, X_WT: ArrayLike, how: Admittance, period: float) -> None:
        mend = "give a number above 0, s"
        period = number_within("AdmittanceControl", "period", period, 0.0, LARGEST, mend, above=True)
        self.X_WT: Array = as_pose(X_WT, "AdmittanceControl", "X_WT")
        self._how = of_kind("AdmittanceControl", "how", how, Admittance, "give an Admittance")
        self._period = period
        self._share = min(1.0, period / SMOOTHING)
        self._twist = np.zeros(6)

    def update(self, force: ArrayLike, moment: ArrayLike, across: ArrayLike | None = None) -> Array:
        """The pose (4, 4) of the tool after the coming period.

        Args:
            force: (3,) on the tool, along its axes, N.
            moment: (3,) on it about the origin of its frame, along its axes, N m.
            across: (2,) velocity across the axis, m/s, such as that of a search, in place of giving way there.

        Raises:
            InputError: An argument has another shape, or is not finite, or the velocity across is above ``fastest``.
        """
        how, who = self._how, "AdmittanceControl"
        force, moment = as_array(force, (3,), who, "force"), as_array(moment, (3,), who, "moment")
        wanted = np.zeros(6)
        wanted[:2] = _slowed(moment[:2] / how.turning, how.quickest)
        wanted[2] = how.spin
        wanted[3:5] = force[:2] / how.across if across is None else self._path(across)
        wanted[5] = (how.push + force[2]) / how.along
        wanted[3:] = _slowed(wanted[3:], how.fastest)
        self._twist += self._share * (wanted - self._twist)
        self.X_WT = _moved(self.X_WT, self._twist * self._period)
        return self.X_WT.copy()

    def _path(self, across: ArrayLike) -> Array:
        """(2,) velocity across the axis, which would not be followed if it were faster than the tool."""
        given, fastest = as_array(across, (2,), "AdmittanceControl", "across"), self._how.fastest
        speed = math.hypot(*given)
        if speed > (1.0 + _ROUNDING) * fastest:
            problem = f"of {speed:.3g} m/s is above fastest, {fastest:.3g} m/s"
            mend = "give a larger fastest, or a slower path"
            raise InputError("AdmittanceControl", "across", problem, mend)
        return given


def _slowed(velocity: Array, most: float) -> Array:
    """A velocity in its direction, no larger than ``most``."""
    velocity = np.clip(velocity, -LARGEST, LARGEST)  # beyond it, squares would overflow
    speed = math.hypot(*velocity)
    return velocity * (most / speed) if speed > most else velocity


def _moved(X_WT: Array, motion: Array) -> Array:
    """A pose (4, 4) after a turn (rad) and a shift (m) in its own axes, (6,)."""
    # Of what rounding skews the nearest rotation, to keep it one over many periods.
    u, _, vt = np.linalg.svd(X_WT[:3, :3] @ matrix_of_turn(motion[:3]))
    moved = X_WT.copy()
    moved[:3, :3] = u @ vt
    moved[:3, 3] += X_WT[:3, :3] @ motion[3:]
    return moved
