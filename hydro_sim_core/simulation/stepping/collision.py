# mypy: allow-untyped-defs
"""Collision stage of the step: from body poses to contact patches."""

from __future__ import annotations

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.compilation.instructions import load
from hydro_sim_core.compilation.teams import (
    ABOUT,
    DELIVERED,
    DELIVERIES,
    FOUND_IN,
    HELPER,
    MOST_PARTS,
    NUMBER,
    OWES,
    PART,
    collect,
    end_part,
    meet,
    parts_to_share,
    publish,
    take_part,
)
from hydro_sim_core.contact.pressure_field.faces import (
    NORMAL,
    PRESSURE,
    copy_faces,
    face_at,
    is_past_upright,
    move_face,
    share_ahead,
)
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.contact.pressure_field.kept_pairs import PASS, begin_pass
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.contact.pressure_field.query import find_faces, find_faces_again
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE, OVERLAPS
from hydro_sim_core.contact.quality import DEEP_SHARE
from hydro_sim_core.simulation.stepping.between import cut_what_lies_between
from hydro_sim_core.simulation.stepping.face_points import apart_and_area
from hydro_sim_core.simulation.stepping.model import Model, Scratch, State
from hydro_sim_core.simulation.stepping.placement import bounds_apart
from hydro_sim_core.simulation.stepping.round_sides import set_pose_for_faces, straighten_faces
from hydro_sim_core.simulation.stepping.sharp_edges import join_at_sharp_edges
from hydro_sim_core.solvers.islands import WORLD
from hydro_sim_core.solvers.options import LEAST_FACES
from hydro_sim_core.solvers.patch_work import NUM_JOBS
from hydro_sim_core.triples import dot

#: Jobs of a team beside those of one that solves: to find faces, to load the problem with them, and to look ahead.
FIND, LOAD, LOOK = range(NUM_JOBS, NUM_JOBS + 3)
#: What is told of each part: who has found it; numbers of faces, patches, and pairs of one kind or another; and where
#: faces, patches and faceless pairs belong.
OWNER, FACES, PATCHES, DEEP, FACELESS, TO_FACE, TO_PATCH, TO_FACELESS = range(8)
#: Faces with smaller values carry negligible force (same bounds as the reference implementation).
MIN_AREA = 1e-14
MIN_SLOPE = 1e-14


@kernel
def _push(data, first, last, ahead, push):
    """Sum the faces' forces into ``push`` (3,), N.

    Returns:
        The carried force, and along ``ahead`` (see ``QueryScratch``) that of dropped faces and that of upright ones
        among those that are not carried, N.
    """
    carried = dropped = upright = p0 = p1 = p2 = 0.0
    for f in range(first, last):
        face = face_at(data, f)
        force, n = face.area * face.pressure, face.normal
        if not force > 0.0:
            continue
        if face.slope_a <= MIN_SLOPE or face.slope_b <= MIN_SLOPE:
            force *= share_ahead(n, ahead)
            if is_past_upright(face):
                dropped += force
            else:
                upright += force
            continue
        carried += force
        p0, p1, p2 = p0 + force * n[0], p1 + force * n[1], p2 + force * n[2]
    push[0], push[1], push[2] = p0, p1, p2
    return carried, dropped, upright


@kernel
def keep_faces_towards(faces, first, last, direction):
    """Keep the faces with pressure whose normal has a component along ``direction`` (3,); return one past the last.

    Reads faces: data.
    """
    data, kept = faces.data, first
    for f in range(first, last):
        along = 0.0
        for i in range(3):
            along += data[NORMAL + i, f] * direction[i]
        if along <= 0.0 or data[PRESSURE, f] <= 0.0:
            continue
        move_face(faces, f, kept)
        kept += 1
    return kept


@kernel
def _sound_faces(model, scratch, pair, a, b, count, push):
    """Append the faces of two shapes after ``count`` and sum their forces into ``push`` (3,), N.

    Returns:
        The new count, which may exceed the buffer's size; the carried force, that of dropped faces, and that of upright
        ones that are not carried, N.

    Reads scratch: R_BA, edge_box, mean_push, p_BA; model.geometries: is_skin; scratch.faces: data; scratch.query:
    ahead, report.
    Writes scratch: edge_box, mean_push.
    """
    query, faces = scratch.query, scratch.faces
    found = find_faces_again(model.geometries, a, b, pair, scratch.R_BA, scratch.p_BA, query, faces, count)
    if found > faces.num_vertices.shape[0]:
        return found, 0.0, 0.0, 0.0
    if model.geometries.is_skin[a] or model.geometries.is_skin[b]:
        found = join_at_sharp_edges(faces, count, found, scratch.edge_box, scratch.mean_push)
    carried, dropped, upright = _push(faces.data, count, found, query.ahead, push)
    return found, carried, dropped + query.report[DROPPED_FORCE], upright


