"""Entities, the models and static shapes of a scene by name: poses, twists and bounds.

An entity's frame E is that of a model's root link, or of a static shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import regex
import scipy
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.assembly.builder import BuiltModel, Collider

Array = NDArray[np.float64]

_LONGEST_PATTERN = 1000
_MATCH_TIMEOUT = 0.1  # timeout of a regular expression per name, s


@dataclass(frozen=True, eq=False)
class Entity:
    """A model or a static shape.

    Attributes:
        name: Unique in the scene.
        link: Index of its root link, -1 for a static shape that is not a link of the tree.
        X_WL: (4, 4) pose of a static shape that is not a link.
        joint: Joint of a floating or kinematic base; None for a welded one.
        is_kinematic: Whether its motion is prescribed.
        attached_to: Link of another model that it is attached to, or None.
        has_joints: Whether its links can move relative to each other.
        source: File that describes it.
        colliders: Its collision geometries.
    """

    name: str
    link: int
    X_WL: Array
    joint: str | None
    is_kinematic: bool
    attached_to: str | None
    has_joints: bool
    source: str
    colliders: tuple[Collider, ...]

    @property
    def is_static(self) -> bool:
        """Whether no part of it can move."""
        return self.joint is None and self.attached_to is None and not self.has_joints


class Entities:
    """All entities of a scene, models first.

    Attributes:
        built: The scene's model.
        names: Names of the entities.
    """

    def __init__(self, scene: LoadedScene, built: BuiltModel) -> None:
        self.built = built
        self._by_name: dict[str, Entity] = {}
        row = {name: i for i, name in enumerate(built.assembly.link_names)}
        for k, (model, robot) in enumerate(zip(scene.spec.models, scene.robots, strict=True)):
            self._by_name[model.name] = Entity(
                name=model.name,
                link=row.get(robot.root, -1),
                X_WL=model.pose.X,
                joint=model.base_joint_name if model.base != "fixed" else None,
                is_kinematic=model.base == "kinematic",
                attached_to=model.attach_to,
                has_joints=any(joint.type != "fixed" for joint in robot.joints),
                source=robot.source,
                colliders=tuple(c for c in built.colliders if c.robot == k),
            )
        for shape in scene.environment:
            # A model may have the name of a static shape, because their links have different names.
            colliders = tuple(c for c in built.colliders if c.robot < 0 and c.link == shape.name)
            self._by_name.setdefault(
                shape.name,
                Entity(
                    name=shape.name,
                    link=-1,
                    X_WL=shape.X_LG,
                    joint=None,
                    is_kinematic=False,
                    attached_to=None,
                    has_joints=False,
                    source=shape.source,
                    colliders=colliders,
                ),
            )
        self.names = tuple(self._by_name)

    def __getitem__(self, name: str) -> Entity:
        """An entity by name.

        Raises:
            InputError: There is none.
        """
        if name not in self._by_name:
            raise InputError(
                "entities", f"'{name[:100]}'", "is not in the scene", did_you_mean(name[:100], self.names)
            )
        return self._by_name[name]


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Names in which a regular expression is found.

    POSIX classes like ``[[:alpha:]]`` are supported. Which of several alternatives matches makes no difference here, so
    POSIX extended expressions have their standard meaning.

    Raises:
        InputError: It is not a regular expression, or takes too long.
    """
    mend = "simplify it"
    try:
        if len(pattern) > _LONGEST_PATTERN:
            raise TimeoutError
        expression = regex.compile(pattern)
        # Without the interpreter lock, so that a request does not hold up the stepping thread.
        return [name for name in names if expression.search(name, timeout=_MATCH_TIMEOUT, concurrent=True)]
    except TimeoutError:
        problem = "takes too long"
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        problem, mend = f"is no regular expression: {error}", "correct it"
    raise InputError("entities", f"filter {excerpt(pattern)}", problem, mend)


