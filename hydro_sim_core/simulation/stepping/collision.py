# mypy: allow-untyped-defs
"""Collision stage of the step: from body poses to contact patches."""

from __future__ import annotations

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.contact.pressure_field.faces import (
    NORMAL,
    PRESSURE,
    face_at,
    move_face,
    share_ahead,
)
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.contact.pressure_field.kept_pairs import begin_pass
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.contact.pressure_field.query import find_faces, find_faces_again
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE, OVERLAPS
from hydro_sim_core.contact.quality import DEEP_SHARE
from hydro_sim_core.simulation.stepping.between import cut_what_lies_between
from hydro_sim_core.simulation.stepping.face_points import apart_and_area
from hydro_sim_core.simulation.stepping.model import Model, Scratch, State
from hydro_sim_core.simulation.stepping.placement import bounds_apart, set_relative_pose
from hydro_sim_core.simulation.stepping.sharp_edges import join_at_sharp_edges
from hydro_sim_core.solvers.islands import WORLD

#: Faces with smaller values carry negligible force (same bounds as the reference implementation).
MIN_AREA = 1e-14
MIN_SLOPE = 1e-14


@kernel
def _push(data, first, last, ahead, push):
    """Sum the faces' forces into ``push`` (3,), N.

    Returns:
        The carried force, and that of dropped faces along ``ahead`` (see ``QueryScratch``), N.
    """
    carried = dropped = p0 = p1 = p2 = 0.0
    for f in range(first, last):
        face = face_at(data, f)
        force, n = face.area * face.pressure, face.normal
        if not force > 0.0:
            continue
        if face.slope_a <= MIN_SLOPE or face.slope_b <= MIN_SLOPE:
            dropped += force * share_ahead(n, ahead)
            continue
        carried += force
        p0, p1, p2 = p0 + force * n[0], p1 + force * n[1], p2 + force * n[2]
    push[0], push[1], push[2] = p0, p1, p2
    return carried, dropped


@kernel
def _keep_faces_towards(faces, first, last, direction):
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
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _sound_faces(model, scratch, pair, a, b, count, push):
    """Append the faces of two shapes after ``count`` and sum their forces into ``push`` (3,), N.

    Returns:
        The new count, which may exceed the buffer's size; the carried force, and that of dropped faces, N.

    Reads scratch: R_BA, edge_box, mean_push, p_BA; model.geometries: is_skin; scratch.faces: data; scratch.query:
    ahead, report.
    Writes scratch: edge_box, mean_push.
    """
    query, faces = scratch.query, scratch.faces
    found = find_faces_again(model.geometries, a, b, pair, scratch.R_BA, scratch.p_BA, query, faces, count)
    if found > faces.num_vertices.shape[0]:
        return found, 0.0, 0.0
    if model.geometries.is_skin[a] or model.geometries.is_skin[b]:
        found = join_at_sharp_edges(faces, count, found, scratch.edge_box, scratch.mean_push)
    carried, dropped = _push(faces.data, count, found, query.ahead, push)
    return found, carried, dropped + query.report[DROPPED_FORCE]


