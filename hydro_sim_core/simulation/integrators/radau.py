# mypy: allow-untyped-defs
"""Radau IIA of order 5 with error control (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).

Three stages at the shares ``C`` of a step are the zeros of the method's equations. Their Newton system falls apart into
one real and one complex system of the size of the state (``T``), with one Jacobian for as long as it serves.

The state is the change since the begin of a time step: errors relative to coordinates would depend on the choice of
origin and exceed penetrations. With a new Jacobian every time step, n steps are bit-identical to n calls.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.simulation.integrators.continuous_forces import state_derivative
from hydro_sim_core.simulation.integrators.continuous_jacobian import state_jacobian
from hydro_sim_core.simulation.integrators.step_means import add_part, forget_parts, keep_part, put_means
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM, UNCONVERGED
from hydro_sim_core.solvers.lu import factorise_complex_lu, factorise_lu, solve_complex_lu, solve_lu

#: Absolute error of a velocity that is always allowed, m/s or rad/s per unit of accuracy.
ABSOLUTE_SHARE = 1e-2
#: Share of the largest rate so far that still counts after another step.
PACE_LEFT = 0.7
#: Smallest integration step as a share of the time step, and most that are tried in one; beyond, integration fails.
LEAST_SHARE, MOST_STEPS = 1e-9, 100_000
#: Numbers in ``Radau.counts``: integration steps, and evaluations of the derivative, but not for Jacobians.
STEPS, EVALUATIONS = range(2)

#: Stages at these shares of a step; (4 -+ sqrt(6)) / 10, and the end.
_C = (0.1550510257216822, 0.6449489742783178, 1.0)
#: The inverse of the method's matrix has these eigenvalues: a real one and a pair, real part and +- imaginary part.
_REAL, _PAIR, _IMAGINARY = 3.637834252744496, 2.6810828736277523, 3.0504301992474105
#: Weights of the rates at the stages in the change over a step: (16 -+ sqrt(6)) / 36, and 1/9.
_B = (0.37640306270046725, 0.512485826188422, 1.0 / 9.0)
#: Its eigenvectors: of the real one; real and imaginary part of the pair's. And the inverse.
_T = (
    (0.09443876248897524, -0.1412552950209542, -0.030029194105147424),
    (0.2502131229653333, 0.20412935229379994, 0.3829421127572619),
    (1.0, 1.0, 0.0),
)
_T_INVERSE = (
    (4.178718591551905, 0.32768282076106237, 0.5233764454994495),
    (-4.178718591551905, -0.32768282076106237, 0.47662355450055044),
    (-0.5028726349457868, 2.571926949855605, -0.5960392048282249),
)
#: Weights of the stages in the error estimate; (-13 -+ 7 sqrt(6)) / 3, and -1/3.
_E = (-10.048809399827416, 1.382142733160749, -1.0 / 3.0)
#: Weights of the stages in the state midway between the first two, at 2/5 of a step, (18 +- 2 sqrt(6)) / 25 and -2/25,
#: and in its rate, -1/5 -+ 17 sqrt(6) / 15 and -1/5.
_MIDWAY = (0.9159591794226543, 0.5240408205773458, -2.0 / 25.0)
_MIDWAY_RATE = (-2.9760883751542684, 2.576088375154268, -0.2)
#: Most iterations of Newton's method, and the rate of its convergence above which a new Jacobian is worth it.
_MOST_ITERATIONS, _SLOW = 6, 1e-3
#: Steps change by these factors at least and at most, and stay as they are where they would grow by less than a fifth.
_LEAST_FACTOR, _LARGEST_FACTOR, _KEEP = 0.2, 10.0, 1.2
_EPSILON = 2.220446049250313e-16
#: Numbers in ``Radau.progress``: length (s) of the last step that was kept, 0 without one, and its error over what is
#: allowed; length for which the systems are factorised, 0 for none; 1 if the Jacobian is that of the present state; 1
#: if the last step was kept; 1 if one was tried here in vain; iterations, and the rate of their convergence.
_BEFORE, _ERROR, _FACTORED, _IS_CURRENT, _IS_KEPT, _IS_REPEATED, _ITERATIONS, _RATE = range(8)


@kernel
def integrate(machine, radau, dt):
    """Integrate from ``radau.start`` over a time step of ``dt`` (s).

    Returns:
        ``DONE``: ``radau.y`` is the change, and the scratch memory is evaluated there; ``NO_ROOM`` for the contact
        faces; ``UNCONVERGED`` if the accuracy cannot be reached.

    Reads radau: counts, f, progress, y; machine.state: substep.
    Writes radau: counts, f, pace, progress, y; machine.state: substep.
    """
    y, progress, tried = radau.y, radau.progress, 0
    y[:] = 0.0
    progress[:] = 0.0
    radau.pace[:] = 0.0
    forget_parts(radau.means)
    progress[_IS_CURRENT] = 1.0
    if not _evaluate(machine, radau, dt, y, radau.f):
        return NO_ROOM
    if not _is_finite(radau.f):
        return UNCONVERGED
    _set_jacobian(machine, radau, dt)
    h = min(machine.state.substep[0], dt)
    if h == 0.0:
        h = _first_step(machine, radau, dt)
        if h < 0.0:
            return NO_ROOM
    t, proposed = 0.0, h
    while t < dt and tried < MOST_STEPS and proposed >= LEAST_SHARE * dt:
        tried += 1
        is_last = h >= dt - t
        length = dt - t if is_last else h
        factor = _try_step(machine, radau, dt, length, is_last)
        if factor < 0.0:
            return NO_ROOM
        h = factor * length
        if progress[_IS_KEPT] == 0.0:
            proposed = h
            continue
        radau.counts[STEPS] += 1.0
        # The last step is cut to fit, so what it proposes for the next one may be too short.
        proposed = max(proposed, h) if is_last else h
        t = dt if is_last else t + length
    if t < dt or proposed < LEAST_SHARE * dt:
        return UNCONVERGED
    if not put_means(machine, radau.means, dt):
        return NO_ROOM
    machine.state.substep[0] = proposed
    return DONE


@kernel
def _evaluate(machine, radau, dt, change, rate):
    """Write the derivative after a change (n,) of the state to ``rate``; False without room for contact faces.

    Reads radau: at, counts, start.
    Writes radau: at, counts; machine.scratch: faces_needed.
    """
    for i in range(change.shape[0]):
        radau.at[i] = radau.start[i] + change[i]
    radau.counts[EVALUATIONS] += 1.0
    faces = state_derivative(machine, dt, radau.at, rate)
    if faces > machine.scratch.faces.num_vertices.shape[0]:
        machine.scratch.faces_needed[0] = faces
        return False
    return True


@kernel
def _is_finite(x):
    """Whether all numbers are finite."""
    total = 0.0
    for i in range(x.shape[0]):
        total += abs(x[i])
    return total < math.inf


@kernel
def _set_scale(machine, radau, dt, h):
    """Write the error that is allowed of every number in a step of length ``h`` (s).

    It is relative to what changes in such a step, not since the begin of the time step: a body that has fallen for a
    millimetre may then stop within a micrometre. A number at its turning point changes as fast as it lately did.

    Reads radau: Z, accuracy, f, pace.
    Writes radau: scale.
    """
    accuracy, nq = radau.accuracy[0], machine.state.q.shape[0]
    for i in range(radau.f.shape[0]):
        # A velocity that is wrong by its tolerance moves a coordinate by that much in a time step.
        least = ABSOLUTE_SHARE * accuracy * (dt if i < nq else 1.0)
        radau.scale[i] = least + accuracy * max(h * max(abs(radau.f[i]), radau.pace[i]), abs(radau.Z[2, i]))


@kernel
def _size(radau, x):
    """Root of the mean square of ``x`` (n,) over what is allowed; 0 where nothing moves.

    Reads radau: scale.
    """
    total = 0.0
    if x.shape[0] == 0:
        return 0.0
    for i in range(x.shape[0]):
        part = x[i] / radau.scale[i]
        total += part * part
    return math.sqrt(total / x.shape[0])


@kernel
def _first_step(machine, radau, dt):
    """Length of the first step (s), by how fast the rate changes; -1 without room for contact faces.

    Reads radau: error, f, trial.
    Writes radau: Z, error, trial.
    """
    radau.Z[:] = 0.0
    short = min(1e-6, dt)
    _set_scale(machine, radau, dt, short)
    for i in range(radau.y.shape[0]):
        radau.error[i] = short * radau.f[i]
    if not _evaluate(machine, radau, dt, radau.error, radau.trial):
        return -1.0
    for i in range(radau.y.shape[0]):
        radau.trial[i] = (radau.trial[i] - radau.f[i]) / short
    fastest = max(_size(radau, radau.f), _size(radau, radau.trial))
    wanted = math.sqrt(math.sqrt(0.01 / fastest)) if fastest > 0.0 else dt
    return min(100.0 * short, min(wanted, dt))


@kernel
def _try_step(machine, radau, dt, h, is_last):
    """Take a step of length ``h`` (s), if it is as good as asked for.

    Returns the length of the next one over this one; -1 without room for contact faces. ``progress`` tells whether it
    is kept.

    Reads radau: Z, error, f, pace, progress, tree_of_v, trial, y.
    Writes radau: error, f, last, pace, progress, trial, y.
    """
    progress = radau.progress
    progress[_IS_KEPT] = 0.0
    found = _solve_stages(machine, radau, dt, h)
    if found == 0 and progress[_IS_CURRENT] == 0.0:
        if not _renew_jacobian(machine, radau, dt):
            return -1.0
        found = _solve_stages(machine, radau, dt, h)
    if found < 0:
        return -1.0
    if found == 0:
        return 0.5
    _set_scale(machine, radau, dt, h)
    size = _error(radau, radau.f, h)
    if size > 1.0 and progress[_IS_REPEATED] != 0.0:
        for i in range(radau.y.shape[0]):
            radau.error[i] += radau.y[i]
        if not _evaluate(machine, radau, dt, radau.error, radau.trial):
            return -1.0
        size = _error(radau, radau.trial, h)
    if size <= 1.0:
        midway = _error_midway(machine, radau, dt, h)
        if midway < 0.0:
            return -1.0
        if not midway <= size:
            size = midway
    most = 2.0 * _MOST_ITERATIONS
    factor = 0.9 * (most + 1.0) / (most + progress[_ITERATIONS]) * _factor(radau, size, h)
    if not size <= 1.0:
        progress[_IS_REPEATED] = 1.0
        return max(_LEAST_FACTOR, factor)
    wants_jacobian = progress[_ITERATIONS] > 2.0 and progress[_RATE] > _SLOW
    progress[_BEFORE], progress[_ERROR], progress[_IS_KEPT] = h, size, 1.0
    progress[_IS_REPEATED] = progress[_IS_CURRENT] = 0.0
    for i in range(radau.y.shape[0]):
        radau.pace[i] = max(PACE_LEFT * radau.pace[i], abs(radau.f[i]), abs(radau.Z[2, i]) / h)
        radau.y[i] += radau.Z[2, i]
        for stage in range(3):
            radau.last[stage, i] = radau.Z[stage, i]
    for stage in range(3):
        add_part(machine.model, radau.means, stage, _B[stage] * h, 0.0, radau.tree_of_v)
    # Faces that are told are those of the end of the last step, which are found here.
    if not _evaluate(machine, radau, dt, radau.y, radau.f):
        return -1.0
    if wants_jacobian and not is_last:
        _set_jacobian(machine, radau, dt)
    return 1.0 if not wants_jacobian and factor < _KEEP else min(factor, _LARGEST_FACTOR)


@kernel
def _renew_jacobian(machine, radau, dt):
    """Evaluate the Jacobian at the present state; False without room for contact faces.

    Reads radau: f, y.
    Writes radau: f.
    """
    if not _evaluate(machine, radau, dt, radau.y, radau.f):
        return False
    _set_jacobian(machine, radau, dt)
    return True


@kernel
def _set_jacobian(machine, radau, dt):
    """Evaluate the Jacobian where the derivative was evaluated last, at the present state.

    Reads radau: at, f.
    Writes radau: at, jacobian, progress.
    """
    radau.progress[_FACTORED], radau.progress[_IS_CURRENT] = 0.0, 1.0
    state_jacobian(machine, radau.linear, dt, radau.at, radau.f, radau.jacobian)


@kernel
def _error(radau, rate, h):
    """Write the estimate of a step's error from the rate at its begin, and return it over what is allowed.

    Reads radau: Z, error, exchanged, real.
    Writes radau: error.
    """
    Z = radau.Z
    for i in range(rate.shape[0]):
        radau.error[i] = rate[i] + (_E[0] * Z[0, i] + _E[1] * Z[1, i] + _E[2] * Z[2, i]) / h
    solve_lu(radau.real, radau.exchanged, radau.error)
    return _size(radau, radau.error)


@kernel
def _error_midway(machine, radau, dt, h):
    """What the rate midway between two stages says of a step's error, over what is allowed; -1 without room for faces.

    ``_error`` compares the rate of the stages' polynomial with that of the state at the begin. Where the force sets in
    at 0.433 of a step, as when a box lands flat, both agree although the step is wrong by hundreds of times what was
    estimated. Midway they do not, and for no place of such a bend is the larger of the two less than 4/5 of the error.
    Where the motion is smooth this one is 9/25 of the other.

    Reads radau: Z, error, exchanged, real, trial, y.
    Writes radau: error, trial.
    """
    Z = radau.Z
    for i in range(radau.y.shape[0]):
        radau.trial[i] = radau.y[i] + _MIDWAY[0] * Z[0, i] + _MIDWAY[1] * Z[1, i] + _MIDWAY[2] * Z[2, i]
    if not _evaluate(machine, radau, dt, radau.trial, radau.error):
        return -1.0
    for i in range(radau.y.shape[0]):
        rate = _MIDWAY_RATE[0] * Z[0, i] + _MIDWAY_RATE[1] * Z[1, i] + _MIDWAY_RATE[2] * Z[2, i]
        radau.error[i] -= rate / h
    solve_lu(radau.real, radau.exchanged, radau.error)
    return _size(radau, radau.error)


@kernel
def _factor(radau, size, h):
    """Length of the next step over that of this one, by the error's fourth root and its trend (Gustafsson).

    Reads radau: progress.
    """
    progress = radau.progress
    if not size < math.inf:
        return 0.0
    if size == 0.0:
        return _LARGEST_FACTOR
    factor = 1.0 / math.sqrt(math.sqrt(size))
    if progress[_BEFORE] == 0.0 or progress[_ERROR] == 0.0:
        return factor
    return factor * min(1.0, h / progress[_BEFORE] * math.sqrt(math.sqrt(progress[_ERROR] / size)))


# --- The stages of a step


@kernel
def _solve_stages(machine, radau, dt, h):
    """Newton's method for the stages of a step: 1 if it converges, 0 if not, -1 without room for contact faces.

    Reads radau: F, W, Z, accuracy, trial, y.
    Writes radau: F, W, Z, progress, trial.
    """
    progress, Z, W, F = radau.progress, radau.Z, radau.W, radau.F
    if not _factorise(radau, h):
        return 0
    Z[:] = 0.0
    _set_scale(machine, radau, dt, h)
    _guess(radau, h)
    accuracy = radau.accuracy[0]
    allowed = max(10.0 * _EPSILON / accuracy, min(0.03, math.sqrt(accuracy)))
    rate = before = 0.0
    for k in range(_MOST_ITERATIONS):
        for stage in range(3):
            for i in range(radau.y.shape[0]):
                radau.trial[i] = radau.y[i] + Z[stage, i]
            if not _evaluate(machine, radau, dt, radau.trial, F[stage]):
                return -1
            keep_part(machine, radau.means, stage)
            if not _is_finite(F[stage]):
                return 0
        size = _newton_step(radau, h)
        if not size < math.inf:
            return 0
        if k > 0:
            rate, left = size / before, size
            for _ in range(_MOST_ITERATIONS - k):
                left *= rate
            if rate >= 1.0 or left / (1.0 - rate) > allowed:
                return 0
        for i in range(radau.y.shape[0]):
            for stage in range(3):
                W[stage, i] += F[stage, i]
            for stage in range(3):
                Z[stage, i] = _T[stage][0] * W[0, i] + _T[stage][1] * W[1, i] + _T[stage][2] * W[2, i]
        if size == 0.0 or (k > 0 and rate / (1.0 - rate) * size < allowed):
            progress[_ITERATIONS], progress[_RATE] = k + 1.0, rate
            return 1
        before = size
    return 0


@kernel
def _factorise(radau, h):
    """Factorise the systems of steps of length ``h`` (s), unless they are; False if one is singular.

    Reads radau: imaginary, jacobian, pair, progress, real.
    Writes radau: exchanged, exchanged_pair, imaginary, pair, progress, real.
    """
    progress, n = radau.progress, radau.y.shape[0]
    if progress[_FACTORED] == h:
        return True
    progress[_FACTORED] = 0.0
    for i in range(n):
        for j in range(n):
            radau.real[i, j] = radau.pair[i, j] = -radau.jacobian[i, j]
            radau.imaginary[i, j] = 0.0
        radau.real[i, i] += _REAL / h
        radau.pair[i, i] += _PAIR / h
        radau.imaginary[i, i] = _IMAGINARY / h
    if not factorise_lu(radau.real, radau.exchanged):
        return False
    if not factorise_complex_lu(radau.pair, radau.imaginary, radau.exchanged_pair):
        return False
    progress[_FACTORED] = h
    return True


@kernel
def _guess(radau, h):
    """Begin with the polynomial through the stages of the step before, if there is one, and its ``W``.

    Reads radau: Z, last, progress.
    Writes radau: W, Z.
    """
    Z, W, last, before = radau.Z, radau.W, radau.last, radau.progress[_BEFORE]
    if before > 0.0:
        for stage in range(3):
            x = 1.0 + _C[stage] * h / before
            # Lagrange's polynomials of the stages, which vanish at the begin of that step.
            a = x * (x - _C[1]) * (x - 1.0) / (_C[0] * (_C[0] - _C[1]) * (_C[0] - 1.0))
            b = x * (x - _C[0]) * (x - 1.0) / (_C[1] * (_C[1] - _C[0]) * (_C[1] - 1.0))
            c = x * (x - _C[0]) * (x - _C[1]) / ((1.0 - _C[0]) * (1.0 - _C[1])) - 1.0
            for i in range(radau.y.shape[0]):
                Z[stage, i] = a * last[0, i] + b * last[1, i] + c * last[2, i]
    for i in range(radau.y.shape[0]):
        for k in range(3):
            inverse = _T_INVERSE[k]
            W[k, i] = inverse[0] * Z[0, i] + inverse[1] * Z[1, i] + inverse[2] * Z[2, i]


@kernel
def _newton_step(radau, h):
    """Turn the rates at the stages (``F``) into Newton's step of ``W``; return its size over what is allowed.

    Reads radau: F, W, exchanged, exchanged_pair, imaginary, pair, real.
    Writes radau: F.
    """
    F, W, n = radau.F, radau.W, radau.y.shape[0]
    for i in range(n):
        f, g, k, v, w = F[0, i], F[1, i], F[2, i], W[1, i], W[2, i]
        F[0, i] = _row(0, f, g, k) - _REAL * W[0, i] / h
        F[1, i] = _row(1, f, g, k) - (_PAIR * v - _IMAGINARY * w) / h
        F[2, i] = _row(2, f, g, k) - (_IMAGINARY * v + _PAIR * w) / h
    solve_lu(radau.real, radau.exchanged, F[0])
    solve_complex_lu(radau.pair, radau.imaginary, radau.exchanged_pair, F[1], F[2])
    a, b, c = _size(radau, F[0]), _size(radau, F[1]), _size(radau, F[2])
    return math.sqrt((a * a + b * b + c * c) / 3.0)


@kernel(inline=True)
def _row(k, a, b, c):
    """Row of the inverse of the eigenvectors times (a, b, c)."""
    inverse = _T_INVERSE[k]
    return inverse[0] * a + inverse[1] * b + inverse[2] * c
