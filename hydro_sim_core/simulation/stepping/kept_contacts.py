"""Contacts of a step apart from the memory of the step: kept for later, joined, and put into a machine."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.pressure_field.element_pairs import make_workspace
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Model

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class KeptContacts(NamedTuple):
    """Patches of a step with their faces. Attributes are those of ``PatchTable``, for P patches.

    Attributes:
        num_faces: (P,) number of faces of each patch.
        faces: Faces of all patches, one patch after another.
    """

    pair: Rows
    R_BA: Array
    p_BA: Array
    p_GR: Array
    R_WG: Array
    p_WG: Array
    wrench: Array
    normal_force: Array
    apart: Array
    is_recovered: NDArray[np.bool_]
    dropped_force: Array
    faded_force: Array
    num_faces: Rows
    faces: FaceBuffer

    def selected(self, rows: Rows) -> KeptContacts:
        """Some of the patches, in the given order."""
        ends = np.cumsum(self.num_faces)
        spans = [np.arange(ends[row] - self.num_faces[row], ends[row]) for row in rows.tolist()]
        columns = np.concatenate([*spans, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        data, *tail = self.faces
        faces = FaceBuffer._make([data[:, columns], *(array[columns] for array in tail)])
        return KeptContacts._make([*(array[rows] for array in self[:-1]), faces])

    def joined(self, other: KeptContacts) -> KeptContacts:
        """These patches and then those of ``other``."""
        data = np.concatenate((self.faces.data, other.faces.data), axis=1)
        tail = (np.concatenate(both) for both in zip(self.faces[1:], other.faces[1:], strict=True))
        rows = (np.concatenate(both) for both in zip(self[:-1], other[:-1], strict=True))
        return KeptContacts._make([*rows, FaceBuffer._make([data, *tail])])


_ROWS = KeptContacts._fields[:-2]


def keep_contacts(machine: Machine) -> KeptContacts:
    """Copy the patches of the last step; their faces have the polygons that have been made."""
    patches, faces = machine.scratch.patches, machine.scratch.faces
    num = int(patches.num[0])
    count = int(patches.first_face[num])
    rows = [getattr(patches, name)[:num].copy() for name in _ROWS]
    data, *tail = faces
    kept = FaceBuffer._make([data[:, :count].copy(), *(array[:count].copy() for array in tail)])
    return KeptContacts._make([*rows, np.diff(patches.first_face[: num + 1]), kept])


def keep_all(machine: Machine) -> KeptContacts:
    """Copy the patches of the last step with all polygons, for another model, which would not find them."""
    patches = machine.scratch.patches
    for p in range(int(patches.num[0])):
        make_polygons(machine.model, machine.scratch.faces, patches, p)
    return keep_contacts(machine)


class FoundAt(Protocol):
    """What tells at which pose the faces of patches were found: attributes are those of ``PatchTable``."""

    @property
    def first_face(self) -> Rows:
        """First face of each patch."""

    @property
    def pair(self) -> Rows:
        """Row of the model's pairs."""

    @property
    def R_BA(self) -> Array:
        """Orientations of A in B (P, 3, 3)."""

    @property
    def p_BA(self) -> Array:
        """Origins of A in B (P, 3), m."""


def make_polygons(model: Model, faces: FaceBuffer, patches: FoundAt, p: int) -> None:
    """Make the polygons that faces of patch p do not have yet."""
    pair, first, last = patches.pair[p], patches.first_face[p], patches.first_face[p + 1]
    if pair >= model.points.first_pair[0] or faces.num_vertices[first:last].all():
        return
    row_a, row_b = model.pair_rows[pair]
    pose = patches.R_BA[p], patches.p_BA[p]
    complete_polygons(model.geometries, row_a, row_b, *pose, make_workspace(), faces, first, last)


def put_contacts(machine: Machine, contacts: KeptContacts) -> None:
    """Make contacts those of a machine's last step."""
    num, count = len(contacts.pair), len(contacts.faces.num_vertices)
    if count > len(machine.scratch.faces.num_vertices):
        machine.make_room(count)
    faces, patches = machine.scratch.faces, machine.scratch.patches
    data, *tail = contacts.faces
    faces.data[:, :count] = data
    for array, values in zip(faces[1:], tail, strict=True):
        array[:count] = values
    patches.first_face[: num + 1] = np.concatenate(([0], np.cumsum(contacts.num_faces)))
    for name in _ROWS:
        getattr(patches, name)[:num] = getattr(contacts, name)
    patches.num[0] = num
