"""Contact records: copies of the step's face buffers, convertible to contact patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, FaceArrays, world_faces
from hydro_sim_core.contact.laws import EQUIVALENT_POINT, SOFT_MINIMUM, law_of
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer
from hydro_sim_core.simulation.assembly.pairs import Collider
from hydro_sim_core.simulation.stepping.kept_contacts import make_polygons
from hydro_sim_core.simulation.stepping.model import Model, Scratch
from hydro_sim_core.simulation.stepping.point_conditions import (
    AXIS,
    FRICTION,
    GAP,
    MOMENTUM,
    OVERLAP,
    RADIUS,
    TOUCH,
)
from hydro_sim_core.solvers.options import CONVERGED

Array = NDArray[np.float64]

#: What of a contact at an equivalent point was not the same from one solve of a step to the next, in words.
UNREPEATED = {
    OVERLAP: "the bodies overlap where it ends",
    GAP: "a gap is left where they press",
    TOUCH: "they press where they do not touch any more",
    FRICTION: "friction is another one in every solve",
    RADIUS: "e_r of the patch is another one in every solve",
    MOMENTUM: "momentum does not balance with their friction",
    AXIS: "they overlap along another axis in every solve",
}


@dataclass(frozen=True, eq=False)
class ContactRecord:
    """A raw copy of one step's contacts: cheap to take while stepping, converted to patches on demand.

    Attributes:
        faces: Faces of all patches.
        first_face: (P + 1,) first face of each patch.
        pair: (P,) row of the model's pairs.
        R_WG: (P, 3, 3) orientation of each patch's geometry B.
        p_WG: (P, 3) origin of each patch's geometry B, m.
        R_BA: (P, 3, 3) orientation of each patch's geometry A in B.
        p_BA: (P, 3) origin of A in B, m.
        p_GR: (P, 3) reference point in B's frame, m.
        wrench: (P, 6) moment about the reference point and force on B, world axes.
        normal_force: (P, 3) part of the force along the face normals, N.
        dropped_force: (P,) pressure times area of faces dropped because a pressure gradient points the wrong way, N.
        apart: (P,) how far the points of faces lie apart, as a share of what has the moments of their areas.
        faded_force: (P,) along the patch's force, what does not press of nearly upright faces, N.
        faceless_pairs: (K,) rows of the model's pairs that overlap without any face.
        unrepeated: (U, 2) rows of the model's pairs whose equivalent point kept the step from converging, and what of
            each did not repeat itself, see ``point_conditions``.
        joint_axis: (nb, 6) first motion subspace vector of each body's joint, about the world's origin.
    """

    faces: FaceBuffer
    first_face: NDArray[np.int64]
    pair: NDArray[np.int64]
    R_WG: Array
    p_WG: Array
    R_BA: Array
    p_BA: Array
    p_GR: Array
    wrench: Array
    normal_force: Array
    dropped_force: Array
    apart: Array
    faded_force: Array
    faceless_pairs: NDArray[np.int64]
    unrepeated: NDArray[np.int64]
    joint_axis: Array


def record_contacts(model: Model, scratch: Scratch) -> ContactRecord:
    """Copy the contacts of the last step."""
    patches = scratch.patches
    num = int(patches.num[0])
    count = int(patches.first_face[num])
    return ContactRecord(
        faces=FaceBuffer(
            data=scratch.faces.data[:, :count].copy(),
            polygons=scratch.faces.polygons[:count].copy(),
            num_vertices=scratch.faces.num_vertices[:count].copy(),
            elements=scratch.faces.elements[:count].copy(),
        ),
        first_face=patches.first_face[: num + 1].copy(),
        pair=patches.pair[:num].copy(),
        R_WG=patches.R_WG[:num].copy(),
        p_WG=patches.p_WG[:num].copy(),
        R_BA=patches.R_BA[:num].copy(),
        p_BA=patches.p_BA[:num].copy(),
        p_GR=patches.p_GR[:num].copy(),
        wrench=patches.wrench[:num].copy(),
        normal_force=patches.normal_force[:num].copy(),
        dropped_force=patches.dropped_force[:num].copy(),
        apart=patches.apart[:num].copy(),
        faded_force=patches.faded_force[:num].copy(),
        faceless_pairs=patches.faceless_pair[: patches.num_faceless[0]].copy(),
        unrepeated=_unrepeated(model, scratch),
        joint_axis=scratch.S[:, 0].copy(),
    )


def _unrepeated(model: Model, scratch: Scratch) -> NDArray[np.int64]:
    what = scratch.points.unrepeated
    rows = np.flatnonzero(what) if scratch.solver.report[CONVERGED] == 0.0 else np.zeros(0, dtype=np.int64)
    return np.column_stack((model.points.first_pair[0] + rows, what[rows]))


def contact_patches(
    record: ContactRecord, model: Model, colliders: Sequence[Collider], is_soft: bool = False
) -> list[ContactPatch]:
    """Patches of a record, each from the collider with the lower index (A) to the other (B).

    Args:
        record: The record.
        model: The model.
        colliders: Collision geometries.
        is_soft: Whether contact is smooth, between clouds.
    """
    p_WR = reference_points(record)
    patches = []
    for p, (first, second) in enumerate(model.pairs[record.pair].tolist()):
        # The step's wrench acts on B of the query, its reaction on A.
        swapped = first > second
        wrench, normal_force = record.wrench[p], record.normal_force[p]
        if swapped:
            first, second, wrench, normal_force = second, first, -wrench, -normal_force
        a, b = colliders[first], colliders[second]
        law = law_of(a.geometry.is_rigid, b.geometry.is_rigid)
        if record.pair[p] >= model.points.first_pair[0]:
            law = EQUIVALENT_POINT
        if is_soft:
            law = SOFT_MINIMUM
        patches.append(
            ContactPatch(
                face_source=partial(_faces_of_patch, record, model, p, swapped),
                p_WR=p_WR[p],
                force_on_b=wrench[3:],
                moment_on_b_at_reference=wrench[:3],
                normal_force_on_b=normal_force,
                name_a=a.link,
                name_b=b.link,
                geometry_a=a.name,
                geometry_b=b.name,
                dropped_force=float(record.dropped_force[p]),
                faded_force=float(record.faded_force[p]),
                law=law,
                apart=1.0 if law in (EQUIVALENT_POINT, SOFT_MINIMUM) else float(record.apart[p]),
            )
        )
    return patches


def _faces_of_patch(record: ContactRecord, model: Model, p: int, swapped: bool) -> FaceArrays:
    """Faces of a patch in the world frame; its polygons are made now if nobody has asked for them."""
    make_polygons(model, record.faces, record, p)
    first, last = record.first_face[p : p + 2]
    return world_faces(record.faces, first, last, record.R_WG[p], record.p_WG[p], swapped)


def reference_points(record: ContactRecord) -> Array:
    """Reference points (P, 3) of the moments in a record, in the world, m."""
    return record.p_WG + (record.R_WG @ record.p_GR[:, :, None])[:, :, 0]


def faceless_overlaps(
    record: ContactRecord, model: Model, colliders: Sequence[Collider]
) -> tuple[tuple[str, str], ...]:
    """Pairs of links whose geometries overlapped without any face, the collider with the lower index first."""
    return tuple(_links(model, colliders, pair) for pair in record.faceless_pairs)


def unrepeated_contacts(
    record: ContactRecord, model: Model, colliders: Sequence[Collider]
) -> tuple[tuple[str, str, str], ...]:
    """Pairs of links whose equivalent point kept the step from converging, and what did not repeat itself, in words."""
    return tuple((*_links(model, colliders, pair), UNREPEATED[what]) for pair, what in record.unrepeated)


def _links(model: Model, colliders: Sequence[Collider], pair: int) -> tuple[str, str]:
    """Links of a row of the model's pairs, the collider with the lower index first."""
    first, second = sorted(int(g) for g in model.pairs[pair])
    return colliders[first].link, colliders[second].link


