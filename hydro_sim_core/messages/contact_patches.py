"""Contact patches as ``hydro_sim_msgs/ContactPatchArray``, for programs that use the pressure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, FaceArrays
from hydro_sim_core.contact.laws import EQUIVALENT_POINT, RIGID_SKIN, SOFT_MINIMUM
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

Array = NDArray[np.float64]

# Values of the constants in ContactPatch.msg.
UNDER_RESOLVED: Final = 1
DEEP: Final = 2
INSIGNIFICANT: Final = 4
BETWEEN_RIGID: Final = 8
AT_POINT: Final = 16
SOFT: Final = 32

_AT_REST = np.zeros(6)


def encode_contact_patches(
    summary: ContactSummary, twists: Mapping[str, Array], frame_id: str, stamp: tuple[int, int]
) -> bytes:
    """Serialise every patch of an instant for ``Publisher.publish``.

    Args:
        summary: The patches, in the world frame, and their quality.
        twists: Twist (6,) of every link about the world's origin; bodies that are not listed are at rest.
        frame_id: Name of the world frame.
        stamp: (seconds, nanoseconds).
    """
    writer = CdrWriter()
    writer.header(frame_id, stamp)
    writer.uint32(len(summary.patches))
    for patch in summary.patches:
        relative = twists.get(patch.name_b, _AT_REST) - twists.get(patch.name_a, _AT_REST)
        _write_patch(writer, patch, relative, quality_flags(patch, summary))
    return writer.bytes()


def quality_flags(patch: ContactPatch, summary: ContactSummary) -> int:
    """Flags of the message for a patch of ``summary``."""
    flags = DEEP if patch.quality.is_deep else 0
    flags |= BETWEEN_RIGID if patch.law == RIGID_SKIN else 0
    flags |= AT_POINT if patch.law == EQUIVALENT_POINT else 0
    flags |= SOFT if patch.law == SOFT_MINIMUM else 0
    if patch not in summary.significant:
        return flags | INSIGNIFICANT
    return flags | UNDER_RESOLVED if patch in summary.under_resolved else flags


def slip_velocities(faces: FaceArrays, relative_twist: Array) -> Array:
    """Tangential velocity (F, 3) of B relative to A at the centroids, m/s.

    Args:
        faces: Faces in the world frame.
        relative_twist: (6,) twist of B minus that of A, about the world's origin.
    """
    velocities = relative_twist[3:] + np.cross(relative_twist[:3], faces.centroids)
    along = np.einsum("fi,fi->f", velocities, faces.normals)
    return velocities - along[:, None] * faces.normals


def stored_energy(faces: FaceArrays) -> float:
    """Elastic energy of a patch, J, estimated from its faces.

    A column of unit area under a face whose pressure rises by g per metre of approach stores ``p^2 / 2g``; the
    gradients of the two bodies act in series (Masterjohn 2022, section III). This is exact where fields are linear and
    columns parallel, and much cheaper than the exact integral, which visits every pair of elements.
    """
    presses = (faces.pressures > 0.0) & (faces.gradients > 0.0).all(axis=1)
    compliance = (1.0 / faces.gradients[presses]).sum(axis=1)
    return float(0.5 * np.sum(faces.areas[presses] * faces.pressures[presses] ** 2 * compliance))


def _write_patch(writer: CdrWriter, patch: ContactPatch, relative_twist: Array, flags: int) -> None:
    faces, quality = patch.faces, patch.quality
    used, pressures = _used(faces), _vertex_pressures(faces)
    for name in (patch.name_a, patch.name_b, patch.geometry_a, patch.geometry_b):
        writer.string(name)
    writer.float64(*patch.force_on_b, *patch.moment_on_b(patch.p_WR), *patch.p_WR)
    writer.float64(patch.area, highest_pressure(faces), stored_energy(faces))
    writer.uint32(flags)
    writer.float64(quality.force_error, quality.face_size_ratio, quality.lost_force_share)
    writer.rows(faces.centroids.ravel())
    for values in (
        faces.normals,
        slip_velocities(faces, relative_twist),
        faces.pressures,
        faces.areas,
    ):
        writer.rows(values.ravel().astype(np.float32))
    writer.rows(faces.num_vertices.astype(np.uint8))
    writer.rows(faces.vertices[used].ravel())
    writer.rows(pressures[used].astype(np.float32))


def highest_pressure(faces: FaceArrays) -> float:
    """Largest pressure of a patch, which occurs at a vertex, Pa; 0 without positive pressure."""
    return float(np.max(_vertex_pressures(faces), where=_used(faces), initial=0.0))


def _used(faces: FaceArrays) -> NDArray[np.bool_]:
    """(F, MAX_VERTICES) which vertices are in use."""
    used: NDArray[np.bool_] = np.arange(faces.vertices.shape[1]) < faces.num_vertices[:, None]
    return used


def _vertex_pressures(faces: FaceArrays) -> Array:
    """Pressures (F, MAX_VERTICES) at the vertices of all faces, Pa; only the vertices in use have meaning."""
    rise = np.einsum("fvi,fi->fv", faces.vertices - faces.centroids[:, None], faces.field_gradients)
    return faces.pressures[:, None] + rise
