"""From placed robots and static shapes to a ``Model``."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import product
from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.description.scene import ContactDefaults, ContactSettings
from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec
from hydro_sim_core.dynamics import Assembly, PlacedRobot, build_tree, find_forest, frozen
from hydro_sim_core.geometry import Geometry, make_collision_geometry
from hydro_sim_core.simulation.model import Model
from hydro_sim_core.solvers import SolverOptions

logger = logging.getLogger(__name__)

#: Group of what is welded to the world and belongs to no robot.
_WORLD_GROUP = ("world", -1)


@dataclass(frozen=True, eq=False)
class Collider:
    """One collision geometry of a scene.

    Attributes:
        link: Name of the link, or of the static body.
        name: Name of the collision geometry.
        geometry: Mesh and field.
        proximity: Properties with defaults filled in.
        body: Body that carries it, -1 for the world.
        X_BG: (4, 4) pose in that body.
        group: What moves with it rigidly; links of one group never touch.
        robot: Index of its robot, -1 for static shapes.
        is_hull: The convex hull took the place of a mesh that cannot be used as it is.
        collision: What it was made from.
    """

    link: str
    name: str
    geometry: Geometry
    proximity: ProximitySpec
    body: int
    X_BG: NDArray[np.float64]
    group: tuple[str, int]
    robot: int
    is_hull: bool
    collision: CollisionSpec


@dataclass(frozen=True, eq=False)
class BuiltModel:
    """A model and the names behind its indices.

    Attributes:
        model: The model.
        assembly: Names of links, joints, velocities.
        colliders: Collision geometry behind each geometry index.
        unsupported_pairs: Pairs of links of different robots that could meet but do not feel each other, both being
            rigid.
    """

    model: Model
    assembly: Assembly
    colliders: tuple[Collider, ...]
    unsupported_pairs: tuple[tuple[str, str], ...]


def build_model(
    placed: Sequence[PlacedRobot],
    environment: Sequence[CollisionSpec],
    gravity: ArrayLike,
    contact: ContactSettings,
    damping: Literal["hunt_crossley", "linear"],
    options: SolverOptions,
    compensated_joints: Iterable[str] = (),
    made: Iterable[Collider] = (),
) -> BuiltModel:
    """Assemble a scene.

    Args:
        placed: Robots, in the order of their coordinates.
        environment: Static shapes; ``X_LG`` places them in the world.
        gravity: (3,) m/s^2.
        contact: Contact set-up of the scene.
        damping: Law of dissipation.
        options: Solver options.
        compensated_joints: Coordinates whose drives also bear the weight that they carry.
        made: Colliders of another scene; geometry that both share is not made again.

    Raises:
        InputError: Something in the descriptions cannot be simulated.
    """
    assembly = build_tree(placed, gravity)
    known = {collider.collision: collider for collider in made}
    colliders = _make_colliders(placed, environment, assembly, contact.defaults, known)
    _warn_of_hulls([collider for collider in colliders if collider.collision not in known], placed)
    adjacent = _adjacent_groups(placed, assembly)
    pairs, unsupported = _find_pairs(colliders, adjacent, {frozenset(pair) for pair in contact.exclude})
    model = Model(
        tree=assembly.tree,
        forest=find_forest(assembly.tree),
        geometries=make_geometry_set([c.geometry for c in colliders]),
        geometry_body=frozen([c.body for c in colliders], np.int64),
        R_BG=frozen([c.X_BG[:3, :3] for c in colliders], shape=(-1, 3, 3)),
        p_BG=frozen([c.X_BG[:3, 3] for c in colliders], shape=(-1, 3)),
        pairs=frozen(pairs, np.int64, (-1, 2)),
        pair_friction=frozen([mixed_friction(colliders[a], colliders[b]) for a, b in pairs]),
        pair_dissipation=frozen(
            [0.0 if damping == "linear" else mixed_dissipation(colliders[a], colliders[b]) for a, b in pairs]
        ),
        pair_relaxation=frozen(
            [_relaxation(colliders[a], colliders[b]) if damping == "linear" else 0.0 for a, b in pairs]
        ),
        compensated=_compensation_mask(assembly, set(compensated_joints)),
        options=options,
    )
    return BuiltModel(model, assembly, tuple(colliders), tuple(unsupported))


def mixed_friction(a: Collider, b: Collider) -> float:
    """Friction of a pair: the harmonic mean, so a frictionless side makes the pair frictionless."""
    mu_a, mu_b = a.proximity.mu_dynamic or 0.0, b.proximity.mu_dynamic or 0.0
    return 2.0 * mu_a * mu_b / (mu_a + mu_b) if mu_a + mu_b > 0.0 else 0.0


def mixed_dissipation(a: Collider, b: Collider) -> float:
    """Dissipation of a pair: the softer side deforms more and weighs more; a rigid side not at all."""
    d_a, d_b = a.proximity.dissipation or 0.0, b.proximity.dissipation or 0.0
    if a.geometry.is_rigid:
        return d_b
    if b.geometry.is_rigid:
        return d_a
    E_a, E_b = a.geometry.modulus, b.geometry.modulus
    return (E_b * d_a + E_a * d_b) / (E_a + E_b)


def _relaxation(a: Collider, b: Collider) -> float:
    return (a.proximity.relaxation_time or 0.0) + (b.proximity.relaxation_time or 0.0)


def _make_colliders(
    placed: Sequence[PlacedRobot],
    environment: Sequence[CollisionSpec],
    assembly: Assembly,
    defaults: ContactDefaults,
    known: Mapping[CollisionSpec, Collider],
) -> list[Collider]:
    groups = _link_groups(placed, assembly)
    index = {name: i for i, name in enumerate(assembly.link_names)}
    colliders = []
    for robot, item in enumerate(placed):
        for link in item.robot.links:
            # Links named "world" are the world itself, not one of the assembly's.
            i = index.get(link.name)
            body = -1 if i is None else int(assembly.link_body[i])
            X_BL = np.eye(4) if i is None else assembly.X_BL[i]
            group = groups.get(link.name, _WORLD_GROUP)
            for collision in link.collisions:
                X_BG = product(X_BL, collision.X_LG)
                colliders.append(
                    _make_collider(link.name, collision, body, X_BG, group, robot, defaults, known)
                )
    for static in environment:
        colliders.append(
            _make_collider(static.name, static, -1, static.X_LG, _WORLD_GROUP, -1, defaults, known)
        )
    return colliders


def _make_collider(
    link: str,
    collision: CollisionSpec,
    body: int,
    X_BG: NDArray[np.float64],
    group: tuple[str, int],
    robot: int,
    defaults: ContactDefaults,
    known: Mapping[CollisionSpec, Collider],
) -> Collider:
    proximity = defaults.complete(collision.proximity)
    twin = known.get(collision)
    if twin is not None and twin.proximity == proximity:
        geometry, is_hull = twin.geometry, twin.is_hull
    else:
        geometry, is_hull = make_collision_geometry(collision, proximity)
    return Collider(link, collision.name, geometry, proximity, body, X_BG, group, robot, is_hull, collision)


def _warn_of_hulls(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> None:
    """Name the links whose meshes were replaced by hulls, in one warning a robot and one for the static shapes."""
    links: dict[int, dict[str, None]] = {}
    for collider in colliders:
        if collider.is_hull:
            links.setdefault(collider.robot, {})[collider.link] = None
    for robot, names in links.items():
        logger.warning(
            "%s: collision meshes that are not closed and convex are replaced by their convex hulls: %s; "
            "declare_convex, tag them rigid or supply tetrahedral meshes (.vtk)",
            "environment" if robot < 0 else placed[robot].robot.source,
            ", ".join(names),
        )


def _link_groups(placed: Sequence[PlacedRobot], assembly: Assembly) -> dict[str, tuple[str, int]]:
    """What moves rigidly with each link; links welded to the world group by robot."""
    body = dict(zip(assembly.link_names, assembly.link_body, strict=True))
    groups: dict[str, tuple[str, int]] = {}
    for k, item in enumerate(placed):
        base = groups.get(item.attach_to or "", ("base", k))
        for link in item.robot.links:
            if link.name in body:
                groups[link.name] = ("body", int(body[link.name])) if body[link.name] >= 0 else base
    return groups


def _adjacent_groups(placed: Sequence[PlacedRobot], assembly: Assembly) -> set[frozenset[tuple[str, int]]]:
    """Groups joined by a joint: their shapes overlap by construction and do not collide."""
    groups = _link_groups(placed, assembly)
    adjacent = set()
    for item in placed:
        for joint in item.robot.joints:
            if joint.type != "floating" and joint.parent in groups:
                adjacent.add(frozenset((groups[joint.parent], groups[joint.child])))
    return adjacent


def _find_pairs(
    colliders: Sequence[Collider],
    adjacent: set[frozenset[tuple[str, int]]],
    excluded: set[frozenset[str]],
) -> tuple[list[tuple[int, int]], list[tuple[str, str]]]:
    pairs, unsupported = [], []
    for i, a in enumerate(colliders):
        for j in range(i + 1, len(colliders)):
            b = colliders[j]
            fixed = a.body < 0 and b.body < 0
            if fixed or a.group == b.group or frozenset((a.group, b.group)) in adjacent:
                continue
            if frozenset((a.link, b.link)) in excluded:
                continue
            canonical = canonical_order(a.geometry.kind, b.geometry.kind)
            if canonical is None:
                # The links of one robot are usually all rigid; that they do not collide is a stated limit.
                if a.robot != b.robot:
                    unsupported.append((a.link, b.link))
            else:
                pairs.append((i, j) if canonical else (j, i))
    return pairs, unsupported


def _compensation_mask(assembly: Assembly, joints: set[str]) -> NDArray[np.int64]:
    """1 for the velocities of ``joints`` that a drive can move: those of floating joints have none."""
    return frozen([int(name in joints) for name in assembly.velocity_names], np.int64)