@kernel
def _find_patch(model, state, scratch, pair, p, count):
    """Append the faces of a pair after ``count`` and set the patch's flags; return the new count.

    A body that is pushed past its medial surface, or through a thin body, would lose its force or be pushed out at the
    far side. The pair therefore stores the direction of its force while the contact is sound, and in deep contact uses
    the part of the equilibrium surface that pushes in this direction (``docs/contact_models.md``, deep contact).

    The upright rim of a soft pad is lost force, too, and is recovered with the rest when more is lost than carried. But
    no medial surface is passed there, so that it makes no deep contact: it is told with the faces that fade.

    Reads model: pair_rows; scratch: R_BA, p_BA, push; state: push; scratch.patches: num_deep, num_faceless;
    scratch.query: report.
    Writes scratch: overlaps, push; scratch.patches: dropped_force, faceless_pair, faded_force, is_recovered, num_deep,
    num_faceless; scratch.query: ahead.
    """
    patches, query, faces = scratch.patches, scratch.query, scratch.faces
    R_BA, p_BA = scratch.R_BA, scratch.p_BA
    set_pose_for_faces(model, scratch, pair)
    a, b = model.pair_rows[pair, 0], model.pair_rows[pair, 1]
    push, sound = scratch.push[pair], state.push[pair]
    for i in range(3):
        query.ahead[i] = sound[i]
    found, carried, dropped, upright = _sound_faces(model, scratch, pair, a, b, count, push)
    if found > faces.num_vertices.shape[0]:
        return found
    lost = dropped + upright
    if lost > DEEP_SHARE * (lost + carried) and carried > lost and dot(sound, sound) == 0.0:
        # A new contact: its own force shows which faces are on the far side of a thin body.
        for i in range(3):
            query.ahead[i] = push[i]
        found, carried, dropped, upright = _sound_faces(model, scratch, pair, a, b, count, push)
        lost = dropped + upright
    patches.is_recovered[p] = False
    patches.dropped_force[p], patches.faded_force[p] = dropped, 0.0
    if dropped > DEEP_SHARE * (lost + carried):
        patches.num_deep[0] += 1
    if lost > DEEP_SHARE * (lost + carried):
        if dot(sound, sound) > 0.0 and (lost > carried or dot(push, sound) < 0.0):
            found = find_faces(model.geometries, a, b, R_BA, p_BA, True, query, faces, count)
            if found > faces.num_vertices.shape[0]:
                return found
            found = keep_faces_towards(faces, count, found, sound)
            patches.is_recovered[p] = True
        # The first force of a contact shows its direction, sound or not.
        if dot(sound, sound) > 0.0:
            for i in range(3):
                push[i] = sound[i]
    if found == count and (lost > 0.0 or query.report[OVERLAPS] != 0.0):
        patches.faceless_pair[patches.num_faceless[0]] = pair
        patches.num_faceless[0] += 1
        for i in range(3):
            push[i] = sound[i]
    scratch.overlaps[pair] = 1 if found > count or dot(push, push) > 0.0 else 0
    return found


@kernel
def parts_of_faces(scratch):
    """Into how many parts a job is divided that takes the longer the more faces there are: 1 if these are few.

    Reads scratch.patches: first_face, num; scratch.solver.team: least.
    """
    patches, team = scratch.patches, scratch.solver.team
    are_many = patches.first_face[patches.num[0]] >= team.least[LEAST_FACES]
    return parts_to_share(team) if are_many else 1


@entry
def find_patches(model: Model, state: State, scratch: Scratch) -> int:
    """Find the faces of all pairs; return their number, which exceeds the buffer's size if that is too small.

    Reads model.points: first_pair; scratch.patches: num.
    Writes scratch.points: num_faced.
    """
    begin_pass(scratch.query.kept)
    pairs, parts = model.points.first_pair[0], parts_of_faces(scratch)
    if parts > 1:
        count = find_together(model, state, scratch, pairs, parts)
    else:
        _forget_patches(scratch.patches)
        count = find_pairs(model, state, scratch, 0, pairs)
    if count > scratch.faces.num_vertices.shape[0]:
        return count
    for p in range(scratch.patches.num[0]):
        _couple_trees(model, scratch, p)
    cut_what_lies_between(model, scratch)
    scratch.points.num_faced[0] = scratch.patches.num[0]
    return count


@kernel
def _forget_patches(patches):
    """Begin a table anew.

    Writes patches: first_face, num, num_deep, num_faceless.
    """
    patches.num[0] = patches.num_deep[0] = patches.num_faceless[0] = patches.first_face[0] = 0


