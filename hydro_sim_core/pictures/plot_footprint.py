"""Footprint of the contact pressure on a body, and its grip force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact import ContactPatch, FaceArrays
from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.drawing.patch_surface import PatchFaces, drawn_faces, join_faces, patch_faces
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]


class Contact(Protocol):
    """Protocol of a contact: a ``ContactPatch`` of a World or a patch of a recording."""

    @property
    def name_a(self) -> str: ...
    @property
    def name_b(self) -> str: ...
    @property
    def force_on_b(self) -> Array: ...
    @property
    def faces(self) -> FaceArrays | PatchFaces: ...


@dataclass(frozen=True, eq=False)
class Footprint:
    """Faces with pressure on a body, projected along the axis of its frame that is nearest to their normals.

    Attributes:
        body: Name of the body.
        partners: Names of the bodies that press on it.
        faces: The unprojected faces, in the world frame.
        axes: The two axes of the body's frame that span the picture, such as ``("x", "z")``.
        points: (V, 2) vertices of the faces along ``axes``, m from the frame's origin.
        centre: (2,) centre of pressure along ``axes``, m.
        force: Contact force along the line of sight, N; forces from both sides add up.
        area: Area of the unprojected faces, m^2.
        tilt: Root mean square angle between the faces and the projection plane, weighted by force, rad.
    """

    body: str
    partners: tuple[str, ...]
    faces: PatchFaces
    axes: tuple[str, str]
    points: Array
    centre: Array
    force: float
    area: float
    tilt: float


def footprint(contacts: Iterable[Contact], body: str, X_WB: ArrayLike) -> Footprint:
    """Project the faces with pressure on a body.

    Args:
        contacts: Contact patches of one instant; those without the body are ignored.
        body: Name of the body.
        X_WB: (4, 4) pose of the body in the world.

    Raises:
        InputError: The pose is none, nothing presses on the body, or there is none of that name among the contacts.
    """
    X_WB = as_pose(X_WB, "pressure map", "X_WB")
    touching, partners = _contacts_of(body, list(contacts))
    faces = join_faces([pressing_faces(contact) for contact in touching])
    if not len(faces.counts):
        raise InputError("pressure map", f"body '{body}'", "bears no pressure", "choose another instant")
    if not len(faces.triangles):
        problem = "bears its force along a line or at a point, which have no pressure"
        raise InputError("pressure map", f"body '{body}'", problem, "choose another instant")

    R_WB, p_WB = X_WB[:3, :3], X_WB[:3, 3]
    vertices = (faces.vertices - p_WB) @ R_WB
    triangles = _Triangles(vertices[faces.triangles], faces.pressures[faces.triangles])
    facing = np.diag(triangles.facing)
    sight = int(np.argmax(facing))
    across, up = (sight + 1) % 3, (sight + 2) % 3
    return Footprint(
        body=body,
        partners=partners,
        faces=faces,
        axes=("xyz"[across], "xyz"[up]),
        points=vertices[:, [across, up]],
        centre=triangles.centre[[across, up]],
        force=sum(abs(float(contact.force_on_b @ R_WB[:, sight])) for contact in touching),
        area=float(triangles.areas.sum()),
        tilt=float(np.arccos(np.sqrt(min(1.0, facing[sight])))),
    )


def _contacts_of(body: str, contacts: list[Contact]) -> tuple[list[Contact], tuple[str, ...]]:
    """The contacts of a body, and the names of its contact partners."""
    touching = [contact for contact in contacts if body in (contact.name_a, contact.name_b)]
    if not touching:
        names = {name for contact in contacts for name in (contact.name_a, contact.name_b)}
        mend = did_you_mean(body, names) if names else "choose an instant with contact"
        raise InputError("pressure map", f"body '{body}'", "is in no contact", mend)
    partners = {contact.name_a if contact.name_b == body else contact.name_b for contact in touching}
    return touching, tuple(sorted(partners))


def pressing_faces(contact: Contact) -> PatchFaces:
    """The faces of a contact that transmit force."""
    if isinstance(contact, ContactPatch):
        return drawn_faces(contact)
    return contact.faces if isinstance(contact.faces, PatchFaces) else patch_faces(contact.faces)


def grip_force(contacts: Iterable[Contact], body: str, direction: ArrayLike | None = None) -> float:
    """Contact force on a body normal to the contact surface.

    Friction along that surface, such as the weight of a held object, does not count.

    Args:
        contacts: Contact patches of one instant; those without the body are ignored.
        body: Name of the body, such as a finger.
        direction: (3,) unit vector in the world along which force counts, such as a finger's joint; by default the main
            axis of the faces' normals, or where they have no area the force's own direction.

    Returns:
        N; 0 where nothing presses on the body. Forces from both sides add up.
    """
    touching = [contact for contact in contacts if body in (contact.name_a, contact.name_b)]
    faces = [pressing_faces(contact) for contact in touching]
    if not any(len(part.counts) for part in faces):
        return 0.0
    joined = join_faces(faces)
    if direction is None and not len(joined.triangles):
        return sum(float(np.linalg.norm(contact.force_on_b)) for contact in touching)
    along = _main_normal(joined) if direction is None else np.asarray(direction, dtype=float)
    return sum(abs(float(contact.force_on_b @ along)) for contact in touching)


def _main_normal(faces: PatchFaces) -> Array:
    triangles = _Triangles(faces.vertices[faces.triangles], faces.pressures[faces.triangles])
    return np.linalg.eigh(triangles.facing)[1][:, -1]


class _Triangles:
    """Integrals of a pressure that is linear on every triangle.

    Args:
        corners: (T, 3, 3) m.
        pressures: (T, 3) Pa at the corners.

    Attributes:
        areas: (T,) m^2.
        centre: (3,) centre of pressure, m.
        facing: (3, 3) mean outer product of the normals, weighted by force; independent of the order of corners.
    """

    def __init__(self, corners: Array, pressures: Array) -> None:
        a, b, c = corners.transpose(1, 0, 2)
        area_vectors = 0.5 * np.cross(b - a, c - a)
        self.areas = np.linalg.norm(area_vectors, axis=1)
        forces = self.areas * pressures.mean(axis=1)
        # The integral of p x is the area times the sum over corners i, j of p_i x_j (1 + [i = j]) / 12.
        sums = np.einsum("ti,tjk->tk", pressures, corners) + np.einsum("ti,tik->tk", pressures, corners)
        self.centre = self.areas @ sums / 12.0 / forces.sum()
        has_area = self.areas > 0.0
        normals = area_vectors[has_area] / self.areas[has_area, None]
        self.facing = (normals.T * forces[has_area]) @ normals / forces.sum()
