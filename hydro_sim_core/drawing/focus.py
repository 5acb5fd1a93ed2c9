"""Focus of a scene: the region that a viewer should look at, from which sizes of arrows and legends follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.description.start_poses import start_poses
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import load_surface
from hydro_sim_core.mesh_files import shared_allowance

Array = NDArray[np.float64]
_SEGMENTS = 12  # edges around a circle: the bounds of a ball are found within 4 %
_LEAST = 0.02  # m, of a scene in which nothing has an extent


@dataclass(frozen=True, eq=False)
class Focus:
    """An axis-aligned box in the world.

    Attributes:
        low: (3,) lowest coordinates, m.
        high: (3,) highest coordinates, m.
    """

    low: Array
    high: Array

    @property
    def centre(self) -> Array:
        """(3,) middle of the box, m."""
        return 0.5 * (self.low + self.high)

    @property
    def size(self) -> float:
        """Diagonal of the box, m."""
        return max(float(np.linalg.norm(self.high - self.low)), _LEAST)

    def distances(self, points: Array) -> Array:
        """(N,) distances of points (N, 3) from the box, m."""
        return np.linalg.norm(points - np.clip(points, self.low, self.high), axis=1)


def focus_of(scene: LoadedScene) -> Focus:
    """Where to look at the start of a scene.

    The bounds of what is handled, bodies that float or are moved, with the robots' links beside it, such as a gripper;
    without such bodies those of the robots' links.
    """
    poses, moving = start_poses(scene), _moving_links(scene)
    with shared_allowance(scene.source):
        handled = [
            _points(collision.shape, poses[link.name] @ collision.X_LG)
            for model, robot in zip(scene.spec.models, scene.robots, strict=True)
            if model.base != "fixed"
            for link in robot.links
            for collision in link.collisions
        ]
    origins = np.array([poses[name][:3, 3] for name in moving])
    if handled:
        focus = _bounds(np.concatenate(handled))
        return _bounds(np.concatenate([*handled, origins[focus.distances(origins) < focus.size]]))
    return _bounds(origins if moving else np.array([X[:3, 3] for X in poses.values()]))


def _moving_links(scene: LoadedScene) -> list[str]:
    moving: list[str] = []
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        if model.base != "fixed" or model.attach_to in moving:
            moving.append(robot.root)
        for joint in robot.joints:  # parents come first
            if joint.type != "fixed" or joint.parent in moving:
                moving.append(joint.child)
    return moving


def _bounds(points: Array) -> Focus:
    return Focus(points.min(axis=0), points.max(axis=0))


def _points(shape: ShapeSpec, X_WG: Array) -> Array:
    """(N, 3) points of a shape's surface in the world; its origin alone where it has none that can be read."""
    vertices = np.zeros((1, 3))
    if shape.kind != "half_space":
        try:
            if shape.kind == "mesh":
                assert shape.path is not None
                vertices, _ = load_surface(shape.path, shape.scale)
            else:
                vertices, _ = shape_types()[shape.kind].surface(shape.size, _SEGMENTS)
        except InputError:
            pass  # whoever simulates or draws the shape says so
    return vertices @ X_WG[:3, :3].T + X_WG[:3, 3]