class EntityStates:
    """Poses, twists and bounds of the entities.

    Args:
        entities: The entities.
        q: (nq,) coordinates.
        v: (nv,) velocities.
    """

    def __init__(self, entities: Entities, q: Array, v: Array) -> None:
        self._entities = entities
        self._q, self._v = q, v

    @cached_property
    def _tree(self) -> TreeEvaluator:
        return TreeEvaluator(self._entities.built.model.tree).update(self._q)

    @cached_property
    def _body_twists(self) -> Array:
        return self._tree.body_velocities(self._v)

    def pose(self, name: str) -> Array:
        """Pose X_WE (4, 4) of an entity in the world.

        Raises:
            InputError: There is no such entity.
        """
        entity = self._entities[name]
        return entity.X_WL if entity.link < 0 else self._link_pose(entity.link)

    def twist(self, name: str) -> Array:
        """(6,) angular and linear velocity of an entity's origin in the world, rad/s and m/s.

        Raises:
            InputError: There is no such entity.
        """
        entity = self._entities[name]
        return np.zeros(6) if entity.link < 0 else self._link_twist(entity.link)

    def frame(self, link: str) -> tuple[Array, Array]:
        """Pose (4, 4) of any link in the world, and the twist (6,) of its origin.

        Raises:
            InputError: There is no such link.
        """
        names = self._entities.built.assembly.link_names
        if link not in names:
            mend = did_you_mean(link[:100], names)
            raise InputError("entities", f"frame '{link[:100]}'", "is not in the scene", mend)
        row = names.index(link)
        return self._link_pose(row), self._link_twist(row)

    def _link_pose(self, row: int) -> Array:
        assembly = self._entities.built.assembly
        return self._tree.body_pose(int(assembly.link_body[row])) @ assembly.X_BL[row]

    def _link_twist(self, row: int) -> Array:
        body = int(self._entities.built.assembly.link_body[row])
        if body < 0:
            return np.zeros(6)
        w, v_origin = self._body_twists[body, :3], self._body_twists[body, 3:]
        return np.concatenate([w, v_origin + np.cross(w, self._link_pose(row)[:3, 3])])

    # --- bounds

    def bounds(self, name: str) -> tuple[Array, Array] | None:
        """Lowest and highest corner (3,) of the box around an entity's collision geometry, in its frame E.

        Margins are left out. Without collision geometry both corners are the origin;
        None if the geometry is unbounded.

        Raises:
            InputError: There is no such entity.
        """
        X_WE = self.pose(name)
        X_EW = np.eye(4)
        X_EW[:3, :3], X_EW[:3, 3] = X_WE[:3, :3].T, -X_WE[:3, :3].T @ X_WE[:3, 3]
        if not self._entities[name].colliders:
            return np.zeros(3), np.zeros(3)
        return self._box_around(name, X_EW)

    def world_box(self, name: str) -> tuple[Array, Array] | None:
        """Bounds along the world's axes, in the world; None also without collision geometry.

        Raises:
            InputError: There is no such entity.
        """
        return self._box_around(name, np.eye(4))

    def _box_around(self, name: str, X_FW: Array) -> tuple[Array, Array] | None:
        colliders = self._entities[name].colliders
        if not colliders or any(c.geometry.is_half_space for c in colliders):
            return None
        boxes = [self._box(c, X_FW) for c in colliders]
        return np.min([lower for lower, _ in boxes], axis=0), np.max([upper for _, upper in boxes], axis=0)

    def overlaps(self, name: str, volume: Volume) -> bool:
        """Whether a volume intersects the axis-aligned box of one of an entity's collision geometries.

        Raises:
            InputError: There is no such entity.
        """
        for collider in self._entities[name].colliders:
            if collider.geometry.is_half_space:
                X_WG = self._collider_pose(collider)
                met = volume.lowest(X_WG[:3, 2]) <= float(X_WG[:3, 2] @ X_WG[:3, 3])
            else:
                met = volume.meets_box(*self._box(collider, np.eye(4)))
            if met:
                return True
        return False

    def _collider_pose(self, collider: Collider) -> Array:
        return self._tree.body_pose(collider.body) @ collider.X_BG

    def _box(self, collider: Collider, X_FW: Array) -> tuple[Array, Array]:
        """Corners of the box around a collision geometry along the axes of frame F."""
        X_FG = X_FW @ self._collider_pose(collider)
        points = collider.geometry.body_points @ X_FG[:3, :3].T + X_FG[:3, 3]
        return points.min(axis=0), points.max(axis=0)


class Volume(Protocol):
    """A convex region of the world."""

    def meets_box(self, lower: Array, upper: Array) -> bool:
        """Whether it intersects the box between two corners (3,)."""

    def lowest(self, n: Array) -> float:
        """Smallest ``n . x`` of its points x, m; ``n`` (3,) is a unit vector."""


@dataclass(frozen=True, eq=False)
class Sphere:
    """All points within ``radius`` (m) of ``centre`` (3,)."""

    centre: Array
    radius: float

    def meets_box(self, lower: Array, upper: Array) -> bool:
        """See ``Volume``."""
        nearest = np.clip(self.centre, lower, upper)
        return bool(np.linalg.norm(nearest - self.centre) <= self.radius)

    def lowest(self, n: Array) -> float:
        """See ``Volume``."""
        return float(n @ self.centre - self.radius)


@dataclass(frozen=True, eq=False)
class Box:
    """All points between two corners (3,), m."""

    lower: Array
    upper: Array

    def meets_box(self, lower: Array, upper: Array) -> bool:
        """See ``Volume``."""
        return bool(np.all(self.lower <= upper) and np.all(lower <= self.upper))

    def lowest(self, n: Array) -> float:
        """See ``Volume``."""
        return float(np.minimum(n * self.lower, n * self.upper).sum())


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """Convex hull of points (N, 3), m."""

    points: Array

    def meets_box(self, lower: Array, upper: Array) -> bool:
        """See ``Volume``."""
        # A common point is a convex combination of the hull's points, which a linear programme finds if it exists.
        found = scipy.optimize.linprog(
            np.zeros(len(self.points)),
            A_ub=np.vstack([self.points.T, -self.points.T]),
            b_ub=np.concatenate([upper, -lower]),
            A_eq=np.ones((1, len(self.points))),
            b_eq=[1.0],
        )
        return bool(found.status == 0)

    def lowest(self, n: Array) -> float:
        """See ``Volume``."""
        return float((self.points @ n).min())
