"""Builder of a ``Model`` from placed robots and static shapes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.scene import ContactDefaults, ContactSettings
from hydro_sim_core.description.solver_choices import Damping, FrictionLaw, friction_laws
from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec, ShapeSpec
from hydro_sim_core.dynamics import Assembly, PlacedRobot, build_tree, find_forest, frozen
from hydro_sim_core.dynamics.assembly import start_coordinates
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry, make_collision_geometry
from hydro_sim_core.geometry.collisions import has_idle_stiffness
from hydro_sim_core.geometry.margins import MarginRule
from hydro_sim_core.geometry.roundness import is_crude, with_round_default
from hydro_sim_core.progress import Parts, working
from hydro_sim_core.simulation.assembly.geometry_time import GeometryTime
from hydro_sim_core.simulation.assembly.pair_laws import PairLaws, check_wanted, pair_laws
from hydro_sim_core.simulation.assembly.pairs import (
    Collider,
    Floats,
    Group,
    Indices,
    dissipation_of_pairs,
    find_pairs,
    flats_of_pairs,
    friction_of_pairs,
    masses_in_impacts,
    masses_of_pairs,
    moments_of_pairs,
    rates_of_pairs,
    relaxation_of_pairs,
    strides_of_pairs,
)
from hydro_sim_core.simulation.assembly.point_pairs import point_pairs
from hydro_sim_core.simulation.assembly.rigid_pairs import add_skins, warn_of_soft_pairs
from hydro_sim_core.simulation.assembly.round_pairs import round_sides_of_pairs
from hydro_sim_core.simulation.assembly.start_overlaps import (
    LEAST_DEPTH,
    LinkOverlap,
    StartPose,
    meant_to_overlap,
    robots_of,
    warn_of_starts,
    within_pieces,
)
from hydro_sim_core.simulation.assembly.surfaces import surfaces
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.point_model import PointPairs
from hydro_sim_core.solvers import SolverOptions

logger = logging.getLogger(__name__)

#: Group of static shapes, which are welded to the world and belong to no robot.
_WORLD_GROUP: Group = ("world", -1)


@dataclass(frozen=True, eq=False)
class BuiltModel:
    """A model and the names behind its indices.

    Attributes:
        model: The model.
        assembly: Names of links, joints, velocities.
        q0: (nq,) coordinates at the start.
        colliders: Collision geometry behind each geometry index.
        margin_rule: Rule for margins that are not given.
        overlaps: Pairs of links of one robot that overlap at the start and therefore never touch.
        laws: What is told about pairs of links.
        neighbours: Pairs of groups that a joint connects, and what joint that is.
        robot: (C,) index of the robot of each collider, that of the one which it is attached to; -1 for static shapes.
        deep_start: Which bodies start deep in each other, in words; empty if none do.
    """

    model: Model
    assembly: Assembly
    q0: Floats
    colliders: tuple[Collider, ...]
    margin_rule: MarginRule
    overlaps: tuple[LinkOverlap, ...]
    laws: PairLaws
    neighbours: Mapping[frozenset[Group], str]
    robot: Indices
    deep_start: str


def build_model(
    placed: Sequence[PlacedRobot],
    environment: Sequence[CollisionSpec],
    gravity: ArrayLike,
    contact: ContactSettings,
    damping: Damping,
    law: FrictionLaw,
    options: SolverOptions,
    margin_rule: MarginRule,
    start_positions: Sequence[Mapping[str, float]],
    source: Path,
    grippers: Iterable[Collection[str]] = (),
    compensated_joints: Iterable[str] = (),
    made: Iterable[Collider] = (),
) -> BuiltModel:
    """Assemble a scene.

    Args:
        placed: Robots, in the order of their coordinates.
        environment: Static shapes; ``X_LG`` places them in the world.
        gravity: (3,) m/s^2.
        contact: Contact settings of the scene.
        damping: Law of dissipation.
        law: Friction law.
        options: Solver options.
        margin_rule: Rule for margins that are not given.
        start_positions: Start position of every independent coordinate, for each robot.
        source: Scene file, for messages.
        grippers: Joints of the fingers of each gripper: these touch each other wherever they start.
        compensated_joints: Coordinates whose drives compensate gravity.
        made: Colliders of another scene; geometry in both is reused.

    Raises:
        InputError: Something in the descriptions cannot be simulated.
    """
    assembly = build_tree(placed, gravity, start_positions)
    known = {one.collision: one for one in made}
    colliders = _colliders(placed, environment, assembly, contact.defaults, known, margin_rule)
    q0, robots = start_coordinates(assembly, start_positions), [item.robot for item in placed]
    neighbours, laws = _neighbours(placed, assembly), pair_laws(robots, contact, source)
    colliders, pairs, skinned = _find_pairs(colliders, environment, assembly, neighbours, laws, margin_rule)
    start, robot = StartPose(colliders, assembly, q0), robots_of(colliders, placed)
    inside = within_pieces(colliders, placed, robot, pairs)
    meant = meant_to_overlap(colliders, pairs, assembly, grippers, laws.links("pressure_field"))
    overlaps, drawn = start.overlaps(pairs, skinned, np.where(inside & ~meant, LEAST_DEPTH, np.inf))
    deep = "" if known else warn_of_starts(start, pairs, skinned, ~inside | meant, overlaps, source)
    pairs, skinned = pairs[~drawn], skinned[~drawn]
    if not known:  # else things are where another scene has brought them
        warn_of_soft_pairs(colliders, pairs, skinned, assembly.tree.mass, gravity, source)
    _check_grains(colliders, pairs, law)
    pose_of = None if known else start.body_pose
    points, rows = point_pairs(
        colliders, laws, _names(assembly, environment), len(pairs), _led(assembly), pose_of
    )
    pairs, skinned = (np.concatenate(both) for both in ((pairs, rows), (skinned, np.zeros_like(rows, bool))))
    compensated, splits_faces = set(compensated_joints), contact.representation == "triangle"
    model = _model(colliders, pairs, skinned, points, assembly, damping, splits_faces, options, compensated)
    return BuiltModel(
        model, assembly, q0, tuple(colliders), margin_rule, overlaps, laws, neighbours, robot, deep
    )


def _model(
    colliders: Sequence[Collider],
    pairs: Indices,
    skinned: NDArray[np.bool_],
    points: PointPairs,
    assembly: Assembly,
    damping: Damping,
    splits_faces: bool,
    options: SolverOptions,
    compensated_joints: set[str],
) -> Model:
    """The model of what was found; the pairs at equivalent points come last."""
    return Model(
        tree=assembly.tree,
        forest=find_forest(assembly.tree),
        **surfaces(colliders, pairs, skinned),
        **_pair_properties(colliders, pairs, masses_in_impacts(assembly.tree), damping),
        # In Drake's step, which keeps bounds, all faces press at their centroids.
        pair_moments=frozen(moments_of_pairs(colliders, pairs, options.keeps_bounds), np.int64),
        **round_sides_of_pairs(colliders, pairs, skinned),
        points=points,
        compensated=_compensation_mask(assembly, compensated_joints),
        **_links(assembly),
        splits_faces=splits_faces,
        options=options,
    )


def _links(assembly: Assembly) -> dict[str, Any]:
    """Fields of ``Model`` that describe links."""
    return {
        "link_body": frozen(assembly.link_body, np.int64),
        "R_BL": frozen(assembly.X_BL[:, :3, :3], shape=(-1, 3, 3)),
        "p_BL": frozen(assembly.X_BL[:, :3, 3], shape=(-1, 3)),
    }


def _colliders(
    placed: Sequence[PlacedRobot],
    environment: Sequence[CollisionSpec],
    assembly: Assembly,
    defaults: ContactDefaults,
    known: Mapping[CollisionSpec, Collider],
    margin_rule: MarginRule,
) -> list[Collider]:
    """Collision geometries of a scene, those that are known already with the same meshes."""
    total = len(environment) + sum(len(link.collisions) for item in placed for link in item.robot.links)
    with working("making geometry", total) as parts:
        geometries = _Geometries(defaults, known, margin_rule, parts)
        colliders = _make_colliders(placed, environment, assembly, geometries)
    new = [collider for collider in colliders if collider.collision not in known]
    _warn_of_hulls(new, placed)
    _warn_of_open(new, placed)
    _warn_of_idle_stiffness(new, placed)
    _warn_of_crude(new, placed)
    if not known:
        _warn_of_idle_default(colliders, defaults)
    return colliders


def _find_pairs(
    colliders: list[Collider],
    environment: Sequence[CollisionSpec],
    assembly: Assembly,
    neighbours: Collection[frozenset[Group]],
    laws: PairLaws,
    margin_rule: MarginRule,
) -> tuple[list[Collider], Indices, NDArray[np.bool_]]:
    """The colliders, some with skins; pairs (P, 2) that may touch; and which of their sides (P, 2) do with skins."""
    without_faces = laws.links("none") + laws.links("equivalent_point")
    told = without_faces, laws.links("pressure_field")
    found = find_pairs(colliders, neighbours, *told, _led(assembly), laws.quiet, laws.spared)
    check_wanted(laws, colliders, found, _names(assembly, environment))
    colliders, rigid, skin_sides = add_skins(colliders, found.rigid, margin_rule)
    return colliders, *_in_order(found.compliant, rigid, skin_sides)


def _names(assembly: Assembly, environment: Sequence[CollisionSpec]) -> set[str]:
    """Names of links and static shapes."""
    return {*assembly.link_names, *(one.name for one in environment)}


def _led(assembly: Assembly) -> Indices:
    """Bodies with prescribed motion."""
    return np.flatnonzero(assembly.tree.prescribed[assembly.tree.v_index])


def _in_order(compliant: Indices, rigid: Indices, skin_sides: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """All pairs (P, 2), sorted by the lower index, then by the other; and which sides (P, 2) touch with their skins."""
    pairs = np.concatenate([compliant, rigid])
    skinned = np.zeros(pairs.shape, dtype=bool)
    skinned[np.arange(len(compliant), len(pairs)), skin_sides] = True
    order = np.lexsort((pairs.max(axis=1), pairs.min(axis=1)))
    return pairs[order], skinned[order]


def _pair_properties(
    colliders: Sequence[Collider], pairs: NDArray[np.int64], masses: Floats, damping: Damping
) -> dict[str, Any]:
    """Fields of ``Model`` that describe pairs."""
    is_linear, nothing = damping == "linear", np.zeros(len(pairs))
    strides = strides_of_pairs(colliders, pairs)
    return {
        "pairs": frozen(pairs, np.int64, (-1, 2)),
        "pair_stride": frozen(strides.stride),
        "pair_room": frozen(strides.room),
        "pair_foreseen": frozen(strides.foreseen),
        "pair_thickness": frozen(strides.thickness),
        "pair_flat": frozen(flats_of_pairs(colliders, pairs)),
        "pair_mass": frozen(masses_of_pairs(colliders, pairs, masses)),
        "pair_rate": frozen(rates_of_pairs(colliders, pairs, masses)),
        "pair_friction": frozen(friction_of_pairs(colliders, pairs)),
        "pair_dissipation": frozen(nothing if is_linear else dissipation_of_pairs(colliders, pairs)),
        "pair_relaxation": frozen(relaxation_of_pairs(colliders, pairs) if is_linear else nothing),
    }


def _check_grains(colliders: Sequence[Collider], pairs: NDArray[np.int64], law: FrictionLaw) -> None:
    """Refuse grains that the law does not support, and pairs in which both sides have a grain."""
    grained = np.array([any(collider.proximity.grain or ()) for collider in colliders], dtype=bool)
    if grained.any() and not law.uses_grain:
        one = colliders[int(np.flatnonzero(grained)[0])]
        able = " or ".join(known.name for known in friction_laws().values() if known.uses_grain)
        problem = f"has a grain, and friction {law.name} knows no direction"
        raise InputError(one.collision.source, f"'{one.link}'", problem, f"set solver.friction to {able}")
    both = pairs[grained[pairs].all(axis=1)] if len(pairs) else pairs
    if len(both):
        a, b = (colliders[i] for i in both[0])
        problem = f"has a grain, and '{b.link}', which may touch it, has one too"
        raise InputError(a.collision.source, f"'{a.link}'", problem, "take one away, or exclude the pair")


def _make_colliders(
    placed: Sequence[PlacedRobot],
    environment: Sequence[CollisionSpec],
    assembly: Assembly,
    geometries: _Geometries,
) -> list[Collider]:
    groups = _link_groups(placed, assembly)
    index = {name: i for i, name in enumerate(assembly.link_names)}
    colliders: list[Collider] = []

    def add(link: str, collision: CollisionSpec, body: int, X_BG: Floats, group: Group, robot: int) -> None:
        proximity, geometry, is_hull = geometries.make(link, collision)
        colliders.append(
            Collider(link, collision.name, geometry, proximity, body, X_BG, group, robot, is_hull, collision)
        )

    for robot, item in enumerate(placed):
        for link in item.robot.links:
            # Links named "world" are the world itself, not links of the assembly.
            i = index.get(link.name)
            body = -1 if i is None else int(assembly.link_body[i])
            X_BL = np.eye(4) if i is None else assembly.X_BL[i]
            group = groups.get(link.name, _WORLD_GROUP)
            for collision in link.collisions:
                add(link.name, collision, body, product(X_BL, collision.X_LG), group, robot)
    for static in environment:
        add(static.name, static, -1, static.X_LG, _WORLD_GROUP, -1)
    return colliders


class _Geometries:
    """Makes the geometries of collision elements; equal shapes with equal properties share one."""

    def __init__(
        self,
        defaults: ContactDefaults,
        known: Mapping[CollisionSpec, Collider],
        margin_rule: MarginRule,
        parts: Parts,
    ) -> None:
        self._defaults = defaults
        self._known = known
        self._margin_rule = margin_rule
        self._parts = parts
        self._time = GeometryTime()
        self._made: dict[tuple[ShapeSpec, ProximitySpec, bool, bool], tuple[Geometry, bool]] = {}

    def make(self, link: str, collision: CollisionSpec) -> tuple[ProximitySpec, Geometry, bool]:
        """Proximity with defaults, geometry, and whether a mesh was replaced by its hull without being asked."""
        self._parts.begin(f"{link}, {collision.name}")
        proximity = self._defaults.complete(collision.proximity)
        if collision.proximity.resolution_hint is None and not self._defaults.gives_resolution:
            proximity = with_round_default(collision.shape, proximity)
        # Whether a mesh may be filled, and has its modulus by its stiffness, is up to its own properties.
        own = collision.proximity
        key = collision.shape, proximity, own.compliance is not None, own.modulus is None
        twin = self._known.get(collision)
        if twin is not None and twin.proximity == proximity:
            self._made.setdefault(key, (twin.geometry, twin.is_hull))
            return proximity, twin.geometry, twin.is_hull
        if key not in self._made:
            with self._time.spent(collision.source, f"link '{link}', {collision.name}"):
                self._made[key] = make_collision_geometry(collision, proximity, self._margin_rule)
        return proximity, *self._made[key]


def _warn_of_hulls(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> None:
    """Warn of links whose meshes were replaced by hulls: once per robot, and once for the static shapes."""
    for source, names in _by_description((one for one in colliders if one.is_hull), placed):
        logger.warning(
            "%s: collision meshes that are not closed and convex are replaced by their convex hulls, those of "
            "many corners to 0.3 %% of their diagonals: %s; declare_convex, tag them rigid or supply tetrahedral "
            "meshes (.vtk)",
            source,
            names,
        )


def _warn_of_open(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> None:
    """Warn of links with rigid surfaces that are not closed, as of hulls."""
    for source, names in _by_description((one for one in colliders if not one.geometry.has_inside), placed):
        logger.warning(
            "%s: rigid collision meshes that are not closed hold on their front only, and what comes through a hole or "
            "from behind passes, so that a body that lands on its open side falls through: %s; close them, or "
            "declare_convex",
            source,
            names,
        )


def _warn_of_idle_stiffness(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> None:
    """Warn of compliant links with a stiffness beside a modulus of their own, as of hulls."""
    idle = (one for one in colliders if has_idle_stiffness(one.collision, one.proximity))
    for source, names in _by_description(idle, placed):
        logger.warning(
            "%s: point_stiffness acts on rigid bodies, and on compliant ones without a modulus of their own, unlike "
            "these: %s; leave it out, or tag them rigid",
            source,
            names,
        )


def _warn_of_idle_default(colliders: Sequence[Collider], defaults: ContactDefaults) -> None:
    """Warn if a scene gives all bodies a stiffness that acts on rigid ones only, and has none without their own."""
    if defaults.point_stiffness is None or not colliders:
        return
    if not any(
        one.geometry.is_rigid and one.collision.proximity.point_stiffness is None for one in colliders
    ):
        logger.warning(
            "contact.defaults.point_stiffness acts on rigid bodies only, and no body takes it; leave it out, or "
            "give bodies compliance: rigid"
        )


def _warn_of_crude(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> None:
    """Warn of links with round shapes that their resolution hint makes crude polyhedra, as of hulls."""
    crude = (one for one in colliders if is_crude(one.collision.shape, one.proximity))
    for source, names in _by_description(crude, placed):
        logger.warning(
            "%s: resolution hints leave fewer than 8 edges around round shapes, which sink in and do not roll: %s; "
            "give a shorter resolution_hint, or none for 16 edges",
            source,
            names,
        )


def _by_description(
    colliders: Iterable[Collider], placed: Sequence[PlacedRobot]
) -> Iterator[tuple[str | Path, str]]:
    """Links of these colliders, for each robot or the static shapes what it comes from and a list of its links."""
    links: dict[int, dict[str, None]] = {}
    for collider in colliders:
        links.setdefault(collider.robot, {})[collider.link] = None
    for robot, names in links.items():
        yield "environment" if robot < 0 else placed[robot].robot.source, ", ".join(names)


def _link_groups(placed: Sequence[PlacedRobot], assembly: Assembly) -> dict[str, tuple[str, int]]:
    """Rigid group of each link; links welded to the world form one group per robot."""
    body = dict(zip(assembly.link_names, assembly.link_body, strict=True))
    groups: dict[str, tuple[str, int]] = {}
    for k, item in enumerate(placed):
        base = groups.get(item.attach_to or "", ("base", k))
        for link in item.robot.links:
            if link.name in body:
                groups[link.name] = ("body", int(body[link.name])) if body[link.name] >= 0 else base
    return groups


def _neighbours(placed: Sequence[PlacedRobot], assembly: Assembly) -> dict[frozenset[Group], str]:
    """Pairs of groups connected by a joint, and the joint: their shapes may overlap by construction."""
    groups = _link_groups(placed, assembly)
    neighbours = {}
    for item in placed:
        for joint in item.robot.joints:
            if not joint.traits.is_free and joint.parent in groups:
                kind = joint.type if joint.mimic is None else f"{joint.type} mimic"
                neighbours[frozenset((groups[joint.parent], groups[joint.child]))] = (
                    f"{kind} joint {joint.name}"
                )
    return neighbours


def _compensation_mask(assembly: Assembly, joints: set[str]) -> NDArray[np.int64]:
    """1 for the driven velocities of ``joints``; joints with a quaternion have no drives."""
    return frozen([int(name in joints) for name in assembly.velocity_names], np.int64)
