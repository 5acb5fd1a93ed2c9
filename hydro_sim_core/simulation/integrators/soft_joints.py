# mypy: allow-untyped-defs
"""Rigid stops and dry friction of joints under smooth contact: constraints of explicit steps.

As forces of position and velocity they would be far stiffer than explicit steps bear: a stop would give back more than
it takes, and friction tremble. Here joints that rest at a stop when a step begins, or stand still, are held by what
their accelerations need, at each evaluation. After the step, impulses along the joints end the slides that friction
can, bring back what went beyond a stop, and take the velocities that lead out. Each goes against the motion that it
meets, and what it changes of the other joints is told by the mass matrix.

A stop with a stiffness of its own is a spring, unless steps are too long for it: then it is rigid as well.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.dynamics.kinematics import integrate_positions
from hydro_sim_core.simulation.stepping.joint_forces import RETURN_SPEED, stop_effort
from hydro_sim_core.solvers.bounded import HOLDS, solve_bounded
from hydro_sim_core.solvers.linear import solve_factorised

#: A stop is rigid if the square of its angular frequency times the step is more than this. Several that press at once
#: have higher frequencies together, and Euler's steps are steady up to 4.
_STIFFEST = 0.5


@kernel
def hold_accelerations(model, state, scratch, memory, q, dt, share, acceleration):
    """Hold the joints that rest at stops or stand still by friction, and slow down those that slide.

    Args:
        model: ``Model``.
        state: ``State`` at the begin of the step.
        scratch: ``Scratch`` with the factor of the mass matrix.
        memory: ``SoftScratch``.
        q: (nq,) coordinates at which the accelerations are.
        dt: Length of the step, s.
        share: That of this evaluation in the step.
        acceleration: (nv,) without stops and friction; changed.

    Reads memory: braked, is_rigid; state: q, v; memory.bounded: W, impulse, least; model.tree: friction.
    Writes memory: braked; memory.bounded: excess, least, most.
    """
    tree, bounded = model.tree, memory.bounded
    if not (_rubs(tree) or _is_at_stop(tree, q) or _is_at_stop(tree, state.q)):
        return
    _invert(tree, scratch, memory, dt)
    for i in range(acceleration.shape[0]):
        if _has_stops(tree, i) and not memory.is_rigid[i]:
            effort = stop_effort(tree, q, i)
            for j in range(acceleration.shape[0]):
                acceleration[j] += bounded.W[i, j] * effort
    for i in range(acceleration.shape[0]):
        friction = tree.friction[i]
        slides = friction > 0.0 and state.v[i] != 0.0
        bounded.excess[i] = acceleration[i]
        bounded.least[i] = math.copysign(friction, state.v[i]) if slides else -friction
        bounded.most[i] = bounded.least[i] if slides else friction
        rests = 0.0 if slides else _resting(tree, state, memory, dt, i)
        if rests > 0.0:
            bounded.most[i] = math.inf
        elif rests < 0.0:
            bounded.least[i] = -math.inf
    solve_bounded(bounded)
    for i in range(acceleration.shape[0]):
        _change(bounded, acceleration, i)
        # The force of a stop is no part of what friction can do.
        most = tree.friction[i]
        memory.braked[i] += share * dt * min(max(bounded.impulse[i], -most), most)


@kernel
def hold_joints(model, state, scratch, memory, before, dt, lever):
    """Brake and stop the joints at the end of a step.

    Args:
        model: ``Model``.
        state: ``State`` after a step without stops and friction.
        scratch: ``Scratch`` with the factor of the mass matrix.
        memory: ``SoftScratch``.
        before: (nq,) coordinates before the step.
        dt: Length of the step, s.
        lever: How far (m) an even force moves what it gives 1 m/s in the step, s.

    Reads memory: braked; state: q; memory.bounded: impulse.
    Writes memory: braked.
    """
    tree, nv = model.tree, state.v.shape[0]
    rubs = _rubs(tree)
    if not rubs and not _is_at_stop(tree, state.q):
        return
    _invert(tree, scratch, memory, dt)
    if rubs:
        _brake(tree, state, memory, before, dt, False)
        _displace(tree, state, memory, lever)
        for i in range(nv):
            memory.braked[i] += memory.bounded.impulse[i]
    if _is_beyond(tree, state.q, memory, before, dt):
        _bring_back(tree, state, memory, before, dt)
        _brake(tree, state, memory, before, dt, True)


@kernel
def _rubs(tree):
    """Whether any joint has friction.

    Reads tree: friction.
    """
    for i in range(tree.friction.shape[0]):
        if tree.friction[i] > 0.0:
            return True
    return False


@kernel
def _has_stops(tree, i):
    """Whether velocity ``i`` has stops.

    Reads tree: q_lower, q_of_v, q_upper.
    """
    return tree.q_of_v[i] >= 0 and (tree.q_lower[i] > -math.inf or tree.q_upper[i] < math.inf)


@kernel
def _is_at_stop(tree, q):
    """Whether any joint is at a stop or beyond.

    Reads tree: q_lower, q_of_v, q_upper.
    """
    for i in range(tree.q_of_v.shape[0]):
        if _has_stops(tree, i) and not tree.q_lower[i] < q[tree.q_of_v[i]] < tree.q_upper[i]:
            return True
    return False


@kernel
def _invert(tree, scratch, memory, dt):
    """Write the rows of the inverse mass matrix of all joints with friction or stops, and which stops are rigid.

    Reads scratch: factor; tree: friction, limit_stiffness; memory.bounded: W; scratch.problem.islands: envelope.
    Writes memory: is_rigid; memory.bounded: W.
    """
    bounded = memory.bounded
    nv = bounded.W.shape[0]
    for i in range(nv):
        memory.is_rigid[i] = False
        if tree.friction[i] > 0.0 or _has_stops(tree, i):
            bounded.W[i, :] = 0.0
            bounded.W[i, i] = 1.0
            solve_factorised(scratch.factor, 0, nv, scratch.problem.islands.envelope, bounded.W[i])
            frequency = tree.limit_stiffness[i] * bounded.W[i, i]
            memory.is_rigid[i] = _has_stops(tree, i) and frequency * dt * dt > _STIFFEST


@kernel
def _change(bounded, v, i):
    """Take from velocity or acceleration ``i`` what the impulses do; exactly what is held.

    Reads bounded: W, excess, impulse, side.
    """
    if bounded.side[i] == HOLDS:
        v[i] -= bounded.excess[i]
    else:
        for j in range(v.shape[0]):
            if bounded.impulse[j] != 0.0:
                v[i] -= bounded.W[j, i] * bounded.impulse[j]


@kernel
def _resting(tree, state, memory, dt, i):
    """1 if velocity ``i`` rests at its upper stop or comes back from beyond it as it should, -1 at the lower, else 0.

    Reads memory: is_rigid; state: q, v; tree: q_lower, q_of_v, q_upper.
    """
    if not memory.is_rigid[i]:
        return 0.0
    q, v = state.q[tree.q_of_v[i]], state.v[i]
    lower, upper = _stops(tree, memory, state.q, dt, i)
    if q >= tree.q_upper[i] and v >= (upper - q) / dt:
        return 1.0
    if q <= tree.q_lower[i] and v <= (lower - q) / dt:
        return -1.0
    return 0.0


@kernel
def _stops(tree, memory, before, dt, i):
    """Coordinates between which velocity ``i`` has to end: its stops, or from beyond one a way back to it.

    Reads memory: is_rigid; tree: q_lower, q_of_v, q_upper.
    """
    if not memory.is_rigid[i]:
        return -math.inf, math.inf
    position, way = before[tree.q_of_v[i]], RETURN_SPEED * dt
    return min(tree.q_lower[i], position + way), max(tree.q_upper[i], position - way)


@kernel
def _is_beyond(tree, q, memory, before, dt):
    """Whether any joint is beyond where a rigid stop wants it to end.

    Reads tree: q_of_v.
    """
    for i in range(tree.q_of_v.shape[0]):
        lower, upper = _stops(tree, memory, before, dt, i)
        if tree.q_of_v[i] >= 0 and not lower <= q[tree.q_of_v[i]] <= upper:
            return True
    return False


@kernel
def _displace(tree, state, memory, share):
    """Move the joints by what the impulses do in ``share`` (s).

    Reads memory: moved; state: q; memory.bounded: W, impulse.
    Writes memory: moved; state: q.
    """
    bounded, moved = memory.bounded, memory.moved
    for i in range(moved.shape[0]):
        moved[i] = 0.0
        for j in range(moved.shape[0]):
            if bounded.impulse[j] != 0.0:
                moved[i] -= share * bounded.W[j, i] * bounded.impulse[j]
    integrate_positions(tree, state.q, moved, 1.0, state.q)


@kernel
def _bring_back(tree, state, memory, before, dt):
    """Bring back joints from beyond their stops, as impulses at the time when they came there would have kept them.

    Reads memory: is_rigid; state: q; tree: q_of_v; memory.bounded: most, side.
    Writes state: q; memory.bounded: excess, least, most.
    """
    bounded = memory.bounded
    for i in range(tree.q_of_v.shape[0]):
        bounded.excess[i] = bounded.least[i] = bounded.most[i] = 0.0
        if memory.is_rigid[i]:
            q = state.q[tree.q_of_v[i]]
            lower, upper = _stops(tree, memory, before, dt, i)
            if q - lower < upper - q:
                bounded.excess[i], bounded.least[i] = q - lower, -math.inf
            else:
                bounded.excess[i], bounded.most[i] = q - upper, math.inf
    solve_bounded(bounded)
    _displace(tree, state, memory, 1.0)
    for i in range(tree.q_of_v.shape[0]):
        if bounded.side[i] == HOLDS:
            lower, upper = _stops(tree, memory, before, dt, i)
            state.q[tree.q_of_v[i]] = lower if bounded.most[i] == 0.0 else upper


@kernel
def _brake(tree, state, memory, before, dt, is_stopped):
    """Take velocities by what is left of friction's impulses, and if ``is_stopped`` those that lead out at the stops.

    Reads memory: braked, is_rigid; state: q, v; tree: friction, q_of_v.
    Writes state: v; memory.bounded: excess, least, most.
    """
    bounded, v = memory.bounded, state.v
    for i in range(v.shape[0]):
        bounded.excess[i] = v[i]
        bounded.least[i] = -dt * tree.friction[i] - memory.braked[i]
        bounded.most[i] = dt * tree.friction[i] - memory.braked[i]
        if is_stopped and memory.is_rigid[i]:
            q = state.q[tree.q_of_v[i]]
            lower, upper = _stops(tree, memory, before, dt, i)
            if q >= upper and (q > lower or v[i] > 0.0):
                bounded.most[i] = math.inf
                bounded.excess[i] = v[i] - min(upper - before[tree.q_of_v[i]], 0.0) / dt
            elif q <= lower:
                bounded.least[i] = -math.inf
                bounded.excess[i] = v[i] - max(lower - before[tree.q_of_v[i]], 0.0) / dt
    solve_bounded(bounded)
    for i in range(v.shape[0]):
        _change(bounded, v, i)
