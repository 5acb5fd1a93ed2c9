# mypy: allow-untyped-defs
"""Contacts at equivalent points within a step: found where the step ends, and solved until nothing overlaps there.

Contact is detected at the end of the step, which the solution decides. So the step is solved with the points of contact
of the last solution, and again with those of the next, until gaps and friction repeat themselves (Xie and Chakraborty
2019: geometrically implicit; decision 22).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.dynamics.free_bodies import carry_centres
from hydro_sim_core.dynamics.kinematics import forward_kinematics, integrate_positions
from hydro_sim_core.simulation.stepping.model import Model, Scratch, State
from hydro_sim_core.simulation.stepping.placement import largest_speed
from hydro_sim_core.simulation.stepping.point_conditions import (
    AXIS,
    MOMENTUM,
    REPEATS,
    allowed_overlap,
    find,
    let_overlap,
    load,
    look_again,
    overlaps,
    place_centre,
    set_axes,
)
from hydro_sim_core.solvers.islands import WORLD
from hydro_sim_core.solvers.options import CONVERGED

#: Solves of a step, and those after which the axes of contact are looked for anew.
MOST_SOLVES, SOLVES_WITH_NEW_AXES = 40, 2
#: Solves in which e_r of a patch is looked for anew: of a body that rolls on an edge, which touches along it and at an
#: end in turn, it would never be the same twice.
SOLVES_WITH_NEW_RADIUS = 6
#: Solve from which on vertices that press stay among the points: one that friction draws over an edge and back again
#: would come and go.
LATE_SOLVE = 12
#: Number of the guess, before the first solution.
BEFORE = -1


@kernel
def find_points(model, scratch):
    """Append a patch for every pair that could touch within the step; those with faces are there already.

    Reads model.forest: tree_of_body; model.points: first_pair, hull_body, pairs, stride; scratch.patches: first_face,
    num; scratch.points: num_faced.
    Writes scratch.patches: R_WG, dropped_force, faded_force, first_face, is_recovered, num, p_WG, pair; scratch.points:
    row; scratch.problem.islands: patch_trees; scratch.problem.points: first_patch.
    """
    points, patches = model.points, scratch.patches
    patches.num[0] = scratch.points.num_faced[0]
    scratch.problem.points.first_patch[0] = patches.num[0]
    for row in range(points.pairs.shape[0]):
        if _are_apart(model, scratch, row, points.stride[row]):
            continue
        p = patches.num[0]
        scratch.points.row[p - scratch.points.num_faced[0]] = row
        patches.pair[p] = points.first_pair[0] + row
        patches.first_face[p + 1] = patches.first_face[p]
        patches.is_recovered[p] = False
        patches.dropped_force[p] = patches.faded_force[p] = 0.0
        for i in range(3):
            patches.p_WG[p, i] = 0.0
            for j in range(3):
                patches.R_WG[p, i, j] = 1.0 if i == j else 0.0
        for side in range(2):
            body = points.hull_body[points.pairs[row, side]]
            tree = model.forest.tree_of_body[body] if body >= 0 else WORLD
            scratch.problem.islands.patch_trees[p, side] = tree
        patches.num[0] += 1


@kernel
def _are_apart(model, scratch, row, reach):
    """Whether the balls around two hulls are further apart than ``reach`` (m) before the step.

    Reads scratch: R_WB, p_WB; model.points: extent, hull_body, pairs; scratch.points: twist; model.points.hulls:
    face_start, planes.
    Writes scratch.points: twist.
    """
    points = model.points
    a, b = points.pairs[row, 0], points.pairs[row, 1]
    p, q = scratch.points.twist[:3], scratch.points.twist[3:]
    place_centre(points, a, scratch.R_WB, scratch.p_WB, p)
    place_centre(points, b, scratch.R_WB, scratch.p_WB, q)
    if math.isinf(points.extent[a]) or math.isinf(points.extent[b]):
        is_a = math.isinf(points.extent[a])
        plane, ball, x = (a, b, q) if is_a else (b, a, p)
        body = points.hull_body[plane]
        n = points.hulls.planes[points.hulls.face_start[plane]]
        over = -n[3]
        for k in range(3):
            if body < 0:
                over += n[k] * x[k]
            else:
                for i in range(3):
                    over += scratch.R_WB[body, i, k] * n[k] * (x[i] - scratch.p_WB[body, i])
        return over - points.extent[ball] > reach
    squared = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2
    return squared > (points.extent[a] + points.extent[b] + reach) ** 2


@kernel
def pieces_of_points(model, scratch, dt):
    """Number of pieces in which to take a step so that no contact at an equivalent point is passed over.

    Bodies that are near at the begin of a step are looked at where it ends. Others must not get there within it, nor
    may the near ones pass through each other.

    Reads model.points: pairs, stride.
    """
    points, pieces = model.points, 1
    for row in range(points.pairs.shape[0]):
        reach = 0.0
        for side in range(2):
            reach += dt * _speed(points, scratch, points.pairs[row, side])
        if reach > points.stride[row] and math.isfinite(reach) and not _are_apart(model, scratch, row, reach):
            pieces = max(pieces, math.ceil(reach / points.stride[row]))
    return pieces


@kernel
def _speed(points, scratch, h):
    """Largest speed of a point of a hull with the twists ``scratch.V_WB``, m/s.

    Reads points: extent, hull_body; scratch: R_WB, V_WB, p_WB; scratch.points: shift.
    Writes scratch.points: shift.
    """
    body = points.hull_body[h]
    if body < 0:
        return 0.0
    V, x = scratch.V_WB[body], scratch.points.shift
    place_centre(points, h, scratch.R_WB, scratch.p_WB, x)
    return largest_speed(V, x[0], x[1], x[2], points.extent[h])


@kernel
def load_points(model, state, scratch, dt):
    """Load the contacts at equivalent points for the end of the step that the guess of the velocities leads to.

    Reads scratch.patches: num; scratch.points: num_faced.
    Writes scratch.problem: num_patches; scratch.problem.points: is_new.
    """
    points, num = scratch.problem.points, scratch.patches.num[0] - scratch.points.num_faced[0]
    scratch.problem.num_patches[0] = scratch.patches.num[0]
    points.is_new[0] = 1
    if num > 0:
        look_at_points(model, state, scratch, BEFORE, True, dt)


@entry(on_demand=True)
def look_at_points(model: Model, state: State, scratch: Scratch, n: int, is_new: bool, dt: float) -> bool:
    """Load all contacts at equivalent points for where a solution ends.

    Args:
        model: Constants of the scene.
        state: State before the step.
        scratch: Memory of the step.
        n: Number of the solution; ``BEFORE`` of the guess.
        is_new: Whether axes are looked for anew.
        dt: Time step, s.

    Returns:
        Whether all contacts are as they were and nothing overlaps, of which islands keep their solutions otherwise.
    """
    if n == BEFORE:
        _load_for_guess(model, state, scratch, dt)
        return False
    # Where two axes are alike, bodies that are looked at along one and the other in turn would never come to rest.
    return _all_repeat(model, state, scratch, n, is_new, dt) and not _any_overlaps(model, scratch, n, dt)


@kernel
def _load_for_guess(model, state, scratch, dt):
    """Load all contacts for where the guess leads.

    Reads model.points: first_condition; scratch.patches: num; scratch.points: R_WB, num_faced, p_WB, row;
    scratch.points.manifold: separation; scratch.problem.points: first.
    Writes scratch.points: depth, is_turned, num_axes, pressed; scratch.problem.points: end, first, held.
    """
    points, num = scratch.problem.points, scratch.patches.num[0] - scratch.points.num_faced[0]
    _move_to_end(model, state, scratch, dt)
    for j in range(num):
        points.first[j] = model.points.first_condition[scratch.points.row[j]]
        points.end[j] = points.first[j]
        points.held[j, :] = 0.0
        scratch.points.pressed[j, :] = 0.0
        scratch.points.depth[j] = 0.0
        scratch.points.num_axes[j], scratch.points.is_turned[j] = 1, 0
        count = find(model, scratch, j, 0, True, scratch.points.R_WB, scratch.points.p_WB)
        separation = scratch.points.manifold.separation[0]
        set_axes(model, scratch, j, count)
        if separation < -allowed_overlap(model, scratch, j):
            let_overlap(model, scratch, j, dt)
            count = find(model, scratch, j, 0, True, scratch.points.R_WB, scratch.points.p_WB)
        load(model, scratch, j, count, 0, True, False, dt)


@kernel
def solve_contacts(machine, solve, dt):
    """Solve the loaded problem, again and again until contacts at equivalent points repeat themselves.

    Returns:
        Whether everything converged.

    Reads machine.model: options; machine.scratch: problem, solver; machine.scratch.patches: num;
    machine.scratch.points: num_faced; machine.scratch.problem.points: is_new.
    Writes machine.scratch.solver: report; machine.scratch.problem.islands: keeps; machine.scratch.problem.points:
    is_new.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    problem = scratch.problem
    has_points = scratch.patches.num[0] > scratch.points.num_faced[0]
    if has_points:
        problem.islands.keeps[:] = False
    # When the step is solved again for its Coriolis forces, they are to agree, not to find another contact.
    solves_with_new_axes = SOLVES_WITH_NEW_AXES if problem.points.is_new[0] != 0 else 0
    converged = solve(problem, model.options, scratch.solver)
    if not has_points:
        return converged or _tell_unrepeated(scratch)
    problem.points.is_new[0] = 0
    for n in range(MOST_SOLVES):
        if look_at_points(model, state, scratch, n, n < solves_with_new_axes, dt):
            return converged or _tell_unrepeated(scratch)
        converged = solve(problem, model.options, scratch.solver)
    scratch.solver.report[CONVERGED] = 0.0
    return _tell_unrepeated(scratch)


