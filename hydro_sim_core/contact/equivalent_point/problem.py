"""The mixed complementarity problem of one step; equation numbers are those of Xie and Chakraborty 2019."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.equivalent_point.body import FrictionEllipsoid, RigidBody
from hydro_sim_core.contact.equivalent_point.hull import ClosestPoints
from hydro_sim_core.contact.equivalent_point.newton import fischer_burmeister

Array = NDArray[np.float64]
#: Real arrays, or complex ones for complex-step derivatives; leading axes stack several sets of numbers.
Numbers = NDArray[Any]
#: Function that is zero if and only if its arguments are complementary.
Complementarity = Callable[[Numbers, Numbers], Numbers]

_UP = np.array([0.0, 0.0, 1.0])
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


class Unknowns(NamedTuple):
    """Unknowns of the problem.

    Attributes:
        w: (3,) angular velocity at the end of the step.
        v: (3,) velocity of the centre of mass at the end of the step.
        a1: (3,) equivalent contact point on the hull at the end of the step.
        p_n: (1,) normal impulse.
        s: (3,) friction impulses (t, o, r), each divided by ``mu p_n e``: so eqs. 14 and 15 are well scaled for any
            normal impulse.
        slip: (1,) slip speed sigma.
        faces: (m,) multipliers of the hull's faces.
    """

    w: Numbers
    v: Numbers
    a1: Numbers
    p_n: Numbers
    s: Numbers
    slip: Numbers
    faces: Numbers

    @classmethod
    def unstacked(cls, z: Numbers) -> Unknowns:
        """Split an array of stacked unknowns along its last axis."""
        ends = (3, 6, 9, 10, 13, 14, z.shape[-1])
        return cls(*(z[..., start:end] for start, end in pairwise((0, *ends))))


@dataclass(frozen=True, eq=False)
class StepProblem:
    """Complementarity problem of one step, in the plane's frame G.

    Internally all quantities are in units of the body's mass, its ``length`` and a characteristic ``speed`` of the
    step.

    Attributes:
        body: The body.
        friction: Friction between body and plane.
        time_step: s.
        X_GB: (4, 4) pose at the start.
        w: (3,) angular velocity at the start, rad/s.
        w_free: (3,) angular velocity at the end of the step without contact, rad/s.
        v_free: (3,) velocity at the end of the step without contact, m/s.
        angular_impulse: (3,) impulse of gyroscopic and applied moments, N m s.
    """

    body: RigidBody
    friction: FrictionEllipsoid
    time_step: float
    X_GB: Array
    w: Array
    w_free: Array
    v_free: Array
    angular_impulse: Array

    @cached_property
    def length(self) -> float:
        """Unit of length, m."""
        return self.body.hull.radius

    @cached_property
    def speed(self) -> float:
        """Unit of speed, m/s."""
        spin = np.linalg.norm(self.w) + np.linalg.norm(self.w_free)
        lowest = (self.body.hull.vertices @ self.X_GB[2, :3]).min() + self.X_GB[2, 3]
        # A body that starts below the plane leaves it within the step, even from rest and without gravity.
        lift = max(-lowest, 0.0) / self.time_step
        return float(np.linalg.norm(self.v_free) + self.length * spin + lift)

    def residual(self, z: Numbers, complementarity: Complementarity = fischer_burmeister) -> Numbers:
        """Residual of the equations at scaled, stacked unknowns (..., 14 + m); zero at the solution."""
        length, speed, mass = self.length, self.speed, self.body.mass
        h = self.time_step * speed / length
        w, v, a1, p_n, s, slip, faces = Unknowns.unstacked(z)

        R = cayley(h * w) @ self.X_GB[:3, :3]
        arm = a1 - self._centre(v)
        normals = self.body.hull.normals @ R.swapaxes(-1, -2)
        inertia = R @ (self.body.inertia / (mass * length**2)) @ R.swapaxes(-1, -2)

        p_tor = self.friction.mu * p_n * self._ellipsoid * s
        impulse = np.concatenate([p_tor[..., :2], p_n], axis=-1)
        slip_rates = self._slip_rates(w, v, arm)
        # Near the transition between sticking and sliding the slip is no larger than the change that friction can
        # cause, so that residuals are scaled by the latter.
        pace = np.sqrt(slip * slip + self.friction.mu**2)
        friction = (
            (
                (slip_rates + slip * s) / pace,
                complementarity(slip / pace, 1.0 - (s * s).sum(axis=-1, keepdims=True)),
            )
            if self.friction.mu > 0.0
            else (s, slip)
        )
        return np.concatenate(
            [
                # Newton and Euler, eqs. 16 and 18
                v - self.v_free / speed - impulse,
                applied(inertia, w - self.w * length / speed)
                - self.angular_impulse / (mass * length * speed)
                - _cross(arm, impulse)
                - p_tor[..., 2:] * _UP,
                # the contact point is the lowest point of the hull, eqs. 9 and 10; a2 follows from eqs. 8 and 11
                _UP + applied(normals.swapaxes(-1, -2), faces),
                complementarity(faces, self.body.hull.offsets / length - applied(normals, arm)),
                # no penetration, eq. 12, scaled as a mean speed over the step
                complementarity(p_n, a1[..., 2:] / h),
                # eqs. 14 and 15
                *friction,
            ],
            axis=-1,
        )

    def guesses(self, *candidates: ClosestPoints) -> Iterator[Array]:
        """Starting points for the solver: contact at each candidate, sliding or sticking."""
        length, speed = self.length, self.speed
        w, v = self.w_free * length / speed, self.v_free / speed
        for contact in candidates:
            a1 = contact.a1 * (1.0, 1.0, 0.0) / length
            v_contact = v + np.cross(w, a1 - self.X_GB[:3, 3] / length)
            p_n = [max(-v_contact[2], 1e-3)]
            landed = v * (1.0, 1.0, 0.0)
            sticking = np.concatenate([w, landed, a1, p_n, np.zeros(4), contact.face_multipliers])
            yield self.sliding(sticking)
            yield sticking

    def sliding(self, z: Array) -> Array:
        """Scaled, stacked unknowns with the friction replaced by sliding friction against their slip."""
        at = Unknowns.unstacked(z)
        slip_rates = self._slip_rates(at.w, at.v, at.a1 - self._centre(at.v))
        slip = float(np.linalg.norm(slip_rates))
        return np.concatenate(at._replace(s=-slip_rates / max(slip, 1e-300), slip=np.array([slip])))

    def _slip_rates(self, w: Numbers, v: Numbers, arm: Numbers) -> Numbers:
        """Slip (..., 3) along t and o and about r, each multiplied by its scale of the ellipsoid."""
        v_contact = v + _cross(w, arm)
        return self._ellipsoid * np.concatenate([v_contact[..., :2], w[..., 2:]], axis=-1)

    def _centre(self, v: Numbers) -> Numbers:
        """Centre of mass (..., 3) at the end of the step."""
        return self.X_GB[:3, 3] / self.length + self.time_step * self.speed / self.length * v

    @cached_property
    def _ellipsoid(self) -> Array:
        return self.friction.scales / (1.0, 1.0, self.length)

    def in_si_units(self, z: Array) -> Unknowns:
        """Convert scaled, stacked unknowns to rad/s, m/s, m and N s."""
        length, speed = self.length, self.speed
        w, v, a1, p_n, s, slip, faces = Unknowns.unstacked(z)
        p_n = p_n * self.body.mass * speed
        return Unknowns(w * speed / length, v * speed, a1 * length, p_n, s, slip * speed, faces)


def moved(X_GB: Array, w: Array, v: Array, time_step: float) -> Array:
    """Pose (4, 4) after a step with these velocities, eq. 17."""
    X = X_GB.copy()
    X[:3, :3] = cayley(time_step * w) @ X_GB[:3, :3]
    X[:3, 3] += time_step * v
    return X


def cayley(rotation: Numbers) -> Numbers:
    """Rotations (..., 3, 3) of the normalised quaternions ``1 + rotation / 2``: an Euler step of a quaternion."""
    r = 0.5 * rotation
    cross = np.zeros((*r.shape, 3), dtype=r.dtype)
    cross[..., _AFTER, _NEXT], cross[..., _NEXT, _AFTER] = r, -r
    return np.eye(3) + 2.0 / (1.0 + (r * r).sum(axis=-1)[..., None, None]) * (cross + cross @ cross)


def applied(matrices: Numbers, vectors: Numbers) -> Numbers:
    """Matrices (..., n, m) times vectors (..., m)."""
    return (matrices @ vectors[..., None])[..., 0]


def _cross(a: Numbers, b: Numbers) -> Numbers:
    """Cross products of vectors (..., 3); several times as fast as NumPy's for a single product."""
    return a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT]
