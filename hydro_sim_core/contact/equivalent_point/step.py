"""One geometrically implicit Euler step of a rigid body on a plane.

Position, velocity, equivalent contact point and impulses at the end of the step solve one mixed complementarity
problem: contact is detected at the end of the step, not at its beginning, so that nothing penetrates (Xie and
Chakraborty 2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.equivalent_point.body import FrictionEllipsoid, RigidBody, check_positive
from hydro_sim_core.contact.equivalent_point.hull import ClosestPoints, closest_points, lowest_features
from hydro_sim_core.contact.equivalent_point.newton import Solution, semismooth_newton, smaller, trust_region
from hydro_sim_core.contact.equivalent_point.problem import Numbers, StepProblem, applied, cayley, moved
from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]

_SOURCE = "step_on_plane"
#: Largest residual of a solved step, in units of the body's size, mass and speed.
_TOLERANCE = 1e-13
#: Residual below which a solution is polished by further iterations.
_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class EquivalentPointStep:
    """State and contact at the end of a step, in the plane's frame G.

    Attributes:
        X_GB: (4, 4) pose of the body.
        V_GB: (6,) twist of the centre of mass, angular then linear, rad/s and m/s.
        a1: (3,) equivalent contact point on the hull, m; without contact, a point closest to the plane.
        a2: (3,) corresponding point on the plane, m.
        p_n: Normal impulse on the body, N s.
        p_t: Friction impulse along x, N s.
        p_o: Friction impulse along y, N s.
        p_r: Friction impulse about z, N m s.
        slip: sigma, m/s; 0 while sticking.
        face_multipliers: (m,) multipliers of the hull's faces, see ``ClosestPoints``.
        residual: Largest residual of the complementarity problem, in units of size, mass and speed.
        iterations: Newton iterations; 0 in flight.
    """

    X_GB: Array
    V_GB: Array
    a1: Array
    a2: Array
    p_n: float
    p_t: float
    p_o: float
    p_r: float
    slip: float
    face_multipliers: Array
    residual: float
    iterations: int


# Overflow leads to an infinite residual, which is refused below; NumPy's warnings are not needed.
@np.errstate(over="ignore", invalid="ignore")
def step_on_plane(
    body: RigidBody,
    X_GB: ArrayLike,
    V_GB: ArrayLike,
    time_step: float,
    friction: FrictionEllipsoid,
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    wrench: ArrayLike = (0.0,) * 6,
) -> EquivalentPointStep:
    """Advance a body by one step above the fixed solid z <= 0 of frame G.

    Args:
        body: The body.
        X_GB: (4, 4) pose of the body's frame B in G.
        V_GB: (6,) twist of its centre of mass in axes of G, angular then linear, rad/s and m/s.
        time_step: s.
        friction: Friction between body and plane.
        gravity: (3,) in G, m/s^2; tilt it for an incline.
        wrench: (6,) applied at the centre of mass in axes of G, moment then force, N m and N.

    Raises:
        InputError: An argument has the wrong shape or is not finite, or no solution was found, which too large a time
            step can cause.
    """
    X_GB = as_pose(X_GB, _SOURCE, "X_GB")
    V_GB, wrench = _numbers("V_GB", V_GB, 6), _numbers("wrench", wrench, 6)
    gravity = _numbers("gravity", gravity, 3)
    check_positive(_SOURCE, "time_step", time_step)

    R_GB, w = X_GB[:3, :3], V_GB[:3]
    inertia = R_GB @ body.inertia @ R_GB.T
    angular_impulse = time_step * (wrench[:3] - np.cross(w, inertia @ w))
    w_free = _free_spin(body, R_GB, w, angular_impulse, time_step)
    v_free = V_GB[3:] + time_step * (gravity + wrench[3:] / body.mass)
    X_free = moved(X_GB, w_free, v_free, time_step)
    nearest = closest_points(body.hull, X_free)
    if nearest.a1[2] >= 0.0:
        return _flight(X_free, np.concatenate([w_free, v_free]), nearest)

    problem = StepProblem(body, friction, time_step, X_GB, w, w_free, v_free, angular_impulse)
    was_nearest = closest_points(body.hull, X_GB)
    solution = _solve(problem, nearest, was_nearest, *lowest_features(body.hull, X_free))
    end = problem.in_si_units(solution.z)
    p_t, p_o, p_r = friction.mu * end.p_n * friction.scales * end.s
    return EquivalentPointStep(
        X_GB=moved(X_GB, end.w, end.v, time_step),
        V_GB=np.concatenate([end.w, end.v]),
        a1=end.a1,
        a2=end.a1 * (1.0, 1.0, 0.0),
        p_n=float(end.p_n[0]),
        p_t=float(p_t),
        p_o=float(p_o),
        p_r=float(p_r),
        slip=float(end.slip[0]),
        face_multipliers=end.faces,
        residual=solution.residual,
        iterations=solution.iterations,
    )


def _flight(X_GB: Array, V_GB: Array, nearest: ClosestPoints) -> EquivalentPointStep:
    """Result of a step without contact, where zero impulses solve the complementarity problem."""
    return EquivalentPointStep(
        X_GB=X_GB,
        V_GB=V_GB,
        a1=nearest.a1,
        a2=nearest.a2,
        p_n=0.0,
        p_t=0.0,
        p_o=0.0,
        p_r=0.0,
        slip=0.0,
        face_multipliers=nearest.face_multipliers,
        residual=0.0,
        iterations=0,
    )


def _solve(problem: StepProblem, *candidates: ClosestPoints) -> Solution:
    """First solution found from the candidate contacts."""
    best = np.inf
    for solution in _attempts(problem, list(problem.guesses(*candidates))):
        if solution.residual <= _NEAR:
            solution = _polished(problem, solution)
        if solution.residual <= _TOLERANCE:
            return solution
        best = min(best, solution.residual)
    problem_text = f"no contact solution was found, the residual stays at {best:.1e}"
    raise InputError(_SOURCE, "time_step", problem_text, "take a smaller step")


def _attempts(problem: StepProblem, guesses: list[Array]) -> Iterator[Solution]:
    """Solutions by several methods, the fastest first."""
    for guess in guesses:
        yield semismooth_newton(problem.residual, guess, _NEAR)
    # For very weak friction Newton's method converges only from the frictionless solution.
    frictionless = replace(problem, friction=replace(problem.friction, mu=0.0))
    for guess in guesses:
        solution = semismooth_newton(frictionless.residual, guess, _NEAR)
        if solution.residual <= _NEAR:
            z = _polished(frictionless, solution).z
            yield semismooth_newton(problem.residual, z, _NEAR)
            yield semismooth_newton(problem.residual, problem.sliding(z), _NEAR)
            break
    for guess in guesses:
        yield trust_region(problem.residual, guess, _NEAR)


def _polished(problem: StepProblem, solution: Solution) -> Solution:
    """Refine a near solution with the active branches of the complementarity conditions, which are known there."""
    polished = semismooth_newton(lambda z: problem.residual(z, smaller), solution.z, _TOLERANCE)
    iterations = solution.iterations + polished.iterations
    return min(solution, polished, key=lambda s: s.residual)._replace(iterations=iterations)


def _free_spin(body: RigidBody, R_GB: Array, w: Array, angular_impulse: Array, time_step: float) -> Array:
    """Angular velocity after a step without contact, with the inertia at the end of the step, eq. 16."""
    inertia = body.inertia / np.linalg.norm(body.inertia)
    impulse = angular_impulse / np.linalg.norm(body.inertia)

    def residual(w_end: Numbers) -> Numbers:
        R = cayley(time_step * w_end) @ R_GB
        return applied(R @ inertia @ R.swapaxes(-1, -2), w_end - w) - impulse

    scale = 1.0 + float(np.abs(w).max())
    solution = semismooth_newton(residual, w, 1e-12 * scale)
    if not solution.residual <= 1e-9 * scale:
        raise InputError(_SOURCE, "time_step", "is too long for so fast a spin", "take a smaller step")
    return solution.z


def _numbers(element: str, values: ArrayLike, count: int) -> Array:
    numbers = np.asarray(values, dtype=float)
    if numbers.shape != (count,) or not np.all(np.isfinite(numbers)):
        raise InputError(_SOURCE, element, f"is {numbers.tolist()}", f"give {count} finite numbers")
    return numbers
