# mypy: allow-untyped-defs
"""Faces that pass: what a step foresees of their pressure while bodies slide along each other (decisions 40 and 45).

A step takes the pressure of a face to rise by the slope along its normal times the approach. That is right where a face
moves halfway between both bodies. What slides carries its faces along, or leaves them behind: beside the flat that
carries a sliding box a face leans, and at the places of the box its pressure stays, though the slope along its normal
promises a wall.

How bodies slide is known before the step; one that is struck, or whose support starts, slides otherwise in it. Where
that changes what the faces press with, the step is solved again (decision 54).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import face_at, share_of_rise, speed_along_normal
from hydro_sim_core.simulation.stepping.collision import MIN_SLOPE
from hydro_sim_core.solvers.islands import WORLD
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import DRIFT, DRIFT_BEFORE
from hydro_sim_core.solvers.solve import forget_solution
from hydro_sim_core.triples import dot

#: Force of a patch that is falsely foreseen, as a share of all, above which a step is solved again.
MOST_FALSE = 0.02
#: Most times that it is.
MOST_AGAIN = 5
#: Change of velocities, m/s and rad/s, that is nothing.
SLOW_CHANGE = 1e-9
#: Bounds of the share of a change that is taken next.
LEAST_SHARE, MOST_SHARE = 0.2, 5.0


@kernel(inline=True)
def rates_of_face(face, p_GR, V):
    """How the pressure of a face changes at places that move with A or B.

    At places that move with B's share ``s`` of the bodies' relative velocity its rate is
    ``-approach - (share_of_a - s) along``.

    Args:
        face: ``Face``.
        p_GR: (3,) reference point of its patch in the frame of B, m.
        V: (6,) twist of B relative to A about that point, in the axes of B.

    Returns:
        ``share_of_a``, A's slope as a share of both; ``along``, the gradient along the face, the same on both sides,
        times the speed along it, Pa/s; ``approach``, the slope along the normal times the speed along it, Pa/s.

    Reads face: centroid, gradient, normal, slope_a, slope_b.
    """
    c, g, n = face.centroid, face.gradient, face.normal
    x, y, z = c[0] - p_GR[0], c[1] - p_GR[1], c[2] - p_GR[2]
    u = V[3] + V[1] * z - V[2] * y, V[4] + V[2] * x - V[0] * z, V[5] + V[0] * y - V[1] * x
    along = across = v_n = 0.0
    for i in range(3):
        along += g[i] * u[i]
        across += g[i] * n[i]
        v_n += n[i] * u[i]
    along -= across * v_n
    a, b = face.slope_a, face.slope_b
    share_of_a = 1.0 if a == math.inf else a / (a + b)
    slope = b if a == math.inf else (1.0 - share_of_a) * a if b != math.inf else a
    return share_of_a, along, slope * v_n


@kernel(inline=True)
def keep_sliding(push, V):
    """Take out of a twist (6,) what falls and rocks along ``push`` (3,), the sum of a patch's forces; sliding stays.

    What stays is the velocity across ``push`` and the turning about it. In a first contact ``push`` is zero, and the
    whole twist stays.
    """
    square = push[0] * push[0] + push[1] * push[1] + push[2] * push[2]
    if square > 0.0:
        turns = (V[0] * push[0] + V[1] * push[1] + V[2] * push[2]) / square
        falls = (V[3] * push[0] + V[4] * push[1] + V[5] * push[2]) / square
        for i in range(3):
            V[i] = turns * push[i]
            V[3 + i] -= falls * push[i]


@kernel
def slide_as_before(scratch):
    """Take bodies to slide in the step as before it.

    Reads scratch.problem: v0.
    Writes scratch.slide: drift, v.
    """
    for k in range(scratch.slide.v.shape[0]):
        scratch.slide.v[k] = scratch.problem.v0[k]
    for island in range(scratch.slide.drift.shape[0]):
        scratch.slide.drift[island] = DRIFT_BEFORE


@kernel
def slides_otherwise(model, scratch, dt, again):
    """Whether bodies slide otherwise in the solved step than faces were loaded for, so that these press falsely.

    Then the step is to be loaded and solved again; islands in which they do not keep their solution.

    Reads scratch.problem.islands: first_patch, num, patches.
    Writes scratch.problem.islands: keeps.
    """
    islands, is_any = scratch.problem.islands, False
    for island in range(islands.num[0]):
        is_false = False
        for i in range(islands.first_patch[island], islands.first_patch[island + 1]):
            is_false = is_false or _presses_falsely(model, scratch, islands.patches[i], dt)
        islands.keeps[island] = True
        if is_false:
            forget_solution(scratch.problem, scratch.solver, island)
            _slide_on(scratch, island, again)
            is_any = True
    return is_any


@kernel
def _slide_on(scratch, island, again):
    """Take the bodies of an island to slide as in the solved step, or as that leads to (Aitken's rule).

    From the third time on (``again``): before, prescribed velocities were taken as they are before the step.

    Reads scratch.slide: change, share, v; scratch.solver: v; scratch.problem.islands: first.
    Writes scratch.slide: change, drift, share, v.
    """
    slide, first, square, product = scratch.slide, scratch.problem.islands.first, 0.0, 0.0
    for k in range(first[island], first[island + 1]):
        change = scratch.solver.v[k] - slide.v[k]
        turn = change - slide.change[k]
        square, product = square + turn * turn, product + slide.change[k] * turn
        slide.change[k] = change
    share = -slide.share[island] * product / square if again > 1 and square > 0.0 else 1.0
    slide.share[island] = share = min(max(share, LEAST_SHARE), MOST_SHARE)
    for k in range(first[island], first[island + 1]):
        slide.v[k] += share * slide.change[k]
    slide.drift[island] = DRIFT


@kernel
def _presses_falsely(model, scratch, p, dt):
    """Whether faces of patch p press otherwise with how bodies slide in the solved step than they were loaded for.

    Reads model: pair_flat; scratch: push; scratch.faces: data; scratch.patches: first_face, is_recovered, p_GR, pair;
    scratch.points: num_faced; scratch.problem: dissipation; scratch.slide: twists; scratch.solver: v.
    Writes scratch.slide: twists.
    """
    pair = scratch.patches.pair[p]
    if p >= scratch.points.num_faced[0] or model.pair_flat[pair] == 0.0 or scratch.patches.is_recovered[p]:
        return False
    problem, slide, push, p_GR = scratch.problem, scratch.slide, scratch.push[pair], scratch.patches.p_GR[p]
    V, taken, solved = slide.twists[0], slide.twists[1], slide.twists[2]
    _take_slide(scratch, p, taken)
    relative_twist(problem, p, scratch.solver.v, DRIFT, V)
    for i in range(6):
        solved[i] = V[i]
    keep_sliding(push, taken)
    keep_sliding(push, solved)
    if not _may_press_falsely(scratch, p, taken, solved, dt):
        return False
    motion_taken, motion = motion_of_patch(scratch, p, taken), motion_of_patch(scratch, p, solved)
    changed = total = 0.0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        face = face_at(scratch.faces.data, f)
        if face.slope_a <= MIN_SLOPE or face.slope_b <= MIN_SLOPE:
            continue
        _, _, approach = rates_of_face(face, p_GR, V)
        pressure, area = face.pressure - dt * approach, face.area * share_of_rise(face)
        area *= max(1.0 - problem.dissipation[p] * speed_along_normal(face, p_GR, V), 0.0)
        was = max(pressure - dt * rise_of_passing(face, p_GR, taken, motion_taken), 0.0)
        now = max(pressure - dt * rise_of_passing(face, p_GR, solved, motion), 0.0)
        changed, total = changed + area * abs(was - now), total + area * now
    return changed > MOST_FALSE * total


@kernel
def _may_press_falsely(scratch, p, taken, solved, dt):
    """Whether faces of patch p may press otherwise as the bodies slide with another twist (6,) than was taken.

    They cannot if all of it moves by little beside the mean depth: most patches are told so at a small cost.

    Reads scratch.faces: data; scratch.patches: first_face, p_GR; scratch.problem: dissipation.
    """
    speed = slides = spin = turns = 0.0
    for i in range(3):
        speed, slides = speed + solved[3 + i] ** 2, slides + (solved[3 + i] - taken[3 + i]) ** 2
        spin, turns = spin + solved[i] ** 2, turns + (solved[i] - taken[i]) ** 2
    if max(slides, turns) < SLOW_CHANGE**2:
        return False
    p_GR, force, area, steepest, farthest = scratch.patches.p_GR[p], 0.0, 0.0, 0.0, 0.0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        face = face_at(scratch.faces.data, f)
        (x, y, z), pressed = face.centroid, max(face.pressure, 0.0)
        x, y, z = x - p_GR[0], y - p_GR[1], z - p_GR[2]
        force, area = force + face.area * pressed, area + face.area
        steepest, farthest = (
            max(steepest, dot(face.gradient, face.gradient)),
            max(farthest, x * x + y * y + z * z),
        )
    arm = math.sqrt(farthest)
    change = dt * (math.sqrt(slides) + math.sqrt(turns) * arm)
    most_damped = 1.0 + scratch.problem.dissipation[p] * (math.sqrt(speed) + math.sqrt(spin) * arm)
    return change * most_damped * math.sqrt(steepest) * area > MOST_FALSE * force


@kernel
def _take_slide(scratch, p, V):
    """Write the twist V (6,) of B relative to A of patch p with which the bodies are taken to slide.

    Reads scratch.slide: drift, v; scratch.problem.islands: island, patch_trees.
    """
    islands = scratch.problem.islands
    tree = islands.patch_trees[p, 0]
    if tree == WORLD:
        tree = islands.patch_trees[p, 1]
    drift = scratch.slide.drift[islands.island[tree]] if tree != WORLD else DRIFT_BEFORE
    relative_twist(scratch.problem, p, scratch.slide.v, drift, V)


@kernel
def set_sliding(scratch, p, pair, V):
    """Write how the bodies of patch p slide to the twist V (6,), and tell the share of it with which the patch moves.

    V is that of B relative to A, before the step or as it was solved last, about the reference point, in the axes of B.

    Reads scratch: push.
    """
    _take_slide(scratch, p, V)
    keep_sliding(scratch.push[pair], V)
    return motion_of_patch(scratch, p, V)


@kernel
def motion_of_patch(scratch, p, V):
    """Share of the velocity of B relative to A with which a patch moves: 0 with A, 1 with B.

    It is where the squares of the faces' rates, weighted by their areas, are least: a box that slides over a slab takes
    its patch along, and a slab that slides below a box leaves it there.

    Reads scratch.faces: data; scratch.patches: first_face, p_GR.
    """
    data, p_GR, product, square = scratch.faces.data, scratch.patches.p_GR[p], 0.0, 0.0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        face = face_at(data, f)
        if face.pressure > 0.0 and face.slope_a > MIN_SLOPE and face.slope_b > MIN_SLOPE:
            share_of_a, along, approach = rates_of_face(face, p_GR, V)
            product += face.area * along * (approach + share_of_a * along)
            square += face.area * along * along
    return min(max(product / square, 0.0), 1.0) if square > 0.0 else 0.0


@kernel(inline=True)
def rise_of_passing(face, p_GR, V, motion):
    """Rate of a face's pressure by its approach along the normal, less that at the places that it goes with, Pa/s.

    Of faces that press it may have either sign.

    A face that presses goes with its patch (``motion_of_patch``). One in the margin may begin to press, with another
    sign on the other side of a patch: there the lesser of the rates at both bodies counts.

    Reads face: pressure.
    """
    share_of_a, along, _ = rates_of_face(face, p_GR, V)
    if face.pressure > 0.0:
        return (share_of_a - motion) * along
    return max(share_of_a * along, (share_of_a - 1.0) * along)
