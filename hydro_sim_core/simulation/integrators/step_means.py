# mypy: allow-untyped-defs
"""What is told of a time step that is integrated in parts: wrenches and efforts as averages over time.

The averages are those of the sums by which the integrators find velocities, so that what is told times the time step is
the change of momentum. ``pieces`` does so for steps of fixed length that are parted, with their faces.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, Int1D, Int2D, kernel
from hydro_sim_core.contact.pressure_field.faces import store_even_face
from hydro_sim_core.contact.pressure_field.query import find_faces
from hydro_sim_core.simulation.stepping.collision import keep_faces_towards, split_faces
from hydro_sim_core.simulation.stepping.face_points import apart_and_area
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.round_sides import straighten_faces

#: Parts of one step of an integrator at most, and the list after theirs: the sum over the time step.
MOST_PARTS = 3
_SUM = MOST_PARTS
#: Columns of rows: moment about the world's origin, force on B and its part along normals, then where the patch is.
_MOMENT, _FORCE, _NORMAL, _R_WG, _P_WG, _P_GR, _R_BA, _P_BA, _COLUMNS = 0, 3, 6, 9, 18, 21, 24, 33, 36


class StepMeans(NamedTuple):
    """Memory for it: a list for each part, and one for the sum over the time step so far.

    Attributes:
        num: (4,) rows of each list. More rows of the sum than there is room for are counted, and not kept.
        pair: (4, P) row of the model's pairs.
        row: (4, P, 36) moment about the world's origin and force on B, and its part along normals, N m and N, of the
            sum times seconds; then ``R_WG``, ``p_WG``, ``p_GR``, ``R_BA`` and ``p_BA`` of the ``PatchTable``, of the
            sum those of the last part in which the pair pressed.
        effort: (4, nv) efforts of drives, of the sum times seconds.
        extrapolated: (trees + 1,) 1 for trees whose velocities are extrapolated, else 0; the last is of prescribed
            velocities.
    """

    num: Int1D
    pair: Int2D
    row: Float3D
    effort: Float2D
    extrapolated: Float1D


def make_step_means(patches: int, velocities: int, trees: int) -> StepMeans:
    """Memory for numbers of patches, velocities and trees."""
    return StepMeans(
        num=np.zeros(_SUM + 1, dtype=np.int64),
        pair=np.zeros((_SUM + 1, patches), dtype=np.int64),
        row=np.zeros((_SUM + 1, patches, _COLUMNS)),
        effort=np.zeros((_SUM + 1, velocities)),
        extrapolated=np.zeros(trees + 1),
    )


def step_means_of(machine: Machine) -> StepMeans:
    """Memory for the steps of a machine, as long as it has the memory that it has now."""
    trees = len(machine.model.forest.first) - 1
    return make_step_means(len(machine.scratch.patches.pair), len(machine.state.v), trees)


def suits(means: StepMeans, machine: Machine) -> bool:
    """Whether a machine still has room for as many patches as this memory."""
    return means.pair.shape[1] == len(machine.scratch.patches.pair)


def enlarged(means: StepMeans, machine: Machine) -> StepMeans:
    """The same sum in memory with as much room as a machine has by now."""
    larger = step_means_of(machine)
    num = min(int(means.num[_SUM]), means.pair.shape[1])
    larger.num[:] = means.num
    larger.pair[_SUM, :num], larger.row[_SUM, :num] = means.pair[_SUM, :num], means.row[_SUM, :num]
    larger.effort[:] = means.effort
    return larger


@kernel
def forget_parts(means):
    """Begin a time step.

    Writes means: effort, extrapolated, num.
    """
    means.num[_SUM] = 0
    means.effort[_SUM, :] = 0.0
    means.extrapolated[:] = 0.0


@kernel
def keep_part(machine, means, part):
    """Keep what the machine tells of the part that it has just taken, or evaluated.

    Reads means: row; machine.scratch: effort; machine.scratch.patches: R_BA, R_WG, normal_force, num, p_BA, p_GR, p_WG,
    pair, wrench.
    Writes means: effort, num, pair, row.
    """
    patches, effort = machine.scratch.patches, machine.scratch.effort
    for i in range(effort.shape[0]):
        means.effort[part, i] = effort[i]
    means.num[part] = patches.num[0]
    for p in range(patches.num[0]):
        row, wrench = means.row[part, p], patches.wrench[p]
        means.pair[part, p] = patches.pair[p]
        for i in range(3):
            row[_FORCE + i], row[_NORMAL + i] = wrench[3 + i], patches.normal_force[p, i]
            row[_P_WG + i], row[_P_GR + i] = patches.p_WG[p, i], patches.p_GR[p, i]
            row[_P_BA + i] = patches.p_BA[p, i]
            for j in range(3):
                row[_R_WG + 3 * i + j], row[_R_BA + 3 * i + j] = patches.R_WG[p, i, j], patches.R_BA[p, i, j]
        _write_moment(patches, p, wrench[0], wrench[1], wrench[2], row[_FORCE:], 1.0, row[_MOMENT:])


@kernel(inline=True)
def _write_moment(patches, p, m0, m1, m2, force, sign, out):
    """Write a moment plus ``sign`` times that of a force (N) at the reference point of patch p to ``out`` (3,).

    Reads patches: R_WG, p_GR, p_WG.
    """
    R, x, y = patches.R_WG[p], patches.p_WG[p], patches.p_GR[p]
    p0 = x[0] + R[0, 0] * y[0] + R[0, 1] * y[1] + R[0, 2] * y[2]
    p1 = x[1] + R[1, 0] * y[0] + R[1, 1] * y[1] + R[1, 2] * y[2]
    p2 = x[2] + R[2, 0] * y[0] + R[2, 1] * y[1] + R[2, 2] * y[2]
    out[0] = m0 + sign * (p1 * force[2] - p2 * force[1])
    out[1] = m1 + sign * (p2 * force[0] - p0 * force[2])
    out[2] = m2 + sign * (p0 * force[1] - p1 * force[0])


@kernel
def add_part(model, means, part, length, more, tree_of_v):
    """Add a part to the sum, which acts for ``length`` (s), and for ``more`` besides where velocities are extrapolated.

    A pair acts for ``more`` only where all that moves of it is extrapolated.

    Reads means: effort, extrapolated, num, pair, row.
    Writes means: effort, row.
    """
    for i in range(tree_of_v.shape[0]):
        weight = length + more * means.extrapolated[tree_of_v[i]]
        means.effort[_SUM, i] += weight * means.effort[part, i]
    expected = 0
    for p in range(means.num[part]):
        pair, row = means.pair[part, p], means.row[part, p]
        weight = length + (more if _is_extrapolated(model, means, pair) else 0.0)
        at = _row_of_sum(means, pair, expected)
        expected = at + 1
        if at >= means.pair.shape[1]:
            continue
        total = means.row[_SUM, at]
        for i in range(_R_WG):
            total[i] += weight * row[i]
        if _presses(row):
            for i in range(_R_WG, _COLUMNS):
                total[i] = row[i]


@kernel
def keep_apart_from_impacts(model, means):
    """Have no tree extrapolated that touches one that is not: what one loses to the other would not be what that gains.

    Reads means: extrapolated, num, pair, row.
    Writes means: extrapolated.
    """
    share, differs = means.extrapolated, True
    while differs:
        differs = False
        for part in range(MOST_PARTS):
            for p in range(means.num[part]):
                first, second = _trees_of_pair(model, means.pair[part, p])
                if (
                    first < 0
                    or second < 0
                    or share[first] == share[second]
                    or not _presses(means.row[part, p])
                ):
                    continue
                share[first] = share[second] = 0.0
                differs = True


@kernel
def touches_another(model, means, tree):
    """Whether a tree presses against anything but itself in any part.

    Reads means: num, pair, row.
    """
    for part in range(MOST_PARTS):
        for p in range(means.num[part]):
            first, second = _trees_of_pair(model, means.pair[part, p])
            if (first == tree) != (second == tree) and _presses(means.row[part, p]):
                return True
    return False


@kernel
def _is_extrapolated(model, means, pair):
    """Whether the velocities of all that moves of a pair are extrapolated.

    Reads means: extrapolated.
    """
    first, second = _trees_of_pair(model, pair)
    return (first < 0 or means.extrapolated[first] != 0.0) and (
        second < 0 or means.extrapolated[second] != 0.0
    )


@kernel(inline=True)
def _trees_of_pair(model, pair):
    """Trees of the bodies of a pair, -1 for what no tree has.

    Reads model: geometry_body, pairs; model.forest: tree_of_body.
    """
    first, second = model.geometry_body[model.pairs[pair, 0]], model.geometry_body[model.pairs[pair, 1]]
    tree_of_body = model.forest.tree_of_body
    return tree_of_body[first] if first >= 0 else -1, tree_of_body[second] if second >= 0 else -1


@kernel
def _row_of_sum(means, pair, expected):
    """Row of a pair in the sum, which is made if there is none; one past the last if there is no room for it.

    Reads means: num, pair.
    Writes means: num, pair, row.
    """
    pairs, room = means.pair[_SUM], means.pair.shape[1]
    num = min(means.num[_SUM], room)
    at = _row_of(pairs, num, pair, expected)
    if at < num:
        return at
    means.num[_SUM] += 1
    if num < room:
        pairs[num] = pair
        means.row[_SUM, num, :] = 0.0
    return num


@kernel
def _row_of(pairs, num, pair, expected):
    """Row of a pair among the first ``num`` of a list, ``num`` if it is none of them.

    Lists mostly have the same pairs in the same order, so that the row is that ``expected``.
    """
    if expected < num and pairs[expected] == pair:
        return expected
    for at in range(num):
        if pairs[at] == pair:
            return at
    return num


@kernel
def put_means(machine, means, dt):
    """Make the averages over a time step of ``dt`` (s) what a machine tells; False without room for all of it.

    Pairs that pressed in an earlier part, and are apart in the last one, are told with the faces of the last part in
    which they pressed.

    Reads means: effort, num, pair, row; machine.scratch.patches: num, pair.
    Writes machine.scratch: effort, faces_needed; machine.scratch.patches: num.
    """
    scratch, patches = machine.scratch, machine.scratch.patches
    num = means.num[_SUM]
    if num > means.pair.shape[1]:
        scratch.faces_needed[0] = num
        return False
    for i in range(scratch.effort.shape[0]):
        scratch.effort[i] = means.effort[_SUM, i] / dt
    last, expected = patches.num[0], 0
    for at in range(num):
        pair = means.pair[_SUM, at]
        p = _row_of(patches.pair, last, pair, expected)
        if p < last:
            expected = p + 1
        elif _presses(means.row[_SUM, at]):
            p = patches.num[0]
            found = _put_parted(machine.model, scratch, p, pair, means.row[_SUM, at])
            if found > scratch.faces.num_vertices.shape[0]:
                scratch.faces_needed[0] = found
                return False
            patches.num[0] += 1
        else:
            continue
        _put_wrench(patches, p, means.row[_SUM, at], dt)
    return True


@kernel(inline=True)
def _presses(row):
    """Whether a row has any force along normals."""
    return math.fabs(row[_NORMAL]) + math.fabs(row[_NORMAL + 1]) + math.fabs(row[_NORMAL + 2]) > 0.0


@kernel
def _put_parted(model, scratch, p, pair, row):
    """Write all but the wrench of a patch whose bodies are apart now to row p of the table; return the number of faces.

    Reads model.points: first_pair; scratch.patches: first_face.
    Writes scratch: R_BA, p_BA; scratch.patches: R_BA, R_WG, apart, area, dropped_force, faded_force, first_face,
    is_recovered, p_BA, p_GR, p_WG, pair.
    """
    patches = scratch.patches
    patches.pair[p], patches.is_recovered[p] = pair, False
    patches.dropped_force[p] = patches.faded_force[p] = 0.0
    for i in range(3):
        patches.p_WG[p, i], patches.p_GR[p, i] = row[_P_WG + i], row[_P_GR + i]
        patches.p_BA[p, i] = scratch.p_BA[i] = row[_P_BA + i]
        for j in range(3):
            patches.R_WG[p, i, j] = row[_R_WG + 3 * i + j]
            patches.R_BA[p, i, j] = scratch.R_BA[i, j] = row[_R_BA + 3 * i + j]
    first = patches.first_face[p]
    if pair < model.points.first_pair[0]:
        last = _find_faces_again(model, scratch, p, pair, row)
        if last <= scratch.faces.num_vertices.shape[0]:
            patches.apart[p], patches.area[p] = apart_and_area(model, scratch, pair, first, last)
    else:
        last = _show_point(scratch.faces, first, row)
        patches.apart[p], patches.area[p] = 1.0, 0.0
    patches.first_face[p + 1] = last
    return last


@kernel
def _find_faces_again(model, scratch, p, pair, row):
    """Append the faces that a pair had, at the pose in ``scratch``; return the number of all faces.

    Where bodies were deep in each other, it had none but those that push as the force did.

    Reads model: pair_rows; scratch: R_BA, p_BA; scratch.patches: first_face; scratch.query: ahead, nodes.
    Writes scratch.patches: is_recovered; scratch.query: ahead, nodes.
    """
    rows, patches, faces, query = model.pair_rows[pair], scratch.patches, scratch.faces, scratch.query
    first, R_BA, p_BA = patches.first_face[p], scratch.R_BA, scratch.p_BA
    last = find_faces(model.geometries, rows[0], rows[1], R_BA, p_BA, False, query, faces, first)
    if last == first:
        patches.is_recovered[p] = True
        last = find_faces(model.geometries, rows[0], rows[1], R_BA, p_BA, True, query, faces, first)
        if last <= faces.num_vertices.shape[0]:
            query.ahead[0], query.ahead[1], query.ahead[2] = _turned_into_patch(row)
            last = keep_faces_towards(faces, first, last, query.ahead)
    if last > faces.num_vertices.shape[0]:
        return last
    last = split_faces(model, scratch, pair, first, last)
    if last <= faces.num_vertices.shape[0]:
        straighten_faces(model, faces, pair, first, last, R_BA, p_BA, query.nodes)
    return last


@kernel
def _show_point(faces, first, row):
    """Write the face of an equivalent contact point, which shows where it was; return one past it.

    Writes faces: data, num_vertices, polygons.
    """
    if first >= faces.num_vertices.shape[0]:
        return first + 1
    at = row[_P_GR : _P_GR + 3]
    store_even_face(faces.data, first, at, _turned_into_patch(row), 0.0, 0.0)
    for k in range(3):
        faces.polygons[first, 0, k] = at[k]
    faces.num_vertices[first] = 1
    return first + 1


@kernel(inline=True)
def _turned_into_patch(row):
    """Direction (3) of the sum of the forces along normals, in the axes of the patch."""
    n0, n1, n2 = row[_NORMAL], row[_NORMAL + 1], row[_NORMAL + 2]
    size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n0, n1, n2, R = n0 / size, n1 / size, n2 / size, row[_R_WG:_P_WG]
    return (
        R[0] * n0 + R[3] * n1 + R[6] * n2,
        R[1] * n0 + R[4] * n1 + R[7] * n2,
        R[2] * n0 + R[5] * n1 + R[8] * n2,
    )


@kernel
def _put_wrench(patches, p, row, dt):
    """Write the averages of a row, about the reference point that row p of the table has.

    Reads patches: wrench.
    Writes patches: normal_force, wrench.
    """
    for i in range(3):
        patches.wrench[p, 3 + i], patches.normal_force[p, i] = row[_FORCE + i] / dt, row[_NORMAL + i] / dt
    m0, m1, m2 = row[_MOMENT] / dt, row[_MOMENT + 1] / dt, row[_MOMENT + 2] / dt
    _write_moment(patches, p, m0, m1, m2, patches.wrench[p, 3:], -1.0, patches.wrench[p])
