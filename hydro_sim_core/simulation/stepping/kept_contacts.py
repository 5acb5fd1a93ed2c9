"""Contacts of a step apart from the memory of the step: kept for later, joined, and put into a machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.pressure_field.faces import FaceBuffer
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Scratch

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class KeptContacts(NamedTuple):
    """Patches of a step with their faces. Attributes are those of ``PatchTable``, for P patches.

    Attributes:
        num_faces: (P,) number of faces of each patch.
        faces: Faces of all patches, one patch after another.
    """

    pair: Rows
    p_GR: Array
    R_WG: Array
    p_WG: Array
    wrench: Array
    normal_force: Array
    is_recovered: NDArray[np.bool_]
    dropped_force: Array
    num_faces: Rows
    faces: FaceBuffer

    def selected(self, rows: Rows) -> KeptContacts:
        """Some of the patches, in the given order."""
        ends = np.cumsum(self.num_faces)
        spans = [np.arange(ends[row] - self.num_faces[row], ends[row]) for row in rows.tolist()]
        columns = np.concatenate([*spans, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        data, polygons, num_vertices = self.faces
        faces = FaceBuffer(data[:, columns], polygons[columns], num_vertices[columns])
        return KeptContacts._make([*(array[rows] for array in self[:-1]), faces])

    def joined(self, other: KeptContacts) -> KeptContacts:
        """These patches and then those of ``other``."""
        data = np.concatenate((self.faces.data, other.faces.data), axis=1)
        tail = (np.concatenate(both) for both in zip(self.faces[1:], other.faces[1:], strict=True))
        rows = (np.concatenate(both) for both in zip(self[:-1], other[:-1], strict=True))
        return KeptContacts._make([*rows, FaceBuffer._make([data, *tail])])


_ROWS = KeptContacts._fields[:-2]


def keep_contacts(scratch: Scratch) -> KeptContacts:
    """Copy the patches of the last step."""
    patches, faces = scratch.patches, scratch.faces
    num = int(patches.num[0])
    count = int(patches.first_face[num])
    rows = [getattr(patches, name)[:num].copy() for name in _ROWS]
    kept = FaceBuffer(
        faces.data[:, :count].copy(), faces.polygons[:count].copy(), faces.num_vertices[:count].copy()
    )
    return KeptContacts._make([*rows, np.diff(patches.first_face[: num + 1]), kept])


def put_contacts(machine: Machine, contacts: KeptContacts) -> None:
    """Make contacts those of a machine's last step."""
    num, count = len(contacts.pair), len(contacts.faces.num_vertices)
    if count > len(machine.scratch.faces.num_vertices):
        machine.make_room(count)
    faces, patches = machine.scratch.faces, machine.scratch.patches
    faces.data[:, :count] = contacts.faces.data
    faces.polygons[:count] = contacts.faces.polygons
    faces.num_vertices[:count] = contacts.faces.num_vertices
    patches.first_face[: num + 1] = np.concatenate(([0], np.cumsum(contacts.num_faces)))
    for name in _ROWS:
        getattr(patches, name)[:num] = getattr(contacts, name)
    patches.num[0] = num