def contact_efforts(record: ContactRecord, model: Model, body: int) -> Array:
    """Generalised force (P,) of each contact on a body alone along its joint, N for a prismatic joint."""
    bodies = model.geometry_body[model.pairs[record.pair]]
    on_body = (bodies[:, 1] == body) * 1.0 - (bodies[:, 0] == body)
    # The motion subspace of a mimic joint is a unit of its master's motion, not of its own.
    return _efforts(record, on_body, record.joint_axis[body] / model.tree.q_scale[body])


def coordinate_efforts(record: ContactRecord, model: Model, moved: Sequence[int]) -> Array:
    """Generalised force (P,) of each contact along the coordinate with which the bodies ``moved`` move, N m or N.

    It is that at the joint which theirs mimic; contacts on what they carry count too.
    """
    bodies = model.geometry_body[model.pairs[record.pair]]
    efforts = np.zeros(len(record.pair))
    for body in moved:
        carried = [body]
        for other in range(body + 1, len(model.tree.parent)):  # parents come first
            if model.tree.parent[other] in carried:
                carried.append(other)
        on_body = np.isin(bodies[:, 1], carried).astype(float) - np.isin(bodies[:, 0], carried)
        efforts += _efforts(record, on_body, record.joint_axis[body])
    return efforts


def _efforts(record: ContactRecord, on_body: Array, axis: Array) -> Array:
    """Power (P,) of each contact, with sign ``on_body`` (P,), at the twist ``axis`` (6,) about the world's origin."""
    if not on_body.any():
        return on_body
    # The moment about the origin: a x . (p x f) = f . (a x) x p.
    (wx, wy, wz), (x, y, z) = axis[:3], reference_points(record).T
    turn = np.array([wy * z - wz * y, wz * x - wx * z, wx * y - wy * x])
    efforts: Array = on_body * (
        record.wrench[:, :3] @ axis[:3] + ((turn.T + axis[3:]) * record.wrench[:, 3:]).sum(axis=1)
    )
    return efforts