@entry
def find_pairs(model: Model, state: State, scratch: Scratch, begin: int, end: int) -> int:
    """Find the faces of the pairs from ``begin`` to ``end`` - 1, behind those found so far; result as ``find_patches``.

    Reads model: pairs; scratch: R_BA, bounds, p_BA; scratch.patches: first_face, num; scratch.query: nodes.
    Writes scratch: overlaps, push; scratch.patches: apart, area, first_face, num, pair; scratch.query: nodes.
    """
    patches = scratch.patches
    count = patches.first_face[patches.num[0]]
    for pair in range(begin, end):
        a, b = model.pairs[pair, 0], model.pairs[pair, 1]
        if bounds_apart(scratch.bounds[a], scratch.bounds[b]):
            scratch.push[pair, :] = 0.0
            scratch.overlaps[pair] = 0
            continue
        p = patches.num[0]
        found = _find_patch(model, state, scratch, pair, p, count)
        if found > scratch.faces.num_vertices.shape[0]:
            return found
        if found == count:
            continue
        patches.apart[p], patches.area[p] = apart_and_area(model, scratch, pair, count, found)
        found = split_faces(model, scratch, pair, count, found)
        if found > scratch.faces.num_vertices.shape[0]:
            return found
        straighten_faces(
            model, scratch.faces, pair, count, found, scratch.R_BA, scratch.p_BA, scratch.query.nodes
        )
        count = found
        patches.pair[p] = pair
        _place_patch(model, scratch, p)
        patches.first_face[p + 1] = count
        patches.num[0] += 1
    return count


@kernel
def split_faces(model, scratch, pair, first, last):
    """Replace the faces of a pair from ``first`` to ``last`` by triangles, if the model says so; return the new last.

    Reads model: pair_rows, splits_faces; scratch: R_BA, p_BA.
    """
    if not model.splits_faces:
        return last
    rows, work = model.pair_rows[pair], scratch.query.work
    complete_polygons(
        model.geometries, rows[0], rows[1], scratch.R_BA, scratch.p_BA, work, scratch.faces, first, last
    )
    return split_into_fans(scratch.faces, first, last)


@kernel
def set_place_of_patch(model, scratch, p):
    """Set the poses of a patch's two geometries, and the trees that it couples."""
    _place_patch(model, scratch, p)
    _couple_trees(model, scratch, p)


@kernel
def _place_patch(model, scratch, p):
    """Set the pose of the geometry in whose frame a patch is, and that of the other in it, with their meshes.

    Reads model: pairs; scratch: R_BA, R_WM, p_BA, p_WG; scratch.patches: pair.
    Writes scratch.patches: R_BA, R_WG, p_BA, p_WG.
    """
    patches, pair = scratch.patches, scratch.patches.pair[p]
    b = model.pairs[pair, 1]
    for i in range(3):
        patches.p_WG[p, i] = scratch.p_WG[b, i]
        patches.p_BA[p, i] = scratch.p_BA[i]
        for j in range(3):
            patches.R_WG[p, i, j] = scratch.R_WM[i, j]
            patches.R_BA[p, i, j] = scratch.R_BA[i, j]


@kernel
def _couple_trees(model, scratch, p):
    """Set the trees that a patch couples.

    Reads model: geometry_body, pairs; model.forest: tree_of_body; scratch.patches: pair.
    Writes scratch.problem.islands: patch_trees.
    """
    pair = scratch.patches.pair[p]
    for side in range(2):
        body = model.geometry_body[model.pairs[pair, side]]
        tree = model.forest.tree_of_body[body] if body >= 0 else WORLD
        scratch.problem.islands.patch_trees[p, side] = tree


@kernel
def find_together(model, state, scratch, pairs, parts):
    """Find the faces of all pairs as a team: what helpers find they then copy to its place.

    Reads scratch.query.kept: now; scratch.solver.team: task, told.
    Writes scratch.patches: num, num_deep, num_faceless; scratch.solver.team: first, told.
    """
    team, patches = scratch.solver.team, scratch.patches
    _share_pairs(patches, pairs, parts, team.first)
    team.told[:, OWNER] = 0
    publish(team, FIND, scratch.query.kept.now[PASS], parts)
    while take_part(team):
        _find_part(model, state, scratch, team, team.task[PART] == 0)
        end_part(team)
    meet(team, parts)
    faces = num = deep = faceless = to_deliver = 0
    for part in range(parts):
        told = team.told[part]
        told[TO_FACE], told[TO_PATCH], told[TO_FACELESS] = faces, num, faceless
        faces, num = faces + told[FACES], num + told[PATCHES]
        deep, faceless = deep + told[DEEP], faceless + told[FACELESS]
        to_deliver += 1 if told[OWNER] > 0 else 0
    if faces > scratch.faces.num_vertices.shape[0]:
        return faces
    collect(team, to_deliver)
    patches.num[0], patches.num_deep[0], patches.num_faceless[0] = num, deep, faceless
    return faces


