"""Contact patches as ``hydro_sim_msgs/ContactPatchArray``, for programs that work with the pressure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3

from hydro_sim.publishing.messages import stamp
from hydro_sim_core.contact import ContactPatch


def contact_patch_array(messages: Any, contacts: Iterable[ContactPatch], time: float, frame_id: str) -> Any:
    """Every patch of an instant.

    Args:
        messages: The module ``hydro_sim_msgs.msg``.
        contacts: Patches in the world frame.
        time: Simulated time, s.
        frame_id: Name of the world frame.
    """
    message = messages.ContactPatchArray(patches=[_contact_patch(messages, patch) for patch in contacts])
    message.header.frame_id = frame_id
    message.header.stamp = stamp(time)
    return message


def _contact_patch(messages: Any, patch: ContactPatch) -> Any:
    faces = patch.faces
    used = np.arange(faces.vertices.shape[1]) < faces.num_vertices[:, None]
    message = messages.ContactPatch(
        body_a=patch.name_a,
        body_b=patch.name_b,
        geometry_a=patch.geometry_a,
        geometry_b=patch.geometry_b,
        area=patch.area,
        peak_pressure=patch.peak_pressure,
        pressures=array("d", faces.pressures.tolist()),
        areas=array("d", faces.areas.tolist()),
        centroids=[Point(x=x, y=y, z=z) for x, y, z in faces.centroids.tolist()],
        normals=[Vector3(x=x, y=y, z=z) for x, y, z in faces.normals.tolist()],
        vertex_counts=array("B", faces.num_vertices.tolist()),
        vertices=[Point(x=x, y=y, z=z) for x, y, z in faces.vertices[used].tolist()],
    )
    wrench, reference = message.wrench_on_b, message.reference_point
    wrench.force.x, wrench.force.y, wrench.force.z = patch.force_on_b.tolist()
    wrench.torque.x, wrench.torque.y, wrench.torque.z = patch.moment_on_b(patch.p_WR).tolist()
    reference.x, reference.y, reference.z = patch.p_WR.tolist()
    return message
