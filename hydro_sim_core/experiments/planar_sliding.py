"""Planar sliding with friction at one equivalent point, reduced to four quadratic equations a step.

Xie and Chakraborty 2019 compare with their model "Dynamic models of planar sliding", whose equations they do not
print. They follow from eqs. 14 to 18 when a body only slides on a horizontal plane. Its centre of mass is at height
H, v_z, w_x and w_y are zero, the z axis is principal, so that there are no gyroscopic moments, and e_t = e_o = 1. P
= (p_x, p_y) are the impulses of friction, p_r its moment's, (f, tau) the load of the step of length h, r the way
from the centre of mass to the point, and u the velocity of the body at the point. Then, with the rows of eq. 16 and
W of eq. 2,

    p_n = h (m g - f_z)                                            nothing moves along z
    r_x = (h tau_y - H p_x) / p_n,  r_y = -(h tau_x + H p_y) / p_n   nothing turns about x and y: they give the point
    v_x' = v_x + (h f_x + p_x) / m,  v_y' = v_y + (h f_y + p_y) / m
    w'   = w + (h tau_z + p_r + r_x p_y - r_y p_x) / I = w + (h tau_z + p_r + h (tau_x p_x + tau_y p_y) / p_n) / I
    u_x = v_x' - w' r_y,  u_y = v_y' + w' r_x

The products p_x p_y in the moment of friction about z cancel: v', w' and r are linear in the impulses. Eq. 14 and 15
are therefore four quadratic equations in p_x, p_y, p_r and the slip sigma,

    mu p_n u_x + p_x sigma = 0
    mu p_n u_y + p_y sigma = 0
    e_r^2 mu p_n w' + p_r sigma = 0
    p_x^2 + p_y^2 + (p_r / e_r)^2 = (mu p_n)^2

unless the impulses that stop the body are within the ellipsoid: then sigma = 0. Where the body stands and which way
it is turned does not enter. No contact is looked for: a body whose point would leave its patch topples, and these
equations do not know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Newton's method ends when no step makes the residuals smaller; they start within a few steps of that.
_MOST_ITERATIONS = 60


@dataclass(frozen=True)
class SlidingBody:
    """A body that slides on a horizontal plane.

    Attributes:
        mass: Mass, kg.
        inertia: Moment of inertia about the vertical through the centre of mass, kg m^2.
        height: Height H of the centre of mass, m.
        friction: Coefficient mu.
        e_r: Semi-axis of the friction ellipsoid about the normal, m; those along the plane are 1.
        gravity: Acceleration of gravity, m/s^2.
    """

    mass: float
    inertia: float
    height: float
    friction: float
    e_r: float
    gravity: float


@dataclass(frozen=True)
class SlidingStep:
    """The end of a step.

    Attributes:
        velocity: (3,) v_x, v_y of the centre of mass and w_z, m/s and rad/s.
        point: (2,) equivalent contact point relative to the centre of mass, m, in world axes.
        impulse: (3,) p_x, p_y and p_r, N s and N m s.
        slip: Slip sigma, m/s; 0 where it sticks.
    """

    velocity: Array
    point: Array
    impulse: Array
    slip: float


def slide(body: SlidingBody, velocity: Array, load: Array, h: float) -> SlidingStep:
    """Take a step of planar sliding.

    Args:
        body: The body.
        velocity: (3,) v_x, v_y and w_z before the step, m/s and rad/s.
        load: (6,) moment about the centre of mass and force during the step, in world axes, without gravity, N m and N.
        h: Duration of the step, s.
    """
    normal = h * (body.mass * body.gravity - load[5])
    bound = body.friction * normal
    lever = h * load[:2] / normal
    # Linear maps of x = (p_x, p_y, p_r): velocity v', point r.
    after = velocity + h * load[[3, 4, 2]] / np.array([body.mass, body.mass, body.inertia])
    gain = np.diag([1.0 / body.mass, 1.0 / body.mass, 1.0 / body.inertia])
    gain[2, :2] = lever / body.inertia
    start, reach = np.array([lever[1], -lever[0]]), -body.height / normal

    def end(x: Array) -> tuple[Array, Array]:
        return after + gain @ x, start + reach * x[:2]

    axes = np.array([1.0, 1.0, body.e_r])
    stop = -np.linalg.solve(gain, after)
    if np.linalg.norm(stop / axes) <= bound:
        return SlidingStep(np.zeros(3), end(stop)[1], stop, 0.0)

    def equations(y: Array) -> tuple[Array, Array]:
        """Residuals (4,) and Jacobian (4, 4) in units of slip.

        y (4,) holds p_x, p_y and p_r / e_r over the bound, and sigma.
        """
        x = bound * axes * y[:3]
        v, r = end(x)
        s = np.array([v[0] - v[2] * r[1], v[1] + v[2] * r[0], body.e_r * v[2]])
        dv = gain * (bound * axes)
        dr = np.zeros((2, 3))
        dr[0, 0] = dr[1, 1] = reach * bound
        ds = np.array(
            [dv[0] - r[1] * dv[2] - v[2] * dr[1], dv[1] + r[0] * dv[2] + v[2] * dr[0], body.e_r * dv[2]]
        )
        jacobian = np.zeros((4, 4))
        jacobian[:3, :3] = ds + y[3] * np.eye(3)
        jacobian[:3, 3] = y[:3]
        jacobian[3, :3] = 2.0 * y[:3]
        return np.array([*(s + y[3] * y[:3]), y[:3] @ y[:3] - 1.0]), jacobian

    x = _least(equations, _first_guess(after, body.e_r))
    impulse = bound * axes * x[:3]
    return SlidingStep(*end(impulse), impulse, float(x[3]))


def _first_guess(after: Array, e_r: float) -> Array:
    """Friction against the slip that there would be without it, at the centre of mass."""
    s = np.array([after[0], after[1], e_r * after[2]])
    sigma = float(np.linalg.norm(s))
    return np.array([*(-s / sigma), sigma])


def _least(equations: Callable[[Array], tuple[Array, Array]], y: Array) -> Array:
    """Newton's method until round-off keeps the residuals from getting smaller."""
    residuals, jacobian = equations(y)
    for _ in range(_MOST_ITERATIONS):
        step, share = np.linalg.solve(jacobian, residuals), 1.0
        while share > 1e-4:
            trial = y - share * step
            next_residuals, next_jacobian = equations(trial)
            if np.linalg.norm(next_residuals) < np.linalg.norm(residuals):
                break
            share *= 0.5
        else:
            break
        y, residuals, jacobian = trial, next_residuals, next_jacobian
    if np.linalg.norm(residuals) > 1e-10 or y[3] < 0.0:
        raise FloatingPointError("the quadratic equations of planar sliding were not solved")
    return y