@kernel
def _share_pairs(patches, pairs, parts, first):
    """Write the first pair of each part, so that about as many faces of the last step are in each.

    Reads patches: first_face, num, pair.
    """
    total, part = patches.first_face[patches.num[0]], 1
    first[0] = 0
    for p in range(patches.num[0]):
        while part < parts and patches.first_face[p + 1] * parts >= total * part:
            # The last rows may be of contacts at equivalent points, whose pairs are not among these.
            first[part] = min(patches.pair[p] + 1, pairs)
            part += 1
    while part <= parts:
        first[part] = pairs
        part += 1


@kernel
def _find_part(model, state, finder, team, is_first):
    """Find the faces of the part that this thread has taken, behind those of the parts that it took before.

    Reads team: first, task; finder.patches: first_face, num, num_deep, num_faceless.
    Writes team: told.
    """
    patches, part = finder.patches, team.task[PART]
    told = team.told[part]
    if is_first:
        _forget_patches(patches)
    num, deep, faceless = patches.num[0], patches.num_deep[0], patches.num_faceless[0]
    begin = patches.first_face[num]
    count = find_pairs(model, state, finder, team.first[part], team.first[part + 1])
    told[OWNER], told[FACES], told[PATCHES] = team.task[HELPER], count - begin, patches.num[0] - num
    told[DEEP], told[FACELESS] = patches.num_deep[0] - deep, patches.num_faceless[0] - faceless


@kernel
def help_to_find(model, state, finder, team):
    """Do the part of ``find_together`` that a helper has taken.

    Args:
        model: ``Model``.
        state: ``State``.
        finder: ``Scratch`` with buffers of the helper's own for what it finds.
        team: The helper's ``Team``.

    Reads team: task, words.
    Writes team: task; finder.query.kept: now.
    """
    is_first = team.task[FOUND_IN] != team.task[NUMBER]
    if is_first:
        begin_pass(finder.query.kept)
        finder.query.kept.now[PASS] = team.words[ABOUT]
        # What was to be delivered of jobs before is none of its business: this one has not been collected yet.
        team.task[DELIVERED] = load(team.words, DELIVERIES)
    _find_part(model, state, finder, team, is_first)
    team.task[FOUND_IN], team.task[OWES] = team.task[NUMBER], 1


@kernel
def deliver(finder, scratch, team):
    """Copy what a helper has found to its place, part by part.

    Reads team: task, told; finder.patches: faceless_pair.
    Writes team: task; scratch.patches: faceless_pair.
    """
    faces = num = faceless = 0
    for back in range(MOST_PARTS):
        told = team.told[MOST_PARTS - 1 - back]  # in the order in which it found them
        if told[OWNER] == team.task[HELPER]:
            copy_faces(finder.faces, faces, told[FACES], scratch.faces, told[TO_FACE])
            _copy_patches(finder.patches, num, told[PATCHES], faces, scratch.patches, told)
            for k in range(told[FACELESS]):
                found = finder.patches.faceless_pair[faceless + k]
                scratch.patches.faceless_pair[told[TO_FACELESS] + k] = found
            faces, num = faces + told[FACES], num + told[PATCHES]
            faceless += told[FACELESS]
            end_part(team)
    team.task[OWES] = 0


@kernel
def _copy_patches(own, first, num, first_face, patches, told):
    """Copy ``num`` rows of a table from row ``first`` on, whose faces begin at ``first_face``, to where they belong.

    Reads own: R_BA, R_WG, apart, area, dropped_force, faded_force, first_face, is_recovered, p_BA, p_WG, pair.
    Writes patches: R_BA, R_WG, apart, area, dropped_force, faded_force, first_face, is_recovered, p_BA, p_WG, pair.
    """
    for p in range(first, first + num):
        to = told[TO_PATCH] + p - first
        patches.pair[to] = own.pair[p]
        patches.first_face[to + 1] = told[TO_FACE] + own.first_face[p + 1] - first_face
        patches.apart[to], patches.area[to] = own.apart[p], own.area[p]
        patches.is_recovered[to] = own.is_recovered[p]
        patches.dropped_force[to], patches.faded_force[to] = own.dropped_force[p], own.faded_force[p]
        for i in range(3):
            patches.p_WG[to, i], patches.p_BA[to, i] = own.p_WG[p, i], own.p_BA[p, i]
            for j in range(3):
                patches.R_WG[to, i, j], patches.R_BA[to, i, j] = own.R_WG[p, i, j], own.R_BA[p, i, j]