@kernel
def _tell_unrepeated(scratch):
    """Keep what of which contact did not repeat itself in a step that did not converge; False.

    Reads scratch.points: num_faced, odd, row; scratch.solver: reports; scratch.problem.islands: first_patch, num,
    patches.
    Writes scratch.points: unrepeated.
    """
    islands, at = scratch.problem.islands, scratch.points
    at.unrepeated[:] = REPEATS
    for island in range(islands.num[0]):
        for i in range(islands.first_patch[island], islands.first_patch[island + 1]):
            j = islands.patches[i] - at.num_faced[0]
            if j < 0:
                continue
            at.unrepeated[at.row[j]] = at.odd[j]
            if at.odd[j] == REPEATS and scratch.solver.reports[island, CONVERGED] == 0.0:
                at.unrepeated[at.row[j]] = MOMENTUM
    return False


@kernel
def _all_repeat(model, state, scratch, n, is_new, dt):
    """Load all contacts anew for where solution ``n`` ends, and keep islands in which they repeat themselves.

    Returns:
        True if all did.

    Reads scratch.points: num_faced; scratch.problem.islands: first_patch, keeps, num, patches.
    Writes scratch.points: momentum2; scratch.problem.islands: keeps.
    """
    islands, first = scratch.problem.islands, scratch.points.num_faced[0]
    _move_to_end(model, state, scratch, dt)
    all_repeat = True
    for island in range(islands.num[0]):
        # One that has repeated itself is not solved again, and its impulses belong to its conditions as they were.
        if not islands.keeps[island]:
            islands.keeps[island] = True
            scratch.points.momentum2[0] = _squared_momentum(scratch, island)
            for i in range(islands.first_patch[island], islands.first_patch[island + 1]):
                p = islands.patches[i]
                if p >= first and not look_again(
                    model, scratch, p - first, is_new, n < SOLVES_WITH_NEW_RADIUS, n >= LATE_SOLVE, dt
                ):
                    islands.keeps[island] = all_repeat = False
    return all_repeat


