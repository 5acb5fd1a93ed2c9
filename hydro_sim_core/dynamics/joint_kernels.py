# mypy: allow-untyped-defs
"""Kernels of joint kinematics, to which the rows of the table of joint types refer.

Spatial vectors are those of ``kinematics``: about the world's origin in world axes, angular part first. The module also
has the building blocks for kernels of plug-ins, and must not import the table of joint types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.compilation import kernel


@dataclass(frozen=True)
class JointKernels:
    """Kernels of a joint type; P is the parent's frame, J the joint's frame fixed in P, B the child's frame.

    Attributes:
        place: ``place(q, scale, offset, axis, R, p, S)`` computes the child's pose. ``q`` (num_q,) are the joint's
            coordinates. The position of a type with one coordinate is ``scale * q[0] + offset``, where ``q`` is the
            master's for a mimic joint; other types have no mimic joints. ``axis`` (3,) is the unit axis in J. ``R`` (3,
            3) and ``p`` (3,), m, are the pose of J in the world on entry, and that of B on return. ``S`` (6, 6) out:
            row k is the twist of B relative to P per unit of the k-th velocity, times ``scale``; the type may use rows
            beyond its velocities as it needs.
        accelerate: ``accelerate(v, p, S, A)``, for types whose child accelerates relative to P at constant velocities
            ``v`` (num_v,), with angular acceleration w (3,), rad/s^2, and acceleration a (3,) of its origin, m/s^2, in
            world axes. Adds [w; a + p x w] to ``A`` (6,), with ``p`` and ``S`` from ``place``.
        rates: ``rates(q, v, out)``, for types with a quaternion, writes the time derivatives (num_q,) of the
            coordinates; for other types these are the velocities.
        integrate: ``integrate(q, v, dt, out)``, for the same types, writes the coordinates (num_q,) after ``dt``, s, at
            constant velocities, quaternion normalised; ``out`` may be ``q`` itself.
    """

    place: Any
    accelerate: Any = None
    rates: Any = None
    integrate: Any = None


@kernel
def set_rotation_about(x, y, z, p, row):
    """Twist of a unit rotation about the axis (x, y, z) through p: [axis; p x axis]."""
    row[0], row[1], row[2] = x, y, z
    row[3] = p[1] * z - p[2] * y
    row[4] = p[2] * x - p[0] * z
    row[5] = p[0] * y - p[1] * x


@kernel
def set_translation_along(x, y, z, row):
    """Twist of a unit translation along (x, y, z)."""
    row[0], row[1], row[2] = 0.0, 0.0, 0.0
    row[3], row[4], row[5] = x, y, z


@kernel
def turn_about(axis, angle, R):
    """Multiply R (3, 3) from the right by a rotation about a unit axis (3,) of its own frame."""
    a, b, c = axis[0], axis[1], axis[2]
    sine, cosine = sine_cosine(angle)
    for r in range(3):
        # Rodrigues' formula, row by row.
        x, y, z = R[r, 0], R[r, 1], R[r, 2]
        along = (1.0 - cosine) * (x * a + y * b + z * c)
        R[r, 0] = cosine * x + along * a + sine * (y * c - z * b)
        R[r, 1] = cosine * y + along * b + sine * (z * a - x * c)
        R[r, 2] = cosine * z + along * c + sine * (x * b - y * a)


@kernel
def along_axis(R, axis):
    """A direction (3,) of the frame R in world axes, as three numbers."""
    return (
        R[0, 0] * axis[0] + R[0, 1] * axis[1] + R[0, 2] * axis[2],
        R[1, 0] * axis[0] + R[1, 1] * axis[1] + R[1, 2] * axis[2],
        R[2, 0] * axis[0] + R[2, 1] * axis[1] + R[2, 2] * axis[2],
    )


@kernel
def _turn(q, scale, offset, axis, R, p, S):
    x, y, z = along_axis(R, axis)
    set_rotation_about(scale * x, scale * y, scale * z, p, S[0])
    turn_about(axis, scale * q[0] + offset, R)


@kernel
def _slide(q, scale, offset, axis, R, p, S):
    displacement = scale * q[0] + offset
    x, y, z = along_axis(R, axis)
    p[0] += displacement * x
    p[1] += displacement * y
    p[2] += displacement * z
    set_translation_along(scale * x, scale * y, scale * z, S[0])


@kernel
def _move_in_plane(q, scale, offset, axis, R, p, S):
    for r in range(3):
        p[r] += q[0] * R[r, 0] + q[1] * R[r, 1]
    set_translation_along(R[0, 0], R[1, 0], R[2, 0], S[0])
    set_translation_along(R[0, 1], R[1, 1], R[2, 1], S[1])
    set_rotation_about(R[0, 2], R[1, 2], R[2, 2], p, S[2])
    sine, cosine = sine_cosine(q[2])
    for r in range(3):
        x, y = R[r, 0], R[r, 1]
        R[r, 0] = cosine * x + sine * y
        R[r, 1] = cosine * y - sine * x


@kernel
def _float(q, scale, offset, axis, R, p, S):
    for r in range(3):
        p[r] += q[4] * R[r, 0] + q[5] * R[r, 1] + q[6] * R[r, 2]
    for k in range(3):
        set_rotation_about(R[0, k], R[1, k], R[2, k], p, S[k])
        set_translation_along(R[0, k], R[1, k], R[2, k], S[3 + k])
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    for r in range(3):
        a, b, c = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] = a * (1.0 - s * (y * y + z * z)) + b * s * (x * y + w * z) + c * s * (x * z - w * y)
        R[r, 1] = a * s * (x * y - w * z) + b * (1.0 - s * (x * x + z * z)) + c * s * (y * z + w * x)
        R[r, 2] = a * s * (x * z + w * y) + b * s * (y * z - w * x) + c * (1.0 - s * (x * x + y * y))


@kernel
def _float_rates(q, v, out):
    e, f, g, h = q[0], q[1], q[2], q[3]
    b, c, d = 0.5 * v[0], 0.5 * v[1], 0.5 * v[2]
    out[0] = -b * f - c * g - d * h
    out[1] = b * e + c * h - d * g
    out[2] = c * e + d * f - b * h
    out[3] = d * e + b * g - c * f
    for k in range(3):
        out[4 + k] = v[3 + k]


@kernel
def _float_on(q, v, dt, out):
    rotate_quaternion(q, v, dt, out)
    for k in range(3):
        out[4 + k] = q[4 + k] + dt * v[3 + k]


@kernel
def rotate_quaternion(quaternion, w, dt, out):
    """Exponential map of w dt, in the axes of the fixed frame, times the quaternion."""
    half = 0.5 * dt * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    sine, a = sine_cosine(half)
    # sin(x)/x is undefined at 0; the truncation error of the series is below round-off in its range.
    sinc = sine / half if half > 1e-4 else 1.0 - half * half / 6.0
    b, c, d = 0.5 * dt * sinc * w[0], 0.5 * dt * sinc * w[1], 0.5 * dt * sinc * w[2]
    e, f, g, h = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    norm = math.sqrt(e * e + f * f + g * g + h * h)
    a, b, c, d = a / norm, b / norm, c / norm, d / norm
    out[0] = a * e - b * f - c * g - d * h
    out[1] = a * f + b * e + c * h - d * g
    out[2] = a * g - b * h + c * e + d * f
    out[3] = a * h + b * g - c * f + d * e


@kernel
def _turn_twice(q, scale, offset, axis, R, p, S):
    set_rotation_about(R[0, 0], R[1, 0], R[2, 0], p, S[0])
    turn_about((1.0, 0.0, 0.0), q[0], R)
    set_rotation_about(R[0, 1], R[1, 1], R[2, 1], p, S[1])
    turn_about((0.0, 1.0, 0.0), q[1], R)


@kernel
def _accelerate_twice_turned(v, p, S, A):
    # The first rotation carries the axis of the second along: w = s_x x s_y times both rates.
    rates = v[0] * v[1]
    x = rates * (S[0, 1] * S[1, 2] - S[0, 2] * S[1, 1])
    y = rates * (S[0, 2] * S[1, 0] - S[0, 0] * S[1, 2])
    z = rates * (S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0])
    A[0] += x
    A[1] += y
    A[2] += z
    A[3] += p[1] * z - p[2] * y
    A[4] += p[2] * x - p[0] * z
    A[5] += p[0] * y - p[1] * x


TURN = JointKernels(_turn)
SLIDE = JointKernels(_slide)
MOVE_IN_PLANE = JointKernels(_move_in_plane)
FLOAT = JointKernels(_float, rates=_float_rates, integrate=_float_on)
TURN_TWICE = JointKernels(_turn_twice, accelerate=_accelerate_twice_turned)
