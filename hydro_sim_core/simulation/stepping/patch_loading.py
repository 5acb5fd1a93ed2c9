# mypy: allow-untyped-defs
"""Patch stage of the step: from contact patches to faces, Jacobians and pair properties of the problem."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.teams import (
    PART,
    PARTS,
    end_part,
    meet,
    publish,
    take_part,
)
from hydro_sim_core.contact.pressure_field.faces import (
    CENTROID,
    face_at,
    is_past_upright,
    share_ahead,
    share_of_rise,
    speed_along_normal,
    steepness_of,
)
from hydro_sim_core.dynamics.kinematics import add_point_jacobian
from hydro_sim_core.simulation.stepping.arcs import find_arcs, follow_arcs
from hydro_sim_core.simulation.stepping.collision import LOAD, MIN_AREA, MIN_SLOPE, parts_of_faces
from hydro_sim_core.simulation.stepping.face_points import (
    NO_FACES,
    points_a_face,
    pressure_at,
    set_points,
    way_to_pressure,
)
from hydro_sim_core.simulation.stepping.passing_faces import rise_of_passing, set_sliding
from hydro_sim_core.simulation.stepping.push_directions import choose_directions, set_push
from hydro_sim_core.simulation.stepping.rims import RIM_DEPTH, RIM_SLOPE, rim_of_face
from hydro_sim_core.solvers.linear import factorise, solve_lower_three
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import (
    DRIFT,
    DRIFT_BEFORE,
    ELASTIC,
    FRICTION,
    INVERSE_MASS,
    LANES,
    SLIP,
    STIFFNESS_DT,
    N,
    X,
)
from hydro_sim_core.triples import dot

#: Largest distance that a body may be pushed out of its first contact, as a multiple of its approach in the last step.
#: 1.1 would add no energy, but also suppress the rattling of a stiff rod without margin that
#: ``experiments/margin_rod.py`` reproduces.
FIRST_REACH = 5.0
#: Lower bound of the inverse mass of a patch, 1/kg. Laws divide by it, and it is zero if the reference point cannot
#: move, as on a hinge axis.
LEAST_INVERSE_MASS = 1e-9
#: Replaces a reach of zero, m.
SHORTEST_REACH = 1e-9


@kernel
def load_patches(model, state, scratch, dt):
    """Turn patches into face blocks, pair Jacobians and pair properties of the problem; as a team if faces are many.

    The solver's v must contain the prescribed velocities.

    Reads scratch: factor; scratch.patches: num; scratch.points: num_faced; scratch.problem: A, num_patches;
    scratch.problem.islands: tree_begin.
    Writes scratch: factor; scratch.problem: num_patches.
    """
    problem, num, team = scratch.problem, scratch.points.num_faced[0], scratch.solver.team
    problem.num_patches[0] = scratch.patches.num[0]
    if problem.num_patches[0] == 0:
        return
    find_arcs(model, scratch)
    factorise(problem.A, scratch.factor, 0, model.forest.velocities.shape[0], problem.islands.tree_begin)
    parts = parts_of_faces(scratch)
    if parts == 1:
        block = 0
        for p in range(num):
            block = _load_patch(model, state, scratch, p, dt, block)
        return
    publish(team, LOAD, 0, parts)
    while take_part(team):
        load_part(model, state, scratch, team)
        end_part(team)
    meet(team, parts)


@kernel
def load_part(model, state, scratch, team):
    """Load the part of the patches that a thread has taken; they get blocks for as many points as they may have.

    Reads team: task; scratch.patches: first_face; scratch.points: num_faced; scratch.problem: dt.
    """
    first_face, num, points = scratch.patches.first_face, scratch.points.num_faced[0], points_a_face(model)
    part, parts, total = team.task[PART], team.task[PARTS], first_face[num]
    for p in range(num):
        if first_face[p] * parts // total == part:
            block = first_face[p] * points // LANES + p
            _load_patch(model, state, scratch, p, scratch.problem.dt[0], block)


@kernel
def _load_patch(model, state, scratch, p, dt, block):
    """Load a patch, with face blocks from ``block`` on; return the next free one.

    Reads model: pair_dissipation, pair_flat, pair_friction; scratch: factor, response; state: dt_previous, overlaps;
    scratch.faces: data; scratch.patches: first_face, pair; scratch.problem: end_block.
    Writes scratch: response; scratch.patches: p_GR; scratch.problem: delassus, dissipation, end_block, first_block,
    friction.
    """
    patches, problem, pair = scratch.patches, scratch.problem, scratch.patches.pair[p]
    problem.friction[p] = model.pair_friction[pair]
    problem.dissipation[p] = model.pair_dissipation[pair]
    set_reference_point(scratch.faces.data, patches.first_face[p], patches.first_face[p + 1], patches.p_GR[p])
    if model.grained.shape[0] > 0:
        _set_grain(model, scratch, p)
    set_patch_jacobian(model, scratch, p)
    lasts = state.dt_previous[0] > 0.0 and state.overlaps[pair] != 0
    if lasts:
        follow_arcs(model, scratch, p, dt)
    inverse_mass = mean_inverse_mass(problem, p, scratch.factor, scratch.response)
    problem.delassus[p] = max(inverse_mass, LEAST_INVERSE_MASS)
    reach = _reach(model, state, scratch, p)
    ways = choose_directions(model, scratch, p)
    problem.first_block[p] = block
    # The sizes of bodies do not tell of a contact that begins, and of two rigid ones all is a skin.
    rim_depth = RIM_DEPTH * reach if lasts and model.pair_flat[pair] != 0.0 else math.inf
    problem.end_block[p] = _fill_blocks(model, scratch, p, dt, reach, ways, rim_depth)
    return problem.end_block[p]


@kernel
def _set_grain(model, scratch, p):
    """Set the grain of patch p from the side that has one, in its axes.

    Reads model: grain, pairs; scratch: R_WG; scratch.patches: R_WG, pair; scratch.problem: grain.
    Writes scratch.problem: grain.
    """
    pair = scratch.patches.pair[p]
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    R_WA, R_WB, R_WP, out = (
        scratch.R_WG[a],
        scratch.R_WG[b],
        scratch.patches.R_WG[p],
        scratch.problem.grain[p],
    )
    of_a, of_b = model.grain[a], model.grain[b]
    out[0] = out[1] = out[2] = 0.0
    for j in range(3):
        along = R_WB[j, 0] * of_b[0] + R_WB[j, 1] * of_b[1] + R_WB[j, 2] * of_b[2]
        along += R_WA[j, 0] * of_a[0] + R_WA[j, 1] * of_a[1] + R_WA[j, 2] * of_a[2]
        for i in range(3):
            out[i] += R_WP[j, i] * along


@kernel
def set_reference_point(data, first, last, p_GR):
    """Write the mean of the centroids of faces into ``p_GR`` (3,), m."""
    x = y = z = 0.0
    for f in range(first, last):
        x, y, z = x + data[CENTROID, f], y + data[CENTROID + 1, f], z + data[CENTROID + 2, f]
    num = last - first
    p_GR[0], p_GR[1], p_GR[2] = x / num, y / num, z / num


@kernel
def _extent(geometries, row):
    """Diagonal of a geometry's box, m; infinite for half spaces.

    Reads geometries: boxes, node_start.
    """
    root = geometries.node_start[row]
    if root == geometries.node_start[row + 1]:
        return math.inf
    half = geometries.boxes[root, 3:]
    return 2.0 * math.sqrt(dot(half, half))


@kernel
def _reach(model, state, scratch, p):
    """Distance that the bodies of patch p may separate until they no longer overlap, m.

    At most the size of the smaller body. Bodies that were not in contact at the last posture overlap at most by their
    approach since then.

    Reads model: pair_rows; scratch: twist; state: dt_previous, overlaps; scratch.faces: data; scratch.patches:
    first_face, p_GR, pair; scratch.problem: v0.
    Writes scratch: twist.
    """
    pair = scratch.patches.pair[p]
    reach = min(
        _extent(model.geometries, model.pair_rows[pair, 0]),
        _extent(model.geometries, model.pair_rows[pair, 1]),
    )
    if state.dt_previous[0] == 0.0 or state.overlaps[pair]:
        return reach
    data, problem, V = scratch.faces.data, scratch.problem, scratch.twist
    relative_twist(problem, p, problem.v0, DRIFT_BEFORE, V)
    p_GR, fastest = scratch.patches.p_GR[p], 0.0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        fastest = max(fastest, abs(speed_along_normal(face_at(data, f), p_GR, V)))
    return min(reach, FIRST_REACH * state.dt_previous[0] * fastest)


@kernel
def _fill_blocks(model, scratch, p, dt, reach, ways, rim_depth):
    """Write the faces of patch p into blocks, padded with faces without force; return the next free block.

    Linear damping acts like a longer look-ahead, f = k (-phi - (dt + relaxation) v_n), but not on faces that do not
    touch yet: it would slow bodies down in the air.

    The force ends within the ``reach`` of the patch, m. Where the pressure gradient along the normal is small, as at
    the rim of a box and deep in any body, the slope alone would push over metres and throw light bodies. What is false
    in the rise of pressures is taken off (see ``passing_faces``), and from ``rim_depth``, m, on rims press (see
    ``rims``). ``ways`` is what ``choose_directions`` tells.

    Reads model: pair_flat, pair_moments, pair_relaxation; scratch: face_points, mean_push, push, push_along, twist;
    model.options: stiction_speed; scratch.faces: data; scratch.patches: apart, area, first_face, is_recovered, p_GR,
    pair; scratch.problem: delassus, first_block.
    Writes scratch: face_points, push_along, twist; scratch.patches: faded_force; scratch.problem: blocks.
    """
    data, blocks, push = scratch.faces.data, scratch.problem.blocks, scratch.push_along
    p_GR, points, reach = scratch.patches.p_GR[p], scratch.face_points, max(reach, SHORTEST_REACH)
    pair, apart, area_of_all = scratch.patches.pair[p], scratch.patches.apart[p], scratch.patches.area[p]
    is_rigid, V = model.pair_flat[pair] == 0.0, scratch.twist
    lacks_moments = not is_rigid and apart < 1.0 and model.pair_moments[pair] != NO_FACES
    relaxation, stiction_speed = model.pair_relaxation[pair], model.options.stiction_speed
    inverse_mass, is_recovered = scratch.problem.delassus[p], scratch.patches.is_recovered[p]
    slides = not is_rigid and not is_recovered
    motion = set_sliding(scratch, p, pair, V) if slides else 0.0
    faded, block, lane = 0.0, scratch.problem.first_block[p], 0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        face = face_at(data, f)
        share = _share_by_slope(face, is_recovered)
        rim, pressed, force, centre = 0.0, 0.0, 0.0, (0.0, 0.0, 0.0)
        if 0.0 <= share < 1.0:
            rim, pressed, force, centre = rim_of_face(scratch.faces, f, face, scratch.push[pair], rim_depth)
            faded += (1.0 - max(share, rim)) * force * share_ahead(face.normal, scratch.push[pair])
        if max(share, rim) <= 0.0:
            continue
        area, slope = set_push(face, ways, scratch.mean_push, push)
        mean, way = face.pressure, (0.0, 0.0, 0.0)
        if rim > share:
            num, share, mean, way = 1, rim * pressed, force / pressed, centre
            slope = max(slope, RIM_SLOPE * steepness_of(face))
        else:
            num = set_points(scratch.faces, f, face, is_rigid, apart, area_of_all, points)
            share *= area / num
            way = way_to_pressure(scratch.faces, f, face, num, points) if lacks_moments else way
        false_rise = dt * rise_of_passing(face, p_GR, V, motion) if slides else 0.0
        for j in range(num):
            pressure = pressure_at(face, points[j]) if num > 1 else mean
            at = (points[j, 0], points[j, 1], points[j, 2]) if num > 1 else (0.0, 0.0, 0.0)
            ahead = dt + relaxation if pressure > 0.0 else dt
            out = blocks[block]
            _write_place(out, lane, face.centroid, p_GR, way, at, push)
            out[ELASTIC * LANES + lane] = share * (pressure - false_rise)
            out[STIFFNESS_DT * LANES + lane] = ahead * max(slope, pressure / reach) * share
            out[FRICTION * LANES + lane], out[SLIP * LANES + lane] = 0.0, stiction_speed
            out[INVERSE_MASS * LANES + lane] = inverse_mass
            lane += 1
            if lane == LANES:
                block, lane = block + 1, 0
    scratch.patches.faded_force[p] = faded
    return fill_up(blocks, block, lane)


@kernel(inline=True)
def _share_by_slope(face, is_recovered):
    """Share of a face that presses by the slope of its pressure, from 0 to 1; -1 for none, as a rim neither.

    Reads face: area, slope_a, slope_b.
    """
    falls = face.slope_a <= MIN_SLOPE or face.slope_b <= MIN_SLOPE
    if face.area <= MIN_AREA or (falls and not is_recovered and is_past_upright(face)):
        return -1.0
    return 1.0 if is_recovered else 0.0 if falls else share_of_rise(face)


@kernel(inline=True)
def _write_place(out, lane, centroid, p_GR, way, at, push):
    """Write where a point of a face is, beside the reference point, and the direction in which it pushes."""
    for i in range(3):
        out[(X + i) * LANES + lane] = centroid[i] - p_GR[i] + way[i] + at[i]
        out[(N + i) * LANES + lane] = push[i]


@kernel
def fill_up(blocks, block, lane):
    """Fill a block from ``lane`` on with faces that carry nothing, unless it is empty; return the next free block."""
    if lane == 0:
        return block
    out = blocks[block]
    for i in range(lane, LANES):
        for row in range(SLIP):
            out[row * LANES + i] = 0.0
        out[SLIP * LANES + i] = 1.0
        out[INVERSE_MASS * LANES + i] = 1.0
    return block + 1


@kernel
def set_patch_jacobian(model, scratch, p):
    """Set the Jacobian of B's twist relative to A at the reference point, in the axes of B's geometry.

    Reads model: geometry_body, pairs; scratch: S, jacobian, p_WR; scratch.patches: R_WG, p_GR, p_WG, pair.
    Writes scratch: jacobian, p_WR.
    """
    R_WG, p_GR, p_WR = scratch.patches.R_WG[p], scratch.patches.p_GR[p], scratch.p_WR
    for i in range(3):
        p_WR[i] = scratch.patches.p_WG[p, i]
        for j in range(3):
            p_WR[i] += R_WG[i, j] * p_GR[j]
    clear_jacobian(model, scratch, p)
    pair = scratch.patches.pair[p]
    for side in range(2):
        body = model.geometry_body[model.pairs[pair, side]]
        add_point_jacobian(model.tree, scratch.S, body, p_WR, 2.0 * side - 1.0, scratch.jacobian)
    store_jacobian(model, scratch, p)


@kernel
def clear_jacobian(model, scratch, p):
    """Set the columns of ``scratch.jacobian`` to zero that move patch p, or may.

    Reads scratch.problem.islands: columns, order.
    Writes scratch: jacobian.
    """
    columns, order = scratch.problem.islands.columns[p], scratch.problem.islands.order
    for side in range(2):
        for k in range(columns[side, 0], columns[side, 1]):
            scratch.jacobian[:, order[k]] = 0.0
    for k in range(model.forest.velocities.shape[0], order.shape[0]):
        scratch.jacobian[:, order[k]] = 0.0


@kernel
def store_jacobian(model, scratch, p):
    """Make ``scratch.jacobian``, in world axes, that of patch p, and set its drift.

    Reads scratch: jacobian; scratch.patches: R_WG; scratch.problem.islands: columns, order.
    Writes scratch.problem: drift, jacobian.
    """
    problem, J, R_WG = scratch.problem, scratch.jacobian, scratch.patches.R_WG[p]
    columns, order = problem.islands.columns[p], problem.islands.order
    for side in range(2):
        for k in range(columns[side, 0], columns[side, 1]):
            for half in range(0, 6, 3):
                x, y, z = J[half, order[k]], J[half + 1, order[k]], J[half + 2, order[k]]
                for i in range(3):
                    problem.jacobian[p, half + i, k] = R_WG[0, i] * x + R_WG[1, i] * y + R_WG[2, i] * z
    problem.drift[DRIFT, p, :] = problem.drift[DRIFT_BEFORE, p, :] = 0.0
    if model.forest.prescribed.shape[0] > 0 or model.running.shape[0] > 0:
        _set_drift(model, scratch, p, J)


@kernel
def add_surface_velocity(model, scratch, p, R_WP, velocity):
    """Add the surface velocity of B relative to A to ``velocity`` (3,), in the axes (3, 3) of patch p.

    Reads model: pairs, surface_velocity; scratch: R_WG; scratch.patches: pair.
    """
    pair = scratch.patches.pair[p]
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    of_a, of_b = model.surface_velocity[a], model.surface_velocity[b]
    R_WA, R_WB = scratch.R_WG[a], scratch.R_WG[b]
    for j in range(3):
        along = R_WB[j, 0] * of_b[0] + R_WB[j, 1] * of_b[1] + R_WB[j, 2] * of_b[2]
        along -= R_WA[j, 0] * of_a[0] + R_WA[j, 1] * of_a[1] + R_WA[j, 2] * of_a[2]
        for i in range(3):
            velocity[i] += R_WP[j, i] * along


@kernel
def _set_drift(model, scratch, p, J):
    """Set the part of patch p's twist that is prescribed, before the step and in it; J (6, nv) in world axes.

    Reads scratch.patches: R_WG; scratch.problem: drift, v0; scratch.solver: v; scratch.problem.islands: order.
    Writes scratch.problem: drift.
    """
    problem, v, R_WG = scratch.problem, scratch.solver.v, scratch.patches.R_WG[p]
    before, drift, order = problem.drift[DRIFT_BEFORE, p], problem.drift[DRIFT, p], problem.islands.order
    add_surface_velocity(model, scratch, p, R_WG, before[3:])
    add_surface_velocity(model, scratch, p, R_WG, drift[3:])
    for k in range(model.forest.velocities.shape[0], order.shape[0]):
        for half in range(0, 6, 3):
            x, y, z = J[half, order[k]], J[half + 1, order[k]], J[half + 2, order[k]]
            for i in range(3):
                along = R_WG[0, i] * x + R_WG[1, i] * y + R_WG[2, i] * z
                before[half + i] += along * problem.v0[k]
                drift[half + i] += along * v[k]


@kernel
def mean_inverse_mass(problem, p, factor, work):
    """Mean inverse mass at the reference point, |J A^-1 J^T| / 3 over the linear rows, with A's Cholesky factor.

    Reads problem: jacobian; problem.islands: columns, tree_begin.
    """
    J, columns, tree_begin = problem.jacobian[p], problem.islands.columns[p], problem.islands.tree_begin
    for side in range(2):
        begin, end = columns[side, 0], columns[side, 1]
        for i in range(3):
            for k in range(begin, end):
                work[i, k] = J[3 + i, k]
        solve_lower_three(factor, begin, end, tree_begin, work)
    total = 0.0
    for i in range(3):
        for j in range(3):
            s = 0.0
            for side in range(2):
                for k in range(columns[side, 0], columns[side, 1]):
                    s += work[i, k] * work[j, k]
            total += s * s
    return math.sqrt(total) / 3.0
