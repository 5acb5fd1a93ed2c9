"""Conversion of recorded contact patches to those of the viewer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.laws import EQUIVALENT_POINT, PRESSURE_FIELD, RIGID_SKIN, SOFT_MINIMUM
from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.messages.contact_patches import AT_POINT, BETWEEN_RIGID, DEEP, SOFT, UNDER_RESOLVED
from hydro_sim_core.replay.decoding import TopicReader
from hydro_sim_core.simulation.world.contact_summary import coarse_problem, deep_problem
from hydro_sim_core.viewer.frame import ViewPatch

Array = NDArray[np.float64]


#: Smallest number of vertices of a polygon, and of the patch of an equivalent contact point.
_FEWEST_VERTICES, _FEWEST_AT_POINT = 3, 1
_MEND = "mend the program that wrote it"


def recorded_patches(reader: TopicReader, message: Any, X_WF: Array) -> tuple[ViewPatch, ...]:
    """Patches of a ``ContactPatchArray`` to draw; those that transmit no force are left out.

    Args:
        reader: Reader of the topic, for error messages.
        message: The decoded message.
        X_WF: (4, 4) pose of the message's frame in the world.

    Raises:
        InputError: The arrays of a patch do not match, or have impossible values.
    """
    for patch in message.patches:
        if problem := _malformed(patch):
            bodies = f"'{patch.body_a}' and '{patch.body_b}'"
            raise reader.error(f"holds a patch of {bodies} with {problem}", _MEND)
    problems = _problems(message.patches)
    drawn = (
        _view_patch(patch, X_WF, problems.get((patch.body_a, patch.body_b))) for patch in message.patches
    )
    return tuple(patch for patch in drawn if patch is not None)


def _malformed(patch: Any) -> str | None:
    """Description of what is malformed in a patch; None if nothing is."""
    counts = patch.vertex_counts
    faces, vertices = len(counts), int(counts.sum())
    at_vertices = _told_at_vertices(patch)
    arrays = {
        "pressures": (patch.pressures, faces),
        "areas": (patch.areas, faces),
        "coordinates of centroids": (patch.centroids, 3 * faces),
        "coordinates of vertices": (patch.vertices, 3 * vertices),
        "pressures at vertices": (at_vertices, vertices if len(at_vertices) else 0),
    }
    for name, (values, wanted) in arrays.items():
        if len(values) != wanted:
            return f"{len(values)} {name} where {wanted} belong to its faces"
        if not np.isfinite(values).all():
            return f"{name} that are not finite"
    fewest = _FEWEST_AT_POINT if patch.flags & AT_POINT else _FEWEST_VERTICES
    if faces and counts.min() < fewest:
        return f"a face of {counts.min()} vertices"
    if np.any(patch.areas < 0.0):
        return "an area below zero"
    vectors = (patch.wrench_on_b.force, patch.wrench_on_b.torque, patch.reference_point)
    numbers = [patch.area, patch.force_error, patch.lost_force_share]
    if not np.isfinite([*np.concatenate([_vector(vector) for vector in vectors]), *numbers]).all():
        return "a wrench, a reference point, an area or a quality that is not finite"
    return None


def _view_patch(message: Any, X_WF: Array, problem: str | None) -> ViewPatch | None:
    force = _vector(message.wrench_on_b.force)
    presses = (message.pressures > 0.0) | bool(message.flags & AT_POINT)
    if not presses.any():
        # As in ``ContactPatch.pressing``: bodies that push have met within the step.
        presses |= bool(np.any(force))
    if not presses.any():
        return None
    R_WF, p_WF = X_WF[:3, :3], X_WF[:3, 3]
    of_pressing = np.repeat(presses, message.vertex_counts)
    faces = PatchFaces(
        message.vertices.reshape(-1, 3)[of_pressing] @ R_WF.T + p_WF,
        _vertex_pressures(message)[of_pressing].astype(np.float64),
        message.vertex_counts[presses].astype(np.int64),
    )
    areas = message.areas[presses].astype(np.float64)
    weights = areas * np.maximum(message.pressures[presses], 0.0)
    # The area of a sliver may be zero in single precision, and a line or a point has none.
    by = next((of for of in (weights, areas) if of.any()), None)
    point = np.average(message.centroids.reshape(-1, 3)[presses], axis=0, weights=by)
    arm = _vector(message.reference_point) - point
    return ViewPatch(
        name_a=message.body_a,
        name_b=message.body_b,
        faces=faces,
        force_on_b=R_WF @ force,
        moment=R_WF @ (_vector(message.wrench_on_b.torque) + np.cross(arm, force)),
        point=R_WF @ point + p_WF,
        area=message.area,
        max_pressure=max(float(faces.pressures.max()), 0.0),
        problem=problem,
        law=_law(message.flags),
    )


def _law(flags: int) -> str:
    if flags & AT_POINT:
        return EQUIVALENT_POINT
    if flags & SOFT:
        return SOFT_MINIMUM
    return RIGID_SKIN if flags & BETWEEN_RIGID else PRESSURE_FIELD


def _vertex_pressures(message: Any) -> NDArray[np.float32]:
    """Pressures at the vertices; older recordings have one pressure a face."""
    if len(told := _told_at_vertices(message)):
        return told
    return np.repeat(message.pressures, message.vertex_counts)


def _told_at_vertices(message: Any) -> NDArray[np.float32]:
    return getattr(message, "vertex_pressures", message.pressures[:0])


def _problems(patches: Any) -> dict[tuple[str, str], str]:
    """The most serious problem between every two bodies, in the words of ``ContactSummary``."""
    found: dict[tuple[str, str], str] = {}
    for patch in patches:
        if patch.flags & DEEP:
            found.setdefault((patch.body_a, patch.body_b), deep_problem(patch.lost_force_share))
    for patch in sorted(patches, key=lambda patch: patch.force_error, reverse=True):
        if patch.flags & UNDER_RESOLVED:
            pressing = int(np.sum(patch.pressures > 0.0))
            found.setdefault((patch.body_a, patch.body_b), coarse_problem(pressing, patch.force_error))
    return found


def _vector(message: Any) -> Array:
    return np.array([message.x, message.y, message.z])
