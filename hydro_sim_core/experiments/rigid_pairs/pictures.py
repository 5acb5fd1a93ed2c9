"""What a record keeps of a scene at rest to draw it: poses, and outlines of the contact patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hydro_sim_core.experiments.rigid_pairs.bodies import BodyScene
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: Largest number of corners of an outline.
_CORNERS = 12


def seen(scene: BodyScene, poses: Mapping[str, Array]) -> list[float]:
    """Origin and rotation vector of every free body, one after the other: 6 numbers each."""
    return [
        float(number)
        for body in scene.free
        for X in [poses[body.name]]
        for number in (*X[:3, 3], *Rotation.from_matrix(X[:3, :3]).as_rotvec())
    ]


def placed(scene: BodyScene, numbers: Sequence[float]) -> dict[str, Array]:
    """Poses (4, 4) of all bodies by name, from what ``seen`` keeps."""
    poses = {body.name: body.X_WB for body in scene.bodies}
    for body, row in zip(scene.free, np.reshape(numbers, (-1, 6)), strict=True):
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = Rotation.from_rotvec(row[3:]).as_matrix(), row[:3]
        poses[body.name] = X
    return poses


def outlines(name: str, world: World) -> dict[str, list[float]]:
    """Columns with the convex outlines of the contact patches: numbers of corners, and their coordinates, m."""
    sizes, corners = [], []
    for patch in world.contacts:
        # The rest of a patch lies in the margin.
        pressed = [polygon for polygon, p in zip(patch.polygons, patch.pressures, strict=True) if p > 0.0]
        if not pressed:
            continue
        points = np.concatenate(pressed)
        centre = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - centre, full_matrices=False)
        hull = scipy.spatial.ConvexHull((points - centre) @ axes[:2].T)
        outline = points[hull.vertices]
        if len(outline) > _CORNERS:
            outline = outline[np.linspace(0, len(outline), _CORNERS, endpoint=False).astype(int)]
        sizes.append(float(len(outline)))
        corners += outline.ravel().tolist()
    return {f"corners of patches, {name}": sizes, f"patches, {name}": corners}


def drawn_outlines(name: str, series: Mapping[str, Sequence[float]]) -> list[Array]:
    """Outlines (n, 3) of the patches, m, from these columns."""
    corners = np.reshape(series[f"patches, {name}"], (-1, 3))
    return np.split(corners, np.cumsum(series[f"corners of patches, {name}"]).astype(int))[:-1]
