# mypy: allow-untyped-defs
"""Faces that foresee a collision which does not come.

A step takes the pressure on a face to rise for as long as the bodies approach there. A face is small, though, and a
step may be long: the side of a box that slides over flush tiles reaches by 1e-10 m below the top of the next tile, and
into the corner of its margin, and would be stopped there as by a wall. So faces whose pressure would rise within the
step are moved with their body; those that come no deeper than the bodies are pressed in anyway are left out.

So are all faces of a compliant pair that lie in margins, where the bodies do not overlap anywhere on their way: the
margins of two edges that pass above each other cross at a slant, and would press.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.coverage import FACE, covered_depth
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    PRESSURE,
    face_at,
    steepness_of,
)
from hydro_sim_core.simulation.stepping.between import remove_faces_without_area
from hydro_sim_core.simulation.stepping.look_ahead import set_motions
from hydro_sim_core.simulation.stepping.overlaps import poses_of, set_moved_relative_pose, way_deeper
from hydro_sim_core.simulation.stepping.patch_loading import add_surface_velocity
from hydro_sim_core.simulation.stepping.placement import set_relative_pose, twist_of_pair
from hydro_sim_core.simulation.stepping.round_sides import see_from_mesh

#: Places along its way at which a face is looked at, for each pose that look-ahead takes.
PLACES = 4
#: Depth that a face may reach, as a multiple of that to which its bodies are pressed in already.
ALLOWANCE = 2.0


@kernel
def leave_out_false_faces(model, scratch, dt):
    """Remove faces that foresee a collision which does not come with the velocities before the step.

    Motions must be those of these velocities (see ``look_ahead.set_free_motions``).

    Reads model: pair_flat, pairs; scratch: motion, num_false; scratch.patches: first_face, num, pair.
    Writes scratch: false_pair, num_false; scratch.faces: data.
    """
    patches, has_depths = scratch.patches, False
    scratch.num_false[0] = 0
    for p in range(patches.num[0]):
        pair = patches.pair[p]
        reach = scratch.motion[model.pairs[pair, 0]] + scratch.motion[model.pairs[pair, 1]]
        if not math.isfinite(reach):
            continue
        if model.pair_flat[pair] != 0.0:
            if not _passes_by(model, scratch, p, reach, dt):
                continue
            scratch.faces.data[AREA, patches.first_face[p] : patches.first_face[p + 1]] = 0.0
        else:
            if not _may_be_false(model, scratch, p, reach, dt):
                continue
            if not has_depths:
                _set_depths(model, scratch)
                has_depths = True
            if not _leave_out_of_patch(model, scratch, p, reach, dt):
                continue
        scratch.false_pair[scratch.num_false[0]] = pair
        scratch.num_false[0] += 1
    if scratch.num_false[0] > 0:
        remove_faces_without_area(scratch)


@kernel
def _passes_by(model, scratch, p, reach, dt):
    """Whether all faces of patch p lie in margins, and some would press, but the bodies do not overlap on their way.

    Reads scratch.faces: data; scratch.patches: first_face, pair.
    """
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        if scratch.faces.data[PRESSURE, f] > 0.0:
            return False
    _set_relative_twist(model, scratch, p)
    if model.running.shape[0] > 0:
        # For one who sees a belt at rest, what lies still on it slides.
        _subtract_surface_velocity(model, scratch, p)
    if not _has_rising_face(scratch, p, 0.0, dt):
        return False
    return way_deeper(model, scratch, scratch.patches.pair[p], reach, 0.0, 0.0, 0.0, 0.0, 0.0, dt) == 0.0


@kernel
def _may_be_false(model, scratch, p, reach, dt):
    """Whether patch p, of two rigid bodies, has faces that foresee a collision which there may not be.

    Reads model: pair_room, pair_rows; model.geometries: kind; scratch.patches: pair.
    """
    pair, kinds = scratch.patches.pair[p], model.geometries.kind
    room, row_a, row_b = model.pair_room[pair], model.pair_rows[pair, 0], model.pair_rows[pair, 1]
    # A half space has no other side that could explain an overlap.
    if reach <= room or kinds[row_a] != RIGID_MESH or kinds[row_b] != COMPLIANT_MESH:
        return False
    _set_relative_twist(model, scratch, p)
    return _has_rising_face(scratch, p, room, dt)


@kernel
def missed_a_collision(model, scratch, dt):
    """Whether bodies whose false faces were left out overlap more at the end of the solved step ``scratch.v_next``.

    The step is then to be solved with all faces; none counts as left out any more.

    Reads model: pairs; scratch: false_pair, motion, num_false.
    Writes scratch: num_false.
    """
    if scratch.num_false[0] == 0:
        return False
    set_motions(model, scratch, dt)
    for k in range(scratch.num_false[0]):
        pair = scratch.false_pair[k]
        reach = scratch.motion[model.pairs[pair, 0]] + scratch.motion[model.pairs[pair, 1]]
        allowance = _allowance(model, scratch, pair)
        # Without a finite way there is nothing to look at, and the step fails.
        if (
            math.isfinite(reach)
            and way_deeper(model, scratch, pair, reach, 0.0, 0.0, allowance, 0.0, math.inf, dt) > 0.0
        ):
            scratch.num_false[0] = 0
            return True
    return False


@kernel
def _allowance(model, scratch, pair):
    """Depth that a face of a pair may reach without being a collision, m: that of the bodies' other contacts.

    None in a compliant pair, of which all faces were left out.

    Reads model: pair_flat, pair_foreseen, pair_room, pairs; scratch: depth.
    """
    if model.pair_flat[pair] != 0.0:
        return 0.0
    deepest = max(scratch.depth[model.pairs[pair, 0]], scratch.depth[model.pairs[pair, 1]])
    return max(model.pair_room[pair], min(ALLOWANCE * deepest, model.pair_foreseen[pair]))


@kernel
def _set_depths(model, scratch):
    """Set the largest depth of any face of each geometry, m.

    Reads model: pairs; scratch: depth; scratch.faces: data; scratch.patches: first_face, num, pair.
    Writes scratch: depth.
    """
    patches, data, depth = scratch.patches, scratch.faces.data, scratch.depth
    depth[:] = 0.0
    for p in range(patches.num[0]):
        a, b = model.pairs[patches.pair[p], 0], model.pairs[patches.pair[p], 1]
        for f in range(patches.first_face[p], patches.first_face[p + 1]):
            face = face_at(data, f)
            steepness = steepness_of(face)
            if face.pressure > 0.0 and steepness > 0.0:
                depth[a] = max(depth[a], face.pressure / steepness)
                depth[b] = max(depth[b], face.pressure / steepness)


@kernel
def _has_rising_face(scratch, p, room, dt):
    """Whether a step would take any face of patch p to become deeper by ``room`` (m), with the twist in ``scratch``.

    Reads scratch: twist; scratch.patches: first_face.
    """
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        if _is_rising(scratch.faces, f, scratch.twist, room, room, dt):
            return True
    return False


@kernel
def _set_relative_twist(model, scratch, p):
    """Write the twist of A relative to B of patch p about the origin of B, in its axes, to ``scratch.twist``.

    Reads model: geometry_body, pairs; scratch: V_WB, p_WG, twist; scratch.patches: R_WG, pair.
    Writes scratch: twist.
    """
    pair = scratch.patches.pair[p]
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    body_a, body_b = model.geometry_body[a], model.geometry_body[b]
    twist_of_pair(scratch.V_WB, body_b, body_a, scratch.patches.R_WG[p], scratch.p_WG[b], scratch.twist)


@kernel
def _subtract_surface_velocity(model, scratch, p):
    """Take the surface velocity of B relative to A from ``scratch.twist``.

    Reads scratch: twist; scratch.patches: R_WG.
    Writes scratch: twist.
    """
    V = scratch.twist
    V[3], V[4], V[5] = -V[3], -V[4], -V[5]
    add_surface_velocity(model, scratch, p, scratch.patches.R_WG[p], V[3:])
    V[3], V[4], V[5] = -V[3], -V[4], -V[5]


@kernel
def _is_rising(faces, f, V, room, allowance, dt):
    """Whether the linear law of a step takes face f to become deeper by ``room``, and then deeper than ``allowance``.

    By the approach along its gradient and by that along its normal: it may push along either.

    Args:
        faces: ``FaceBuffer``.
        f: Face.
        V: (6,) twist of A relative to B about B's origin, in its axes.
        room: Depth, m.
        allowance: Depth, m.
        dt: Length of the step, s.

    Reads faces: data.
    """
    face = face_at(faces.data, f)
    steepness, (x, y, z), g, n = steepness_of(face), face.centroid, face.gradient, face.normal
    if not steepness > 0.0:
        return False
    vx, vy, vz = V[3] + V[1] * z - V[2] * y, V[4] + V[2] * x - V[0] * z, V[5] + V[0] * y - V[1] * x
    along_gradient = (vx * g[0] + vy * g[1] + vz * g[2]) / steepness
    along_normal = vx * n[0] + vy * n[1] + vz * n[2]
    growth = dt * max(along_gradient, along_normal)
    return growth > room and _highest_pressure(faces, f) / steepness + growth > allowance


@kernel
def _highest_pressure(faces, f):
    """Largest pressure at a corner of face f, Pa.

    Reads faces: data, num_vertices, polygons.
    """
    data, highest = faces.data, faces.data[PRESSURE, f]
    for i in range(faces.num_vertices[f]):
        pressure = data[PRESSURE, f]
        for axis in range(3):
            pressure += data[GRADIENT + axis, f] * (faces.polygons[f, i, axis] - data[CENTROID + axis, f])
        highest = max(highest, pressure)
    return highest


@kernel
def _leave_out_of_patch(model, scratch, p, reach, dt):
    """Take the area of the faces of patch p that come to nothing; return whether there are any.

    Reads model: pair_room, pairs; scratch: R_BA, p_BA, twist; scratch.patches: first_face, pair.
    Writes scratch: R_BA, p_BA; scratch.faces: data.
    """
    pair, data = scratch.patches.pair[p], scratch.faces.data
    allowance, any_left_out = _allowance(model, scratch, pair), False
    set_relative_pose(scratch, model.pairs[pair, 0], model.pairs[pair, 1], scratch.R_BA, scratch.p_BA)
    see_from_mesh(model, scratch, p, scratch.R_BA, scratch.p_BA)
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        if not _is_rising(scratch.faces, f, scratch.twist, model.pair_room[pair], allowance, dt):
            continue
        if not _comes_deep(model, scratch, p, f, PLACES * poses_of(model, pair, reach), allowance, dt):
            data[AREA, f] = 0.0
            any_left_out = True
    return any_left_out


@kernel
def _comes_deep(model, scratch, p, f, places, allowance, dt):
    """Whether face f, moving with A, comes deeper into B than the allowance (m) at any of some places on its way.

    Reads model: pair_rows; scratch: R_BA, p_BA; scratch.between: R_CB, buffers, p_CB, total, values; scratch.faces:
    num_vertices, polygons; scratch.patches: pair; scratch.query: nodes.
    Writes scratch.between: R_CB, buffers, p_CB, total, values; scratch.query: nodes.
    """
    between, n = scratch.between, scratch.faces.num_vertices[f]
    R_BA, p_BA, R, q = scratch.R_BA, scratch.p_BA, between.R_CB, between.p_CB
    pair = scratch.patches.pair[p]
    for k in range(1, places + 1):
        set_moved_relative_pose(model, scratch, pair, dt * k / places, R, q)
        see_from_mesh(model, scratch, p, R, q)
        for vertex in range(n):
            x, moved = scratch.faces.polygons[f, vertex], between.buffers[FACE, vertex]
            for i in range(3):
                moved[i] = q[i]
            for j in range(3):
                # The vertex in A's frame.
                of_a = 0.0
                for i in range(3):
                    of_a += R_BA[i, j] * (x[i] - p_BA[i])
                for i in range(3):
                    moved[i] += R[i, j] * of_a
        depth = covered_depth(
            model.geometries,
            model.pair_rows[pair, 1],
            n,
            scratch.query.nodes,
            between.buffers,
            between.values,
            between.total[3:9],
        )
        if depth > allowance:
            return True
    return False
