# mypy: allow-untyped-defs
"""What lies between two bodies: the part of their contact that is inside a third, stiffer one belongs to that one.

A thin plate between two soft fingers is thinner than the depth to which they are pressed in. Their surfaces overlap
inside the plate, where neither of them can be. So faces are cut by bodies that are at least as stiff as both of the
pair and stiffer than one of them (``docs/contact_models.md``, what lies between).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, Int1D, kernel
from hydro_sim_core.contact.pressure_field.coverage import FACE, MAX_CUT, axes_of, covered_area
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    axes_across,
    face_at,
    move_face,
)
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.simulation.stepping.face_points import points_of
from hydro_sim_core.simulation.stepping.placement import set_relative_pose
from hydro_sim_core.simulation.stepping.polygon_points import keep_points
from hydro_sim_core.triples import dot

#: Way by which faces are moved towards the softer side before they are compared with a third body, m. They often lie in
#: its surface: a plate on a table ends where the table begins.
TOWARDS_SOFT = 1e-5
#: Shares of a face's area that count as nothing and as all of it.
NOTHING, ALL = 1e-9, 1.0 - 1e-6


class BetweenScratch(NamedTuple):
    """Memory of the search for what lies between.

    Attributes:
        first: (G,) first entry of each geometry's list of patches, -1 without; entry ``2 p + side`` is patch p.
        following: (2 P,) next entry of the same list; -1 at its end.
        seen: (G,) last patch to which each geometry was compared.
        R_CB: (3, 3) orientation of geometry B in the third one, C.
        p_CB: (3,) origin of B in C, m.
        normal: (3,) normal of the present face, in C.
        buffers: (3, MAX_CUT, 3) polygons.
        values: (MAX_CUT,) values of a function at the vertices of one of them.
        total: (12,) area and moments, or the centroid, of the part inside; bounds of the face; second moments.
    """

    first: Int1D
    following: Int1D
    seen: Int1D
    R_CB: Float2D
    p_CB: Float1D
    normal: Float1D
    buffers: Float3D
    values: Float1D
    total: Float1D


def make_between_scratch(num_geometries: int, max_patches: int) -> BetweenScratch:
    """Allocate it for a number of geometries and patches."""
    return BetweenScratch(
        first=np.full(num_geometries, -1),
        following=np.full(2 * max_patches, -1),
        seen=np.full(num_geometries, -1),
        R_CB=np.zeros((3, 3)),
        p_CB=np.zeros(3),
        normal=np.zeros(3),
        buffers=np.zeros((3, MAX_CUT, 3)),
        values=np.zeros(MAX_CUT),
        total=np.zeros(12),
    )


@kernel
def cut_what_lies_between(model, scratch):
    """Cut the faces of all patches by third bodies; patches without faces are removed.

    Reads model: has_inside, pairs, stiffness; scratch.between: first, seen; scratch.patches: num, pair.
    Writes scratch.between: seen.
    """
    patches, between = scratch.patches, scratch.between
    _link_patches(model, scratch)
    any_cut = False
    for p in range(patches.num[0]):
        a, b = model.pairs[patches.pair[p], 0], model.pairs[patches.pair[p], 1]
        softer = min(model.stiffness[a], model.stiffness[b])
        stiffer = max(model.stiffness[a], model.stiffness[b])
        if softer == math.inf:
            continue
        between.seen[a], between.seen[b] = p, p
        for side in range(2):
            entry = between.first[a if side == 0 else b]
            while entry >= 0:
                c = model.pairs[patches.pair[entry // 2], 1 - entry % 2]
                entry = between.following[entry]
                if between.seen[c] == p or model.stiffness[c] < stiffer or model.stiffness[c] <= softer:
                    continue
                between.seen[c] = p
                if model.has_inside[c] and _cut_patch(model, scratch, p, a, b, c):
                    any_cut = True
    if any_cut:
        remove_faces_without_area(scratch)


@kernel
def _link_patches(model, scratch):
    """Link the patches of each geometry: entry ``2 p + side`` stands for patch p.

    Reads model: pairs; scratch.between: first; scratch.patches: num, pair.
    Writes scratch.between: first, following, seen.
    """
    patches, between = scratch.patches, scratch.between
    between.first[:] = -1
    between.seen[:] = -1
    for p in range(patches.num[0]):
        for side in range(2):
            g = model.pairs[patches.pair[p], side]
            between.following[2 * p + side] = between.first[g]
            between.first[g] = 2 * p + side


@kernel
def complete_polygons_of_patch(model, scratch, p):
    """Make the polygons that faces of patch p do not have yet.

    Reads model: pair_rows; scratch.patches: R_BA, first_face, p_BA, pair.
    """
    patches = scratch.patches
    rows = model.pair_rows[patches.pair[p]]
    complete_polygons(
        model.geometries,
        rows[0],
        rows[1],
        patches.R_BA[p],
        patches.p_BA[p],
        scratch.query.work,
        scratch.faces,
        patches.first_face[p],
        patches.first_face[p + 1],
    )


@kernel
def _cut_patch(model, scratch, p, a, b, c):
    """Cut the faces of patch p, of geometries a and b, by geometry c; return whether any was.

    Reads model: geometry_row, stiffness; scratch: bounds; scratch.between: p_CB; scratch.patches: first_face.
    Writes scratch.between: R_CB, p_CB.
    """
    for i in range(3):
        lowest = max(scratch.bounds[a, i], scratch.bounds[b, i])
        highest = min(scratch.bounds[a, i + 3], scratch.bounds[b, i + 3])
        if scratch.bounds[c, i] > highest or scratch.bounds[c, i + 3] < lowest:
            return False
    # The normal points out of A.
    shift = -TOWARDS_SOFT if model.stiffness[a] <= model.stiffness[b] else TOWARDS_SOFT
    set_relative_pose(scratch, b, c, scratch.between.R_CB, scratch.between.p_CB)
    any_cut = False
    complete_polygons_of_patch(model, scratch, p)
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        if _cut_face(model.geometries, model.geometry_row[c], f, shift, scratch):
            any_cut = True
    return any_cut


@kernel
def _cut_face(geometries, row, f, shift, scratch):
    """Take from a face what lies inside a geometry; return whether anything did.

    The polygon stays as it is, for pictures; area, centroid and pressure become those of the part that is left.

    Reads scratch.between: R_CB, buffers, normal, p_CB, total, values; scratch.faces: data, num_vertices, polygons;
    scratch.query: nodes.
    Writes scratch.between: buffers, normal, total, values; scratch.faces: data; scratch.query: nodes.
    """
    data, between = scratch.faces.data, scratch.between
    area, n = data[AREA, f], scratch.faces.num_vertices[f]
    if not area > 0.0:
        return False
    R_CB, p_CB, normal = between.R_CB, between.p_CB, between.normal
    for i in range(3):
        normal[i] = 0.0
        for j in range(3):
            normal[i] += R_CB[i, j] * data[NORMAL + j, f]
    for vertex in range(n):
        x = scratch.faces.polygons[f, vertex]
        for i in range(3):
            moved = p_CB[i] + R_CB[i, 0] * x[0] + R_CB[i, 1] * x[1] + R_CB[i, 2] * x[2]
            between.buffers[FACE, vertex, i] = moved + shift * normal[i]
    total = between.total
    inside = covered_area(
        geometries, row, n, normal, scratch.query.nodes, between.buffers, between.values, total
    )
    if inside <= NOTHING * area:
        return False
    if inside >= ALL * area:
        data[AREA, f] = 0.0
        return True
    for i in range(3):
        total[3 + i] = total[i] - shift * normal[i] - p_CB[i]
    left, rise = area - inside, 0.0
    of_part = _vector_of(R_CB, total)
    moments = _moments_of_rest(scratch, f, of_part, inside / left)
    for i in range(3):
        change = (data[CENTROID + i, f] - of_part[i]) * inside / left
        data[CENTROID + i, f] += change
        rise += data[GRADIENT + i, f] * change
    data[AREA, f] = left
    data[PRESSURE, f] += rise
    keep_points(data, f, *moments)
    return True


@kernel(inline=True)
def _vector_of(R_CB, total):
    """The vector of the second three entries of ``total``, in frame B."""
    x, y, z = total[3], total[4], total[5]
    return (
        R_CB[0, 0] * x + R_CB[1, 0] * y + R_CB[2, 0] * z,
        R_CB[0, 1] * x + R_CB[1, 1] * y + R_CB[2, 1] * z,
        R_CB[0, 2] * x + R_CB[1, 2] * y + R_CB[2, 2] * z,
    )


@kernel
def _moments_of_rest(scratch, f, of_part, ratio):
    """Second moments of what is left of face f in the axes of ``axes_across``, as shares of its area, m^2.

    Args:
        scratch: ``Scratch``, with the part that is taken away, see ``covered_area``.
        f: Face, as it was.
        of_part: (3,) centroid of that part in frame B, m.
        ratio: Of its area to what is left.

    Reads scratch.between: normal, total; scratch.faces: data.
    """
    between, total = scratch.between, scratch.between.total
    face = face_at(scratch.faces.data, f)
    axes, c = axes_across(face.normal), face.centroid
    p, q = points_of(scratch.faces, f, face)
    apart = c[0] - of_part[0], c[1] - of_part[1], c[2] - of_part[2]
    k, u, v = axes_of(between.normal)
    first = _seen(between, axes[0], k, u, v)
    second = _seen(between, axes[1], k, u, v)
    p_e, p_h, q_e, q_h = dot(p, axes[0]), dot(p, axes[1]), dot(q, axes[0]), dot(q, axes[1])
    d_e, d_h = dot(apart, axes[0]), dot(apart, axes[1])
    # Of the whole, about its centroid; less the part, about its own; and the way between the two, which moves the rest.
    between_both = ratio * (1.0 + ratio)
    along = (1.0 + ratio) * (0.5 * p_e * p_e + q_e * q_e / 1.5) - between_both * d_e * d_e
    mixed = (1.0 + ratio) * (0.5 * p_e * p_h + q_e * q_h / 1.5) - between_both * d_e * d_h
    aside = (1.0 + ratio) * (0.5 * p_h * p_h + q_h * q_h / 1.5) - between_both * d_h * d_h
    return (
        along - ratio * _form(total, first, first),
        mixed - ratio * _form(total, first, second),
        aside - ratio * _form(total, second, second),
    )


@kernel(inline=True)
def _seen(between, axis, k, u, v):
    """Components along an axis of frame B, in the face, of steps in it that are seen along axis ``k`` of frame C.

    Reads between: R_CB, normal.
    """
    R, n = between.R_CB, between.normal
    of_k = (R[k, 0] * axis[0] + R[k, 1] * axis[1] + R[k, 2] * axis[2]) / n[k]
    of_u = R[u, 0] * axis[0] + R[u, 1] * axis[1] + R[u, 2] * axis[2]
    of_v = R[v, 0] * axis[0] + R[v, 1] * axis[1] + R[v, 2] * axis[2]
    return of_u - of_k * n[u], of_v - of_k * n[v]


@kernel(inline=True)
def _form(total, a, b):
    """Second moment of the covered part along two directions as it is seen."""
    return a[0] * b[0] * total[9] + (a[0] * b[1] + a[1] * b[0]) * total[10] + a[1] * b[1] * total[11]


@kernel
def remove_faces_without_area(scratch):
    """Remove faces without area, and patches without faces.

    Reads scratch.faces: data; scratch.patches: R_BA, R_WG, apart, area, dropped_force, first_face, is_recovered, num,
    p_BA, p_WG, pair; scratch.problem.islands: patch_trees.
    Writes scratch.patches: R_BA, R_WG, apart, area, dropped_force, first_face, is_recovered, num, p_BA, p_WG, pair;
    scratch.problem.islands: patch_trees.
    """
    faces, patches = scratch.faces, scratch.patches
    trees = scratch.problem.islands.patch_trees
    kept, patches_kept, first = 0, 0, patches.first_face[0]
    for p in range(patches.num[0]):
        last = patches.first_face[p + 1]
        for f in range(first, last):
            if faces.data[AREA, f] > 0.0:
                move_face(faces, f, kept)
                kept += 1
        first = last
        q = patches_kept
        if kept == patches.first_face[q]:
            continue
        patches.first_face[q + 1] = kept
        patches.pair[q] = patches.pair[p]
        patches.apart[q], patches.area[q] = patches.apart[p], patches.area[p]
        patches.is_recovered[q] = patches.is_recovered[p]
        patches.dropped_force[q] = patches.dropped_force[p]
        trees[q, 0], trees[q, 1] = trees[p, 0], trees[p, 1]
        for i in range(3):
            patches.p_WG[q, i] = patches.p_WG[p, i]
            patches.p_BA[q, i] = patches.p_BA[p, i]
            for j in range(3):
                patches.R_BA[q, i, j] = patches.R_BA[p, i, j]
                patches.R_WG[q, i, j] = patches.R_WG[p, i, j]
        patches_kept += 1
    patches.num[0] = patches_kept
