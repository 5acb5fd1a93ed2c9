# mypy: allow-untyped-defs
"""Look-ahead: whether bodies move so fast that a contact would begin, deep or unseen, within a step.

A step finds contact at its beginning, within the margins. What comes nearer than that within the step overlaps at its
end, or has passed through something thin. Such steps are taken in pieces.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.teams import (
    ABOUT,
    PART,
    PARTS,
    end_part,
    meet,
    publish,
    take_part,
)
from hydro_sim_core.dynamics.kinematics import body_velocities
from hydro_sim_core.simulation.stepping.collision import LOOK, parts_of_faces
from hydro_sim_core.simulation.stepping.overlaps import (
    MOST_POSES,
    depth_and_energy,
    has_faces,
    overlap_at,
    overlap_foreseen,
    overlap_now,
    overlap_of_solve,
    spread_of_points,
    way_deeper,
    way_into_overlap,
)
from hydro_sim_core.simulation.stepping.placement import largest_speed
from hydro_sim_core.simulation.stepping.point_contacts import pieces_of_points

#: Largest number of pieces of a step, and least of one in which two rigid bodies would come into each other, if they
#: move so far in it.
MOST_PIECES, LEAST_PIECES = 256, 4
#: Largest energy that an overlap of two rigid bodies may gain in a step, as a share of what the lighter one comes with
#: if all of it were as fast as the farthest corners; and of two that move within their stride, which come with little.
RIGID_SHARE, SHARE_WITHIN_STRIDE = 0.01, 0.03
#: Shares of the depth that a solve has foreseen, or found, and of the way within which a contact is foreseen, by which
#: two rigid bodies may come deeper, if the energy allows: under what slides in contact the depth changes by far more
#: than round-off, and a corner goes deep with next to no energy.
DEEPER_SHARE, SHARE_OF_FORESEEN = 0.25, 0.25
#: Share of an overlap's energy by which a step may miss it: what slips ever so slowly comes with less than that.
MISSED_SHARE = 0.01
#: Share of the stride below which two rigid bodies move too little for that.
LEAST_SHARE_OF_STRIDE = 1e-3
#: Steps that keep an unforeseen overlap of a compliant pair small (``Model.pair_rate``) in a step of one that is as
#: stiff as rigid bodies: micrometres by which its faces turn in store more than it comes with.
VERY_STIFF = 100.0
#: What is told of each part of this job: the number of pieces that its pairs need. ``collision.OWNER`` is another
#: entry, at which a helper that comes late may still look.
PIECES = 1


@kernel
def pieces_before(model, state, drives, scratch, dt):
    """Number of pieces in which to take the next step, 1 if it may be taken whole: by the velocities before it.

    Poses and bounds of the geometries must be those of the state.

    Reads scratch: look.
    Writes scratch: look.
    """
    scratch.look[0] += 1
    set_free_motions(model, state, drives, scratch, dt)
    return _pieces(model, scratch, dt, False)


@kernel
def set_free_motions(model, state, drives, scratch, dt):
    """Set ``scratch.v_next`` to the velocities before the step, and how far geometries move with them.

    Reads drives: v_target; scratch: motion; state: v; model.forest: prescribed.
    Writes scratch: motion_before, v_next.
    """
    v = scratch.v_next
    for i in range(v.shape[0]):
        v[i] = state.v[i]
    for i in model.forest.prescribed:
        v[i] = drives.v_target[i]
    set_motions(model, scratch, dt)
    for g in range(scratch.motion.shape[0]):
        scratch.motion_before[g] = scratch.motion[g]


@kernel
def pieces_after(model, scratch, dt):
    """Number of pieces in which to take a step again that has just been solved; 1 if it may stay as it is.

    What gravity and drives add to the velocities within a step can bring bodies into each other that did not touch at
    its beginning. Where there were faces the solver has seen to it, unless they are so stiff that it matters that other
    corners come down, or that the faces of a corner in the margin are small: two rigid bodies are always looked at.
    """
    set_motions(model, scratch, dt)
    pieces = _pieces(model, scratch, dt, True)
    return 2 if pieces == 1 and _stores_too_much(model, scratch, dt) else pieces


@kernel
def _stores_too_much(model, scratch, dt):
    """Whether a solved step presses two rigid bodies into each other that move within their stride, or very stiff ones.

    A step holds the mean depth of each of its faces, with the faces of its beginning. While a corner is pressed in the
    flat behind it may come down, and large faces may turn about their centroids. What the solve itself stores in its
    faces it has taken from the motion: a soft body may come in slowly as far as its force allows. Shorter steps help
    where an overlap arises within the step, not where it is there as it begins.

    Reads model: pair_mass, pair_rate, pair_stride, pairs; scratch: motion, motion_before; scratch.patches: first_face,
    pair; scratch.points: num_faced.
    """
    patches = scratch.patches
    for p in range(scratch.points.num_faced[0]):
        pair = patches.pair[p]
        a, b = model.pairs[pair, 0], model.pairs[pair, 1]
        reach, stride = scratch.motion[a] + scratch.motion[b], model.pair_stride[pair]
        is_rigid, apart, area = spread_of_points(model, patches, p)
        is_looked_at = reach <= stride if is_rigid else dt * model.pair_rate[pair] > VERY_STIFF
        if not (is_looked_at and reach > LEAST_SHARE_OF_STRIDE * stride):
            continue
        came = max(reach, scratch.motion_before[a] + scratch.motion_before[b])
        share = SHARE_WITHIN_STRIDE if is_rigid else RIGID_SHARE
        gain = 0.5 * share * model.pair_mass[pair] * (came / dt) ** 2
        first, last = patches.first_face[p], patches.first_face[p + 1]
        _, before = depth_and_energy(scratch, first, last, is_rigid, apart, area)
        _, after, _ = overlap_at(model, scratch, pair, dt)
        if after > before + gain:
            _, stored = overlap_of_solve(model, scratch, p, dt)
            _, now = overlap_now(model, scratch, pair)
            if after > (1.0 + MISSED_SHARE) * max(stored, now) + gain:
                return True
    return False


@kernel
def _pieces(model, scratch, dt, is_solved):
    """Number of pieces by the motions set; if ``is_solved`` not for pairs whose faces will do. A team shares the pairs.

    Writes scratch.solver: number; scratch.solver.team: told.
    """
    team, parts = scratch.solver.team, parts_of_faces(scratch)
    pieces = min(pieces_of_points(model, scratch, dt), MOST_PIECES)
    if parts == 1:
        return _pieces_of_pairs(model, scratch, scratch, dt, is_solved, 0, 1, pieces)
    team.told[:, PIECES] = pieces
    scratch.solver.number[0] = dt
    publish(team, LOOK, 1 if is_solved else 0, parts)
    while take_part(team):
        look_at_part(model, scratch, scratch, team)
        end_part(team)
    meet(team, parts)
    return _most_pieces(team)


@kernel
def look_at_part(model, scratch, finder, team):
    """Look at the part of the pairs that a thread has taken.

    What others have found so far decides how much of it must be looked at, but not the result.

    Args:
        model: ``Model``.
        scratch: ``Scratch`` with the contacts of the step, and memory of the thread's own for a patch.
        finder: ``Scratch`` with buffers of the thread's own for faces that it finds.
        team: Its ``Team``.

    Reads team: task, words; scratch.solver: number.
    Writes team: told.
    """
    dt, is_solved = scratch.solver.number[0], team.words[ABOUT] != 0
    part, parts, pieces = team.task[PART], team.task[PARTS], _most_pieces(team)
    told = _pieces_of_pairs(model, scratch, finder, dt, is_solved, part, parts, pieces)
    team.told[part, PIECES] = told


@kernel
def _most_pieces(team):
    """The largest number of pieces told so far.

    Reads team: told.
    """
    pieces = 1
    for part in range(team.told.shape[0]):
        pieces = max(pieces, team.told[part, PIECES])
    return pieces


@kernel
def _pieces_of_pairs(model, scratch, finder, dt, is_solved, part, parts, pieces):
    """Number of pieces that one of the parts of the pairs needs, or ``pieces`` if these are more.

    Reads model: pair_foreseen, pair_rate, pair_stride, pairs; scratch: bounds, motion; model.points: first_pair.
    """
    for pair in range(part, model.points.first_pair[0], parts):
        a, b = model.pairs[pair, 0], model.pairs[pair, 1]
        reach = scratch.motion[a] + scratch.motion[b]
        # Their sum is an upper bound: two links of a fast arm, say, move alike.
        steps, stride = dt * model.pair_rate[pair], model.pair_stride[pair]
        if steps > 1.0:
            stride = min(stride, model.pair_foreseen[pair] + reach / steps)
        if reach <= stride or not math.isfinite(reach):
            continue
        if math.ceil(min(reach / stride, MOST_PIECES)) <= pieces:
            # Another one needs as many pieces as this one could: looking at it would change nothing.
            continue
        if not _swept_bounds_apart(scratch.bounds[a], scratch.bounds[b], reach):
            needs = _pieces_of_pair(model, scratch, finder, dt, is_solved, pair, reach, stride, steps)
            pieces = max(pieces, needs)
    return pieces


@kernel
def _pieces_of_pair(model, scratch, finder, dt, is_solved, pair, reach, stride, steps):
    """Number of pieces that a pair needs that moves by ``reach``, and should move by no more than ``stride``, m.

    Its time constant is shorter than the step by a factor ``steps``.

    Reads model: pair_flat, pair_foreseen, pair_mass, pair_room, pair_thickness; scratch: overlaps.
    """
    is_stiff, is_rigid = steps > 1.0, model.pair_flat[pair] == 0.0
    if is_solved and not is_stiff and not is_rigid and scratch.overlaps[pair] != 0:
        return 1
    farthest = MOST_POSES * max(model.pair_thickness[pair], stride)
    if farthest < reach:
        # Poses farther apart than the bodies are thick would miss them.
        return math.ceil(min(reach / farthest, MOST_PIECES))
    if is_stiff:
        return _pieces_of_approach(model, finder, pair, reach, steps, dt)
    room, gain, share, depth, energy = model.pair_room[pair], math.inf, 0.0, 0.0, 0.0
    if is_rigid:
        # A corner that is pressed in hides by its depth that the flat behind it comes down, and stores little itself.
        room = max(room, SHARE_OF_FORESEEN * model.pair_foreseen[pair])
        gain = 0.5 * RIGID_SHARE * model.pair_mass[pair] * (reach / dt) ** 2
        share = DEEPER_SHARE
        if is_solved:
            depth, energy = overlap_foreseen(model, scratch, pair, dt)
        elif has_faces(model, finder, pair):
            # The solve stops what it has faces for, and is judged afterwards.
            return 1
    way = way_deeper(model, finder, pair, reach, depth, energy, room, share, gain, dt)
    if way == 0.0:
        return 1
    # What comes within reach by tumbling or sliding approaches by less of it.
    pieces = max(LEAST_PIECES, math.ceil(min(way / stride, MOST_PIECES)))
    return min(pieces, math.ceil(min(reach / stride, MOST_PIECES)))


@kernel
def _pieces_of_approach(model, finder, pair, reach, steps, dt):
    """Number of pieces that a compliant pair needs whose time constant is shorter than the step by a factor ``steps``.

    What slides brings its speed along the contact, not into it: a box that lands on the run must not come deeper than
    one that falls.

    Reads model: pair_foreseen, pair_stride.
    """
    way = way_into_overlap(model, finder, pair, reach, steps, dt)
    if way == 0.0:
        return 1
    stride = min(model.pair_stride[pair], model.pair_foreseen[pair] + way / steps)
    return math.ceil(min(way / stride, MOST_PIECES))


@kernel
def set_motions(model, scratch, dt):
    """Set the largest way that any point of each geometry moves in a step with the velocities ``scratch.v_next``.

    Reads model: geometry_body, geometry_box; scratch: R_WG, S, V_WB, p_WG, v_next.
    Writes scratch: V_WB, motion.
    """
    if model.pairs.shape[0] == 0:
        return
    v = scratch.v_next
    body_velocities(model.tree, v, scratch.S, scratch.V_WB)
    for g in range(model.geometry_body.shape[0]):
        body = model.geometry_body[g]
        scratch.motion[g] = 0.0
        if body < 0:
            continue
        V, box, R, p = scratch.V_WB[body], model.geometry_box[g], scratch.R_WG[g], scratch.p_WG[g]
        x = p[0] + R[0, 0] * box[0] + R[0, 1] * box[1] + R[0, 2] * box[2]
        y = p[1] + R[1, 0] * box[0] + R[1, 1] * box[1] + R[1, 2] * box[2]
        z = p[2] + R[2, 0] * box[0] + R[2, 1] * box[1] + R[2, 2] * box[2]
        radius = math.sqrt(box[3] * box[3] + box[4] * box[4] + box[5] * box[5])
        scratch.motion[g] = dt * largest_speed(V, x, y, z, radius)


@kernel
def _swept_bounds_apart(a, b, reach):
    """Whether boxes (6,), lower then upper corner, stay apart while they move by ``reach`` relative to each other."""
    for i in range(3):
        if a[i] > b[i + 3] + reach or b[i] > a[i + 3] + reach:
            return True
    return False
