# mypy: allow-untyped-defs
"""Conditions of a contact at an equivalent point: loaded for where a step ends, with what the last solution left."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.equivalent_point.manifold import add_vertex, find_manifold
from hydro_sim_core.dynamics.kinematics import add_point_jacobian
from hydro_sim_core.simulation.stepping.patch_loading import (
    LEAST_INVERSE_MASS,
    clear_jacobian,
    mean_inverse_mass,
    store_jacobian,
)
from hydro_sim_core.simulation.stepping.point_outline import patch_radius
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.point_law import friction_at, press
from hydro_sim_core.solvers.problem import DRIFT

#: Stiffness of a condition as a multiple of the mass that it moves. What a solve leaves of a gap, the next one divides
#: by this.
RIGIDITY = 1e5
#: Largest overlap at the end of a step, m, for bodies up to a metre from the world's origin and of a metre in size.
LARGEST_OVERLAP = 3e-14
#: Largest change of friction from one solve to the last: as a share of its bound, or if that is little beside the
#: momenta involved, as a share of these: solves leave ``point_newton.TOLERANCE`` of them.
FRICTION_TOLERANCE, MOMENTUM_TOLERANCE = 1e-9, 1e-10
#: Both shares in late solves: what heavy bodies press on a light one is known to the round-off of their momenta, and a
#: friction that solves leave ``point_newton.NEARLY`` of is known to that.
LATE_FRICTION_TOLERANCE = 1e-7
#: Points are conditions if they are closer than this share of the size.
BAND = 0.05
#: Overlap at the begin of a step, as a share of the size, that a scene may start with; deeper ones are told.
START_SHARE = 0.01
#: Speed at which bodies that start in each other come apart, m/s.
RECOVERY_SPEED = 0.1
#: What of a contact is not as the last solution had it, the most telling first: bodies overlap; do not touch where they
#: press; press where they no longer touch; friction; e_r of the patch; momentum, which the solve did not balance; the
#: axis along which they overlap.
REPEATS, OVERLAP, GAP, TOUCH, FRICTION, RADIUS, MOMENTUM, AXIS = range(8)


@kernel
def set_axes(model, scratch, j, count):
    """Set what stays through the step: reference point, ellipsoid, and how stiff conditions and friction are.

    The reference point is the middle of the points of contact, or without any the middle of the smaller body.

    Reads model: pair_friction; scratch: factor, response; model.points: ellipsoid, extent, first_pair, pairs;
    scratch.points: R_WB, num_faced, p_WB, p_WR, row; scratch.problem: delassus; scratch.points.manifold: points.
    Writes scratch: response; scratch.patches: p_GR; scratch.points: p_WR; scratch.problem: delassus, dissipation,
    friction; scratch.problem.points: ellipsoid, grip, stiffness.
    """
    points, at, row = model.points, scratch.points, scratch.points.row[j]
    p, x, c = at.num_faced[0] + j, at.p_WR[j], at.manifold.points
    a, b = points.pairs[row, 0], points.pairs[row, 1]
    smaller = a if points.extent[a] < points.extent[b] else b
    for i in range(3):
        x[i] = 0.0
        for n in range(count):
            x[i] += c[n, i] / count
    if count == 0:
        place_centre(points, smaller, at.R_WB, at.p_WB, x)
    for i in range(3):
        scratch.patches.p_GR[p, i] = x[i]
    _set_jacobian(model, scratch, j)
    problem = scratch.problem
    problem.friction[p] = model.pair_friction[points.first_pair[0] + row]
    problem.dissipation[p] = 0.0
    problem.delassus[p] = max(
        mean_inverse_mass(problem, p, scratch.factor, scratch.response), LEAST_INVERSE_MASS
    )
    problem.points.stiffness[j] = problem.points.grip[j] = RIGIDITY / problem.delassus[p]
    for i in range(3):
        problem.points.ellipsoid[j, i] = points.ellipsoid[row, i]


@kernel
def place_centre(points, h, R_WB, p_WB, x):
    """Write where the centre of the ball around a hull is with the bodies at the given poses, (3,), m.

    Reads points: centre, hull_body.
    """
    c, body = points.centre[h], points.hull_body[h]
    for i in range(3):
        x[i] = c[i]
        if body >= 0:
            R = R_WB[body, i]
            x[i] = p_WB[body, i] + R[0] * c[0] + R[1] * c[1] + R[2] * c[2]


@kernel
def find(model, scratch, j, along, is_new, R_WB, p_WB):
    """Find the points of contact ``j`` along one of its axes, with the bodies at the given poses; return their number.

    Args:
        model: ``Model``.
        scratch: ``Scratch``.
        j: Index of the contact.
        along: Number of the axis.
        is_new: Whether to look for the axis along which the bodies touch; else it is that of the last time.
        R_WB: (nb, 3, 3) orientations of the bodies.
        p_WB: (nb, 3) origins, m.

    Reads model.points: hull_body, pairs, size; scratch.points: axis, origin, row, still; scratch.points.manifold: axis.
    Writes scratch.points: axis; scratch.points.manifold: axis.
    """
    points, at, row = model.points, scratch.points, scratch.points.row[j]
    axis, known = at.manifold.axis, at.axis[j, along]
    for i in range(3):
        axis[i] = -1 if is_new else known[i]
    a, b = points.pairs[row, 0], points.pairs[row, 1]
    body_a, body_b, size = points.hull_body[a], points.hull_body[b], points.size[row]
    R_WA, p_WA = R_WB[body_a] if body_a >= 0 else at.still, p_WB[body_a] if body_a >= 0 else at.origin
    R_WC, p_WC = R_WB[body_b] if body_b >= 0 else at.still, p_WB[body_b] if body_b >= 0 else at.origin
    count = find_manifold(points.hulls, a, b, R_WA, p_WA, R_WC, p_WC, BAND * size, size, at.work, at.manifold)
    for i in range(3):
        known[i] = axis[i]
    return count


@kernel
def let_overlap(model, scratch, j, dt):
    """Let contact ``j`` overlap at the end of the step as far as it does at its begin, less what it recovers.

    Only what starts like that overlaps. Pushed apart at once it would keep the speed.

    Reads scratch: R_WB, p_WB; model.points: size; scratch.patches: num_deep; scratch.points: row;
    scratch.points.manifold: separation.
    Writes scratch.patches: num_deep; scratch.points: depth.
    """
    find(model, scratch, j, 0, True, scratch.R_WB, scratch.p_WB)
    depth = -scratch.points.manifold.separation[0]
    scratch.points.depth[j] = max(depth - RECOVERY_SPEED * dt, 0.0)
    if depth > START_SHARE * model.points.size[scratch.points.row[j]]:
        scratch.patches.num_deep[0] += 1


@kernel
def look_again(model, scratch, j, is_new, sets_radius, is_late, dt):
    """Load contact ``j`` for where the step ends now, with the impulses of the last solution.

    Returns:
        Whether the contact repeats itself: gaps are closed where it pressed, nothing overlaps, friction is the same.

    Reads scratch.points: R_WB, odd, p_WB.
    Writes scratch.points: odd.
    """
    kept, friction = _keep_impulses(scratch, j, is_late)
    count = find(model, scratch, j, 0, is_new, scratch.points.R_WB, scratch.points.p_WB)
    odd = load(model, scratch, j, count, kept, sets_radius, is_late, dt)
    scratch.points.odd[j] = _more_telling(friction, odd)
    return scratch.points.odd[j] == REPEATS


@kernel
def _more_telling(odd, other):
    """Of two things that are not as they were the one to tell; ``REPEATS`` if both are."""
    return other if odd == REPEATS or (REPEATS < other < odd) else odd


@kernel
def overlaps(model, scratch, j):
    """Whether contact ``j`` of two polyhedra overlaps where the step ends, looked at along all axes.

    Then the axis with the least overlap takes the place of that of the first solves. If they overlap yet again, the
    bodies turn so much that each axis would lead back to another: from then on they must not overlap along any of them.

    Reads scratch.points: R_WB, axis, depth, is_turned, num_axes, p_WB; scratch.points.manifold: separation.
    Writes scratch.points: axis, is_turned, num_axes.
    """
    at = scratch.points
    kind, a, b = at.axis[j, 0, 0], at.axis[j, 0, 1], at.axis[j, 0, 2]
    if kind < 0:
        return False
    find(model, scratch, j, 0, True, at.R_WB, at.p_WB)
    if at.manifold.separation[0] >= -allowed_overlap(model, scratch, j) - at.depth[j]:
        at.axis[j, 0, 0], at.axis[j, 0, 1], at.axis[j, 0, 2] = kind, a, b
        return False
    if at.is_turned[j] != 0:
        last = min(at.num_axes[j], at.axis.shape[1] - 1)
        for i in range(3):
            at.axis[j, last, i] = at.axis[j, 0, i]
        at.axis[j, 0, 0], at.axis[j, 0, 1], at.axis[j, 0, 2] = kind, a, b
        at.num_axes[j] = last + 1
    at.is_turned[j] = 1
    return True


@kernel
def _keep_vertices(model, scratch, j, along, count, kept):
    """Put vertices that pressed along an axis and are no longer among the ``count`` points back; return the new number.

    Reads model.points: first_condition, pairs; scratch.points: along_before, before, feature_before, row;
    scratch.points.manifold: features.
    """
    at, row = scratch.points, scratch.points.row[j]
    a, b = model.points.pairs[row, 0], model.points.pairs[row, 1]
    most = (model.points.first_condition[row + 1] - model.points.first_condition[row]) // at.axis.shape[1]
    for i in range(kept):
        if at.along_before[i] != along:
            continue
        vertex, is_found = at.feature_before[i], False
        for c in range(count):
            is_found = is_found or at.manifold.features[c] == vertex
        if at.before[i] > 0.0 and vertex >= 0 and not is_found and count < most:
            count = add_vertex(model.points.hulls, a, b, vertex, at.work, at.manifold, count)
    return count


@kernel
def load(model, scratch, j, count, kept, sets_radius, is_late, dt):
    """Load the points that were found along the first axis, and those along others, as conditions.

    They have the impulses that are kept for what touches there. If ``sets_radius`` an e_r that is not given is that of
    the patch, else it stays as it is.

    Returns:
        What is not as it was, ``REPEATS`` if gaps are closed where there was an impulse, and nothing overlaps.

    Reads model.points: ellipsoid; scratch.points: R_WB, before, num_axes, num_faced, p_WB, row; scratch.solver: v;
    scratch.problem.points: first.
    Writes scratch.points: moments, twist; scratch.problem.points: end, running.
    """
    points, at, odd = scratch.problem.points, scratch.points, REPEATS
    _set_directions(model, scratch, j, kept)
    _set_jacobian(model, scratch, j)
    relative_twist(scratch.problem, at.num_faced[0] + j, scratch.solver.v, DRIFT, at.twist)
    points.end[j], points.running[j] = points.first[j], -1
    at.moments[:] = 0.0
    for along in range(at.num_axes[j]):
        if along > 0:
            count = find(model, scratch, j, along, False, at.R_WB, at.p_WB)
        if is_late:
            count = _keep_vertices(model, scratch, j, along, count, kept)
        odd = _more_telling(odd, _add_conditions(model, scratch, j, along, count, kept, dt))
    if sets_radius and model.points.ellipsoid[at.row[j], 2] == 0.0:
        odd = _more_telling(odd, _set_patch_radius(model, scratch, j))
    # What touched and is no longer among the points has lost its impulse.
    for i in range(kept):
        if at.before[i] != 0.0:
            odd = _more_telling(odd, TOUCH)
    return odd


@kernel
def _add_conditions(model, scratch, j, along, count, kept, dt):
    """Append the points that were found along an axis to the conditions of contact ``j``.

    Returns:
        ``OVERLAP``, ``GAP`` if one is left where there was an impulse, or ``REPEATS``.

    Reads scratch.points: depth, feature, moments, p_WR, twist; scratch.points.manifold: directions, features, gaps,
    points, running; scratch.problem.points: end, stiffness, x.
    Writes scratch.points: along, feature, gap, moments; scratch.problem.points: ahead, direction, end, x.
    """
    points, at, odd = scratch.problem.points, scratch.points, REPEATS
    V, sums, first, stiffness = at.twist, at.moments, points.end[j], points.stiffness[j]
    allowed = allowed_overlap(model, scratch, j)
    for i in range(count):
        c, n = first + i, at.manifold.directions[i]
        for k in range(3):
            points.x[c, k] = at.manifold.points[i, k] - at.p_WR[j, k]
            points.direction[c, k] = n[k]
        x, gap = points.x[c], at.manifold.gaps[i] + at.depth[j]
        at.feature[c], at.along[c] = at.manifold.features[i], along
        impulse = _impulse_before(scratch, at.feature[c], along, kept)
        # What presses touches, although the first solves leave gaps there.
        at.gap[c] = gap if impulse == 0.0 else 0.0
        sums[0] += impulse
        for k in range(3):
            sums[1 + k] += impulse * x[k]
        if gap < -allowed:
            odd = OVERLAP
        elif impulse != 0.0 and gap > allowed:
            odd = _more_telling(odd, GAP)
        v0, v1, v2 = (
            V[3] + V[1] * x[2] - V[2] * x[1],
            V[4] + V[2] * x[0] - V[0] * x[2],
            V[5] + V[0] * x[1] - V[1] * x[0],
        )
        speed = n[0] * v0 + n[1] * v1 + n[2] * v2
        points.ahead[c] = impulse + stiffness * (speed - gap / dt)
        if i == at.manifold.running[0]:
            _let_run(scratch, j, c, dt)
    points.end[j] = first + count
    return odd


@kernel
def _let_run(scratch, j, c, dt):
    """Let condition ``c`` of contact ``j`` run as its point does; see ``PointContacts``.

    Reads scratch.points: twist; scratch.points.manifold: bow, run, tilt; scratch.problem.points: direction, lead, x.
    Writes scratch.problem.points: bend, lead, lean, reach, run, running.
    """
    points, V, found = scratch.problem.points, scratch.points.twist, scratch.points.manifold
    n, x, run, tilt, bow, b = (
        points.direction[c],
        points.x[c],
        found.run,
        found.tilt,
        found.bow,
        points.lead[j],
    )
    along = 0.0
    for k in range(3):
        i, m = (k + 1) % 3, (k + 2) % 3
        points.run[j, k] = run[k]
        b[k] = run[i] * n[m] - run[m] * n[i] + x[i] * tilt[m] - x[m] * tilt[i]
        b[3 + k] = tilt[k]
        along += b[k] * V[k] + b[3 + k] * V[3 + k]
    points.running[j] = c
    points.lean[j], points.bend[j] = along - bow[0] / dt, bow[1] / dt
    points.reach[j, 0], points.reach[j, 1] = bow[2], bow[3]


@kernel
def _set_patch_radius(model, scratch, j):
    """Set e_r of contact ``j`` from its patch; ``REPEATS`` if it is that of the solution before, else ``RADIUS``.

    Reads model.points: size; scratch.points: moments, row; scratch.problem.points: ellipsoid.
    Writes scratch.problem.points: ellipsoid.
    """
    ellipsoid, sums = scratch.problem.points.ellipsoid[j], scratch.points.moments
    before, inverse = ellipsoid[2], 1.0 / sums[0] if sums[0] > 0.0 else 0.0
    ellipsoid[2] = patch_radius(model, scratch, j, sums[1] * inverse, sums[2] * inverse, sums[3] * inverse)
    most = FRICTION_TOLERANCE * model.points.size[scratch.points.row[j]]
    return REPEATS if abs(ellipsoid[2] - before) <= most else RADIUS


@kernel
def _keep_impulses(scratch, j, is_late):
    """Store the impulses of the conditions of contact ``j`` with what touches, and hold its friction.

    Args:
        scratch: ``Scratch``.
        j: Index of the contact.
        is_late: Whether many solves have been.

    Returns:
        Number of conditions, and ``REPEATS`` if friction is that of the solution before, else ``FRICTION``.

    Reads scratch.points: along, feature, momentum2, num_faced; scratch.problem: delassus, friction; scratch.solver:
    twists; scratch.problem.points: end, first, held, impulse.
    Writes scratch.points: along_before, before, feature_before, pressed; scratch.problem.points: held.
    """
    points, at = scratch.problem.points, scratch.points
    p, first = at.num_faced[0] + j, points.first[j]
    kept, V = points.end[j] - first, scratch.solver.twists[p]
    total, a0, a1, a2 = press(points, j, V)
    at.pressed[j, 0], at.pressed[j, 1], at.pressed[j, 2], at.pressed[j, 3] = total, a0, a1, a2
    for i in range(kept):
        at.before[i] = points.impulse[first + i]
        at.feature_before[i], at.along_before[i] = at.feature[first + i], at.along[first + i]
    bound = scratch.problem.friction[p] * total
    if bound <= 0.0:
        points.held[j, :] = 0.0
        return kept, REPEATS
    of = friction_at(points, j, V, bound, a0, a1, a2)
    held = points.held[j]
    change = math.sqrt((of.p0 - held[0]) ** 2 + (of.p1 - held[1]) ** 2 + (of.p2 - held[2]) ** 2)
    held[0], held[1], held[2] = of.p0, of.p1, of.p2
    of_bound = LATE_FRICTION_TOLERANCE if is_late else FRICTION_TOLERANCE
    of_momenta = LATE_FRICTION_TOLERANCE if is_late else MOMENTUM_TOLERANCE
    momenta = math.sqrt(at.momentum2[0] / scratch.problem.delassus[p])
    return kept, REPEATS if change <= max(of_bound * bound, of_momenta * momenta) else FRICTION


@kernel
def _impulse_before(scratch, feature, along, kept):
    """Take the impulse of a feature along an axis out of those kept; 0 if it had none.

    Reads scratch.points: along_before, before, feature_before.
    Writes scratch.points: before.
    """
    at = scratch.points
    for i in range(kept):
        if at.feature_before[i] == feature and at.along_before[i] == along:
            impulse = at.before[i]
            at.before[i] = 0.0
            return impulse
    return 0.0


@kernel
def allowed_overlap(model, scratch, j):
    """Overlap at the end of a step that is round-off, m.

    Reads model.points: size; scratch.points: p_WR, row.
    """
    x = scratch.points.p_WR[j]
    reach = max(abs(x[0]), max(abs(x[1]), abs(x[2])))
    return LARGEST_OVERLAP * max(1.0, max(reach, model.points.size[scratch.points.row[j]]))


@kernel
def _set_directions(model, scratch, j, kept):
    """Set normal and tangents; the first tangent is along the x axis of A's body, or its y axis across that.

    The normal is the axis, or of several the mean of the directions of the ``kept`` conditions.

    Reads model.points: hull_body, pairs; scratch.points: R_WB, row, still; scratch.problem.points: normal, tangents.
    Writes scratch.problem.points: tangents.
    """
    at, n, t = scratch.points, scratch.problem.points.normal[j], scratch.problem.points.tangents[j]
    _set_normal(scratch, j, kept)
    body = model.points.hull_body[model.points.pairs[at.row[j], 0]]
    R = at.R_WB[body] if body >= 0 else at.still
    along = n[0] * R[0, 0] + n[1] * R[1, 0] + n[2] * R[2, 0]
    axis = 0
    if abs(along) > 0.9:
        axis, along = 1, n[0] * R[0, 1] + n[1] * R[1, 1] + n[2] * R[2, 1]
    length = math.sqrt(1.0 - along * along)
    for k in range(3):
        t[k] = (R[k, axis] - along * n[k]) / length
    t[3], t[4], t[5] = n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]


@kernel
def _set_normal(scratch, j, kept):
    """Set the normal of contact ``j``: see ``_set_directions``.

    Reads scratch.points: num_axes; scratch.points.manifold: normal; scratch.problem.points: direction, first, normal.
    Writes scratch.problem.points: normal.
    """
    points, at, n = scratch.problem.points, scratch.points, scratch.problem.points.normal[j]
    n[:] = 0.0
    if at.num_axes[j] > 1:
        # The conditions are still those of the last solution. Weighted with their impulses, which follow from the
        # normal, they would give another one every time.
        for i in range(kept):
            for k in range(3):
                n[k] += points.direction[points.first[j] + i, k]
    length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    for k in range(3):
        n[k] = n[k] / length if length > 0.0 else at.manifold.normal[k]


@kernel
def _set_jacobian(model, scratch, j):
    """Set the Jacobian of B's twist relative to A at the reference point, where the step ends, in world axes.

    Reads scratch: S, jacobian; model.forest: is_free_body; model.points: hull_body, pairs; scratch.points: S,
    num_faced, p_WR, row, shift.
    Writes scratch: jacobian.
    """
    at, J = scratch.points, scratch.jacobian
    p = at.num_faced[0] + j
    clear_jacobian(model, scratch, p)
    for side in range(2):
        body = model.points.hull_body[model.points.pairs[at.row[j], side]]
        sign = 2.0 * side - 1.0
        if body >= 0 and model.forest.is_free_body[body]:
            _set_shift(model, scratch, j, body)
            add_point_jacobian(model.tree, scratch.S, body, at.shift, sign, J)
        else:
            add_point_jacobian(model.tree, at.S, body, at.p_WR[j], sign, J)
    store_jacobian(model, scratch, p)


@kernel
def _set_shift(model, scratch, j, body):
    """Write where the reference point is relative to a free body that stands as before the step, (3,), m.

    The velocities of a free body are those of a body whose centre of mass is where it was: see ``carry_centres``.

    Reads scratch: R_WB, p_WB; model.tree: p_BCo; scratch.points: R_WB, p_WB, p_WR.
    Writes scratch.points: shift.
    """
    at, c = scratch.points, model.tree.p_BCo[body]
    for i in range(3):
        moved = at.p_WB[body, i] - scratch.p_WB[body, i]
        for k in range(3):
            moved += (at.R_WB[body, i, k] - scratch.R_WB[body, i, k]) * c[k]
        at.shift[i] = at.p_WR[j, i] - moved
