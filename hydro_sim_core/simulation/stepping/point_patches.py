# mypy: allow-untyped-defs
"""What is told and drawn of contacts at equivalent points: their patch as a polygon, with its mean pressure."""

from __future__ import annotations

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.contact.pressure_field.faces import store_even_face
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES
from hydro_sim_core.simulation.stepping.model import Model, Scratch
from hydro_sim_core.simulation.stepping.point_outline import find_outline


@kernel
def show_points(model, scratch, dt):
    """Write the patches of contacts that press, if there are any contacts.

    Reads scratch.patches: num; scratch.points: num_faced.
    """
    if scratch.patches.num[0] > scratch.points.num_faced[0]:
        write_patches_of_points(model, scratch, dt)


@entry(on_demand=True)
def write_patches_of_points(model: Model, scratch: Scratch, dt: float) -> None:
    """Write the patches of contacts that press, and take the others out of the table.

    Args:
        model: Constants of the scene.
        scratch: Memory of the step.
        dt: Time step, s.

    Reads scratch.patches: first_face, normal_force, num, p_GR, pair, wrench; scratch.points: num_faced, pressed.
    Writes scratch.patches: first_face, normal_force, num, p_GR, pair, wrench.
    """
    patches, first = scratch.patches, scratch.points.num_faced[0]
    kept = first
    for p in range(first, patches.num[0]):
        j = p - first
        # As the last solution had it: the conditions have been loaded for the next one since.
        pressed = scratch.points.pressed[j]
        if pressed[0] <= 0.0:
            continue
        patches.pair[kept] = patches.pair[p]
        for i in range(3):
            patches.p_GR[kept, i], patches.normal_force[kept, i] = (
                patches.p_GR[p, i],
                patches.normal_force[p, i],
            )
        for i in range(6):
            patches.wrench[kept, i] = patches.wrench[p, i]
        begin = patches.first_face[kept]
        patches.first_face[kept + 1] = _write_faces(model, scratch, j, begin, pressed[1:], pressed[0] / dt)
        kept += 1
    patches.num[0] = kept


@kernel
def _write_faces(model, scratch, j, begin, arm, force):
    """Write the faces of the patch of contact ``j`` from column ``begin`` on; return one past the last.

    All have the equivalent contact point, ``arm`` from the reference point, as centroid, and the mean pressure of
    ``force`` (N); without an area they have none.

    Reads scratch.points: outline, p_WR; scratch.problem.points: normal, x.
    Writes scratch.faces: data, num_vertices, polygons.
    """
    points, at, faces = scratch.problem.points, scratch.points, scratch.faces
    centre = at.p_WR[j, 0] + arm[0], at.p_WR[j, 1] + arm[1], at.p_WR[j, 2] + arm[2]
    corners = find_outline(model, scratch, j)
    if corners == 0:
        # What pressed in a step that did not converge may touch nowhere: it is shown at its point.
        for k in range(3):
            faces.polygons[begin, 0, k] = centre[k]
        faces.num_vertices[begin] = 1
        store_even_face(faces.data, begin, centre, points.normal[j], 0.0, 0.0)
        return begin + 1
    area = 0.0
    for i in range(2, corners):
        area += _triangle(points, j, at.outline[0], at.outline[i - 1], at.outline[i])
    pressure = force / area if area > 0.0 else 0.0
    slot, second = begin, 1
    while slot == begin or second + 1 < corners:
        # Fans around the first corner, each with as many corners as a face can have.
        last = min(second + MAX_VERTICES - 2, corners - 1)
        count = 0
        part = 0.0
        for i in range(1 + max(last - second + 1, 0)):
            corner = at.outline[0] if i == 0 else at.outline[second + i - 1]
            for k in range(3):
                faces.polygons[slot, count, k] = at.p_WR[j, k] + points.x[corner, k]
            if i >= 2:
                part += _triangle(points, j, at.outline[0], at.outline[second + i - 2], corner)
            count += 1
        faces.num_vertices[slot] = count
        store_even_face(faces.data, slot, centre, points.normal[j], part, pressure)
        slot, second = slot + 1, last
    return slot


@kernel
def _triangle(points, j, a, b, c):
    """Area of the triangle of three conditions, m^2.

    Reads points: normal, x.
    """
    n, x, y, z = points.normal[j], points.x[a], points.x[b], points.x[c]
    d0, d1, d2 = y[0] - x[0], y[1] - x[1], y[2] - x[2]
    e0, e1, e2 = z[0] - x[0], z[1] - x[1], z[2] - x[2]
    return 0.5 * (n[0] * (d1 * e2 - d2 * e1) + n[1] * (d2 * e0 - d0 * e2) + n[2] * (d0 * e1 - d1 * e0))
