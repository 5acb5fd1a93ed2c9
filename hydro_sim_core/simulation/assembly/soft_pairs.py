"""Clouds of a scene's collision geometries, and the parameters of its pairs, for smooth contact."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np

from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    SoftContactModel,
    cloud_of_geometry,
    cloud_quality,
)
from hydro_sim_core.contact.soft_distance.cloud import SMOOTHED
from hydro_sim_core.contact.soft_distance.pressing import NUM_PARAMETERS
from hydro_sim_core.contact.soft_distance.weighing import balls_of_blocks, block_count, order_in_blocks
from hydro_sim_core.description.scene_soft import SoftPairSettings, SoftSettings
from hydro_sim_core.dynamics import frozen
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import make_collision_geometry
from hydro_sim_core.progress import working
from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices
from hydro_sim_core.simulation.stepping.soft_model import SoftPairs

logger = logging.getLogger(__name__)

#: Geometries that a warning names.
_MOST_NAMED = 3
#: Column of ``epsilon1`` in the parameters of a pair.
_EPSILON1 = [field.name for field in fields(SoftContactModel)].index("epsilon1")


def soft_pairs(
    colliders: Sequence[Collider], pairs: Indices, friction: Floats, settings: SoftSettings, source: Path
) -> SoftPairs:
    """Make the clouds and parameters of a scene.

    Args:
        colliders: Collision geometries.
        pairs: (P, 2) of them that may touch.
        friction: (P,) coefficients of friction.
        settings: The scene's ``solver.soft``.
        source: Scene file, for messages.

    Raises:
        InputError: A surface is open or not oriented, or has a grain or a velocity, which smooth contact does not know;
            or the settings name a link that is not there.
    """
    clouds = _clouds(colliders, np.unique(pairs), settings.points)
    count = max((len(cloud.points) for cloud in clouds.values()), default=1)
    planes, areas = np.zeros((len(colliders), 6, count)), np.ones((len(colliders), count))
    counts = np.zeros((len(colliders), 2), dtype=np.int64)
    for i, cloud in clouds.items():
        n, order = len(cloud.points), order_in_blocks(cloud.points)
        planes[i, :3, :n], planes[i, 3:, :n] = cloud.points[order].T, cloud.normals[order].T
        counts[i] = n, 0 if cloud.is_half_space else n
        if cloud.areas is not None:
            areas[i, :n] = cloud.areas[order]
    own = _own_settings(colliders, settings, source)
    parameters = np.zeros((len(pairs), NUM_PARAMETERS))
    for row, (a, b) in enumerate(pairs.tolist()):
        spacing = max(_spacing(clouds[a]), _spacing(clouds[b]))
        model = SoftContactModel(
            settings.stiffness,
            float(friction[row]),
            settings.dissipation_velocity,
            settings.stiction_velocity,
            settings.epsilon1 or (SMOOTHED * spacing) ** 2,
            settings.epsilon2,
            settings.epsilon3,
            settings.damping_blend,
        )
        told = own.get(frozenset((colliders[a].link, colliders[b].link)))
        if told is not None:
            model = replace(model, **told.model_dump(exclude={"links"}, exclude_none=True))
        parameters[row] = astuple(model)
    _warn_of_bad_clouds(colliders, pairs, parameters[:, _EPSILON1], clouds, source)
    balls = np.array(
        [balls_of_blocks(of_one, n) for of_one, (n, _) in zip(planes, counts.tolist(), strict=True)]
    )
    return SoftPairs(
        planes=frozen(planes, shape=planes.shape),
        balls=frozen(balls, shape=(-1, 4, block_count(count))),
        counts=frozen(counts, np.int64, (-1, 2)),
        areas=frozen(areas, shape=areas.shape),
        parameters=frozen(parameters, shape=(-1, NUM_PARAMETERS)),
        stages=1 if settings.scheme == "euler" else 4,
    )


def _own_settings(
    colliders: Sequence[Collider], settings: SoftSettings, source: Path
) -> dict[frozenset[str], SoftPairSettings]:
    """Settings of pairs of links."""
    names = {collider.link for collider in colliders}
    own: dict[frozenset[str], tuple[int, SoftPairSettings]] = {}
    for number, pair in enumerate(settings.pairs):
        if missing := [link for link in pair.links if link not in names]:
            problem = f"'{missing[0]}' is no link with a collision geometry"
            raise InputError(source, f"solver.soft.pairs.{number}", problem, f"choose from {sorted(names)}")
        first, second = pair.links
        if first == second:
            problem = f"pairs '{first}' with itself"
            raise InputError(source, f"solver.soft.pairs.{number}", problem, "name two links")
        other, _ = own.setdefault(frozenset(pair.links), (number, pair))
        if other != number:
            problem, mend = f"has '{first}' and '{second}' again", f"keep one; the other is in pairs.{other}"
            raise InputError(source, f"solver.soft.pairs.{number}", problem, mend)
    return {links: pair for links, (_, pair) in own.items()}


def _clouds(colliders: Sequence[Collider], wanted: Indices, count: int) -> dict[int, OrientedCloud]:
    """Clouds of the geometries that touch, by index; equal shapes share one."""
    made: dict[object, OrientedCloud] = {}
    clouds = {}
    with working("making point clouds", len(wanted)) as parts:
        for i in wanted.tolist():
            collider = colliders[i]
            parts.begin(f"{collider.link}, {collider.name}")
            _refuse_unknown(collider)
            if collider.geometry not in made:
                made[collider.geometry] = _cloud(collider, count)
            clouds[i] = made[collider.geometry]
    return clouds


def _warn_of_bad_clouds(
    colliders: Sequence[Collider],
    pairs: Indices,
    epsilon1: Floats,
    clouds: Mapping[int, OrientedCloud],
    source: Path,
) -> None:
    """Tell which clouds are bad at the largest temperature (P,) of their pairs; m^2.

    This takes less time than making a cloud does.
    """
    hottest = np.zeros(len(colliders))
    np.maximum.at(hottest, pairs, epsilon1[:, None])
    users: dict[OrientedCloud, list[int]] = {}
    for i, cloud in clouds.items():
        users.setdefault(cloud, []).append(i)
    told = []
    for cloud, indices in users.items():
        if cloud.is_half_space:
            continue
        if problems := cloud_quality(cloud, float(hottest[indices].max())).problems:
            first = colliders[indices[0]]
            name = f"'{first.link}', {first.name} ({len(cloud.points)} points)"
            told.append(f"{name}: {', '.join(problems)}")
    if told:
        listing = told[:_MOST_NAMED]
        more = [f"{len(told) - _MOST_NAMED} more"] if len(told) > _MOST_NAMED else []
        logger.warning(
            "%s: smooth contact may press from the wrong side, as point clouds are bad: %s; "
            "raise solver.soft.points, or give a thicker or simpler shape",
            source,
            "; ".join(listing + more),
        )


def _cloud(collider: Collider, count: int) -> OrientedCloud:
    """Cloud of the surface of one geometry, without its margin."""
    surface = collider.geometry
    if surface.margin > 0.0 or not surface.is_rigid:
        bare = replace(
            collider.proximity,
            compliance="rigid",
            modulus=None,
            margin=0.0,
            slab_thickness=None,
            pressure_field=None,
        )
        surface, _ = make_collision_geometry(
            replace(collider.collision, proximity=replace(bare, point_stiffness=None)), bare
        )
    try:
        return cloud_of_geometry(surface, count)
    except InputError as error:
        element = f"'{collider.link}', {collider.name}"
        raise InputError(collider.collision.source, element, error.problem, error.mend) from None


def _refuse_unknown(collider: Collider) -> None:
    for name in ("grain", "surface_velocity"):
        if any(getattr(collider.proximity, name) or ()):
            problem = f"has a {name}, and smooth contact knows none"
            raise InputError(
                collider.collision.source, f"'{collider.link}'", problem, "leave it out, or model: soft"
            )


def _spacing(cloud: OrientedCloud) -> float:
    """Side of a cell of mean area, m; 0 for a half space."""
    return 0.0 if cloud.areas is None else float(np.sqrt(cloud.areas.mean()))