@kernel
def _any_overlaps(model, scratch, n, dt):
    """Load contacts anew that repeat themselves along an axis which the bodies have turned away from.

    Returns:
        Whether there are any: bodies that overlap, seen along another axis.

    Reads scratch.points: num_faced; scratch.problem.islands: first_patch, num, patches.
    Writes scratch.points: odd; scratch.problem.islands: keeps.
    """
    islands, first, found = scratch.problem.islands, scratch.points.num_faced[0], False
    for island in range(islands.num[0]):
        for i in range(islands.first_patch[island], islands.first_patch[island + 1]):
            p = islands.patches[i]
            if p >= first and overlaps(model, scratch, p - first):
                look_again(model, scratch, p - first, False, n < SOLVES_WITH_NEW_RADIUS, n >= LATE_SOLVE, dt)
                scratch.points.odd[p - first] = AXIS
                islands.keeps[island] = False
                found = True
    return found


@kernel
def _squared_momentum(scratch, island):
    """Squared momenta over masses that a step exchanges, kg m^2/s^2: what residuals are relative to.

    Reads scratch.problem: A, push, v0; scratch.solver: v; scratch.problem.islands: first.
    """
    problem, exchanged, pushed = scratch.problem, 0.0, 0.0
    for k in range(problem.islands.first[island], problem.islands.first[island + 1]):
        change = scratch.solver.v[k] - problem.v0[k]
        exchanged += problem.A[k, k] * change * change
        pushed += problem.push[k] * problem.push[k] / problem.A[k, k]
    return max(exchanged, pushed)


@kernel
def _move_to_end(model, state, scratch, dt):
    """Put the bodies where the velocities of the solver take them within the step.

    Reads scratch: R_WB, S; state: q; scratch.points: R_WB, p_WB, q, v; scratch.solver: v; scratch.problem.islands:
    order.
    Writes scratch.points: R_WB, S, p_WB, q, v.
    """
    points, order = scratch.points, scratch.problem.islands.order
    for k in range(order.shape[0]):
        points.v[order[k]] = scratch.solver.v[k]
    integrate_positions(model.tree, state.q, points.v, dt, points.q)
    carry_centres(model.tree, model.forest, scratch.R_WB, scratch.S, dt, points.v, points.q)
    forward_kinematics(model.tree, points.q, points.R_WB, points.p_WB, points.S)
