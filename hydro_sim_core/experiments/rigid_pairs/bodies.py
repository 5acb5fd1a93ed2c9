"""Scenes of rigid bodies in terms that every simulator knows: shapes, masses, poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

GRAVITY = 9.81


def pose(xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Pose (4, 4) from an origin (3,), m, and fixed-axis roll, pitch, yaw (3,), rad."""
    X = np.eye(4)
    X[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    X[:3, 3] = xyz
    return X


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a body.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere`` or ``mesh``.
        lengths: Lengths by the keys of a scene file, m; empty for a mesh.
        surface: Closed surface in the body's frame: the shape, or an approximation of a round one.
    """

    kind: str
    lengths: Mapping[str, float | tuple[float, ...]]
    surface: trimesh.Trimesh


def box(x: float, y: float, z: float) -> Shape:
    """A box with these edges, m."""
    return Shape("box", {"size": (x, y, z)}, trimesh.creation.box((x, y, z)))


def sphere(radius: float) -> Shape:
    """A sphere."""
    return Shape("sphere", {"radius": radius}, trimesh.creation.icosphere(3, radius))


def cylinder(radius: float, length: float) -> Shape:
    """A cylinder along z."""
    lengths = {"radius": radius, "length": length}
    return Shape("cylinder", lengths, trimesh.creation.cylinder(radius, length, sections=64))


def mesh(surface: trimesh.Trimesh) -> Shape:
    """A closed surface."""
    return Shape("mesh", {}, surface)


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body; the origin of its frame is its centre of mass.

    Attributes:
        name: Name.
        shapes: Shapes.
        mass: kg; 0 for a body that is fixed to the world.
        X_WB: Pose (4, 4) at the start.
        velocity: (3,) m/s at the start.
    """

    name: str
    shapes: Sequence[Shape]
    mass: float = 0.0
    X_WB: Array = field(default_factory=pose)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def is_free(self) -> bool:
        """Whether it moves."""
        return self.mass > 0.0

    @property
    def rotation(self) -> Rotation:
        """Its rotation at the start."""
        return Rotation.from_matrix(self.X_WB[:3, :3])

    @property
    def rpy(self) -> Array:
        """Fixed-axis roll, pitch, yaw (3,) at the start, rad."""
        return self.rotation.as_euler("xyz")

    @cached_property
    def inertia(self) -> Array:
        """Inertia (3, 3) about its origin: that of its surfaces filled evenly, kg m^2."""
        volumes = [shape.surface.volume for shape in self.shapes]
        moments = [_about_origin(shape.surface) for shape in self.shapes]
        return self.mass / sum(volumes) * np.sum(moments, axis=0)


def _about_origin(surface: trimesh.Trimesh) -> Array:
    """Inertia (3, 3) about the origin for a density of one, m^5."""
    c = surface.center_mass
    return surface.moment_inertia + surface.volume * (c @ c * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True, eq=False)
class BodyScene:
    """Rigid bodies under gravity.

    Attributes:
        name: Name.
        bodies: Bodies; fixed ones first.
        friction: Coefficient of friction of all pairs.
        dissipation: Hunt-Crossley dissipation of all pairs, s/m, None for the default of each simulator.
        time_step: s.
    """

    name: str
    bodies: Sequence[Body]
    friction: float = 0.5
    dissipation: float | None = None
    time_step: float = 1e-3

    @property
    def free(self) -> list[Body]:
        """The bodies that move."""
        return [body for body in self.bodies if body.is_free]


def depth(scene: BodyScene, poses: Mapping[str, Array]) -> float:
    """Deepest point of any body in another, m, by the surfaces alone: corners and points along edges.

    Args:
        scene: The bodies.
        poses: (4, 4) pose in the world by name of the body.
    """
    placed = [
        (body, shape.surface.copy().apply_transform(poses[body.name]))
        for body in scene.bodies
        for shape in body.shapes
    ]
    deepest = 0.0
    for i, (body, surface) in enumerate(placed):
        for other, other_surface in placed[i + 1 :]:
            if body is other or not (body.is_free or other.is_free):
                continue
            deepest = max(deepest, _deepest(surface, other_surface), _deepest(other_surface, surface))
    return deepest


#: Points along an edge whose depth is measured, and how many of them at a time.
_POINTS, _AT_ONCE = 9, 256


def _deepest(surface: trimesh.Trimesh, other: trimesh.Trimesh) -> float:
    """Deepest point of a surface in another, m."""
    ends = surface.vertices[surface.edges_unique]
    shares = np.linspace(0.0, 1.0, _POINTS)[:, None, None]
    points = ((1.0 - shares) * ends[:, 0] + shares * ends[:, 1]).reshape(-1, 3)
    low, high = other.bounds
    points = points[((points > low) & (points < high)).all(axis=1)]
    deepest = 0.0
    for begin in range(0, len(points), _AT_ONCE):
        some = points[begin : begin + _AT_ONCE]
        inside = some[_winding(other.triangles, some) > 0.5]
        if len(inside):
            deepest = max(deepest, float(_distance(other, inside).max()))
    return deepest


def _winding(triangles: Array, points: Array) -> Array:
    """Winding numbers (N,) of a closed surface about points: 1 inside, 0 outside (van Oosterom and Strackee 1983)."""
    a, b, c = np.moveaxis(triangles[None] - points[:, None, None], 2, 0)
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    above = np.einsum("...i,...i", a, np.cross(b, c))
    below = la * lb * lc
    for x, y, length in ((a, b, lc), (b, c, la), (c, a, lb)):
        below += np.einsum("...i,...i", x, y) * length
    return np.arctan2(above, below).sum(axis=1) / (2.0 * np.pi)


def _distance(surface: trimesh.Trimesh, points: Array) -> Array:
    """Distances (N,) of points to a surface, m."""
    triangles = surface.triangles
    nearest = np.full(len(points), np.inf)
    for i, point in enumerate(points):
        foot = trimesh.triangles.closest_point(triangles, np.broadcast_to(point, (len(triangles), 3)))
        nearest[i] = np.linalg.norm(foot - point, axis=1).min()
    return nearest