@kernel
def _find_patch(model, state, scratch, pair, p, count):
    """Append the faces of a pair after ``count`` and set the patch's flags; return the new count.

    A body that is pushed past its medial surface, or through a thin body, would lose its force or be pushed out at the
    far side. The pair therefore stores the direction of its force while the contact is sound, and in deep contact uses
    the part of the equilibrium surface that pushes in this direction (``docs/contact_models.md``, deep contact).

    Reads model: pair_rows, pairs; scratch: R_BA, p_BA, push; state: push; scratch.patches: num_deep, num_faceless;
    scratch.query: report.
    Writes scratch: R_BA, overlaps, p_BA, push; scratch.patches: dropped_force, faceless_pair, faded_force,
    is_recovered, num_deep, num_faceless; scratch.query: ahead.
    """
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    patches, query, faces = scratch.patches, scratch.query, scratch.faces
    R_BA, p_BA = scratch.R_BA, scratch.p_BA
    set_relative_pose(scratch, a, b, R_BA, p_BA)
    a, b = model.pair_rows[pair, 0], model.pair_rows[pair, 1]
    push, sound = scratch.push[pair], state.push[pair]
    for i in range(3):
        query.ahead[i] = sound[i]
    found, carried, dropped = _sound_faces(model, scratch, pair, a, b, count, push)
    if found > faces.num_vertices.shape[0]:
        return found
    if dropped > DEEP_SHARE * (dropped + carried) and carried > dropped and dot(sound, sound) == 0.0:
        # A new contact: its own force shows which faces are on the far side of a thin body.
        for i in range(3):
            query.ahead[i] = push[i]
        found, carried, dropped = _sound_faces(model, scratch, pair, a, b, count, push)
    patches.is_recovered[p] = False
    patches.dropped_force[p], patches.faded_force[p] = dropped, 0.0
    if dropped > DEEP_SHARE * (dropped + carried):
        patches.num_deep[0] += 1
        if dot(sound, sound) > 0.0 and (dropped > carried or dot(push, sound) < 0.0):
            found = find_faces(model.geometries, a, b, R_BA, p_BA, True, query, faces, count)
            if found > faces.num_vertices.shape[0]:
                return found
            found = _keep_faces_towards(faces, count, found, sound)
            patches.is_recovered[p] = True
        # The first force of a contact shows its direction, sound or not.
        if dot(sound, sound) > 0.0:
            for i in range(3):
                push[i] = sound[i]
    if found == count and (dropped > 0.0 or query.report[OVERLAPS] != 0.0):
        patches.faceless_pair[patches.num_faceless[0]] = pair
        patches.num_faceless[0] += 1
        for i in range(3):
            push[i] = sound[i]
    scratch.overlaps[pair] = 1 if found > count or dot(push, push) > 0.0 else 0
    return found


@entry
def find_patches(model: Model, state: State, scratch: Scratch) -> int:
    """Find the faces of all pairs; return their number, which exceeds the buffer's size if that is too small.

    Reads model: pair_rows, pairs, splits_faces; scratch: R_BA, bounds, p_BA; model.points: first_pair; scratch.patches:
    num.
    Writes scratch: overlaps, push; scratch.patches: apart, area, first_face, num, num_deep, num_faceless, pair;
    scratch.points: num_faced.
    """
    patches = scratch.patches
    patches.num[0] = 0
    patches.num_deep[0] = 0
    patches.num_faceless[0] = 0
    patches.first_face[0] = 0
    begin_pass(scratch.query.kept)
    count = 0
    for pair in range(model.points.first_pair[0]):
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
        if model.splits_faces:
            rows = model.pair_rows[pair]
            complete_polygons(
                model.geometries,
                rows[0],
                rows[1],
                scratch.R_BA,
                scratch.p_BA,
                scratch.query.work,
                scratch.faces,
                count,
                found,
            )
            found = split_into_fans(scratch.faces, count, found)
            if found > scratch.faces.num_vertices.shape[0]:
                return found
        count = found
        patches.pair[p] = pair
        set_place_of_patch(model, scratch, p)
        patches.first_face[p + 1] = count
        patches.num[0] += 1
    cut_what_lies_between(model, scratch)
    scratch.points.num_faced[0] = patches.num[0]
    return count


@kernel
def set_place_of_patch(model, scratch, p):
    """Set the pose of the geometry in whose frame a patch is, that of the other in it, and the trees that it couples.

    Reads model: geometry_body, pairs; scratch: R_BA, R_WG, p_BA, p_WG; model.forest: tree_of_body; scratch.patches:
    pair.
    Writes scratch.patches: R_BA, R_WG, p_BA, p_WG; scratch.problem.islands: patch_trees.
    """
    patches, pair = scratch.patches, scratch.patches.pair[p]
    b = model.pairs[pair, 1]
    for i in range(3):
        patches.p_WG[p, i] = scratch.p_WG[b, i]
        patches.p_BA[p, i] = scratch.p_BA[i]
        for j in range(3):
            patches.R_WG[p, i, j] = scratch.R_WG[b, i, j]
            patches.R_BA[p, i, j] = scratch.R_BA[i, j]
    for side in range(2):
        body = model.geometry_body[model.pairs[pair, side]]
        tree = model.forest.tree_of_body[body] if body >= 0 else WORLD
        scratch.problem.islands.patch_trees[p, side] = tree
